//! Settings of a simulated store that a reader of its figures must know.

use assay_model::Setting;

use super::config::{Config, Node, ReadFrom, Staleness, Ties, Updates, WriteConcern};
use super::fault_model::FaultModel;
use super::quantity::spell;
use super::queue::Grain;
use super::world::World;

/// Every setting that is not that of a healthy store, spelled as the option that sets it, then
/// what could not be kept.
pub(super) fn tell(world: &World) -> Vec<Setting> {
    let config = world.config();
    let mut settings = vec![
        Setting::new("sim", &config.name, "a simulated store, faulty as its description says"),
        Setting::new("seed", world.seed().to_string(), "decides everything random in the store"),
    ];
    settings.extend(config.nodes.iter().map(node));
    settings.extend(ways(config));
    settings.extend(rules(config));
    for name in FaultModel::NAMES {
        let fault_rate = config.fault_model.get(name).expect("every name is that of a fault");
        if fault_rate.is_on() {
            settings.push(Setting::new(*name, fault_rate.to_string(), "a fault, with its rate"));
        }
    }
    let counted = [
        ("truth lost", world.log().lost(), "requests that the truth log had no room for"),
        ("versions forgotten", world.forgotten(), "some node had still to show them"),
    ];
    for (name, count, meaning) in counted.into_iter().filter(|(_, count, _)| *count > 0) {
        settings.push(Setting::new(name, count.to_string(), meaning));
    }
    settings
}

fn node(node: &Node) -> Setting {
    let mut reported = vec![format!("latency {}", node.latency)];
    reported.push(match node.max {
        0.0 => "no limit".into(),
        max => format!("{max} requests/s"),
    });
    reported.extend(node.hiccup.map(|hiccup| format!("hiccup {hiccup}")));
    reported.extend(node.down.iter().map(|window| format!("down {window}")));
    if !node.tags.is_empty() {
        reported.push(format!("tags {}", node.tags.join(" ")));
    }
    let role = if node.is_primary { "takes the writes" } else { "a replica" };
    Setting::new(format!("node {}", node.name), reported.join(", "), role)
}

/// How writes travel, who waits for them, which replica is read.
fn ways(config: &Config) -> Vec<Setting> {
    let mut reported = Vec::new();
    let mut tell = |name: &str, value: String, meaning: &str| {
        reported.push(Setting::new(name, value, meaning));
    };
    if !config.replication.is_none() {
        let meaning = "the way from one node to another, if nothing else is said";
        tell("replication", config.replication.to_string(), meaning);
    }
    for edge in &config.edges {
        let name = format!("way {} to {}", edge.from, edge.to);
        tell(&name, edge.delay.to_string(), "how long a message takes");
    }
    if let Some(Staleness { own, foreign }) = config.staleness {
        tell("own", spell(own), "until the node that took a write shows it");
        tell("foreign", spell(foreign), "until the others show a write");
    }
    let concern = match &config.write_concern {
        WriteConcern::Count(count) => count.to_string(),
        WriteConcern::Majority => "majority".into(),
        WriteConcern::TagSet(name) => {
            let tags = config.tag_sets.get(name).into_iter().flatten();
            let tags: Vec<String> = tags.map(|(tag, count)| format!("{tag} {count}")).collect();
            format!("{name}: {}", tags.join(", "))
        }
    };
    if concern != "1" {
        tell("write_concern", concern, "nodes that a write waits for, the primary included");
    }
    if config.journaled {
        let meaning = "a write waits until the next third of it ends";
        tell("journal_interval", spell(config.journal_interval), meaning);
    }
    let read_from = match &config.read_from {
        ReadFrom::Primary => return reported,
        ReadFrom::Secondary => "secondary",
        ReadFrom::Nearest => "nearest",
        ReadFrom::Any => "any",
        ReadFrom::Node(name) => name,
    };
    tell("read_from", read_from.into(), "who answers reads: they may be stale");
    reported
}

/// Where it keeps to SickStore's rules instead of ours.
fn rules(config: &Config) -> Vec<Setting> {
    let reported = [
        (config.clock == Grain::Milliseconds, "clock", "ms", "waits in whole milliseconds"),
        (!config.own_service, "own_service", "false", "waits leave a request's own service out"),
        (
            config.updates == Updates::Replace,
            "updates",
            "replace",
            "an update removes the fields that it does not name",
        ),
        (
            config.ties == Ties::Collapsed,
            "ties",
            "collapsed",
            "replicas with equal delays count as one",
        ),
        (config.strict, "strict", "true", "inserts over a record and changes of none are refused"),
    ];
    let kept = reported.into_iter().filter(|(is_so, ..)| *is_so);
    kept.map(|(_, name, value, meaning)| Setting::new(name, value, meaning)).collect()
}
