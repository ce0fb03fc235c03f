//! The options of a simulated store, whose names are the same in a URL's query as in our TOML.

use assay_model::{Nanos, Seed};

use super::config::{Config, Node, ReadFrom, Staleness, Ties, Updates, WriteConcern};
use super::fault_model::FaultModel;
use super::presets;
use super::quantity::{capacity, length, spell};
use super::queue::{Grain, Hiccup};
use super::tree::{self, Tree, Wrong};
use assay_model::closest;

/// The names of all options that have a single value, but those of the faults.
pub const NAMES: [&str; 22] = [
    "seed",
    "compat",
    "clock",
    "own_service",
    "updates",
    "ties",
    "strict",
    "read_from",
    "write_concern",
    "journaled",
    "journal_interval",
    "replication",
    "own",
    "foreign",
    "nodes",
    "latency",
    "max",
    "hiccup",
    "down",
    "truth",
    "versions",
    "bytes",
];

/// What a file has beyond those.
const SECTIONS: [&str; 3] = ["preset", "edges", "tag_sets"];

/// The names of what can be said of one node.
const OF_NODES: [&str; 8] =
    ["name", "primary", "latency", "max", "hiccup", "hickup", "tags", "down"];

impl Config {
    /// Changes one option, spelled as in a URL: `max` and `1250`, or `lost` and `1%`.
    ///
    /// # Errors
    /// If there is no such option or the value is invalid, with a sentence.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        if let Some(fault_rate) = self.fault_model.get_mut(name) {
            *fault_rate = value.parse()?;
            return Ok(());
        }
        match name {
            "seed" => self.seed = Some(Seed(whole(value)?)),
            "compat" => self.imitate(value)?,
            "clock" => {
                self.clock = choice(value, [("ns", Grain::Exact), ("ms", Grain::Milliseconds)])?;
            }
            "own_service" => self.own_service = truth(value)?,
            "updates" => {
                let known = [("merge", Updates::Merge), ("replace", Updates::Replace)];
                self.updates = choice(value, known)?;
            }
            "ties" => {
                self.ties = choice(value, [("kept", Ties::Kept), ("collapsed", Ties::Collapsed)])?;
            }
            "strict" => self.strict = truth(value)?,
            "read_from" => self.read_from = read_from(value),
            "write_concern" => self.write_concern = write_concern(value),
            "journaled" => self.journaled = truth(value)?,
            "journal_interval" => self.journal_interval = length(value)?,
            "replication" => self.replication = value.parse()?,
            "own" => self.staleness_mut().own = length(value)?,
            "foreign" => self.staleness_mut().foreign = length(value)?,
            "truth" => self.limits.truth = whole(value)? as usize,
            "versions" => self.limits.versions = whole(value)? as usize,
            "bytes" => self.limits.bytes = whole(value)? as usize,
            "nodes" => self.resize(whole(value)?)?,
            "latency" | "max" | "hiccup" | "hickup" => {
                self.nodes.iter_mut().try_for_each(|node| set_node(node, name, value))?;
            }
            "down" => self.take_down(value)?,
            _ => return Err(unknown(name, NAMES.iter().chain(FaultModel::NAMES).copied())),
        }
        Ok(())
    }

    fn staleness_mut(&mut self) -> &mut Staleness {
        self.staleness.get_or_insert(Staleness { own: Nanos::ZERO, foreign: Nanos::ZERO })
    }

    /// Everything that SickStore does otherwise than we hold to be right, as it does it.
    fn imitate(&mut self, what: &str) -> Result<(), String> {
        choice(what, [("sickstore", ())])?;
        self.clock = Grain::Milliseconds;
        self.own_service = false;
        self.updates = Updates::Replace;
        self.ties = Ties::Collapsed;
        self.strict = true;
        Ok(())
    }

    /// So many nodes like the first, of which that is the primary.
    fn resize(&mut self, count: u64) -> Result<(), String> {
        if !(1..=100).contains(&count) {
            return Err(format!("{count} nodes are none, or more than 100"));
        }
        let like = self.nodes.first().cloned().unwrap_or_else(|| Node::new("primary", true));
        let node = |number| match number {
            0 => Node { name: "primary".into(), is_primary: true, ..like.clone() },
            _ => Node { name: format!("secondary{number}"), is_primary: false, ..like.clone() },
        };
        self.nodes = (0..count).map(node).collect();
        Ok(())
    }

    /// `NAME:10s..20s`: the node of this name is down meanwhile.
    fn take_down(&mut self, value: &str) -> Result<(), String> {
        let (name, window) = value
            .split_once([':', ' '])
            .ok_or_else(|| format!("{value:?} names no node and time; write primary:10s..20s"))?;
        let names: Vec<String> = self.nodes.iter().map(|node| node.name.clone()).collect();
        let node = self.nodes.iter_mut().find(|node| node.name == name);
        let node = node.ok_or_else(|| unknown(name, names.iter().map(String::as_str)))?;
        node.down.push(window.trim().parse()?);
        Ok(())
    }

    /// Changes every option of a URL's query such as `max=5000&lost=1%`.
    ///
    /// # Errors
    /// If one of them is unknown or is invalid, with a sentence.
    pub fn set_all(&mut self, query: &str) -> Result<(), String> {
        for option in query.split('&').filter(|option| !option.is_empty()) {
            let (name, value) = option
                .split_once('=')
                .ok_or_else(|| format!("{option:?} has no value; write {option}=…"))?;
            let value = decoded(value);
            self.set(name, &value).map_err(|reason| format!("{name}: {reason}"))?;
        }
        self.check()
    }

    /// A store as our TOML describes it; see `docs/simulated-store.md`.
    ///
    /// # Errors
    /// If it is no TOML or something in it is invalid, with the line.
    pub fn from_toml(text: &str, name: &str) -> Result<Config, Wrong> {
        let tree = tree::from_toml(text)?;
        let mut config = Config::default();
        let sections = tree.table()?;
        let section = |expected: &str| {
            sections.iter().find(|(name, ..)| name == expected).map(|(_, line, tree)| (*line, tree))
        };
        if let Some((_, preset)) = section("preset") {
            config = preset.read(|name| {
                presets::find(name).ok_or_else(|| format!("there is no preset {name:?}"))
            })?;
        }
        config.name = name.to_owned();
        let is_list_of_nodes = |tree: &Tree| tree.list().is_ok();
        // What is said of all nodes comes first, so that each can differ from it; when nodes are
        // down comes last, because it names them.
        for (name, line, tree) in sections {
            let is_later = name == "down" || SECTIONS.contains(&name.as_str());
            if is_later || (name == "nodes" && is_list_of_nodes(tree)) {
                continue;
            }
            let known = NAMES.iter().chain(FaultModel::NAMES).chain(&SECTIONS).chain(&["hickup"]);
            if !known.clone().any(|known| known == name) {
                return Err(Wrong::at(*line, unknown(name, known.copied())));
            }
            tree.read(|value| config.set(name, value).map_err(|why| format!("{name}: {why}")))?;
        }
        if let Some((_, nodes)) = section("nodes").filter(|(_, tree)| is_list_of_nodes(tree)) {
            config.read_nodes(nodes)?;
        }
        if let Some((_, edges)) = section("edges") {
            config.edges = edges.list()?.iter().map(edge).collect::<Result<_, Wrong>>()?;
        }
        if let Some((_, tag_sets)) = section("tag_sets") {
            config.tag_sets = read_tag_sets(tag_sets)?;
        }
        if let Some((_, down)) = section("down") {
            for one in down.list().unwrap_or(std::slice::from_ref(down)) {
                one.read(|value| config.take_down(value))?;
            }
        }
        config.check().map_err(|reason| Wrong::at(1, reason))?;
        Ok(config)
    }

    fn read_nodes(&mut self, tree: &Tree) -> Result<(), Wrong> {
        let like = self.nodes.first().cloned().unwrap_or_else(|| Node::new("", true));
        let list = tree.list()?;
        let mut nodes = Vec::with_capacity(list.len());
        for described in list {
            let mut node = Node { name: String::new(), is_primary: false, ..like.clone() };
            for (name, line, value) in described.table()? {
                match name.as_str() {
                    "tags" => node.tags = texts(value)?,
                    "down" => {
                        for window in value.list().unwrap_or(std::slice::from_ref(value)) {
                            node.down.push(window.read(str::parse)?);
                        }
                    }
                    name if OF_NODES.contains(&name) => {
                        value.read(|text| set_node(&mut node, name, text))?;
                    }
                    name => return Err(Wrong::at(*line, unknown(name, OF_NODES))),
                }
            }
            if node.name.is_empty() {
                return Err(Wrong::at(described.line, "a node has no name"));
            }
            nodes.push(node);
        }
        self.nodes = nodes;
        Ok(())
    }
}

