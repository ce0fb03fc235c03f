//! Actions on the store during a run, at given moments.

pub mod action;
pub mod schedule;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use assay_history::State;
use assay_lab::{Fault, FaultTarget, Injected, Injection};
use assay_model::{ACTION_MARK, Event, EventKind, Nanos};
use assay_run::{Clock, Control, Wall};

use crate::actions::action::{Action, ActionKind, Ended};
use crate::actions::schedule::ActionSchedule;
use crate::exit::Exit;

/// What the texts of events about actions begin with.
pub const MARK: &str = ACTION_MARK;
/// How long the thread that waits for the next moment sleeps at a time.
const NAP: Nanos = Nanos::from_millis(20);
/// How often it is tried to mend what a nemesis has broken.
const MEND_ATTEMPTS: u32 = 3;
/// How long is waited before the next attempt.
const MEND_PAUSE: Duration = Duration::from_secs(1);

/// The outcomes of all actions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExecutedActions {
    /// When each began, with how it ended.
    pub events: Vec<Event>,
    /// What was to be done but was not, a sentence each.
    pub failures: Vec<String>,
    /// What the nemesis has broken and could not mend, a sentence each.
    pub unmended: Vec<String>,
    /// What the lab is still at, in a sentence.
    pub goes_on: Option<String>,
    /// The warning that the lab ended before the run did.
    pub lab_end: Option<String>,
}

/// Does them, each at its moment, or as soon as the one before is done; tells of each when it
/// began and how it ended. What the run ends before is not done, unless it mends what was broken:
/// it is done then. What a nemesis has broken is mended in the end, however that comes.
pub fn execute(
    schedule: &ActionSchedule,
    control: &Control,
    is_over: &AtomicBool,
    mut act: impl FnMut(&ActionKind) -> Ended,
) -> ExecutedActions {
    let mut executed = ExecutedActions::default();
    let Some(clock) = begun(control, is_over) else { return executed };
    let mut broken = Broken::default();
    for action in &schedule.actions {
        if is_reached(&clock, action.at, is_over) {
            match executed.perform(action, &clock, &mut act) {
                Ended::Done(injected) => broken.note(&action.act, injected.as_ref()),
                Ended::Failed(reason) => {
                    executed.failures.push(reason);
                    broken.note_attempt(&action.act);
                }
                Ended::GoesOn => broken.note_attempt(&action.act),
            }
        } else if broken.is_mended_by(&action.act) {
            // A run that ends early leaves nothing broken that it was to mend.
            executed.mend(&action.act, &clock, &mut act);
            broken.note(&action.act, None);
        } else if !schedule.is_drawn() {
            // What a nemesis did not come to is missed by nobody.
            let text = format!("{MARK}{} was not done, the run was over before", action.act.text());
            executed.failures.push(text.clone());
            executed.tell(clock.now(), EventKind::Warning, text);
        }
    }
    if schedule.is_drawn() {
        let undo = |fault| ActionKind::Fault(Injection::of(fault, None));
        broken.undo().into_iter().for_each(|fault| executed.mend(&undo(fault), &clock, &mut act));
    }
    executed
}

/// What is broken, by what mends it and the node; 0 where that is not known.
#[derive(Debug, Default)]
struct Broken(BTreeSet<(Fault, usize)>);

impl Broken {
    /// Something was done to the nodes that the lab names, or else to those that were ordered.
    fn note(&mut self, act: &ActionKind, injected: Option<&Injected>) {
        let ActionKind::Fault(injection) = act else { return };
        let nodes = match (injected, injection.node) {
            (Some(injected), _) if !injected.nodes.is_empty() => injected.nodes.clone(),
            (_, Some(FaultTarget::Node(node))) => vec![node],
            _ => Vec::new(),
        };
        match (act.undo(), nodes.is_empty()) {
            (Some(undo), true) => drop(self.0.insert((undo, 0))),
            (Some(undo), false) => self.0.extend(nodes.iter().map(|node| (undo, *node))),
            (None, true) => self.0.retain(|(undo, _)| *undo != injection.fault),
            (None, false) => {
                self.0.retain(|(undo, node)| *undo != injection.fault || !nodes.contains(node));
            }
        }
    }

    /// Something that breaks was tried, and may have done so in part.
    fn note_attempt(&mut self, act: &ActionKind) {
        if act.undo().is_some() {
            self.note(act, None);
        }
    }

