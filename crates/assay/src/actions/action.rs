//! Action on a lab's store at a moment of the run.

use std::fmt;
use std::str::FromStr;

use anyhow::{Error, Result};
use assay_lab::{Fault, Injected, Injection, LabClient, LabError, LabRequest, fault};
use assay_model::{EventKind, Nanos};

use crate::exit::usage;
use crate::units;

/// Something that is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// When, on the run's time axis, which begins with the warm-up.
    pub at: Nanos,
    /// What.
    pub act: ActionKind,
}

/// What can be done to a lab's store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ActionKind {
    /// Add or remove nodes until there are so many.
    Scale(usize),
    /// Break something, or mend it.
    Fault(Injection),
}

/// How an action ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It is done; what the lab says of a fault.
    Done(Option<Injected>),
    /// It is not, for this reason.
    Failed(String),
    /// The lab is still at it, but the run was stopped.
    GoesOn,
}

/// The word for a change of the number of nodes.
const SCALE: &str = "scale";

impl ActionKind {
    /// In words.
    pub fn text(&self) -> String {
        match self {
            ActionKind::Scale(nodes) => format!("{SCALE} to {nodes}"),
            ActionKind::Fault(injection) => injection.text(),
        }
    }

    /// In words, when the lab has said which nodes it was done to.
    pub(super) fn text_of(&self, injected: Option<&Injected>) -> String {
        match (self, injected) {
            (ActionKind::Fault(injection), Some(injected)) => injection.text_of(&injected.nodes),
            _ => self.text(),
        }
    }

    /// Executes it on `lab`, and returns when that has ended, or when `is_target` says that nobody
    /// waits for it any more.
    pub fn upon(&self, lab: &LabClient, is_target: &dyn Fn() -> bool) -> Ended {
        let request = match self {
            ActionKind::Scale(nodes) => LabRequest::Scale { nodes: *nodes },
            ActionKind::Fault(injection) => LabRequest::Fault(injection.clone()),
        };
        match lab.change(&request, is_target) {
            Ok(injected) => Ended::Done(injected),
            Err(LabError::GoesOn { .. }) => Ended::GoesOn,
            Err(error) => Ended::Failed(error.to_string()),
        }
    }

    /// What sort of event it is: a change that was wanted, or something broken or mended.
    pub fn kind(&self) -> EventKind {
        match self {
            ActionKind::Scale(_) => EventKind::Change,
            ActionKind::Fault(_) => EventKind::Fault,
        }
    }

    /// What mends it, if it breaks something.
    pub(super) fn undo(&self) -> Option<Fault> {
        match self {
            ActionKind::Scale(_) => None,
            ActionKind::Fault(injection) => injection.fault.facts().undo,
        }
    }

    /// Whether it mends, which is waited for even by a run that was stopped.
    pub fn is_mend(&self) -> bool {
        matches!(self, ActionKind::Fault(injection) if injection.fault.facts().undo.is_none())
    }
}

impl FromStr for Action {
    type Err = Error;

    /// Takes `300s: scale to 2` or `10m: kill node 1`; `to` with `node` may be left out.
    fn from_str(text: &str) -> Result<Action> {
        let wrong =
            |reason: &str| usage(format!("{text:?} {reason}, such as \"300s: scale to 2\""));
        let (at, act) =
            text.split_once(':').ok_or_else(|| wrong("has no moment before a colon"))?;
        let at = units::duration(at.trim())?;
        let words: Vec<&str> = act.split_whitespace().collect();
        let act = match words[..] {
            [] => return Err(wrong("says nothing to do")),
            [SCALE, "to", number] | [SCALE, number] => {
                let number = number.parse().ok().filter(|number| *number > 0);
                let number = number.ok_or_else(|| wrong("has no number from 1 on at its end"))?;
                ActionKind::Scale(number)
            }
            [SCALE, ..] => return Err(wrong("has no number from 1 on at its end")),
            [verb, ..] => match Injection::parse(act) {
                Ok(injection) => ActionKind::Fault(injection),
                Err(_) if !Fault::begins_with(verb) => {
                    let all = [SCALE].into_iter().chain(fault::names());
                    return Err(usage(format!("{text:?}: {}", fault::unknown(verb, all))));
                }
                Err(reason) => return Err(usage(format!("{text:?}: {reason}"))),
            },
        };
        Ok(Action { at, act })
    }
}

impl fmt::Display for Action {
    /// As it is parsed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}ms: {}", self.at.0 / 1_000_000, self.act.text())
    }
}
