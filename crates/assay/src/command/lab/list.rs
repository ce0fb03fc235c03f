//! List of the stores that can be started, with their missing requirements.

use std::fmt::Write as _;

use anyhow::Result;
use assay_lab::{Card, House, Need, Recipe, RecipeOption, Scaling, Supply, recipes};
use clap::ArgMatches;

use super::word;
use crate::exit::{Exit, usage};
use crate::lab::house::house;
use crate::lab::job_spec::missing_feature;
use crate::show::finish;

/// `assay lab ls`.
pub fn list(matches: &ArgMatches) -> Result<Exit> {
    let expected = word(matches, "store").map(recipes::find).transpose().map_err(usage)?;
    let house = house()?;
    let mut text = String::new();
    for recipe in recipes::ALL {
        let card = recipe.card();
        if expected.is_none_or(|expected: &dyn Recipe| expected.card().name == card.name) {
            describe(*recipe, &house, &mut text);
        }
    }
    finish(&text)
}

fn describe(recipe: &dyn Recipe, house: &House, text: &mut String) {
    let card = &recipe.card();
    let _ = writeln!(text, "{}\n    {}", card.name, card.summary);
    let versions = card.versions.iter().map(|version| match version.source {
        "" => version.name.to_owned(),
        source => format!("{} ({source})", version.name),
    });
    let _ = writeln!(text, "    versions: {}", versions.collect::<Vec<_>>().join(", "));
    let _ = writeln!(text, "    nodes: {}", nodes(card));
    let _ = writeln!(text, "    needs about {} MiB of memory for each node", card.memory_mib);
    for option in card.options {
        let _ = writeln!(text, "    --option {}", describe_option(option));
    }
    for need in house.lacks(card) {
        let _ = writeln!(text, "    missing here: {}", missing(&need, house.can_install()));
    }
    if let Some(feature) = missing_feature(recipe) {
        let _ = writeln!(
            text,
            "    missing here: its driver in this binary (build with --features {feature})"
        );
    }
}

fn nodes(card: &Card) -> String {
    let allowed = &card.nodes.allowed;
    let range = match allowed.start() == allowed.end() {
        true => allowed.start().to_string(),
        false => format!("{} to {}, usually {}", allowed.start(), allowed.end(), card.nodes.usual),
    };
    match card.scaling {
        Scaling::Online => format!("{range}; more or fewer while it runs (`assay lab scale`)"),
        Scaling::Fixed => format!("{range}; as many as it was started with"),
    }
}

fn describe_option(option: &RecipeOption) -> String {
    let values = match option.values {
        [] => format!("{}=TEXT", option.name),
        values => format!("{}={}", option.name, values.join("|")),
    };
    let usual = if option.usual.is_empty() { "nothing" } else { option.usual };
    format!("{values}  {} [default: {usual}]", option.about)
}

/// Whether a store can be started here, by what it lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// As it is.
    Ready,
    /// So to say, with a remark.
    Nearly(String),
    /// Not before somebody has done something.
    Lacking(String),
}

/// Whether the usual version of a store can be started here, which lacks these programs;
/// `can_install` says whether packages can be installed.
pub fn readiness(card: &Card, lacks: &[Need], can_install: bool) -> Readiness {
    let usual = card.versions[0].name;
    let said = |lacks: &[&Need]| {
        let said: Vec<String> = lacks.iter().map(|need| missing(need, can_install)).collect();
        said.join("; ")
    };
    let (now, later): (Vec<&Need>, Vec<&Need>) = lacks.iter().partition(|need| need.is_of(usual));
    let is_brought = |need: &&Need| can_install && matches!(need.supply, Supply::Package(_));
    match (&now[..], &later[..]) {
        ([], []) => Readiness::Ready,
        ([], later) => Readiness::Nearly(format!("other versions lack {}", said(later))),
        (now, _) if now.iter().all(is_brought) => {
            Readiness::Nearly(format!("it lacks {}", said(now)))
        }
        (now, _) => Readiness::Lacking(said(now)),
    }
}

/// A missing program with the way to it.
fn missing(need: &Need, can_install: bool) -> String {
    let only = match need.versions {
        [] => String::new(),
        versions => format!(", for {}", versions.join(", ")),
    };
    let who = match (need.supply, can_install) {
        (Supply::ByHand(_), _) => "",
        (Supply::Package(_), true) => ", which `assay lab up --install` does",
        (Supply::Package(_), false) => ", which `assay lab up --install` does as root",
    };
    format!("{} ({}{who}{only})", need.program, need.source())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKAGE: Need = Need {
        program: "etcd",
        folders: &[],
        supply: Supply::Package("etcd-server"),
        versions: &["debian"],
    };
    const TOOL: Need = Need {
        program: "go",
        folders: &[],
        supply: Supply::ByHand("https://go.dev/dl"),
        versions: &["3.6.16", "3.5.35"],
    };

    #[test]
    fn what_the_lab_installs_is_said_as_such() {
        let card = recipes::find("etcd").unwrap().card();
        let describe = |lacks: &[Need], can_install| readiness(&card, lacks, can_install);
        assert_eq!(describe(&[], true), Readiness::Ready);
        let own = "etcd (apt-get install etcd-server, which `assay lab up --install` does as root, \
                   for debian)";
        assert_eq!(describe(&[PACKAGE], false), Readiness::Lacking(own.into()));
        let by_lab = "it lacks etcd (apt-get install etcd-server, which `assay lab up --install` \
                      does, for debian)";
        assert_eq!(describe(&[PACKAGE, TOOL], true), Readiness::Nearly(by_lab.into()));
        let other = "other versions lack go (https://go.dev/dl, for 3.6.16, 3.5.35)";
        assert_eq!(describe(&[TOOL], true), Readiness::Nearly(other.into()));
        let by_hand = Need { versions: &[], ..TOOL };
        let both = "etcd (apt-get install etcd-server, which `assay lab up --install` does, for \
                    debian); go (https://go.dev/dl)";
        assert_eq!(describe(&[PACKAGE, by_hand], true), Readiness::Lacking(both.into()));
    }
}
