//! Schedule of what is done to a lab during a run: as `--at` says, or as a nemesis draws.

use std::fmt;

use anyhow::Result;
use assay_lab::{
    FAULTS, Fault, FaultScope, FaultTarget, GivenOptions, Injection, Premises, Record,
    check_injection, check_programs, check_scale, has_movable_clocks, recipes,
};
use assay_model::{Nanos, Seed, Setting};

use crate::actions::action::{Action, ActionKind};
use crate::exit::usage;
use crate::lab::house::house;
use crate::lab::tied::StorePlace;
use crate::options::{Options, SettingText, StoreNodes};

/// How often a nemesis breaks something, unless `--every` says otherwise.
const EVERY: Nanos = Nanos::from_secs(20);
/// How often it may: nodes need some time to start again.
const LEAST_EVERY: Nanos = Nanos::from_secs(1);
/// The streams of what a nemesis draws, and of the nodes that an action draws.
const DRAWN: u64 = 0x6e65_6d65;
const RANDOM_NODES: u64 = 0x6e6f_6465;
/// When in its interval a fault begins, at random between these parts of it.
const BEGINS: (f64, f64) = (0.05, 0.45);
/// How long it lasts, at random between these parts of the interval. The sum of the upper bounds
/// leaves the store some time before the next.
const LASTS: (f64, f64) = (0.25, 0.4);
/// So long the first fault waits, for what is to be the baseline, if intervals are long enough.
const BASELINE: Nanos = Nanos::from_secs(6);
/// Intervals that are long enough for that: a fault that begins then ends before the next.
const ROOMY: Nanos = Nanos::from_secs(10);

/// What is to be done to a lab during a run.
#[derive(Clone, Debug, Default)]
pub struct ActionSchedule {
    /// In order of time.
    pub actions: Vec<Action>,
    /// What draws the actions, if they are drawn.
    pub nemesis: Option<Nemesis>,
    /// What it follows from, if something is drawn.
    pub seed: u64,
}

/// Draws faults, each at a random moment of its interval, each mended before the next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Nemesis {
    /// The faults to choose from.
    pub faults: Vec<Fault>,
    /// The length of an interval.
    pub every: Nanos,
    /// When the first interval begins.
    pub from: Nanos,
    /// When the run ends; nothing is broken in an interval that is not whole.
    pub until: Nanos,
}

/// The lab that it is done to, as far as that is known before it is up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabPlace {
    /// The recipe's name.
    pub store: String,
    /// How many nodes it begins with.
    pub nodes: usize,
    /// What it was, or will be, started with.
    pub premises: Premises,
}

impl LabPlace {
    /// That of a lab which is up.
    fn of(lab: &Record) -> LabPlace {
        let premises = Premises {
            network: lab.network,
            has_disks: lab.disk_mib.is_some(),
            has_proxy: lab.has_proxy,
            has_peer_proxy: lab.has_peer_proxy,
            has_movable_clocks: lab.has_movable_clocks,
        };
        LabPlace { store: lab.store.clone(), nodes: lab.nodes.len(), premises }
    }

    /// That of the lab which `--up` will start, if it is given.
    fn to_be(options: &Options) -> Result<Option<LabPlace>> {
        let Some(StorePlace::New(StoreNodes { store, nodes })) = StorePlace::named(options)? else {
            return Ok(None);
        };
        let recipe = recipes::find(store).map_err(usage)?;
        let nodes = nodes.unwrap_or(recipe.card().nodes.usual);
        let given = GivenOptions(options.option.value().cloned().unwrap_or_default());
        let premises = Premises {
            network: options.network.get().unwrap_or_default(),
            has_disks: options.disk.is_given(),
            has_proxy: options.proxy.is_on(),
            has_peer_proxy: options.proxy_peers.is_on(),
            has_movable_clocks: has_movable_clocks(&given),
        };
        Ok(Some(LabPlace { store: store.to_owned(), nodes, premises }))
    }
}

