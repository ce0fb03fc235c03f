//! Faults of a run, from its events: when each began, and when it was mended.

use assay_model::{ActionEvent, ActionStage, Event, EventKind, Nanos};

/// A fault, or a change of the number of nodes, with its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultSpan {
    /// What was done, such as `kill leader (node 2)`.
    pub what: String,
    /// Its sort, such as `kill leader`.
    pub sort: String,
    /// When it began.
    pub at: Nanos,
    /// When it was done, if it is known.
    pub applied: Option<Nanos>,
    /// When mending it began; `None` if it never did.
    pub mending: Option<Nanos>,
    /// When it was mended.
    pub mended: Option<Nanos>,
}

impl FaultSpan {
    /// When it was over: mended, or done where it is a change that needs no mending.
    pub fn end(&self) -> Option<Nanos> {
        self.mended.or(self.mending)
    }
}

/// The faults that `events`, in order of time, tell of. What failed is none.
pub fn faults(events: &[Event]) -> Vec<FaultSpan> {
    let told: Vec<(&Event, ActionEvent)> =
        events.iter().filter_map(|event| Some((event, ActionEvent::parse(&event.text)?))).collect();
    let mut spans: Vec<(FaultSpan, ActionEvent)> = Vec::new();
    for (place, (event, action)) in told.iter().enumerate() {
        let is_action = matches!(event.kind, EventKind::Fault | EventKind::Change);
        if !is_action || action.stage != ActionStage::Began {
            continue;
        }
        let ended = told[place..]
            .iter()
            .find(|(_, later)| later.what == action.what && later.stage != ActionStage::Began);
        let stage = ended.map(|(_, later)| later.stage);
        if stage == Some(ActionStage::Failed) {
            continue;
        }
        let done = ended.filter(|_| stage == Some(ActionStage::Done)).map(|(event, _)| event.at);
        if action.is_mend() {
            mend(&mut spans, action, event.at, done);
            continue;
        }
        // A change is over when it is done, a fault when it is mended.
        let is_change = event.kind == EventKind::Change;
        let span = FaultSpan {
            what: action.what.to_owned(),
            sort: action.sort(),
            at: event.at,
            applied: done,
            mending: done.filter(|_| is_change),
            mended: done.filter(|_| is_change),
        };
        spans.push((span, action.clone()));
    }
    spans.into_iter().map(|(span, _)| span).collect()
}

/// Ends what `mend`, which began at `began`, mends; a fault of several nodes with the last of them.
fn mend(
    spans: &mut [(FaultSpan, ActionEvent)],
    mend: &ActionEvent,
    began: Nanos,
    done: Option<Nanos>,
) {
    let open = spans.iter_mut().filter(|(span, fault)| span.mended.is_none() && mend.mends(fault));
    for (span, fault) in open {
        fault.nodes.retain(|node| !mend.nodes.is_empty() && !mend.nodes.contains(node));
        if fault.nodes.is_empty() {
            span.mending.get_or_insert(began);
            span.mended = done;
        }
    }
}
