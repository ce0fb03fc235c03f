//! Facts of a recipe about its store, before anything is started.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

/// A recipe in facts.
#[derive(Clone, Debug)]
pub struct Card {
    /// The name on the command line.
    pub name: &'static str,
    /// What is started, in one line.
    pub summary: &'static str,
    /// The versions that it can be had in; the first is the usual one.
    pub versions: &'static [Version],
    /// How many nodes there can be.
    pub nodes: NodeCounts,
    /// Whether nodes can join or leave while it runs.
    pub scaling: Scaling,
    /// The TCP ports of every node. Below 12,000 where the store lets us choose: then they can be
    /// moved by tens of thousands when somebody else has them, and stay out of the ports that the
    /// operating system gives to clients.
    pub ports: &'static [Port],
    /// What can be chosen by `--option NAME=VALUE`.
    pub options: &'static [RecipeOption],
    /// The programs that fetching or starting it needs.
    pub needs: &'static [Need],
    /// Memory of a node, in MiB, roughly.
    pub memory_mib: u64,
    /// Space on disk for an empty node, in MiB, roughly.
    pub disk_mib: u64,
    /// What the URL of the cluster begins with, if that is not the first word of the name.
    pub scheme: Option<&'static str>,
    /// The ports at which nodes reach each other, if they can be told to do so through a proxy:
    /// then the recipe tells them the [peer address](crate::site::Site::peer_address) of each.
    pub peer_ports: &'static [&'static str],
    /// Whether clients ask a node for the addresses of the others, so that they would go around a
    /// proxy.
    pub is_discovered: bool,
}

impl Card {
    /// Of a store that is one server without options: what a recipe's own card begins with.
    pub(crate) const ALONE: Card = Card {
        name: "",
        summary: "",
        versions: &[],
        nodes: NodeCounts { allowed: 1..=1, usual: 1 },
        scaling: Scaling::Fixed,
        ports: &[],
        options: &[],
        needs: &[],
        memory_mib: 0,
        disk_mib: 0,
        scheme: None,
        peer_ports: &[],
        is_discovered: false,
    };

    /// What the URL of the cluster begins with, known before anything is started; usually the first
    /// word of the name, so that `dynamodb-local` is driven by `dynamodb`.
    pub fn scheme(&self) -> &'static str {
        let first = || self.name.split_once('-').map_or(self.name, |(first, _)| first);
        self.scheme.unwrap_or_else(first)
    }
}

/// A version that can be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// The version as it is written, for example `3.6.16`, or `debian` for the system's packages.
    pub name: &'static str,
    /// Where it comes from, for example `Debian's etcd-server`.
    pub source: &'static str,
}

/// How many nodes a cluster can have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeCounts {
    /// All numbers that it can have.
    pub allowed: RangeInclusive<usize>,
    /// The default number.
    pub usual: usize,
}

/// Whether a running cluster can change its number of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scaling {
    /// Nodes join or leave.
    Online,
    /// It stays as it was started.
    Fixed,
}

/// A TCP port of every node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port {
    /// What it is for, in one word, for example `client`.
    pub name: &'static str,
    /// Its number, if it is free.
    pub number: u16,
}

/// The only value of an option that is a whole number.
pub const NUMBER: &str = "N";
/// A switch that is off.
pub(crate) const OFF: &str = "off";
/// A switch that is on.
pub(crate) const ON: &str = "on";

/// Something that can be chosen about a cluster, by `--option NAME=VALUE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecipeOption {
    /// Its name.
    pub name: &'static str,
    /// What it can be; nothing here means any text, [`NUMBER`] any whole number.
    pub values: &'static [&'static str],
    /// Its default.
    pub usual: &'static str,
    /// What it does.
    pub about: &'static str,
}

impl RecipeOption {
    /// An option that takes any text.
    pub(crate) const fn text(name: &'static str, usual: &'static str) -> RecipeOption {
        RecipeOption::choice(name, &[], usual)
    }

    /// An option that takes one of these values, or [`NUMBER`].
    pub(crate) const fn choice(
        name: &'static str,
        values: &'static [&'static str],
        usual: &'static str,
    ) -> RecipeOption {
        RecipeOption { name, values, usual, about: "" }
    }

    pub(crate) const fn about(self, about: &'static str) -> RecipeOption {
        RecipeOption { about, ..self }
    }
}

/// The options that were given, by name; the others have their usual values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GivenOptions(pub BTreeMap<String, String>);

impl GivenOptions {
    /// The value of this option.
    pub fn get<'a>(&'a self, option: &RecipeOption) -> &'a str {
        self.0.get(option.name).map_or(option.usual, String::as_str)
    }
}

/// A program that must be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// Its name.
    pub program: &'static str,
    /// Where it is besides the places where programs usually are.
    pub folders: &'static [&'static str],
    /// How it is had.
    pub supply: Supply,
    /// The versions that need it; nothing here means all of them.
    pub versions: &'static [&'static str],
}

/// How a program is had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Supply {
    /// In this package of Debian's, which a lab installs with the user's consent, if it runs as
    /// root.
    Package(&'static str),
    /// By a command of the user, for example `apt-get install maven`.
    ByHand(&'static str),
}

impl Need {
    /// A program in a package of Debian's.
    pub(crate) const fn package(program: &'static str, package: &'static str) -> Need {
        Need { program, folders: &[], supply: Supply::Package(package), versions: &[] }
    }

    /// A program that the user gets by a command or from an address.
    pub(crate) const fn by_hand(program: &'static str, way: &'static str) -> Need {
        Need { program, folders: &[], supply: Supply::ByHand(way), versions: &[] }
    }

    pub(crate) const fn in_folders(self, folders: &'static [&'static str]) -> Need {
        Need { folders, ..self }
    }

    pub(crate) const fn of_versions(self, versions: &'static [&'static str]) -> Need {
        Need { versions, ..self }
    }

    /// Whether this version needs it.
    pub fn is_of(&self, version: &str) -> bool {
        self.versions.is_empty() || self.versions.contains(&version)
    }

    /// What is to be done to have it, in words.
    pub fn source(&self) -> String {
        match self.supply {
            Supply::Package(package) => format!("apt-get install {package}"),
            Supply::ByHand(way) => way.to_owned(),
        }
    }
}