/// Compares what is to be done, as `setting` says, with the lab that it is to be done to. Fails if
/// the store cannot have as many nodes, there is no such node at that time, or the lab cannot have
/// such a fault.
pub(super) fn check(actions: &[Action], place: &LabPlace, setting: &SettingText) -> Result<()> {
    let recipe = recipes::find(&place.store).map_err(usage)?;
    let mut nodes = place.nodes;
    for action in actions {
        let possible = match &action.act {
            ActionKind::Scale(target) => {
                let possible = check_scale(&recipe.card(), nodes, *target);
                nodes = *target;
                possible.map_err(|error| format!("{}: {error}", action.act.text()))
            }
            ActionKind::Fault(injection) => {
                let possible = check_injection(injection, recipe, nodes, place.premises);
                possible.map_err(|error| error.to_string())
            }
        };
        possible.map_err(|reason| setting.wrong(reason))?;
    }
    Ok(())
}

impl ActionSchedule {
    /// What the settings `at` or `nemesis` name. Fails if one is invalid, has no lab, lies beyond
    /// the run's end, or is a fault that the lab which `--up` will start cannot have.
    pub fn read(options: &Options, seed: Seed) -> Result<ActionSchedule> {
        let text = options.at.text().unwrap_or_default();
        let parts = text.split([';', '\n']).map(str::trim).filter(|part| !part.is_empty());
        let actions = parts.map(str::parse).collect::<Result<Vec<Action>>>();
        let mut actions = actions.map_err(|error| options.at.wrong(error))?;
        actions.sort_by_key(|action| action.at);
        let nemesis = Nemesis::read(options)?;
        if nemesis.is_some() && !actions.is_empty() {
            return Err(options.nemesis.wrong("it draws the actions: give it, or --at"));
        }
        let is_needed = nemesis.is_some() || !actions.is_empty();
        if is_needed && matches!(StorePlace::named(options)?, None | Some(StorePlace::Url)) {
            let reason = "only a lab's store can be scaled or break; name it by --up or --lab";
            return Err(source(options, nemesis.is_some()).wrong(reason));
        }
        match actions.last().zip(end(options)) {
            Some((last, end)) if last.at >= end => {
                let reason = format!("at {} the run is over, which ends at {end}", last.at);
                return Err(options.at.wrong(reason));
            }
            _ => {}
        }
        let mut schedule = ActionSchedule { actions, nemesis, seed: seed.0 };
        if let (true, Some(place)) = (is_needed, LabPlace::to_be(options)?) {
            schedule.settle(&place, options)?;
        }
        Ok(schedule)
    }

    /// Compares it with the lab, which is up; says what is drawn. Fails if it cannot have such a
    /// fault, or a program is missing for it.
    pub fn settle_in(&mut self, lab: &Record, options: &Options) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        self.settle(&LabPlace::of(lab), options)?;
        let house = house()?;
        for action in &self.actions {
            if let ActionKind::Fault(injection) = &action.act {
                check_programs(injection.fault, &house)?;
            }
        }
        if self.is_drawn() && !options.quiet.is_on() {
            eprintln!("the nemesis of seed {} is --at '{self}'", self.seed);
        }
        Ok(())
    }

    /// Draws what is to be drawn, and compares it with the lab.
    fn settle(&mut self, place: &LabPlace, options: &Options) -> Result<()> {
        let setting = source(options, self.is_drawn());
        if let Some(nemesis) = &self.nemesis {
            // Whatever is drawn: a schedule of another seed is as good.
            check(&nemesis.samples(), place, setting)?;
            let recipe = recipes::find(&place.store).map_err(usage)?;
            self.actions = nemesis.draw(Seed(self.seed), place.nodes, recipe.leader().is_some());
        }
        for (index, action) in self.actions.iter_mut().enumerate() {
            if let ActionKind::Fault(injection) = &mut action.act {
                injection.seed = Seed(self.seed).draws(RANDOM_NODES, index as u64).bits();
            }
        }
        check(&self.actions, place, setting)
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.actions.is_empty() && self.nemesis.is_none()
    }

    /// Whether a nemesis has drawn it, so that nothing stays broken.
    pub fn is_drawn(&self) -> bool {
        self.nemesis.is_some()
    }

    /// What a report says about it: what was drawn, as `--at` takes it.
    pub fn settings(&self) -> Option<Setting> {
        self.is_drawn().then(|| Setting {
            name: "nemesis".to_owned(),
            value: self.to_string(),
            meaning: format!("drawn from seed {}; --at takes it", self.seed),
        })
    }
}

