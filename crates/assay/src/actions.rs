//! Actions on the store during a run, at given moments.

use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Error, Result};
use assay_lab::{Record, check_scale, recipes};
use assay_model::{Event, EventKind, Nanos, closest};
use assay_run::{Clock, Control, Wall};

use crate::exit::usage;
use crate::lab::tied::store_setting;
use crate::lab::{Fault, GoesOn, LabClient, Request};
use crate::options::Options;
use crate::units;

/// What the texts of events about actions begin with.
pub const MARK: &str = "lab: ";
/// How long the thread that waits for the next moment sleeps at a time.
const NAP: Nanos = Nanos::from_millis(20);

/// Something that is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Action {
    /// When, on the run's time axis, which begins with the warm-up.
    pub at: Nanos,
    /// What.
    pub act: ActionKind,
}

/// What can be done to a lab's store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionKind {
    /// Add or remove nodes until there are so many.
    Scale(usize),
    /// `kill -9` of a node.
    Kill(usize),
    /// End a node as its administrator would.
    Stop(usize),
    /// Suspend a node, its sockets open.
    Freeze(usize),
    /// Let a frozen node go on.
    Thaw(usize),
    /// Start a node that is down again.
    Restart(usize),
}

/// How an action ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It is done.
    Done,
    /// It is not, for this reason.
    Failed(String),
    /// The lab is still at it, but the run was stopped.
    GoesOn,
}

/// The outcomes of all actions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExecutedActions {
    /// When each began, with how it ended.
    pub events: Vec<Event>,
    /// What was to be done but was not, a sentence each.
    pub failures: Vec<String>,
    /// What the lab is still at, in a sentence.
    pub goes_on: Option<String>,
    /// The warning that the lab ended before the run did.
    pub lab_end: Option<String>,
}

/// An action for so many nodes, with its verb.
type Verb = fn(usize) -> ActionKind;

const VERBS: [(&str, Verb); 6] = [
    ("scale", ActionKind::Scale),
    ("kill", ActionKind::Kill),
    ("stop", ActionKind::Stop),
    ("freeze", ActionKind::Freeze),
    ("thaw", ActionKind::Thaw),
    ("restart", ActionKind::Restart),
];

impl ActionKind {
    /// In words.
    pub fn text(self) -> String {
        match self {
            ActionKind::Scale(nodes) => format!("scale to {nodes}"),
            ActionKind::Kill(node) => format!("kill node {node}"),
            ActionKind::Stop(node) => format!("stop node {node}"),
            ActionKind::Freeze(node) => format!("freeze node {node}"),
            ActionKind::Thaw(node) => format!("thaw node {node}"),
            ActionKind::Restart(node) => format!("restart node {node}"),
        }
    }

    /// Executes it on `lab`, and returns when that has ended, or when `is_target` says that nobody
    /// waits for it any more.
    pub fn upon(self, lab: &LabClient, is_target: &dyn Fn() -> bool) -> Ended {
        let fault = |fault, node| Request::Fault { fault, node };
        let request = match self {
            ActionKind::Scale(nodes) => Request::Scale { nodes },
            ActionKind::Kill(node) => fault(Fault::Kill, node),
            ActionKind::Stop(node) => fault(Fault::Stop, node),
            ActionKind::Freeze(node) => fault(Fault::Freeze, node),
            ActionKind::Thaw(node) => fault(Fault::Thaw, node),
            ActionKind::Restart(node) => fault(Fault::Restart, node),
        };
        match lab.change(&request, is_target) {
            Ok(()) => Ended::Done,
            Err(error) if error.is::<GoesOn>() => Ended::GoesOn,
            Err(error) => Ended::Failed(format!("{error:#}")),
        }
    }

    /// What sort of event it is: a change that was wanted, or something broken or mended.
    pub fn kind(self) -> EventKind {
        match self {
            ActionKind::Scale(_) => EventKind::Change,
            _ => EventKind::Fault,
        }
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
        let mut words = act.split_whitespace();
        let verb = words.next().ok_or_else(|| wrong("says nothing to do"))?;
        let names = VERBS.iter().map(|(name, _)| *name);
        let Some((_, act)) = VERBS.iter().find(|(name, _)| *name == verb) else {
            let hint = match closest(verb, names.clone()) {
                Some(near) => format!("did you mean {near}?"),
                None => format!("there are {}", names.collect::<Vec<_>>().join(", ")),
            };
            return Err(usage(format!("{text:?}: there is no {verb:?}; {hint}")));
        };
        let rest: Vec<&str> = words.collect();
        let number = match (verb, &rest[..]) {
            (_, [number]) | ("scale", ["to", number]) => number.parse().ok(),
            (verb, ["node", number]) if verb != "scale" => number.parse().ok(),
            _ => None,
        };
        let number = number.filter(|number| *number > 0);
        let number = number.ok_or_else(|| wrong("has no number from 1 on at its end"))?;
        Ok(Action { at, act: act(number) })
    }
}

