//! SickStore's own YAML files, as its server reads them.
//!
//! The spelling `hickup` is theirs. Times are whole milliseconds. What concerns their server alone
//! (ports, logs, warm-up) is taken and means nothing here. What a write waits for, or where reads
//! go, is not in these files: with SickStore each client says so, here the URL does.

use assay_model::Nanos;

use super::config::{Config, Edge, Node, Staleness};
use super::delay::Delay;
use super::options::{read_tag_sets, texts, truth, unknown};
use super::queue::Hiccup;
use super::tree::{self, Tree, Wrong};

type Entries<'a> = &'a [(String, usize, Tree)];

impl Config {
    /// A store as one of SickStore's YAML files describes it.
    ///
    /// # Errors
    /// If it is no YAML, or says something that SickStore would not know, with the line.
    pub fn from_sickstore(text: &str, name: &str) -> Result<Config, Wrong> {
        let tree = tree::from_yaml(text)?;
        let mut config = Config { name: name.to_owned(), nodes: Vec::new(), ..Config::default() };
        for (name, line, value) in tree.table()? {
            match name.as_str() {
                "class" => class(value, &["SickStoreServer", "SickServer"])?,
                "port" | "tcpNoDelay" => drop(value.text()?),
                "queryHandler" => config.read_query(value)?,
                _ => return Err(Wrong::at(*line, unknown(name, ["port", "queryHandler"]))),
            }
        }
        config.check().map_err(|reason| Wrong::at(1, reason))?;
        Ok(config)
    }

    fn read_query(&mut self, tree: &Tree) -> Result<(), Wrong> {
        for (name, line, value) in tree.table()? {
            match name.as_str() {
                "class" => class(value, &["QueryHandler"])?,
                "warmup" | "logstaleness" | "loglatency" | "printstatus" => drop(value.text()?),
                "anomalyGenerator" => self.read_anomalies(value)?,
                "nodes" => {
                    self.nodes = value.list()?.iter().map(node).collect::<Result<_, Wrong>>()?;
                }
                _ => {
                    let known = ["class", "warmup", "anomalyGenerator", "nodes", "logstaleness"];
                    return Err(Wrong::at(*line, unknown(name, known)));
                }
            }
        }
        Ok(())
    }

    fn read_anomalies(&mut self, tree: &Tree) -> Result<(), Wrong> {
        for (name, line, value) in tree.table()? {
            match name.as_str() {
                "class" => class(value, &["BasicAnomalyGenerator"])?,
                "combinedGenerator" => self.read_generator(value, &["MongoDbAnomalies"])?,
                "stalenessGenerator" => {
                    self.read_generator(value, &["ConstantStaleness", "MongoDbAnomalies"])?;
                }
                "clientDelayGenerator" => {
                    self.read_generator(value, &["ZeroClientDelay", "MongoDbClientDelay"])?;
                }
                _ => {
                    let known = ["combinedGenerator", "stalenessGenerator", "clientDelayGenerator"];
                    return Err(Wrong::at(*line, unknown(name, known)));
                }
            }
        }
        Ok(())
    }

    /// A generator: the name of its class alone, or with its properties.
    fn read_generator(&mut self, tree: &Tree, classes: &[&str]) -> Result<(), Wrong> {
        let entries: Entries<'_> = match tree.table() {
            Ok(entries) => entries,
            Err(_) => return class(tree, classes),
        };
        for (name, line, value) in entries {
            match name.as_str() {
                "class" => class(value, classes)?,
                "defaultDelay" => self.replication = Delay::Constant(value.read(ms)?),
                "journalCommitInterval" => self.journal_interval = value.read(ms)?,
                "customDelays" => {
                    self.edges = value.list()?.iter().map(edge).collect::<Result<_, Wrong>>()?;
                }
                "tagSets" => self.tag_sets = read_tag_sets(value)?,
                "ownReads" => self.staleness_of_both().own = value.read(ms)?,
                "foreignReads" => self.staleness_of_both().foreign = value.read(ms)?,
                _ => {
                    let known = [
                        "class",
                        "defaultDelay",
                        "journalCommitInterval",
                        "customDelays",
                        "tagSets",
                        "ownReads",
                        "foreignReads",
                    ];
                    return Err(Wrong::at(*line, unknown(name, known)));
                }
            }
        }
        Ok(())
    }

    fn staleness_of_both(&mut self) -> &mut Staleness {
        self.staleness.get_or_insert(Staleness { own: Nanos::ZERO, foreign: Nanos::ZERO })
    }
}

/// A class that we know by the last word of its name.
fn class(tree: &Tree, known: &[&str]) -> Result<(), Wrong> {
    tree.read(|name| {
        let last = name.rsplit('.').next().unwrap_or(name);
        if last == "ShardingRouter" {
            return Err("shards are not simulated; describe one of them".into());
        }
        match known.contains(&last) {
            true => Ok(()),
            false => Err(format!("class {last} is not simulated here; {} is", known.join(" or "))),
        }
    })
}

fn ms(text: &str) -> Result<Nanos, String> {
    let wrong = || format!("{text:?} is no whole number of milliseconds");
    let ms: u64 = text.parse().map_err(|_| wrong())?;
    // A year, as everywhere else.
    if ms > 365 * 86_400_000 {
        return Err(format!("{text} ms are longer than a year"));
    }
    Ok(Nanos::from_millis(ms))
}

fn edge(tree: &Tree) -> Result<Edge, Wrong> {
    let [from, to, delay] = tree.list()? else {
        return Err(Wrong::at(tree.line, "a custom delay is [from, to, milliseconds]"));
    };
    let name = |tree: &Tree| tree.text().map(str::to_owned);
    Ok(Edge { from: name(from)?, to: name(to)?, delay: Delay::Constant(delay.read(ms)?) })
}