fn set_node(node: &mut Node, name: &str, value: &str) -> Result<(), String> {
    match name {
        "name" => node.name = value.to_owned(),
        "primary" => node.is_primary = truth(value)?,
        "latency" => node.latency = value.parse()?,
        "max" => node.max = capacity(value)?,
        "hiccup" | "hickup" => node.hiccup = hiccup(value)?,
        _ => return Err(unknown(name, OF_NODES)),
    }
    Ok(())
}

/// `30s for 1s`, `every 30s for 1s`, or `never`.
fn hiccup(text: &str) -> Result<Option<Hiccup>, String> {
    let spaced = text.replace(':', " ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let (after, long, is_periodic) = match words[..] {
        ["never"] => return Ok(None),
        [after, "for", long] => (after, long, false),
        ["every", after, "for", long] => (after, long, true),
        _ => {
            let forms = "write `30s for 1s`, `every 30s for 1s` or `never`";
            return Err(format!("{text:?} is no hiccup; {forms}"));
        }
    };
    Ok(Some(Hiccup { after: length(after)?, length: length(long)?, is_periodic }))
}

impl std::fmt::Display for Hiccup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let every = if self.is_periodic { "every " } else { "" };
        write!(f, "{every}{} for {}", spell(self.after), spell(self.length))
    }
}

