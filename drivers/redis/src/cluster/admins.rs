//! Admin connections to every server that has keys, for everything outside the measured run.

use assay_driver_kit::StoreErrors;
use assay_driver_kit::address::authority;
use assay_model::Setting;
use assay_store::OpenError;
use assay_store::resp::Value;

use crate::admin::AdminConnection;
use crate::connector::{Connector, Target};
use crate::options::Topology;
use crate::slots::{Map, Redirect, slot};
use crate::{sentinel, settings};

/// How many commands are in flight at once.
const BATCH: usize = 1000;

/// The error for a `redis://` URL of a cluster's node.
pub(crate) const ONE_NODE: &str = "it is one node of a cluster, which refuses the keys \
                                             of the others; redis:// uses a single server, so \
                                             write redis+cluster://, or name one without \
                                             cluster-enabled";

/// A server, or the masters of a cluster.
pub(crate) struct AdminConnections<'a> {
    connector: &'a Connector,
    /// `None` if there is one server.
    map: Option<Map>,
    /// One for each master.
    admins: Vec<(Target, AdminConnection)>,
}

impl<'a> AdminConnections<'a> {
    /// Connects to the server, or to some node of the cluster and then to all masters.
    pub(crate) fn open(connector: &'a Connector) -> Result<AdminConnections<'a>, OpenError> {
        let target = match &connector.options.topology {
            Topology::Single => {
                connector.target(&connector.options.host, connector.options.port)?
            }
            Topology::Sentinel { .. } => sentinel::master(connector)?,
            Topology::Cluster => return AdminConnections::of_cluster(connector),
        };
        let admin = connector.dial(&target)?.0;
        Ok(AdminConnections { connector, map: None, admins: vec![(target, admin)] })
    }

    fn of_cluster(connector: &'a Connector) -> Result<AdminConnections<'a>, OpenError> {
        let mut why = None;
        for (host, port) in connector.options.hosts() {
            let map = connector.target(host, port).and_then(|target| map_of(connector, &target));
            let opened = map.and_then(|map| {
                let masters = map.masters.iter().map(|(host, port)| {
                    let target = connector.target(host, *port)?;
                    let admin = connector.dial(&target)?.0;
                    Ok((target, admin))
                });
                let admins = masters.collect::<Result<Vec<_>, OpenError>>()?;
                Ok(AdminConnections { connector, map: Some(map), admins })
            });
            match opened {
                Ok(admins) => return Ok(admins),
                Err(error) if matches!(why, None | Some(OpenError::Unreachable { .. })) => {
                    why = Some(error);
                }
                Err(_) => {}
            }
        }
        Err(why.expect("there is at least one host"))
    }

    /// The map of the cluster, with the masters in its order.
    pub(crate) fn into_map(self) -> (Map, Vec<Target>) {
        let targets = self.admins.into_iter().map(|(target, _)| target).collect();
        (self.map.unwrap_or_default(), targets)
    }

    fn place(&self, key: &[u8]) -> usize {
        self.map.as_ref().and_then(|map| map.master_of(slot(key))).unwrap_or(0)
    }

    /// Sends to the server that has `key`.
    pub(crate) fn query(&mut self, key: &[u8], words: &[&[u8]]) -> Result<Value, OpenError> {
        let place = self.place(key);
        self.send_at(place, words)
    }

    /// Sends to every server.
    pub(crate) fn query_each(&mut self, words: &[&[u8]]) -> Result<Vec<Value>, OpenError> {
        (0..self.admins.len()).map(|place| self.send_at(place, words)).collect()
    }

    /// Sends to every server; the responses with the servers' addresses.
    pub(crate) fn query_each_named(
        &mut self,
        words: &[&[u8]],
    ) -> Result<Vec<(String, Value)>, OpenError> {
        let answers = self.query_each(words)?;
        let nodes = self.admins.iter().map(|(target, _)| authority(&target.host, target.port));
        Ok(nodes.zip(answers).collect())
    }

    fn send_at(&mut self, place: usize, words: &[&[u8]]) -> Result<Value, OpenError> {
        let answer = self.admins[place].1.query(words);
        self.analyze(words[0], answer.map_err(|error| self.connector.explain(&error))?)
    }

    fn analyze(&self, command: &[u8], answer: Value) -> Result<Value, OpenError> {
        let Value::Error(error) = answer else { return Ok(answer) };
        let command = String::from_utf8_lossy(command).into_owned();
        let store = &self.connector.options;
        let is_a_node = Redirect::parse(error.as_bytes()).is_some() && self.map.is_none();
        let reason = format!("to {command} it says: {error}");
        Err(match error.starts_with("NOPERM") {
            true => store.not_permitted(reason),
            false if is_a_node => store.unsupported(format!("{reason}; {ONE_NODE}")),
            false => store.failed(reason),
        })
    }

    /// Removes these keys, wherever they are.
    pub(crate) fn remove(&mut self, keys: &[Vec<u8>]) -> Result<(), OpenError> {
        if self.map.is_none() {
            let words: Vec<&[u8]> =
                std::iter::once(&b"DEL"[..]).chain(keys.iter().map(Vec::as_slice)).collect();
            return self.send_at(0, &words).map(drop);
        }
        // Keys of several slots are not removed with one command.
        let mut commands: Vec<Vec<[&[u8]; 2]>> = vec![Vec::new(); self.admins.len()];
        for key in keys {
            commands[self.place(key)].push([b"DEL", key]);
        }
        for (place, commands) in commands.iter().enumerate() {
            for batch in commands.chunks(BATCH) {
                let answers = self.admins[place].1.send_all(batch);
                for answer in answers.map_err(|error| self.connector.explain(&error))? {
                    self.analyze(b"DEL", answer)?;
                }
            }
        }
        Ok(())
    }
}

/// Asks a node for the slot map of its cluster.
fn map_of(connector: &Connector, target: &Target) -> Result<Map, OpenError> {
    let at = authority(&target.host, target.port);
    let unsupported = |reason| Err(connector.options.unsupported(reason));
    let mut admin = connector.dial(target)?.0;
    let answer = admin.query(&[b"CLUSTER", b"SLOTS"]).map_err(|error| connector.explain(&error))?;
    if let Value::Error(error) = &answer {
        return unsupported(format!(
            "{at} is no node of a cluster (it says: {error}); a single server is queried by \
             redis://"
        ));
    }
    let Some(map) = Map::read(&answer, &target.host) else {
        return unsupported(format!("{at} describes its cluster in a way that is invalid"));
    };
    match map.missing() {
        0 => Ok(map),
        missing => Err(connector.options.failed(format!(
            "the cluster is not whole: nobody has {missing} of its 16384 slots, says {at}; \
             wait until it is, or repair it with redis-cli --cluster fix"
        ))),
    }
}

/// The settings of every server; where they differ, each with its value.
pub(crate) fn settings(connector: &Connector) -> Result<Vec<Setting>, OpenError> {
    let mut admins = AdminConnections::open(connector)?;
    let mut all: Vec<(String, Vec<Setting>)> = Vec::new();
    for (target, admin) in &mut admins.admins {
        let message = settings::read(admin).map_err(|error| connector.explain(&error))?;
        all.push((authority(&target.host, target.port), message));
    }
    let mut settings = merge(all);
    match (&admins.map, &connector.options.topology) {
        (Some(map), _) => {
            let (_, admin) = &mut admins.admins[0];
            settings.retain(|setting| setting.name != "cluster-enabled");
            let own = settings::of_cluster(admin, map.masters.len());
            settings.extend(own.map_err(|error| connector.explain(&error))?);
        }
        (None, Topology::Sentinel { .. }) => settings.extend(sentinel::settings(connector)),
        (None, _) => {}
    }
    Ok(settings)
}

fn merge(mut all: Vec<(String, Vec<Setting>)>) -> Vec<Setting> {
    let (first, mut merged) = all.remove(0);
    for setting in &mut merged {
        let value = |describe: &[Setting]| {
            let found = describe.iter().find(|other| other.name == setting.name);
            found.map_or_else(String::new, |other| other.value.clone())
        };
        let others: Vec<(&String, String)> =
            all.iter().map(|(at, describe)| (at, value(describe))).collect();
        if others.iter().any(|(_, other)| *other != setting.value) {
            let each = others.iter().map(|(at, value)| format!(", {value} ({at})"));
            setting.value = format!("{} ({first}){}", setting.value, each.collect::<String>());
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_reported_for_each() {
        let describe = |at: &str, values: [&str; 2]| {
            let setting = |(name, value): (&str, &str)| Setting::new(name, value, "m");
            (at.to_owned(), ["a", "b"].into_iter().zip(values).map(setting).collect())
        };
        let merged = merge(vec![describe("h:1", ["x", "1"]), describe("h:2", ["x", "2"])]);
        let values: Vec<&str> = merged.iter().map(|setting| setting.value.as_str()).collect();
        assert_eq!(values, ["x", "1 (h:1), 2 (h:2)"]);
    }
}
