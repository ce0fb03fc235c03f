//! Clusters whose members are killed, suspended, added, removed.

use std::time::{Duration, Instant};

use assay_lab::Order;
use assay_model::Reason;

use super::opening::etcdctl;
use super::{order, start};
use crate::lab::{Cluster, now};
use crate::ordeal::assert_kept;
use crate::stores::{self, Settings, store, test_client};
use crate::test_client::{RequestResult, TIMEOUT, TestClient, insert, read, update};

/// The node that is the leader, by what the cluster says about itself.
fn leader(cluster: &Cluster) -> usize {
    let settings = Settings::at(&cluster.url(""));
    let mut members = settings.value("members").split(", ");
    let leader = members.find(|member| member.contains(" leader"));
    let name = leader.and_then(|member| member.split(' ').next()).expect("there is a leader");
    name.trim_start_matches('n').parse().expect("nodes are named by their numbers")
}

/// Inserts and reads for `time`, sixteen at once; every answer, with the number of its record.
fn load(test_client: &mut TestClient, from: u32, time: Duration) -> Vec<(u32, RequestResult)> {
    let start = Instant::now();
    let mut waiting = std::collections::HashMap::new();
    let mut ended = Vec::new();
    let mut next = from;
    while start.elapsed() < time || !waiting.is_empty() {
        while start.elapsed() < time && test_client.is_ready() {
            let value = next.to_string();
            waiting
                .insert(test_client.start(&insert(&format!("user{next}"), &[&value, "x"])), next);
            next += 1;
        }
        for (ticket, result) in test_client.take(1) {
            ended.push((waiting.remove(&ticket).expect("each is answered once"), result));
        }
        if ended.last().is_some_and(|(_, result)| matches!(result, RequestResult::Refused(_))) {
            // Refusals come at once.
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    ended
}

fn done(ended: &[(u32, RequestResult)]) -> usize {
    ended.iter().filter(|(_, result)| *result == RequestResult::WRITTEN).count()
}

#[test]
fn a_cluster_conforms_and_tells_its_roles() {
    let cluster = start(3);
    assay_store::conformance::assert_conforms(&*store(&cluster.url("/conformance")));
    let settings = Settings::at(&cluster.url(""));
    settings.expect(&[("replication", "3 voters")]);
    assert_eq!(settings.value("endpoints").matches("(follower)").count(), 2, "{settings:?}");
    assert_eq!(settings.value("endpoints").matches("(leader)").count(), 1, "{settings:?}");
}

#[test]
fn a_cluster_goes_on_when_its_leader_dies() {
    let mut cluster = start(3);
    let mut test_client = test_client(&cluster.url("?connections=15&connect_timeout=1000"));
    let before = load(&mut test_client, 0, Duration::from_millis(500));
    assert_eq!(done(&before), before.len());
    let leader = leader(&cluster);
    let first = before.len() as u32;
    cluster.kill(leader);
    // Followers pass writes on to the dead leader until they miss it; seven seconds later they give
    // up waiting for those.
    let during = load(&mut test_client, first, Duration::from_secs(10));
    assert!(done(&during) > 0, "nothing was done without the old leader");
    for (_, result) in &during {
        let may_be = matches!(
            result,
            RequestResult::Done(true, _)
                | RequestResult::Unknown(Reason::ConnectionLost | Reason::Timeout | Reason::Busy)
                | RequestResult::Refused(Reason::Unreachable | Reason::Busy)
        );
        assert!(may_be, "{result:?}");
    }
    assert!(done(&during) < during.len(), "somebody must have noticed");
    cluster.restart(leader);
    // Until all agree on a leader again.
    test_client.send_until(&insert("settled", &["a", "b"]), &RequestResult::WRITTEN);
    let after = load(&mut test_client, first + during.len() as u32, Duration::from_millis(500));
    assert_eq!(done(&after), after.len());
    let ended = before.into_iter().chain(during).chain(after);
    assert_kept(&mut test_client, ended);
}

#[test]
fn a_leader_whose_peers_do_not_hear_it_loses_its_office_and_writes_go_on() {
    let order = Order { peer_proxy: Some(now), ..order(3) };
    let mut cluster = Cluster::start_as(&order);
    let url = cluster.url("?connections=15&connect_timeout=1000");
    let mut test_client = test_client(&url);
    test_client.send_until(&insert("before", &["a", "b"]), &RequestResult::WRITTEN);
    let [old] = cluster.inject("blackhole peers of leader")[..] else { panic!("one leads") };
    let start = Instant::now();
    while cluster.inject("reset peers of leader") == [old] {
        assert!(start.elapsed() < TIMEOUT, "node {old} leads still");
        std::thread::sleep(Duration::from_millis(200));
    }
    // The majority writes; the old leader is still there for its clients, and answers nothing.
    let url = format!("etcd://{}", authority_of(&url, old % 3 + 1));
    let mut others = stores::test_client(&url);
    others.send_until(&insert("during", &["c", "d"]), &RequestResult::WRITTEN);
    assert_eq!(cluster.inject("heal").len(), 3);
    test_client.send_until(&insert("after", &["e", "f"]), &RequestResult::WRITTEN);
    test_client.send_until(&read("during"), &RequestResult::row("field0=c field1=d"));
}

/// The authority of a node in a URL that names them in order.
fn authority_of(url: &str, node: usize) -> &str {
    let (_, rest) = url.split_once("://").expect("it is a URL");
    let authorities = rest.split(['?', '/']).next().expect("hosts come first");
    authorities.split(',').nth(node - 1).expect("it names them all")
}

#[test]
fn a_frozen_member_is_left_for_another() {
    let mut cluster = start(3);
    let frozen = leader(&cluster) % 3 + 1;
    let mut test_client = test_client(&cluster.url("?connections=3&connect_timeout=300"));
    test_client.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
    cluster.freeze(frozen);
    // One request to each member: that to the frozen one is given up.
    let sent: Vec<_> = (0..3).map(|_| test_client.start(&read("user1"))).collect();
    let answered = test_client.take(2);
    assert!(answered.iter().all(|(_, result)| *result == RequestResult::row("field0=a field1=b")));
    let left = sent.into_iter().find(|sent| answered.iter().all(|(ticket, _)| ticket != sent));
    let left = left.expect("one was not answered");
    test_client.abandon(left);
    assert_eq!(test_client.take(1), [(left, RequestResult::Unknown(Reason::ConnectionLost))]);
    test_client.drain_for(Duration::from_millis(1500));
    for _ in 0..20 {
        let sent: Vec<_> = (0..3).map(|_| test_client.start(&update("user1", &["c"]))).collect();
        let result = test_client.take(sent.len());
        assert!(result.iter().all(|(_, result)| *result == RequestResult::WRITTEN), "{result:?}");
    }
}

#[test]
fn without_a_majority_nothing_is_written_but_stale_reads_go_on() {
    let mut cluster = start(3);
    let mut test_client = test_client(&cluster.url("?connections=3&connect_timeout=500"));
    test_client.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
    let mut stale = stores::test_client(&cluster.url("?read=serializable"));
    // Until the remaining member knows of it.
    let last = cluster.url("").rsplit_once(',').expect("there are three").1.to_owned();
    let mut third = stores::test_client(&format!("etcd://{last}?read=serializable"));
    third.send_until(&read("user1"), &RequestResult::row("field0=a field1=b"));
    cluster.kill(1);
    cluster.kill(2);
    stale.send_until(&read("user1"), &RequestResult::row("field0=a field1=b"));
    // The server waits for others for seven seconds, then gives up what may still happen.
    test_client.send_until(&insert("user2", &["a", "b"]), &RequestResult::Unknown(Reason::Timeout));
    cluster.restart(1);
    cluster.restart(2);
    test_client.send_until(&insert("user3", &["a", "b"]), &RequestResult::WRITTEN);
    test_client.send_until(&read("user1"), &RequestResult::row("field0=a field1=b"));
}

#[test]
fn members_join_and_leave_under_load() {
    let mut cluster = start(1);
    let url = cluster.url("?connections=8");
    let mut test_client = test_client(&url);
    let mut from = 0;
    for nodes in [3, 2, 1] {
        cluster.scale(nodes);
        test_client.send_until(&insert("settled", &["a", "b"]), &RequestResult::WRITTEN);
        let ended = load(&mut test_client, from, Duration::from_millis(300));
        assert_eq!(done(&ended), ended.len(), "with {nodes} nodes");
        from += ended.len() as u32;
        assert_eq!(voters(&cluster), format!("{nodes} voters"));
    }
    for number in 0..from {
        let expected = RequestResult::row(&format!("field0={number} field1=x"));
        test_client.expect(&read(&format!("user{number}")), &expected);
    }
}

/// How many voters the cluster says that it has.
fn voters(cluster: &Cluster) -> String {
    Settings::at(&cluster.url("")).value("replication").to_owned()
}

#[test]
fn a_member_that_is_dead_can_leave() {
    let mut cluster = start(3);
    let mut test_client = test_client(&cluster.url("?connections=3"));
    test_client.expect(&insert("user1", &["a", "b"]), RequestResult::WRITTEN);
    cluster.kill(3);
    cluster.scale(2);
    assert_eq!(voters(&cluster), "2 voters");
    cluster.scale(3);
    assert_eq!(voters(&cluster), "3 voters");
    test_client.send_until(&read("user1"), &RequestResult::row("field0=a field1=b"));
}

#[test]
fn an_interrupted_removal_of_a_node_is_completed() {
    let mut cluster = start(3);
    let peer = format!("http://{}:2380", cluster.lab().record().nodes[2].address);
    let members = etcdctl(&cluster, "member list").expect("it is up");
    let member = members.lines().find(|line| line.contains(&peer)).expect("it is a member");
    let id = member.split(',').next().expect("members begin with their number");
    // An attempt to let it leave came so far. Members change only when each of them has been seen
    // for five seconds.
    let start = Instant::now();
    while let Err(result) = etcdctl(&cluster, &format!("member remove {id}")) {
        // An attempt that timed out may have removed it all the same.
        if result.contains("member not found") {
            break;
        }
        assert!(start.elapsed() < TIMEOUT, "{result}");
        std::thread::sleep(Duration::from_millis(200));
    }
    cluster.scale(2);
    assert_eq!(voters(&cluster), "2 voters");
}