    /// Whether this mends anything of it.
    fn is_mended_by(&self, act: &ActionKind) -> bool {
        let ActionKind::Fault(injection) = act else { return false };
        self.0.iter().any(|(undo, node)| {
            *undo == injection.fault
                && match injection.node {
                    Some(FaultTarget::Node(ordered)) => *node == 0 || *node == ordered,
                    _ => true,
                }
        })
    }

    /// All that mends it, each once.
    fn undo(&self) -> Vec<Fault> {
        let mut undo: Vec<Fault> = self.0.iter().map(|(undo, _)| *undo).collect();
        undo.dedup();
        undo
    }
}

impl ExecutedActions {
    /// What a reader of the figures must know, a sentence each.
    pub fn notes(&self) -> impl Iterator<Item = &String> {
        let failures = self.failures.iter().chain(&self.unmended);
        failures.chain(&self.goes_on).chain(&self.lab_end)
    }

    /// Says on standard error what was to be done and was not; of a run that was stopped, what
    /// goes on.
    pub fn say_undone(&self, state: State) {
        if state == State::Finished {
            let failures = self.failures.iter().chain(&self.lab_end);
            failures.for_each(|failure| eprintln!("error: {failure}"));
        }
        self.unmended.iter().for_each(|what| eprintln!("error: {what}"));
        self.goes_on.iter().for_each(|what| eprintln!("warning: {what}"));
    }

    /// The code to end with after a run that ended so.
    pub fn exit(&self, state: State) -> Exit {
        match state {
            State::Finished if self.lab_end.is_some() => Exit::Internal,
            State::Finished if self.goes_on.is_some() => Exit::Interrupted,
            State::Finished | State::Interrupted if !self.unmended.is_empty() => Exit::Undone,
            State::Finished if !self.failures.is_empty() => Exit::Undone,
            State::Finished | State::Running => Exit::Fine,
            State::Interrupted => Exit::Interrupted,
            State::Failed => Exit::Internal,
        }
    }

    /// Does something now; how it ended, with the whole sentence if it failed.
    fn perform(
        &mut self,
        action: &Action,
        clock: &Wall,
        act: &mut impl FnMut(&ActionKind) -> Ended,
    ) -> Ended {
        let asked = clock.now();
        let ended = act(&action.act);
        let took = clock.now().since(asked);
        let injected = match &ended {
            Ended::Done(injected) => injected.as_ref(),
            _ => None,
        };
        let what = action.act.text_of(injected);
        // Before that its leader was looked for.
        let found = injected.map_or(Nanos::ZERO, |injected| Nanos(injected.found_ns));
        self.tell(asked + found, action.act.kind(), format!("{MARK}{what}"));
        let text = match &ended {
            Ended::Done(Some(injected)) => format!(
                "{MARK}{what} is done, verified {} after it began (applied after {}, intended at \
                 {})",
                Nanos(injected.verified_ns),
                Nanos(injected.applied_ns),
                action.at
            ),
            Ended::Done(None) => format!("{MARK}{what} is done, {took} after it began"),
            Ended::Failed(reason) => format!("{MARK}{what} failed after {took}: {reason}"),
            Ended::GoesOn => format!(
                "{MARK}{what} goes on, {took} after it began; the run was stopped, nobody waits \
                 for it any more"
            ),
        };
        self.tell(clock.now(), EventKind::Warning, text.clone());
        match ended {
            Ended::Failed(_) => Ended::Failed(text),
            Ended::GoesOn => {
                self.goes_on = Some(text);
                Ended::GoesOn
            }
            done => done,
        }
    }

    /// Mends what is left, which may take several attempts: the lab may be busy.
    fn mend(
        &mut self,
        undo: &ActionKind,
        clock: &Wall,
        act: &mut impl FnMut(&ActionKind) -> Ended,
    ) {
        let mut last = None;
        for attempt in 0..MEND_ATTEMPTS {
            if attempt > 0 {
                thread::sleep(MEND_PAUSE);
            }
            let action = Action { at: clock.now(), act: undo.clone() };
            match self.perform(&action, clock, act) {
                Ended::Failed(reason) => last = Some(reason),
                _ => return,
            }
        }
        self.unmended.extend(last);
    }

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
    use assay_lab::{Injection, Premises};
    use assay_model::ActionEvent;
    use assay_run::Spin;

