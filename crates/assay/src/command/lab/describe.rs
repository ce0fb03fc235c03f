//! A lab in words or as JSON.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Result;
use assay_lab::{LabClient, LabEntry, LabStatus, NodeRecord, NodeState, Record, Usage};
use assay_model::Nanos;
use assay_report::table::{Align, Table};
use assay_report::units::{Letters, duration};
use serde_json::{Value, json};

/// A lab as far as it could be seen.
pub struct LabView {
    found: LabEntry,
    status: Option<LabStatus>,
    /// Why there is no status of a lab that is held.
    silence: Option<String>,
}

/// The state of a lab; of one that is gone, from its folder.
pub fn look(found: LabEntry) -> LabView {
    if !found.is_held {
        return LabView { found, status: None, silence: None };
    }
    match LabClient::of(found.clone()).and_then(|client| client.status()) {
        Ok(status) => LabView { found, status: Some(status), silence: None },
        Err(error) => LabView { found, status: None, silence: Some(format!("{error:#}")) },
    }
}

/// Labs under one another.
pub fn text(observed: &[LabView]) -> String {
    let displayed: Vec<String> = observed.iter().map(one_seen).collect();
    displayed.join("\n")
}

fn one_seen(observed: &LabView) -> String {
    let LabEntry { name, folder, .. } = &observed.found;
    match (&observed.status, &observed.silence) {
        (Some(status), _) => one(status, folder),
        (None, Some(silence)) => format!("{name}: {silence}\n  folder  {}\n", folder.display()),
        (None, None) => gone(name, folder),
    }
}

/// A lab whose supervisor was killed, or that did not come up.
fn gone(name: &str, folder: &Path) -> String {
    let what = match Record::read(folder) {
        Ok(Some(record)) => format!(" ({} {})", record.store, record.version),
        Ok(None) => String::new(),
        Err(error) => format!(" ({error})"),
    };
    format!(
        "{name}: gone{what}; nothing of it runs any more\n  folder  {}\n  next    assay lab logs \
         {name}, assay lab down {name}\n",
        folder.display()
    )
}

/// A lab whose supervisor responds.
pub fn one(status: &LabStatus, folder: &Path) -> String {
    let mut text = headline(status);
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "  {name:<8}{value}");
    };
    let Some(record) = &status.record else {
        line("folder", &folder.display().to_string());
        return text;
    };
    line("url", &record.url);
    line("folder", &folder.display().to_string());
    line("kept by", &format!("process {}", status.supervisor));
    match &status.parent {
        Some(parent) => line("ends", &format!("with process {} ({})", parent.pid, parent.name)),
        None => line("ends", &format!("by `assay lab down {}`", status.name)),
    }
    status.broken.iter().for_each(|what| line("broken", what));
    for row in nodes(record, &status.states).lines() {
        let _ = writeln!(text, "  {row}");
    }
    text
}

fn headline(status: &LabStatus) -> String {
    let LabStatus { name, doing, record, ready_ms, .. } = status;
    let what = match record {
        Some(record) => format!(" {} {}, {}", record.store, record.version, size(record)),
        None => String::new(),
    };
    match (doing, ready_ms) {
        (Some(doing), _) => format!("{name}:{what}; {doing}\n"),
        (None, Some(ready)) => {
            let ready = duration(Nanos::from_millis(*ready), Letters::Ascii);
            format!("{name}:{what}; ready after {ready}\n")
        }
        (None, None) => format!("{name}:{what}\n"),
    }
}

fn size(record: &Record) -> String {
    match record.nodes.len() {
        1 => "1 node".to_owned(),
        nodes => format!("{nodes} nodes"),
    }
}

fn nodes(record: &Record, states: &[NodeState]) -> Table {
    let mut table = Table::new(&[
        ("node", Align::Right),
        ("address", Align::Left),
        ("state", Align::Left),
        ("memory", Align::Right),
        ("processes", Align::Left),
    ]);
    for (place, node) in record.nodes.iter().enumerate() {
        let servers = node.servers.iter().map(|server| format!("{} {}", server.role, server.pid));
        table.row(vec![
            node.number.to_string(),
            node.address.clone(),
            states.get(place).map_or("-".to_owned(), |state| state_text(*state, node)),
            memory(node).map_or("-".to_owned(), |bytes| format!("{} MiB", bytes >> 20)),
            servers.collect::<Vec<_>>().join(", "),
        ]);
    }
    table
}

/// The state of a node; of a server that ended by itself, its exit status.
fn state_text(state: NodeState, node: &NodeRecord) -> String {
    let died = node.servers.iter().find_map(|server| server.died.as_ref());
    match (state, died) {
        (NodeState::Up, _) => "up".to_owned(),
        (NodeState::Frozen, _) => "frozen".to_owned(),
        (NodeState::Down, None) => "down".to_owned(),
        (NodeState::Down, Some(died)) => format!("down ({})", died.how),
    }
}

/// Memory in RAM of all that run of a node's processes.
fn memory(node: &NodeRecord) -> Option<u64> {
    let running = node.servers.iter().filter(|server| server.is_alive());
    let used = running.map(|server| Usage::of_family(server.pid));
    used.fold(Usage::default(), Usage::plus).memory_bytes
}

/// What to type next.
pub fn next_steps(status: &LabStatus) -> String {
    let name = &status.name;
    let url = status.record.as_ref().map_or("", |record| record.url.as_str());
    format!(
        "  next    assay bench ycsb-a -t {url}    # load, run, report\n          assay run ycsb-a \
         -t {url}      # once it is loaded\n          assay lab down {name}\n"
    )
}

/// All that is known, as one document.
pub fn json(observed: &[LabView]) -> Result<String> {
    let labs: Vec<Value> = observed.iter().map(one_json).collect();
    Ok(serde_json::to_string_pretty(&json!({ "labs": labs }))? + "\n")
}

fn one_json(observed: &LabView) -> Value {
    let LabEntry { name, folder, .. } = &observed.found;
    let Some(status) = &observed.status else {
        let state = if observed.silence.is_some() { "silent" } else { "gone" };
        return json!({ "name": name, "state": state, "folder": folder });
    };
    let record = status.record.as_ref();
    let state = match (&status.doing, status.ready_ms) {
        (None, _) => "up",
        (Some(_), None) => "starting",
        (Some(_), Some(_)) => "changing",
    };
    json!({
        "name": name,
        "state": state,
        "doing": status.doing,
        "folder": folder,
        "store": record.map(|record| &record.store),
        "version": record.map(|record| &record.version),
        "url": record.map(|record| &record.url),
        "network": record.map(|record| record.network),
        "supervisor": status.supervisor,
        "owner": status.parent,
        "ready_ms": status.ready_ms,
        "broken": status.broken,
        "nodes": record.map(|record| nodes_json(record, &status.states)),
    })
}

fn nodes_json(record: &Record, states: &[NodeState]) -> Vec<Value> {
    let one = |(place, node): (usize, &NodeRecord)| {
        json!({
            "number": node.number,
            "address": node.address,
            "state": states.get(place),
            "memory_bytes": memory(node),
            "servers": node.servers,
        })
    };
    record.nodes.iter().enumerate().map(one).collect()
}