fn node(tree: &Tree) -> Result<Node, Wrong> {
    let mut node = Node::new("", false);
    for (name, line, value) in tree.table()? {
        match name.as_str() {
            "class" => class(value, &["Node"])?,
            "name" => node.name = value.text()?.to_owned(),
            "primary" => node.is_primary = value.read(truth)?,
            "clientLatency" => node.latency = Delay::Constant(value.read(ms)?),
            "throughput" => read_throughput(&mut node, value)?,
            "tags" => node.tags = texts(value)?,
            _ => {
                let known = ["class", "name", "primary", "clientLatency", "throughput", "tags"];
                return Err(Wrong::at(*line, unknown(name, known)));
            }
        }
    }
    if node.name.is_empty() {
        return Err(Wrong::at(tree.line, "a node has no name"));
    }
    Ok(node)
}

fn read_throughput(node: &mut Node, tree: &Tree) -> Result<(), Wrong> {
    let (mut after, mut length, mut is_periodic) = (Nanos::ZERO, Nanos::ZERO, false);
    for (name, line, value) in tree.table()? {
        match name.as_str() {
            "max" => node.max = value.read(super::quantity::capacity)?,
            "hickupAfter" => after = value.read(ms)?,
            "hickupDuration" => length = value.read(ms)?,
            "periodically" => is_periodic = value.read(truth)?,
            _ => {
                let known = ["max", "hickupAfter", "hickupDuration", "periodically"];
                return Err(Wrong::at(*line, unknown(name, known)));
            }
        }
    }
    // With either of them 0 SickStore has no hiccup.
    let is_there = after > Nanos::ZERO && length > Nanos::ZERO;
    node.hiccup = is_there.then_some(Hiccup { after, length, is_periodic });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::presets;

    const MAIN: &str = "\
class: de.unihamburg.sickstore.database.SickStoreServer
port: 54000
queryHandler:
    class: de.unihamburg.sickstore.backend.QueryHandler
    warmup: 0
    logstaleness: true
    loglatency: true
    anomalyGenerator:
        class: de.unihamburg.sickstore.backend.anomaly.BasicAnomalyGenerator
        combinedGenerator:
            class: de.unihamburg.sickstore.backend.anomaly.MongoDbAnomalies
            defaultDelay: 7
            journalCommitInterval: 300
            customDelays:
                # to, from, delay
                - [primary, secondary1, 2]
                - [secondary1, primary, 4]
            tagSets:
                foobar:
                    A: 1
                    B: 2
    nodes:
       -
           class: de.unihamburg.sickstore.database.Node
           name: primary
           primary: true
           clientLatency: 3
           throughput:
               max: 1250.0
               hickupAfter: 30000
               hickupDuration: 1000
               periodically: false
           tags:
               - A
               - B
       -
           name: secondary1
           throughput: { max: 1250.0, hickupAfter: 0, hickupDuration: 0 }
           tags: [A]
";

    #[test]
    fn a_file_of_theirs_is_understood() {
        let config = Config::from_sickstore(MAIN, "main.yml").unwrap();
        let ms = |ms| Delay::Constant(Nanos::from_millis(ms));
        let [primary, secondary] = &config.nodes[..] else { panic!("two nodes") };
        let preset = presets::find("hickup1000_max1250").unwrap();
        assert_eq!((primary.max, primary.hiccup), (1250.0, preset.nodes[0].hiccup));
        assert_eq!((primary.is_primary, secondary.is_primary), (true, false));
        assert_eq!((secondary.hiccup, &secondary.tags[..]), (None, &["A".to_owned()][..]));
        assert_eq!((&primary.latency, &config.replication), (&ms(3), &ms(7)));
        assert_eq!((config.edges.len(), &config.edges[1].delay), (2, &ms(4)));
        assert_eq!(config.tag_sets["foobar"]["B"], 2);
        assert_eq!((config.journaled, config.journal_interval), (false, Nanos::from_millis(300)));
    }

    #[test]
    fn constant_staleness_is_understood() {
        let text = "queryHandler:\n  anomalyGenerator:\n    stalenessGenerator:\n      class: \
                    x.ConstantStaleness\n      foreignReads: 500\n      ownReads: 0\n    \
                    clientDelayGenerator: ZeroClientDelay\n  nodes:\n  - {name: p, primary: true}";
        let config = Config::from_sickstore(text, "old.yml").unwrap();
        let foreign = Nanos::from_millis(500);
        assert_eq!(config.staleness, Some(Staleness { own: Nanos::ZERO, foreign }));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for (from, to, line, reported) in [
            ("hickupAfter: 30000", "hiccupAfter: 30000", 30, "did you mean `hickupAfter`?"),
            ("defaultDelay: 7", "defaultDelay: 7.5", 12, "whole number of milliseconds"),
            ("backend.QueryHandler", "backend.ShardingRouter", 4, "shards are not simulated"),
            ("[primary, secondary1, 2]", "[primary, secondary1]", 16, "[from, to, milliseconds]"),
            ("[primary, secondary1, 2]", "[primary, nobody, 2]", 1, "names node \"nobody\""),
            ("max: 1250.0\n", "max: fast\n", 29, "is no capacity"),
        ] {
            let wrong = Config::from_sickstore(&MAIN.replace(from, to), "f").unwrap_err();
            assert_eq!(wrong.line, line, "{to}: {}", wrong.reason);
            assert!(wrong.reason.contains(reported), "{to}: {}", wrong.reason);
        }
    }
}