    use super::*;
    use crate::actions::schedule::{LabPlace, Nemesis, check};

    /// That of a run which has just begun.
    fn begun_control() -> Control {
        let control = Control::new();
        control.set_clock(Some(Wall::starting_in(Duration::ZERO, Spin::Never)));
        control
    }

    fn fault(text: &str) -> ActionKind {
        ActionKind::Fault(Injection::parse(text).expect("it is a fault"))
    }

    fn schedule<const N: usize>(actions: [&str; N]) -> ActionSchedule {
        let actions = actions.map(|text| text.parse().expect("it is an action"));
        ActionSchedule { actions: actions.to_vec(), ..ActionSchedule::default() }
    }

    fn action(text: &str) -> Result<Action, String> {
        text.parse::<Action>().map_err(|error| error.to_string())
    }

    #[test]
    fn actions_are_parsed() {
        let at = Nanos::from_secs(300);
        assert_eq!(action("300s: scale to 2"), Ok(Action { at, act: ActionKind::Scale(2) }));
        assert_eq!(action("5m:scale 2"), Ok(Action { at, act: ActionKind::Scale(2) }));
        assert_eq!(action("5m: kill node 1"), Ok(Action { at, act: fault("kill node 1") }));
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
            ("5s: kill node 0", "\"0\" is no node"),
            ("5s: scale node 2", "no number from 1 on"),
        ] {
            let message = action(text).unwrap_err();
            assert!(message.contains(part), "{text}: {message}");
        }
    }

    #[test]
    fn actions_that_the_lab_cannot_do_are_errors_before_the_run() {
        let lab = |store: &str, nodes: usize| LabPlace {
            store: store.to_owned(),
            nodes,
            premises: Premises::default(),
        };
        let describe = |store: &str, nodes: usize, actions: &[&str]| {
            let actions: Vec<Action> = actions.iter().map(|text| text.parse().unwrap()).collect();
            let checked =
                check(&actions, &lab(store, nodes), &crate::options::Options::default().at);
            checked.map_err(|error| error.to_string())
        };
        assert_eq!(describe("etcd", 1, &["1s: scale 3", "2s: kill 3"]), Ok(()));
        let late = describe("etcd", 3, &["1s: scale 1", "2s: kill 3"]).unwrap_err();
        assert!(late.contains("kill node 3: there is no node 3; there are 1 to 1"), "{late}");
        let many = describe("etcd", 1, &["1s: scale 99"]).unwrap_err();
        assert!(many.contains("scale to 99: etcd can have 1 to"), "{many}");
        let fixed = describe("redis", 1, &["1s: scale 2"]).unwrap_err();
        assert!(fixed.contains("redis can have 1 nodes here, not 2"), "{fixed}");
        let equal = describe("cassandra", 3, &["1s: kill primary"]).unwrap_err();
        assert!(equal.contains("no single node of cassandra leads"), "{equal}");
        let loopback = describe("etcd", 3, &["1s: partition leader"]).unwrap_err();
        assert!(loopback.contains("--network namespaces"), "{loopback}");
    }

    #[test]
    fn each_action_is_reported_with_its_end() {
        let control = begun_control();
        let schedule = schedule(["1ms: kill 1", "2ms: scale 3", "3ms: kill 2"]);
        let executed = execute(&schedule, &control, &AtomicBool::new(false), |act| match act {
            ActionKind::Scale(_) => Ended::Failed("no room".into()),
            act if *act == fault("kill 1") => Ended::Done(None),
            _ => Ended::GoesOn,
        });
        let actions = &schedule.actions;
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
        let control = begun_control();
        let actions = schedule(["1h: kill 1"]);
        let describe =
            execute(&actions, &control, &AtomicBool::new(true), |_| panic!("it is too late"));
        let expected = "lab: kill node 1 was not done, the run was over before";
        assert_eq!(describe.events[0].text, expected);
        assert_eq!(describe.failures, [expected]);
        let never =
            execute(&actions, &Control::new(), &AtomicBool::new(true), |_| Ended::Done(None));
        assert_eq!(never, ExecutedActions::default());
    }

    #[test]
    fn the_event_of_a_fault_names_the_node_and_when_it_was_seen() {
        let control = begun_control();
        let schedule = schedule(["1ms: kill leader"]);
        let executed = execute(&schedule, &control, &AtomicBool::new(false), |_| {
            Ended::Done(Some(Injected {
                nodes: vec![2],
                found_ns: 5_000_000,
                applied_ns: 7_000_000,
                verified_ns: 12_000_000,
            }))
        });
        let [began, done] = &executed.events[..] else { panic!("{executed:?}") };
        assert_eq!(began.text, "lab: kill leader (node 2)");
        assert!(began.at >= Nanos::from_millis(6), "{began:?}");
        assert_eq!(
            done.text,
            "lab: kill leader (node 2) is done, verified 12.00 ms after it began (applied after \
             7.00 ms, intended at 1.00 ms)"
        );
    }

    #[test]
    fn what_was_to_be_mended_later_is_mended_when_the_run_ends() {
        let control = begun_control();
        let actions = ["0ms: kill 1", "1ms: kill 2", "1h: restart 1", "2h: heal", "3h: restart 2"];
        let (is_over, mut did) = (AtomicBool::new(false), Vec::new());
        let executed = execute(&schedule(actions), &control, &is_over, |act| {
            did.push(act.text());
            is_over.store(did.len() >= 2, Ordering::Relaxed);
            Ended::Done(None)
        });
        assert_eq!(did, ["kill node 1", "kill node 2", "restart node 1", "restart node 2"]);
        assert_eq!(executed.failures, ["lab: heal was not done, the run was over before"]);
    }

    #[test]
    fn nodes_that_broke_together_are_mended_one_by_one() {
        let control = begun_control();
        let actions = ["0ms: kill all", "1ms: restart 1", "1h: restart 2", "2h: restart 1"];
        let (is_over, mut did) = (AtomicBool::new(false), Vec::new());
        execute(&schedule(actions), &control, &is_over, |act| {
            did.push(act.text());
            is_over.store(did.len() >= 2, Ordering::Relaxed);
            let nodes = if act.text() == "kill all" { vec![1, 2] } else { Vec::new() };
            Ended::Done(Some(Injected { nodes, found_ns: 0, applied_ns: 1, verified_ns: 2 }))
        });
        assert_eq!(did, ["kill all", "restart node 1", "restart node 2"]);
    }

    #[test]
    fn what_mends_a_fault_in_the_lab_mends_its_event() {
        for facts in assay_lab::FAULTS {
            let Some(undo) = facts.undo else { continue };
            let text = |fault| format!("{MARK}{}", Injection::of(fault, None).text());
            let (fault, mend) = (text(facts.fault), text(undo));
            let parse = |text| ActionEvent::parse(text).expect("it is about an action");
            assert!(parse(&mend).mends(&parse(&fault)), "{mend} after {fault}");
        }
    }

    /// Ends as soon as the nemesis has killed a node; what was done, how it ended.
    fn interrupted(restart: &Ended) -> (Vec<String>, ExecutedActions) {
        let control = begun_control();
        let actions = ["1ms: kill leader", "1h: restart", "2h: pause random", "3h: thaw"];
        let schedule = ActionSchedule { nemesis: Some(Nemesis::default()), ..schedule(actions) };
        let (is_over, mut did) = (AtomicBool::new(false), Vec::new());
        let executed = execute(&schedule, &control, &is_over, |act| {
            is_over.store(true, Ordering::Relaxed);
            did.push(act.text());
            if act.text() == "restart" { restart.clone() } else { Ended::Done(None) }
        });
        (did, executed)
    }

    #[test]
    fn what_a_nemesis_has_broken_is_mended_when_the_run_ends_early() {
        let (did, executed) = interrupted(&Ended::Done(None));
        assert_eq!(did, ["kill leader", "restart"]);
        assert_eq!((executed.failures.len(), executed.unmended.len()), (0, 0));
        let texts: Vec<&str> = executed.events.iter().map(|event| event.text.as_str()).collect();
        assert_eq!((texts.len(), texts[2]), (4, "lab: restart"), "{texts:?}");
    }

    #[test]
    fn what_cannot_be_mended_is_told_after_some_attempts() {
        let (did, executed) = interrupted(&Ended::Failed("no room".into()));
        assert_eq!(did, ["kill leader", "restart", "restart", "restart"]);
        let [unmended] = &executed.unmended[..] else { panic!("{executed:?}") };
        assert!(unmended.starts_with("lab: restart failed after "), "{unmended}");
    }
}
