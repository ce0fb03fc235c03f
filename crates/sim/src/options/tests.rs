//! Options in, configurations or complaints out.

use super::*;
use crate::delay::Delay;

fn with(query: &str) -> Config {
    let mut config = Config::default();
    config.set_all(query).unwrap_or_else(|reason| panic!("{query}: {reason}"));
    config
}

fn complaint(query: &str) -> String {
    Config::default().set_all(query).expect_err(query)
}

#[test]
fn a_query_changes_what_it_names() {
    let config = with("nodes=5&max=5k&latency=2ms&seed=3&refused=1%&read_from=secondary");
    assert_eq!(config.nodes.len(), 5);
    assert!(config.nodes.iter().all(|node| node.max == 5000.0));
    assert_eq!(config.nodes[4].latency, Delay::Constant(Nanos::from_millis(2)));
    assert_eq!((config.seed, config.read_from), (Some(Seed(3)), ReadFrom::Secondary));
    assert_eq!(config.fault_model.refused.rate, 0.01);
}

#[test]
fn spaces_of_a_query_are_spelled_in_three_ways() {
    for query in ["hiccup=30s:for:1s", "hiccup=30s+for+1s", "hiccup=30s%20for%201s"] {
        let hiccup = with(query).nodes[0].hiccup.unwrap();
        assert_eq!(hiccup.to_string(), "30s for 1s", "{query}");
    }
    assert_eq!(
        with("hiccup=every:5s:for:1s").nodes[0].hiccup.unwrap().to_string(),
        "every 5s for 1s"
    );
    assert_eq!(with("hiccup=30s:for:1s&hiccup=never").nodes[0].hiccup, None);
}

#[test]
fn sickstore_is_imitated_by_one_option() {
    let config = with("compat=sickstore");
    assert_eq!((config.clock, config.own_service), (Grain::Milliseconds, false));
    assert_eq!(
        (config.updates, config.ties, config.strict),
        (Updates::Replace, Ties::Collapsed, true)
    );
}

#[test]
fn wrong_options_say_what_would_be_right() {
    for (query, reported) in [
        ("reufsed=1%", "reufsed: there is no `reufsed` here; did you mean `refused`?"),
        ("max=fast", "max: \"fast\" is no capacity"),
        ("lost=2", "lost: 2 is no share"),
        ("clock=us", "clock: \"us\" is none of ns, ms"),
        ("seed", "\"seed\" has no value"),
        ("down=secondray1:1s..", "did you mean `secondary1`?"),
        ("read_from=mars", "read_from names node \"mars\""),
        ("write_concern=foobar", "names tag set \"foobar\""),
        ("nodes=0", "nodes: 0 nodes are none"),
        ("nodes=1&read_from=secondary", "there is only one node"),
        ("hiccup=every:0:for:1s", "come every 0 ns"),
    ] {
        assert!(complaint(query).contains(reported), "{query}: {}", complaint(query));
    }
}

const FILE: &str = r#"
preset = "hickup1000_max1250"
seed = 9
write_concern = "foobar"
replication = "exponential 5ms"
lost = "1% 10s..20s"
torn = 0.5
max = 800
down = ["b 1s..2s"]

edges = [["a", "b", "2ms"]]

[[nodes]]
name = "a"
primary = true
tags = ["x"]

[[nodes]]
name = "b"
max = 100
hiccup = "never"
down = ["5s..6s"]

[tag_sets.foobar]
x = 1
"#;

#[test]
fn a_file_says_everything() {
    let config = Config::from_toml(FILE, "ill.toml").unwrap();
    let [a, b] = &config.nodes[..] else { panic!("two nodes") };
    assert_eq!((a.max, b.max), (800.0, 100.0));
    assert_eq!(a.hiccup.unwrap().to_string(), "30s for 1s", "as the preset");
    assert_eq!((b.hiccup, b.down.len()), (None, 2));
    assert_eq!((config.edges.len(), config.seed), (1, Some(Seed(9))));
    assert_eq!(config.write_concern, WriteConcern::TagSet("foobar".into()));
    assert_eq!(config.fault_model.lost.to_string(), "0.01 10s..20s");
    assert_eq!(config.name, "ill.toml");
}

#[test]
fn what_is_wrong_in_a_file_is_said_with_its_line() {
    for (from, to, line, reported) in [
        ("seed = 9", "sede = 9", 3, "did you mean `seed`?"),
        ("torn = 0.5", "torn = 1.5", 7, "torn: 1.5 is no share"),
        ("tags = [\"x\"]", "tag = [\"x\"]", 16, "did you mean `tags`?"),
        ("max = 100\n", "max = \"fast\"\n", 20, "is no capacity"),
        ("\"2ms\"]", "\"2\"]", 11, "is no delay"),
        ("\nx = 1", "\nx = -1", 25, "is no number of acknowledgements"),
        ("seed = 9", "seed = ", 3, ""),
        ("\"hickup1000_max1250\"", "\"hickup\"", 2, "there is no preset"),
        ("name = \"b\"", "name = \"c\"", 9, "there is no `b` here"),
        ("name = \"a\"", "name = \"b\"", 1, "two nodes are called \"b\""),
    ] {
        let wrong = Config::from_toml(&FILE.replacen(from, to, 1), "f").unwrap_err();
        assert_eq!(wrong.line, line, "{to}: {}", wrong.reason);
        assert!(wrong.reason.contains(reported), "{to}: {}", wrong.reason);
    }
}

const PAGE: &str = include_str!("../../../../docs/simulated-store.md");

#[test]
fn the_file_in_the_documentation_is_understood() {
    let file = PAGE.split("```toml").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let config = Config::from_toml(file, "docs/simulated-store.md").unwrap();
    assert_eq!((config.nodes.len(), config.edges.len(), config.tag_sets.len()), (2, 2, 1));
    assert_eq!(config.nodes[1].down[0].to_string(), "20s..25s");
    assert_eq!((config.nodes[0].max, config.nodes[1].max), (1250.0, 1250.0), "of the preset");
}

#[test]
fn the_documentation_has_every_option() {
    for name in NAMES.iter().chain(FaultModel::NAMES) {
        assert!(PAGE.contains(&format!("`{name}`")), "{name}");
    }
    for fault in assay_store::truth::Fault::ALL {
        assert!(PAGE.contains(&format!("`{}`", fault.name())), "{}", fault.name());
    }
}
