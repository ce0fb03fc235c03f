//! A proxy in front of a server that answers everything with the same.

use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use super::*;

/// A loopback network of each test's own.
static USED: AtomicU8 = AtomicU8::new(0);
const NODE: usize = 1;

/// The time since the machine has started.
fn now() -> Nanos {
    let time = clock_gettime(ClockId::Monotonic);
    Nanos::from_secs(time.tv_sec as u64) + Nanos(time.tv_nsec as u64)
}

fn proxied() -> (Proxy, SocketAddr) {
    let mut proxy = Proxy::start(now).expect("it starts");
    let exit = probe::echo().expect("it listens");
    let place = USED.fetch_add(1, Ordering::Relaxed);
    let entry = proxy.link(NODE, Ipv4Addr::new(127, 43, place, 1), exit);
    (proxy, entry.expect("the address is free"))
}

fn connect(entry: SocketAddr) -> TcpStream {
    let socket = TcpStream::connect(entry).expect("it accepts");
    socket.set_read_timeout(Some(Duration::from_secs(10))).expect("it is a socket");
    socket
}

/// Says a byte, and returns when it has come back.
fn ask(mut socket: &TcpStream) -> Result<Nanos, ErrorKind> {
    let begun = now();
    let mut answer = [0];
    let heard = socket.write_all(b"x").and_then(|()| socket.read_exact(&mut answer));
    heard.map(|()| now().since(begun)).map_err(|error| error.kind())
}

#[test]
fn what_is_said_comes_through_whole() {
    let (proxy, entry) = proxied();
    let socket = connect(entry);
    let said: Vec<u8> = (0..3_000_000_u32).map(|number| (number % 251) as u8).collect();
    let mut heard = vec![0; said.len()];
    thread::scope(|scope| {
        scope.spawn(|| (&socket).write_all(&said).expect("it takes it"));
        (&socket).read_exact(&mut heard).expect("it answers");
    });
    assert!(said == heard);
    socket.shutdown(std::net::Shutdown::Write).expect("it is open");
    assert_eq!((&socket).read(&mut [0]).expect("it ends"), 0);
    verify(&proxy, &[NODE]).expect("nothing is wrong");
    assert!(!proxy.is_broken(NODE));
}

#[test]
fn a_delay_is_as_long_as_it_was_said_each_way() {
    let (proxy, entry) = proxied();
    let socket = connect(entry);
    ask(&socket).expect("it answers");
    proxy.change(&[NODE], Side::Clients, |rules, _| rules.set_delay("30ms"));
    verify(&proxy, &[NODE]).expect("it is late");
    let took = ask(&socket).expect("it answers");
    assert!(took >= Nanos::from_millis(60), "{took}");
    proxy.change(&[NODE + 1], Side::Clients, |rules, _| *rules = Rules::default());
    assert!(proxy.is_broken(NODE));
    proxy.change(&[NODE], Side::Clients, |rules, _| *rules = Rules::default());
    verify(&proxy, &[NODE]).expect("nothing is wrong");
}

#[test]
fn a_limit_makes_what_is_large_late() {
    let (proxy, entry) = proxied();
    proxy.change(&[NODE], Side::Clients, |rules, _| rules.set_limit("500kB/s"));
    verify(&proxy, &[NODE]).expect("it is slow");
    let socket = connect(entry);
    let begun = now();
    let mut heard = vec![0; 100_000];
    (&socket).write_all(&[1; 100_000]).expect("it takes it");
    (&socket).read_exact(&mut heard).expect("it answers");
    let took = now().since(begun);
    assert!(took >= Nanos::from_millis(190), "{took}");
}

#[test]
fn what_is_held_goes_on_when_it_is_healed() {
    for direction in [0, 1] {
        let (proxy, entry) = proxied();
        let socket = connect(entry);
        ask(&socket).expect("it answers");
        proxy.change(&[NODE], Side::Clients, |rules, _| rules.hold[direction] = true);
        verify(&proxy, &[NODE]).expect("it is silent");
        socket.set_read_timeout(Some(Duration::from_millis(100))).expect("it is a socket");
        assert_eq!(ask(&socket), Err(ErrorKind::WouldBlock));
        proxy.change(&[NODE], Side::Clients, |rules, _| *rules = Rules::default());
        socket.set_read_timeout(Some(Duration::from_secs(10))).expect("it is a socket");
        (&socket).read_exact(&mut [0]).expect("it comes late");
        ask(&socket).expect("it goes on");
    }
}

#[test]
fn what_is_held_while_its_receiver_has_no_room_goes_on_when_it_is_healed() {
    let (proxy, entry) = proxied();
    let socket = connect(entry);
    let said = vec![7; 20_000_000];
    let mut heard = vec![0; said.len()];
    thread::scope(|scope| {
        scope.spawn(|| (&socket).write_all(&said).expect("it takes it"));
        let (first, rest) = heard.split_at_mut(1_000_000);
        (&socket).read_exact(first).expect("it answers");
        proxy.change(&[NODE], Side::Clients, |rules, _| rules.hold = [true; 2]);
        // Meanwhile all that can be sent is sent.
        verify(&proxy, &[NODE]).expect("it is silent");
        proxy.change(&[NODE], Side::Clients, |rules, _| *rules = Rules::default());
        (&socket).read_exact(rest).expect("it goes on");
    });
    assert!(said == heard);
}

#[test]
fn a_proxy_has_as_many_files_as_it_may_have() {
    let (_proxy, _) = proxied();
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let least = maximum.unwrap_or(FILES_MAX).min(FILES_MAX);
    assert!(current.is_none_or(|current| current >= least), "{current:?} {maximum:?}");
}

