//! Messages between coordinator and agents, as JSON.
//!
//! Both ends are the same build, which the first message compares; so a field that one of them
//! does not know is an error.

use std::time::Duration;

use assay_model::named_enum;
use serde::{Deserialize, Serialize};

use crate::figures::LiveFigures;

/// The version of the messages.
pub const PROTOCOL: u32 = 3;

/// What an agent says when it joins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hello {
    /// The version of the messages that it speaks.
    pub protocol: u32,
    /// Its version of Assay, with the build.
    pub version: String,
    /// Its number, from 0.
    pub agent: u32,
    /// Its machine's name.
    pub host: String,
    /// Processors that it may use.
    pub cores: u32,
    /// The identity of its running kernel: agents of one kernel share a clock.
    pub boot_id: String,
    /// Its process, on its machine.
    pub pid: u32,
    /// A number that it drew: a second attempt to join of the same process has the same.
    pub nonce: u64,
}

/// What it is told then.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Welcome {
    /// What its later messages bring along, so that no other process speaks for it.
    pub token: u64,
    /// What is to be done.
    pub job: Job,
    /// How many agents there are.
    pub agents: u32,
    /// How long either end may be without news from the other, in milliseconds.
    pub lease_ms: u64,
    /// How often an agent tells its news while the run goes on, in milliseconds.
    pub beat_ms: u64,
}

/// What all agents do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// The name of the run, the same in every part.
    pub run_id: String,
    /// The command line that the run is kept under, without secrets.
    pub command: Vec<String>,
    /// The command line that each agent carries out, without the store; file `n` is `{file:n}`.
    pub words: Vec<String>,
    /// The store; none if each agent has to know it.
    pub target: Option<String>,
    /// The files that the command line names.
    pub files: Vec<JobFile>,
    /// Where agents put their parts.
    pub collecting: Collecting,
    /// Whether live figures have response and service times, not response times alone.
    pub shows_service: bool,
}

/// Where agents put their parts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Collecting {
    /// They send them to the coordinator.
    #[default]
    Send,
    /// They leave them where they are, for whoever sees them there.
    Leave,
    /// They put them into a bucket, each into a folder of its own.
    Bucket {
        /// The folder of the run, as `s3://BUCKET/PREFIX`.
        url: String,
        /// How long a bucket that is away is tried again, in milliseconds.
        patience_ms: u64,
    },
}

impl Collecting {
    /// The folder of `agent` in the bucket, and how long the bucket is tried, if there is one.
    pub fn bucket(&self, agent: u32) -> Option<(String, Duration)> {
        match self {
            Collecting::Bucket { url, patience_ms } => {
                Some((format!("{url}/agent-{agent}"), Duration::from_millis(*patience_ms)))
            }
            Collecting::Send | Collecting::Leave => None,
        }
    }
}

/// A file that agents fetch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JobFile {
    /// Its name without directories.
    pub name: String,
    /// Its bytes.
    pub bytes: u64,
    /// Their SHA-256, in hexadecimal digits.
    pub sha256: String,
}

named_enum! {
    /// How far an agent has come, in this order.
    #[derive(
        Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
    )]
    #[serde(rename_all = "lowercase")]
    pub enum AgentState {
        /// It has the job and makes itself ready.
        #[default]
        Joining => "joining",
        /// It knows how many workers it has, and waits for its place.
        Planned => "planned",
        /// Its connections are open.
        Prepared => "prepared",
        /// It knows when the run begins.
        Armed => "armed",
        /// The run goes on.
        Running => "running",
        /// Its share has ended, its part of the history is sealed.
        Done => "done",
        /// The coordinator has all its files.
        Delivered => "delivered",
    }
}

/// Live counters of an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Progress {
    /// Operations whose time has come.
    pub offered: u64,
    /// Those that were done.
    pub done: u64,
    /// Those that were refused, or whose outcome is unknown.
    pub failed: u64,
    /// Processes in flight.
    pub in_flight: u64,
    /// The worst lag of the last second, in nanoseconds.
    pub lag_ns: u64,
}

/// News of an agent, every tenth of a second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Beat {
    /// Its number.
    pub agent: u32,
    /// From its welcome.
    pub token: u64,
    /// How far it has come.
    pub state: AgentState,
    /// Its workers, once it knows.
    pub workers: u32,
    /// What its data set, its plan and its load are, from when it knows until the coordinator does;
    /// all agents must say the same.
    pub plan: Option<String>,
    /// Its live counters.
    pub progress: Progress,
    /// Why it has failed, if it has.
    pub failure: Option<String>,
    /// Whether its share has ended before its time: it was interrupted.
    pub is_interrupted: bool,
    /// Where its part is, if it leaves it there.
    pub left: Option<String>,
    /// How many changes of the rate it has taken.
    pub rates: u32,
    /// The number of `figures`: the same ones may come twice, and count once.
    pub number: u64,
    /// What has happened since the figures before, for those who watch.
    pub figures: LiveFigures,
}

impl Beat {
    /// Whether it says the same but for the live counters.
    pub fn is_as(&self, other: &Beat) -> bool {
        let (progress, number, figures) = (self.progress, self.number, self.figures.clone());
        *self == Beat { progress, number, figures, ..other.clone() }
    }
}

/// The place of an agent's workers among those of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkerPlace {
    /// Workers of the agents before it.
    pub first_worker: u32,
    /// Workers of all agents.
    pub workers: u32,
}

/// What an agent is to do, in answer to its news.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Command {
    /// Go on with what it does.
    Continue,
    /// Issue no more operations, wait for those in flight, deliver.
    Stop,
    /// End at once; nothing is delivered.
    Abort,
}

/// A change of the rate of an open load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateOrder {
    /// From when on, in nanoseconds since the start, on each agent's own clock.
    pub from_ns: u64,
    /// Arrivals per second of all agents together.
    #[serde(with = "exact")]
    pub rate: f64,
}

/// A number as the text that is parsed to the very same number: JSON's numbers need not be.
mod exact {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(number: &f64, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(number)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

/// The answer to an agent's news.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Directive {
    /// What to do.
    pub command: Command,
    /// Why, if it is to abort.
    pub reason: String,
    /// Its place, once all agents have said how many workers they have.
    pub place: Option<WorkerPlace>,
    /// The reading of its own clock at which the run begins, in nanoseconds, once it is chosen.
    pub start: Option<u64>,
    /// Changes of the rate after those that it has taken.
    pub rates: Vec<RateOrder>,
}

/// A file that an agent will deliver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delivery {
    /// Its path within the agent's run directory, with slashes.
    pub path: String,
    /// Its bytes.
    pub bytes: u64,
    /// Their SHA-256, in hexadecimal digits.
    pub sha256: String,
}

/// What an agent will deliver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deliveries {
    /// Its number.
    pub agent: u32,
    /// From its welcome.
    pub token: u64,
    /// All its files.
    pub files: Vec<Delivery>,
}

/// How many bytes of each of them have come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Received {
    /// In the order in which they were named.
    pub bytes: Vec<u64>,
}

/// A refusal, in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusalText {
    /// What is wrong, and what to do.
    pub error: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_comes_as_it_was_sent() {
        for rate in [0.1 + 0.2, 1e9 / 3.0, 2_200.000_000_000_000_5, 5e-324] {
            let text = serde_json::to_string(&RateOrder { from_ns: 1, rate }).unwrap();
            assert_eq!(serde_json::from_str::<RateOrder>(&text).unwrap().rate, rate, "{text}");
        }
    }
}
