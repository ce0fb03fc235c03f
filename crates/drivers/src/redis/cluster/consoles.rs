//! Conversations with every server that has keys, for everything outside the measured run.

use assay_model::Setting;
use assay_store::OpenError;
use assay_store::resp::Value;

use super::slots::{Map, Redirect, slot};
use crate::redis::console::Console;
use crate::redis::dialer::{Dialer, Target};
use crate::redis::options::{Topology, authority};
use crate::redis::{sentinel, settings};

/// How many commands are on their way at once.
const BATCH: usize = 1000;

/// What is said to whoever asks one node of a cluster as if it were alone.
pub(in crate::redis) const ONE_NODE: &str = "it is one node of a cluster, which refuses the keys \
                                             of the others; redis:// asks a single server, so \
                                             write redis+cluster://, or name one without \
                                             cluster-enabled";

/// A server, or the masters of a cluster.
pub(in crate::redis) struct Consoles<'a> {
    dialer: &'a Dialer,
    /// `None` if there is one server.
    map: Option<Map>,
    /// One for each master.
    consoles: Vec<(Target, Console)>,
}

impl<'a> Consoles<'a> {
    /// Connects to the server, or to some node of the cluster and then to all masters.
    pub(in crate::redis) fn open(dialer: &'a Dialer) -> Result<Consoles<'a>, OpenError> {
        let target = match &dialer.options.topology {
            Topology::Single => dialer.target(&dialer.options.host, dialer.options.port)?,
            Topology::Sentinel { .. } => sentinel::master(dialer)?,
            Topology::Cluster => return Consoles::of_cluster(dialer),
        };
        let console = dialer.dial(&target)?.0;
        Ok(Consoles { dialer, map: None, consoles: vec![(target, console)] })
    }

    fn of_cluster(dialer: &'a Dialer) -> Result<Consoles<'a>, OpenError> {
        let mut why = None;
        for (host, port) in dialer.options.hosts() {
            let map = dialer.target(host, port).and_then(|target| map_of(dialer, &target));
            let opened = map.and_then(|map| {
                let masters = map.masters.iter().map(|(host, port)| {
                    let target = dialer.target(host, *port)?;
                    let console = dialer.dial(&target)?.0;
                    Ok((target, console))
                });
                let consoles = masters.collect::<Result<Vec<_>, OpenError>>()?;
                Ok(Consoles { dialer, map: Some(map), consoles })
            });
            match opened {
                Ok(consoles) => return Ok(consoles),
                Err(error) if matches!(why, None | Some(OpenError::Unreachable { .. })) => {
                    why = Some(error);
                }
                Err(_) => {}
            }
        }
        Err(why.expect("there is at least one host"))
    }

    /// The map of the cluster, with the masters in its order.
    pub(in crate::redis) fn into_map(self) -> (Map, Vec<Target>) {
        let targets = self.consoles.into_iter().map(|(target, _)| target).collect();
        (self.map.unwrap_or_default(), targets)
    }

    fn place(&self, key: &[u8]) -> usize {
        self.map.as_ref().and_then(|map| map.master_of(slot(key))).unwrap_or(0)
    }

    /// Asks the server that has `key`.
    pub(in crate::redis) fn ask(
        &mut self,
        key: &[u8],
        words: &[&[u8]],
    ) -> Result<Value, OpenError> {
        let place = self.place(key);
        self.ask_at(place, words)
    }

    /// Asks every server.
    pub(in crate::redis) fn ask_each(&mut self, words: &[&[u8]]) -> Result<Vec<Value>, OpenError> {
        (0..self.consoles.len()).map(|place| self.ask_at(place, words)).collect()
    }

    fn ask_at(&mut self, place: usize, words: &[&[u8]]) -> Result<Value, OpenError> {
        let answer = self.consoles[place].1.ask(words);
        self.judge(words[0], answer.map_err(|error| self.dialer.explain(&error))?)
    }

    fn judge(&self, command: &[u8], answer: Value) -> Result<Value, OpenError> {
        let Value::Error(error) = answer else { return Ok(answer) };
        let command = String::from_utf8_lossy(command).into_owned();
        let store = self.dialer.options.to_string();
        let is_a_node = Redirect::parse(error.as_bytes()).is_some() && self.map.is_none();
        let reason = format!("to {command} it says: {error}");
        Err(match error.starts_with("NOPERM") {
            true => OpenError::NotPermitted { store, reason },
            false if is_a_node => {
                OpenError::Unsupported { store, reason: format!("{reason}; {ONE_NODE}") }
            }
            false => OpenError::Failed { store, reason },
        })
    }

    /// Removes these keys, wherever they are.
    pub(in crate::redis) fn remove(&mut self, keys: &[Vec<u8>]) -> Result<(), OpenError> {
        if self.map.is_none() {
            let words: Vec<&[u8]> =
                std::iter::once(&b"DEL"[..]).chain(keys.iter().map(Vec::as_slice)).collect();
            return self.ask_at(0, &words).map(drop);
        }
        // Keys of several slots are not removed with one command.
        let mut commands: Vec<Vec<[&[u8]; 2]>> = vec![Vec::new(); self.consoles.len()];
        for key in keys {
            commands[self.place(key)].push([b"DEL", key]);
        }
        for (place, commands) in commands.iter().enumerate() {
            for batch in commands.chunks(BATCH) {
                let answers = self.consoles[place].1.ask_all(batch);
                for answer in answers.map_err(|error| self.dialer.explain(&error))? {
                    self.judge(b"DEL", answer)?;
                }
            }
        }
        Ok(())
    }
}

/// Asks a node for the map of its cluster.
fn map_of(dialer: &Dialer, target: &Target) -> Result<Map, OpenError> {
    let at = authority(&target.host, target.port);
    let unsupported =
        |reason| Err(OpenError::Unsupported { store: dialer.options.to_string(), reason });
    let mut console = dialer.dial(target)?.0;
    let answer = console.ask(&[b"CLUSTER", b"SLOTS"]).map_err(|error| dialer.explain(&error))?;
    if let Value::Error(error) = &answer {
        return unsupported(format!(
            "{at} is no node of a cluster (it says: {error}); a single server is asked by redis://"
        ));
    }
    let Some(map) = Map::read(&answer, &target.host) else {
        return unsupported(format!("{at} describes its cluster in a way that makes no sense"));
    };
    match map.missing() {
        0 => Ok(map),
        missing => {
            let reason = format!(
                "the cluster is not whole: nobody has {missing} of its 16384 slots, says {at}; \
                 wait until it is, or repair it with redis-cli --cluster fix"
            );
            Err(OpenError::Failed { store: dialer.options.to_string(), reason })
        }
    }
}

/// What every server says about itself; where they differ, each with its value.
pub(in crate::redis) fn settings(dialer: &Dialer) -> Result<Vec<Setting>, OpenError> {
    let mut consoles = Consoles::open(dialer)?;
    let mut all: Vec<(String, Vec<Setting>)> = Vec::new();
    for (target, console) in &mut consoles.consoles {
        let told = settings::read(console).map_err(|error| dialer.explain(&error))?;
        all.push((authority(&target.host, target.port), told));
    }
    let mut settings = merge(all);
    match (&consoles.map, &dialer.options.topology) {
        (Some(map), _) => {
            let (_, console) = &mut consoles.consoles[0];
            settings.retain(|setting| setting.name != "cluster-enabled");
            let own = settings::of_cluster(console, map.masters.len());
            settings.extend(own.map_err(|error| dialer.explain(&error))?);
        }
        (None, Topology::Sentinel { .. }) => settings.extend(sentinel::settings(dialer)),
        (None, _) => {}
    }
    Ok(settings)
}

fn merge(mut all: Vec<(String, Vec<Setting>)>) -> Vec<Setting> {
    let (first, mut merged) = all.remove(0);
    for setting in &mut merged {
        let value = |told: &[Setting]| {
            let found = told.iter().find(|other| other.name == setting.name);
            found.map_or_else(String::new, |other| other.value.clone())
        };
        let others: Vec<(&String, String)> =
            all.iter().map(|(at, told)| (at, value(told))).collect();
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
    fn what_differs_is_told_for_each() {
        let told = |at: &str, values: [&str; 2]| {
            let setting = |(name, value): (&str, &str)| Setting {
                name: name.into(),
                value: value.into(),
                meaning: "m".into(),
            };
            (at.to_owned(), ["a", "b"].into_iter().zip(values).map(setting).collect())
        };
        let merged = merge(vec![told("h:1", ["x", "1"]), told("h:2", ["x", "2"])]);
        let values: Vec<&str> = merged.iter().map(|setting| setting.value.as_str()).collect();
        assert_eq!(values, ["x", "1 (h:1), 2 (h:2)"]);
    }
}