impl fmt::Display for ActionSchedule {
    /// As `--at` takes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<String> = self.actions.iter().map(Action::to_string).collect();
        f.write_str(&all.join("; "))
    }
}

/// When the run ends, if that is known.
fn end(options: &Options) -> Option<Nanos> {
    let warm_up = options.warm_up.get().unwrap_or(Nanos::ZERO);
    options.duration.get().map(|duration| duration + warm_up)
}

/// The setting that names the actions, or the faults of which they are drawn.
fn source(options: &Options, is_drawn: bool) -> &SettingText {
    if is_drawn { &options.nemesis } else { &options.at }
}

impl Nemesis {
    /// What setting `nemesis` names, if it is given.
    fn read(options: &Options) -> Result<Option<Nemesis>> {
        let every = options.every.get();
        let Some(text) = options.nemesis.text() else {
            return match options.every.is_typed() {
                true => Err(options.every.wrong("it is about --nemesis")),
                false => Ok(None),
            };
        };
        let named = text.split([',', ';']).map(str::trim).filter(|name| !name.is_empty());
        let faults = named.map(breaking).collect::<Result<Vec<Fault>, String>>();
        let faults = faults.map_err(|reason| options.nemesis.wrong(reason))?;
        if faults.is_empty() {
            let all = breaking_names().join(", ");
            return Err(options.nemesis.wrong(format!("name faults of {all}")));
        }
        let every = every.unwrap_or(EVERY);
        if every < LEAST_EVERY {
            return Err(options.every.wrong(format!("it is at least {LEAST_EVERY}")));
        }
        let from = options.warm_up.get().unwrap_or(Nanos::ZERO);
        let until = end(options)
            .ok_or_else(|| options.nemesis.wrong("it needs the run's length: give --duration"))?;
        if from + every > until {
            let reason = format!("a fault every {every} needs a run of at least that length");
            return Err(options.nemesis.wrong(reason));
        }
        Ok(Some(Nemesis { faults, every, from, until }))
    }

    /// Each of its faults, of some node.
    fn samples(&self) -> Vec<Action> {
        let sample = |fault: &Fault| {
            let facts = fault.facts();
            let node = (facts.scope == FaultScope::Named).then_some(FaultTarget::Random);
            let by = facts.amount.map(|amount| amount.example.to_owned());
            let injection = Injection { by, ..Injection::of(*fault, node) };
            Action { at: self.from, act: ActionKind::Fault(injection) }
        };
        self.faults.iter().map(sample).collect()
    }

    /// One fault in each whole interval, with what mends it, for a lab of so many nodes.
    fn draw(&self, seed: Seed, nodes: usize, has_leader: bool) -> Vec<Action> {
        let whole = self.until.since(self.from).0 / self.every.0;
        (0..whole).flat_map(|interval| self.one(seed, interval, nodes, has_leader)).collect()
    }

    fn one(&self, seed: Seed, interval: u64, nodes: usize, has_leader: bool) -> [Action; 2] {
        let mut draws = seed.draws(DRAWN, interval);
        let fault = self.faults[draws.below(self.faults.len() as u64) as usize];
        let one_node = FaultTarget::Node(1 + draws.below(nodes as u64) as usize);
        let mut targets = vec![one_node];
        targets.extend(has_leader.then_some(FaultTarget::Leader));
        targets.extend((nodes >= 3).then_some(FaultTarget::Minority));
        let target = targets[draws.below(targets.len() as u64) as usize];
        let facts = fault.facts();
        let by = facts.amount.map(|amount| amount.example.to_owned());
        let node = (facts.scope == FaultScope::Named).then_some(target);
        let mut part = |(from, to): (f64, f64)| {
            let exact = self.every.0 as f64 * (from + (to - from) * draws.unit());
            // Whole milliseconds are what `--at` is told.
            Nanos::from_millis((exact / 1e6) as u64)
        };
        let mut begins = self.from + Nanos(self.every.0 * interval) + part(BEGINS);
        if interval == 0 && self.every >= ROOMY {
            begins = begins.max(self.from + BASELINE);
        }
        let ends = begins + part(LASTS);
        let breaks = Injection { by, ..Injection::of(fault, node) };
        let mends = Injection::of(facts.undo.expect("only such faults are chosen"), None);
        [(begins, breaks), (ends, mends)]
            .map(|(at, injection)| Action { at, act: ActionKind::Fault(injection) })
    }
}