/// `["primary", "secondary1", "2ms"]`: from, to, how long.
fn edge(tree: &Tree) -> Result<super::config::Edge, Wrong> {
    let [from, to, delay] = tree.list()? else {
        return Err(Wrong::at(tree.line, "a way is three values: from, to, delay"));
    };
    let name = |tree: &Tree| tree.text().map(str::to_owned);
    Ok(super::config::Edge { from: name(from)?, to: name(to)?, delay: delay.read(str::parse)? })
}

pub(super) type TagSets =
    std::collections::BTreeMap<String, std::collections::BTreeMap<String, u16>>;

/// Name → tag → acknowledgements.
pub(super) fn read_tag_sets(tree: &Tree) -> Result<TagSets, Wrong> {
    let mut tag_sets = TagSets::new();
    for (name, _, tags) in tree.table()? {
        let set = tag_sets.entry(name.clone()).or_default();
        for (tag, _, count) in tags.table()? {
            let count = count.read(|text| {
                text.parse().map_err(|_| format!("{text:?} is no number of acknowledgements"))
            })?;
            set.insert(tag.clone(), count);
        }
    }
    Ok(tag_sets)
}

pub(super) fn texts(tree: &Tree) -> Result<Vec<String>, Wrong> {
    tree.list()?.iter().map(|one| one.text().map(str::to_owned)).collect()
}

fn read_from(text: &str) -> ReadFrom {
    match text {
        "primary" => ReadFrom::Primary,
        "secondary" => ReadFrom::Secondary,
        "nearest" => ReadFrom::Nearest,
        "any" => ReadFrom::Any,
        name => ReadFrom::Node(name.to_owned()),
    }
}

fn write_concern(text: &str) -> WriteConcern {
    match (text, text.parse()) {
        ("majority", _) => WriteConcern::Majority,
        (_, Ok(count)) => WriteConcern::Count(count),
        (name, Err(_)) => WriteConcern::TagSet(name.to_owned()),
    }
}

fn choice<T, const N: usize>(text: &str, known: [(&str, T); N]) -> Result<T, String> {
    let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
    let found = known.into_iter().find(|(name, _)| *name == text).map(|(_, value)| value);
    found.ok_or_else(|| format!("{text:?} is none of {}", names.join(", ")))
}

pub(super) fn truth(text: &str) -> Result<bool, String> {
    choice(text, [("true", true), ("false", false)])
}

fn whole(text: &str) -> Result<u64, String> {
    text.replace('_', "").parse().map_err(|_| format!("{text:?} is no whole number"))
}

/// That `name` is not one of `known`, with the one that may be meant.
pub(super) fn unknown<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    match closest(name, known) {
        Some(near) => format!("there is no `{name}` here; did you mean `{near}`?"),
        None => format!("there is no `{name}` here"),
    }
}

/// A value of a URL's query: `+` is a space, `%` with two hexadecimal digits a byte. A `%` without
/// them is itself, so that `1%` needs no care.
fn decoded(value: &str) -> String {
    let bytes = value.as_bytes();
    let mut into = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let digits = value.get(at + 1..at + 3).filter(|_| byte == b'%');
        let coded = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        into.push(coded.unwrap_or(if byte == b'+' { b' ' } else { byte }));
        at += if coded.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&into).into_owned()
}

#[cfg(test)]
mod tests;
