//! Values of settings: their types, and how those are written.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use assay_analysis::slo::Objective;
use assay_analysis::sweep::Sweep;
use assay_lab::Network;
use assay_model::{Nanos, quantity};
use assay_run::{Overflow, RateProfile, Think, processors};

use super::setting::SettingValue;
use crate::{arrivals, slo, units};

/// A trace is not replayed faster than this.
const SPEED_MAX: f64 = 1e6;
/// How near to a rate that fails a search may be asked to come.
const WITHIN: RangeInclusive<f64> = 0.001..=0.5;
/// The largest disk of a node, in MiB.
const DISK_MIB_MAX: u64 = 1 << 20;

/// Operations per second, above zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate(pub f64);

/// How much faster than written a schedule is replayed, above zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speed(pub f64);

/// How near to a rate that fails a search comes, as a part of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance(pub f64);

/// The size of a node's disk in MiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskMib(pub u64);

/// When something is done that this program can decide by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// When it makes sense.
    Auto,
    /// In any case.
    Always,
    /// In no case.
    Never,
}

impl When {
    /// Whether it is done, if `auto` is what makes sense.
    pub fn or(self, auto: bool) -> bool {
        match self {
            When::Auto => auto,
            When::Always => true,
            When::Never => false,
        }
    }
}

/// What each repetition of a run draws anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RepeatSeeds {
    /// The arrivals.
    Arrivals,
    /// Nothing.
    Same,
}

/// What is between the load and its store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViaServer {
    /// The application server of FMKe.
    Http,
}

/// A store of the lab's recipes, and how many nodes it is to have, if that was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreNodes {
    /// The name of the recipe.
    pub store: String,
    /// The number of nodes.
    pub nodes: Option<usize>,
}

/// One of a few words.
pub fn one_of<T: Copy>(text: &str, choices: &[(&str, T)]) -> Result<T> {
    let found = choices.iter().find(|(word, _)| *word == text);
    found.map(|(_, value)| *value).with_context(|| {
        let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
        format!("{text:?} is none of {}", words.join(", "))
    })
}

impl SettingValue for String {
    fn parse(text: &str) -> Result<String> {
        Ok(text.to_owned())
    }
}

impl SettingValue for PathBuf {
    fn parse(text: &str) -> Result<PathBuf> {
        Ok(text.into())
    }
}

impl SettingValue for bool {
    fn parse(text: &str) -> Result<bool> {
        match text {
            "true" | "1" => Ok(true),
            "false" | "0" => Ok(false),
            _ => bail!("{text:?} is neither true nor false"),
        }
    }
}

impl SettingValue for u64 {
    fn parse(text: &str) -> Result<u64> {
        units::count(text)
    }
}

impl SettingValue for Nanos {
    fn parse(text: &str) -> Result<Nanos> {
        units::duration(text)
    }
}

impl SettingValue for Rate {
    fn parse(text: &str) -> Result<Rate> {
        units::rate(text).map(Rate)
    }
}

impl SettingValue for RateProfile {
    fn parse(text: &str) -> Result<RateProfile> {
        arrivals::rate_profile(text)
    }
}

impl SettingValue for Speed {
    fn parse(text: &str) -> Result<Speed> {
        let speed = quantity::share(text).filter(|speed| *speed > 0.0 && *speed <= SPEED_MAX);
        speed.map(Speed).context("give a factor above 0, such as 2 or 0.5")
    }
}

impl SettingValue for Tolerance {
    fn parse(text: &str) -> Result<Tolerance> {
        let percent = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
        let share = percent.map(|percent| percent / 100.0).filter(|share| WITHIN.contains(share));
        share.map(Tolerance).context("give a percentage from 0.1% to 50%, such as 2%")
    }
}

impl SettingValue for Think {
    fn parse(text: &str) -> Result<Think> {
        match text.strip_prefix("exp:") {
            Some(mean) => units::duration(mean).map(Think::Exponential),
            None => units::duration(text).map(Think::Constant),
        }
    }
}

impl SettingValue for Overflow {
    fn parse(text: &str) -> Result<Overflow> {
        one_of(text, &Overflow::ALL.map(|policy| (policy.name(), policy)))
    }
}

impl SettingValue for When {
    fn parse(text: &str) -> Result<When> {
        one_of(text, &[("auto", When::Auto), ("always", When::Always), ("never", When::Never)])
    }
}

impl SettingValue for RepeatSeeds {
    fn parse(text: &str) -> Result<RepeatSeeds> {
        one_of(text, &[("arrivals", RepeatSeeds::Arrivals), ("same", RepeatSeeds::Same)])
    }
}

impl SettingValue for Objective {
    fn parse(text: &str) -> Result<Objective> {
        Ok(slo::objective(text)?)
    }
}

impl SettingValue for Sweep {
    fn parse(text: &str) -> Result<Sweep> {
        slo::sweep(text)
    }
}

impl SettingValue for SocketAddr {
    fn parse(text: &str) -> Result<SocketAddr> {
        let address = text.parse();
        address.map_err(|_| anyhow::anyhow!("{text:?} is no address; write 0.0.0.0:7447"))
    }
}

/// Processors that workers are pinned to, in turn.
impl SettingValue for Vec<usize> {
    fn parse(text: &str) -> Result<Vec<usize>> {
        Ok(processors::parse(text)?)
    }
}

impl SettingValue for ViaServer {
    fn parse(text: &str) -> Result<ViaServer> {
        ensure!(text == "http", "the only server in between is http");
        Ok(ViaServer::Http)
    }
}

impl SettingValue for StoreNodes {
    fn parse(text: &str) -> Result<StoreNodes> {
        let Some((store, count)) = text.split_once(':') else {
            return Ok(StoreNodes { store: text.to_owned(), nodes: None });
        };
        let nodes = count.parse().ok();
        let nodes = nodes.with_context(|| format!("{text:?} is no STORE:N, such as etcd:3"))?;
        Ok(StoreNodes { store: store.to_owned(), nodes: Some(nodes) })
    }
}

impl SettingValue for Network {
    fn parse(text: &str) -> Result<Network> {
        match text {
            "loopback" => Ok(Network::Loopback),
            "namespaces" => Ok(Network::Namespaces),
            _ => bail!("it is loopback or namespaces"),
        }
    }
}

impl SettingValue for DiskMib {
    fn parse(text: &str) -> Result<DiskMib> {
        let (number, factor) = match text.strip_suffix('G') {
            Some(number) => (number, 1 << 10),
            None => (text.strip_suffix('M').unwrap_or_default(), 1),
        };
        let mib = number.parse::<u64>().ok().and_then(|number| number.checked_mul(factor));
        let mib = mib.filter(|mib| (1..=DISK_MIB_MAX).contains(mib));
        mib.map(DiskMib).context("give the size of a node's disk, such as 512M or 2G")
    }
}

/// Options of a recipe by name.
impl SettingValue for BTreeMap<String, String> {
    fn parse(text: &str) -> Result<BTreeMap<String, String>> {
        let given = text.split(';').map(str::trim).filter(|pair| !pair.is_empty());
        let split = |text: &str| match text.split_once('=') {
            Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
            None => bail!("{text}: write it as NAME=VALUE"),
        };
        given.map(split).collect()
    }
}