/// The fault of this name, which breaks something that can be mended.
fn breaking(name: &str) -> Result<Fault, String> {
    let fault = Fault::named(&name.replace(' ', "-"))?;
    match fault.facts().undo {
        Some(_) => Ok(fault),
        None => Err(format!("{name} breaks nothing; there are {}", breaking_names().join(", "))),
    }
}

fn breaking_names() -> Vec<&'static str> {
    FAULTS.iter().filter(|row| row.undo.is_some()).map(|row| row.name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nemesis(faults: &[Fault]) -> Nemesis {
        Nemesis {
            faults: faults.to_vec(),
            every: Nanos::from_secs(20),
            from: Nanos::from_secs(10),
            until: Nanos::from_secs(200),
        }
    }

    #[test]
    fn a_fault_is_mended_in_its_interval_before_the_next() {
        let drawn = nemesis(&[Fault::Kill, Fault::Freeze, Fault::Partition]);
        for seed in 0..50 {
            let actions = drawn.draw(Seed(seed), 3, true);
            assert_eq!(actions.len(), 18);
            for (interval, pair) in actions.chunks(2).enumerate() {
                let [breaks, mends] = pair else { panic!("{pair:?}") };
                let (ActionKind::Fault(broken), ActionKind::Fault(mended)) =
                    (&breaks.act, &mends.act)
                else {
                    panic!("{pair:?}")
                };
                assert_eq!(broken.fault.facts().undo, Some(mended.fault));
                let from = Nanos::from_secs(10 + 20 * interval as u64);
                let part = |action: &Action| action.at.since(from).0 as f64 / 20e9;
                assert!(interval > 0 || breaks.at.since(from) >= BASELINE, "{breaks}");
                assert!(part(breaks) >= 0.05 && part(breaks) < 0.45, "{breaks}");
                let lasts = part(mends) - part(breaks);
                assert!((0.2499..0.4).contains(&lasts), "{breaks} {mends}");
            }
        }
    }

    #[test]
    fn the_same_seed_draws_the_same_schedule_which_at_takes() {
        let drawn = nemesis(&[Fault::Kill, Fault::Partition]);
        let actions = drawn.draw(Seed(7), 3, true);
        assert_eq!(actions, drawn.draw(Seed(7), 3, true));
        assert_ne!(actions, drawn.draw(Seed(8), 3, true));
        let schedule = ActionSchedule { actions, ..ActionSchedule::default() };
        let again: Vec<Action> = schedule
            .to_string()
            .split("; ")
            .map(|text| text.parse().expect("it is an action"))
            .collect();
        assert_eq!(again, schedule.actions);
    }

    #[test]
    fn every_fault_and_target_is_drawn_that_the_lab_can_have() {
        let drawn = |nodes, has_leader| {
            let faults = [Fault::Kill, Fault::Freeze, Fault::PartitionRing];
            let long = Nemesis { until: Nanos::from_secs(4000), ..nemesis(&faults) };
            let mut texts: Vec<String> = long
                .draw(Seed(3), nodes, has_leader)
                .iter()
                .map(|action| action.act.text())
                .collect();
            texts.sort();
            texts.dedup();
            texts
        };
        let mut expected = vec!["partition ring", "heal", "restart", "thaw"];
        expected.extend(["freeze node 1", "kill node 1"]);
        expected.sort_unstable();
        assert_eq!(drawn(1, false), expected);
        let all = drawn(3, true);
        for text in ["kill leader", "kill minority", "kill node 3", "freeze leader"] {
            assert!(all.iter().any(|drawn| drawn == text), "{text}: {all:?}");
        }
    }

    #[test]
    fn what_breaks_nothing_is_no_nemesis() {
        assert_eq!(breaking("pause"), Ok(Fault::Freeze));
        assert_eq!(breaking("partition one way"), Ok(Fault::PartitionOneWay));
        let reported = breaking("heal").unwrap_err();
        assert!(reported.contains("heal breaks nothing; there are kill, stop"), "{reported}");
    }
}