/// The actions that setting `at` names, in order of time.
///
/// # Errors
/// If one of them is invalid, there is no lab for it, or it lies beyond the run's end.
pub fn read(options: &Options) -> Result<Vec<Action>> {
    let text = options.text("at").unwrap_or_default();
    let parts = text.split([';', '\n']).map(str::trim).filter(|part| !part.is_empty());
    let actions = parts.map(str::parse).collect::<Result<Vec<Action>>>();
    let mut actions = actions.map_err(|error| options.wrong("at", &error.to_string()))?;
    actions.sort_by_key(|action| action.at);
    if !actions.is_empty() && store_setting(options)?.is_none_or(|place| place == "target") {
        let reason = "only a lab's store can be scaled or break; name it by --up or --lab";
        return Err(options.wrong("at", reason));
    }
    let end = options.duration("duration")?.map(|duration| {
        duration + options.duration("warm-up").ok().flatten().unwrap_or(Nanos::ZERO)
    });
    match actions.last().zip(end) {
        Some((last, end)) if last.at >= end => {
            let reason = format!("at {} the run is over, which ends at {end}", last.at);
            Err(options.wrong("at", &reason))
        }
        _ => Ok(actions),
    }
}

/// Compares what is to be done with the lab that it is to be done to.
///
/// # Errors
/// If the store cannot have as many nodes, or there is no such node at that time.
pub fn check(actions: &[Action], lab: &Record, options: &Options) -> Result<()> {
    let card = recipes::find(&lab.store).map_err(usage)?.card();
    let mut nodes = lab.nodes.len();
    for action in actions {
        let text = action.act.text();
        match action.act {
            ActionKind::Scale(target) => {
                let possible = check_scale(&card, nodes, target);
                possible.map_err(|error| options.wrong("at", &format!("{text}: {error}")))?;
                nodes = target;
            }
            ActionKind::Kill(node)
            | ActionKind::Stop(node)
            | ActionKind::Freeze(node)
            | ActionKind::Thaw(node)
            | ActionKind::Restart(node)
                if node > nodes =>
            {
                let reason = format!("{text}: there are {nodes} nodes at that time");
                return Err(options.wrong("at", &reason));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Does them, each at its moment, or as soon as the one before is done; tells of each when it
/// began and how it ended. What the run ends before is not done.
pub fn execute(
    actions: &[Action],
    control: &Control,
    is_over: &AtomicBool,
    mut act: impl FnMut(ActionKind) -> Ended,
) -> ExecutedActions {
    let mut executed = ExecutedActions::default();
    let Some(clock) = begun(control, is_over) else { return executed };
    for action in actions {
        let what = action.act.text();
        if !is_reached(&clock, action.at, is_over) {
            let text = format!("{MARK}{what} was not done, the run was over before");
            executed.failures.push(text.clone());
            executed.tell(clock.now(), EventKind::Warning, text);
            continue;
        }
        let began = clock.now();
        executed.tell(began, action.act.kind(), format!("{MARK}{what}"));
        let ended = act(action.act);
        let took = clock.now().since(began);
        let text = match ended {
            Ended::Done => format!("{MARK}{what} is done, {took} after it began"),
            Ended::Failed(reason) => {
                let text = format!("{MARK}{what} failed after {took}: {reason}");
                executed.failures.push(text.clone());
                text
            }
            Ended::GoesOn => {
                let text = format!(
                    "{MARK}{what} goes on, {took} after it began; the run was stopped, nobody \
                     waits for it any more"
                );
                executed.goes_on = Some(text.clone());
                text
            }
        };
        executed.tell(clock.now(), EventKind::Warning, text);
    }
    executed
}

impl ExecutedActions {
    fn tell(&mut self, at: Nanos, kind: EventKind, text: String) {
        self.events.push(Event { at, kind, text });
    }
}

/// The run's clock, when it has begun; `None` if it never does.
pub fn begun(control: &Control, is_over: &AtomicBool) -> Option<Wall> {
    loop {
        match control.clock() {
            Some(clock) => return Some(clock),
            None if is_over.load(Ordering::Relaxed) => return None,
            None => thread::sleep(Duration::from(NAP)),
        }
    }
}

/// Waits for `moment`; whether it came before the run was over.
fn is_reached(clock: &Wall, moment: Nanos, is_over: &AtomicBool) -> bool {
    while !is_over.load(Ordering::Relaxed) {
        let now = clock.now();
        if now >= moment {
            return true;
        }
        clock.sleep_until(moment.min(now + NAP));
    }
    false
}

#[cfg(test)]
mod tests {
    use assay_run::Spin;

    use super::*;

    fn action(text: &str) -> Result<Action, String> {
        text.parse::<Action>().map_err(|error| error.to_string())
    }

    #[test]
    fn actions_are_parsed() {
        let at = Nanos::from_secs(300);
        assert_eq!(action("300s: scale to 2"), Ok(Action { at, act: ActionKind::Scale(2) }));
        assert_eq!(action("5m:scale 2"), Ok(Action { at, act: ActionKind::Scale(2) }));
        assert_eq!(action("5m: kill node 1"), Ok(Action { at, act: ActionKind::Kill(1) }));
        assert_eq!(
            action("5m: restart 3").map(|action| action.act.text()),
            Ok("restart node 3".into())
        );
    }

    #[test]
    fn invalid_actions_are_errors_with_a_reason() {
        for (text, part) in [
            ("scale to 2", "no moment before a colon"),
            ("soon: scale to 2", "soon"),
            ("5s:", "says nothing to do"),
            ("5s: scael to 2", "did you mean scale?"),
            ("5s: explode 1", "there are scale, kill"),
            ("5s: scale to", "no number from 1 on"),
            ("5s: kill node 0", "no number from 1 on"),
            ("5s: scale node 2", "no number from 1 on"),
        ] {
            let message = action(text).unwrap_err();
            assert!(message.contains(part), "{text}: {message}");
        }
    }

    #[test]
    fn actions_that_the_lab_cannot_do_are_errors_before_the_run() {
        let lab = |store: &str, nodes: usize| -> Record {
            let node = |number: usize| {
                format!(r#"{{"number":{number},"address":"","folder":"","servers":[]}}"#)
            };
            let nodes: Vec<String> = (1..=nodes).map(node).collect();
            let text = format!(
                r#"{{"store":"{store}","version":"","url":"","network":"loopback","holder":1,
                "nodes":[{}]}}"#,
                nodes.join(",")
            );
            serde_json::from_str(&text).unwrap()
        };
        let describe = |store: &str, nodes: usize, actions: &[&str]| {
            let actions: Vec<Action> = actions.iter().map(|text| text.parse().unwrap()).collect();
            let checked = check(&actions, &lab(store, nodes), &Options::default());
            checked.map_err(|error| error.to_string())
        };
        assert_eq!(describe("etcd", 1, &["1s: scale 3", "2s: kill 3"]), Ok(()));
        let late = describe("etcd", 3, &["1s: scale 1", "2s: kill 3"]).unwrap_err();
        assert!(late.contains("kill node 3: there are 1 nodes at that time"), "{late}");
        let many = describe("etcd", 1, &["1s: scale 99"]).unwrap_err();
        assert!(many.contains("scale to 99: etcd can have 1 to"), "{many}");
        let fixed = describe("redis", 1, &["1s: scale 2"]).unwrap_err();
        assert!(fixed.contains("redis can have 1 nodes here, not 2"), "{fixed}");
    }

    #[test]
    fn each_action_is_reported_with_its_end() {
        let control = Control::new();
        control.set_clock(Some(Wall::starting_in(Duration::ZERO, Spin::Never)));
        let actions =
            ["1ms: kill 1", "2ms: scale 3", "3ms: kill 2"].map(|text| text.parse().unwrap());
        let executed = execute(&actions, &control, &AtomicBool::new(false), |act| match act {
            ActionKind::Kill(1) => Ended::Done,
            ActionKind::Kill(_) => Ended::GoesOn,
            _ => Ended::Failed("no room".into()),
        });
        assert_eq!(executed.failures, [executed.events[3].text.clone()]);
        assert_eq!(executed.goes_on.as_deref(), Some(&*executed.events[5].text));
        let executed = executed.events;
        let kinds: Vec<EventKind> = executed.iter().map(|event| event.kind).collect();
        let (change, fault, notice) = (EventKind::Change, EventKind::Fault, EventKind::Warning);
        assert_eq!(kinds, [fault, notice, change, notice, fault, notice]);
        assert_eq!(executed[0].text, "lab: kill node 1");
        assert!(executed[1].text.starts_with("lab: kill node 1 is done, "), "{}", executed[1].text);
        assert!(executed[3].text.ends_with(": no room"), "{}", executed[3].text);
        assert!(executed[5].text.starts_with("lab: kill node 2 goes on, "), "{}", executed[5].text);
        assert!(executed[0].at >= actions[0].at && executed[2].at >= executed[1].at);
    }

    #[test]
    fn what_the_run_ends_before_is_not_done() {
        let control = Control::new();
        control.set_clock(Some(Wall::starting_in(Duration::ZERO, Spin::Never)));
        let actions = ["1h: kill 1".parse().unwrap()];
        let describe =
            execute(&actions, &control, &AtomicBool::new(true), |_| panic!("it is too late"));
        let expected = "lab: kill node 1 was not done, the run was over before";
        assert_eq!(describe.events[0].text, expected);
        assert_eq!(describe.failures, [expected]);
        let never = execute(&actions, &Control::new(), &AtomicBool::new(true), |_| Ended::Done);
        assert_eq!(never, ExecutedActions::default());
    }
}