#[test]
fn what_was_lost_ends_the_connection_when_it_is_healed() {
    let (proxy, entry) = proxied();
    let (torn, untouched) = (connect(entry), connect(entry));
    for socket in [&torn, &untouched] {
        ask(socket).expect("it answers");
    }
    proxy.change(&[NODE], Side::Clients, |rules, _| rules.is_lossy = true);
    verify(&proxy, &[NODE]).expect("it is silent");
    torn.set_read_timeout(Some(Duration::from_millis(100))).expect("it is a socket");
    assert_eq!(ask(&torn), Err(ErrorKind::WouldBlock));
    proxy.change(&[NODE], Side::Clients, |rules, _| *rules = Rules::default());
    torn.set_read_timeout(Some(Duration::from_secs(10))).expect("it is a socket");
    let ended = (&torn).read_exact(&mut [0]).map_err(|error| error.kind());
    assert_eq!(ended, Err(ErrorKind::ConnectionReset));
    ask(&untouched).expect("it goes on");
}

#[test]
fn a_half_open_link_accepts_and_never_answers() {
    let (proxy, entry) = proxied();
    let before = connect(entry);
    ask(&before).expect("it answers");
    proxy.change(&[NODE], Side::Clients, |rules, _| rules.is_deaf = true);
    verify(&proxy, &[NODE]).expect("it is silent");
    let socket = connect(entry);
    socket.set_read_timeout(Some(Duration::from_millis(100))).expect("it is a socket");
    assert_eq!(ask(&socket), Err(ErrorKind::WouldBlock));
    ask(&before).expect("what is open goes on");
    proxy.change(&[NODE], Side::Clients, |rules, _| *rules = Rules::default());
    socket.set_read_timeout(Some(Duration::from_secs(10))).expect("it is a socket");
    let ended = (&socket).read_exact(&mut [0]).map_err(|error| error.kind());
    assert_eq!(ended, Err(ErrorKind::ConnectionReset));
}

#[test]
fn a_reset_ends_what_is_open_and_lets_in_what_comes() {
    let (proxy, entry) = proxied();
    let socket = connect(entry);
    ask(&socket).expect("it answers");
    proxy.reset(&[NODE], Side::Clients);
    let ended = (&socket).read_exact(&mut [0]).map_err(|error| error.kind());
    assert_eq!(ended, Err(ErrorKind::ConnectionReset));
    ask(&connect(entry)).expect("it answers");
}

#[test]
fn a_node_that_is_down_resets_its_clients() {
    let mut proxy = Proxy::start(now).expect("it starts");
    let nobody = TcpListener::bind("127.0.0.1:0").expect("there is a port");
    let exit = nobody.local_addr().expect("it has one");
    drop(nobody);
    let place = USED.fetch_add(1, Ordering::Relaxed);
    let entry = proxy.link(NODE, Ipv4Addr::new(127, 43, place, 1), exit);
    let ended = ask(&connect(entry.expect("the address is free")));
    assert!(matches!(ended, Err(ErrorKind::ConnectionReset | ErrorKind::BrokenPipe)), "{ended:?}");
}

#[test]
fn a_link_between_nodes_has_rules_of_its_own() {
    let (mut proxy, entry) = proxied();
    let exit = proxy.links[0].exit;
    let SocketAddr::V4(address) = entry else { panic!("it is of IPv4") };
    let again = proxy.link_peers(NODE, 3, *address.ip(), exit).expect("it listens already");
    assert_eq!(again, entry);
    assert_eq!(proxy.links.len(), 3, "clients, node 2, node 3");
    let as_client = connect(entry);
    ask(&as_client).expect("nothing is wrong");
    // From now on this process is one of node 2.
    proxy.add_process(2, std::process::id());
    let as_peer = connect(entry);
    ask(&as_peer).expect("nothing is wrong");
    as_peer.set_read_timeout(Some(Duration::from_millis(200))).expect("it is a socket");
    proxy.change(&[2], Side::Peers, |rules, _| rules.hold = [true; 2]);
    assert_eq!(ask(&as_peer), Err(ErrorKind::WouldBlock));
    ask(&as_client).expect("clients have other rules");
    assert!(proxy.is_broken(NODE) && proxy.is_broken(2) && !proxy.is_broken(3));
    let described = ["connections of node 2 to node 1: requests are held, replies are held"];
    assert_eq!(proxy.describe(NODE), described);
    verify(&proxy, &[NODE, 2]).expect("the one link is silent, the others are not");
    proxy.heal(&[2]);
    let mut answer = [0];
    as_peer.set_read_timeout(Some(Duration::from_secs(10))).expect("it is a socket");
    (&as_peer).read_exact(&mut answer).expect("what was held goes on");
    assert!(!proxy.is_broken(NODE));
}

#[test]
fn directions_are_those_of_the_node_that_is_meant() {
    let (mut proxy, entry) = proxied();
    let SocketAddr::V4(address) = entry else { panic!("it is of IPv4") };
    let exit = proxy.links[0].exit;
    proxy.link_peers(NODE, 2, *address.ip(), exit).expect("it listens already");
    // What node 2 hears are the replies to what it has asked.
    proxy.change(&[2], Side::Peers, |rules, towards| rules.hold[towards] = true);
    assert_eq!(proxy.describe(NODE), ["connections of node 2 to node 1: replies are held"]);
    proxy.heal(&[2]);
    proxy.change(&[NODE], Side::Peers, |rules, towards| rules.hold[towards] = true);
    assert_eq!(proxy.describe(NODE), ["connections of node 2 to node 1: requests are held"]);
}
