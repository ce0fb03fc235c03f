//! Rates that run over time, or are changed from outside while a run goes on.

use std::sync::Arc;

use assay_model::{Nanos, Record, Source};
use assay_run::executor::execute_alone;
use assay_run::{
    ArrivalProcess, Arrivals, Control, Extent, Load, Open, Overflow, ProfileForm, RATE_LEAD,
    RateProfile, SimulatedClock, Sink, Spike, Stage,
};

use crate::stand_ins::{Manner, Plan, StandInStore, extent, open, workers};

const MS: Nanos = Nanos::from_millis(1);

/// A sink that changes the rate at a given moment.
struct Turning {
    control: Arc<Control>,
    clock: SimulatedClock,
    turns: Vec<(Nanos, f64)>,
    records: Vec<Record>,
}

impl Sink for Turning {
    fn push(&mut self, record: Record) {
        self.records.push(record);
        let now = record.ended;
        while let Some((_, rate)) = self.turns.pop_if(|(at, _)| *at <= now) {
            let at = now + RATE_LEAD;
            self.control.set_rate(at, rate).expect("an open run goes on");
        }
    }

    fn observe(&mut self, _value: assay_model::ObservedValue) {}

    fn flush(&mut self) {
        // A worker without arrivals flushes all the same: the time goes on.
        let now = assay_run::Clock::now(&self.clock);
        while let Some((_, rate)) = self.turns.pop_if(|(at, _)| *at <= now) {
            self.control.set_rate(now + RATE_LEAD, rate).expect("an open run goes on");
        }
    }

    fn is_broken(&self) -> bool {
        false
    }

    fn stalls(&self) -> u64 {
        0
    }
}

fn run(load: Load, extent: Extent, mut turns: Vec<(Nanos, f64)>) -> (Vec<Record>, Arc<Control>) {
    turns.reverse();
    let source = || Box::new(Plan { width: 1 }) as Box<dyn Source>;
    let run = workers(1, &source, load, extent);
    let clock = SimulatedClock::new();
    let store = StandInStore(Manner::Queue(Nanos(1000)), clock.clone());
    let control = Arc::new(Control::new());
    let records = Vec::new();
    let sink = Turning { control: Arc::clone(&control), clock: clock.clone(), turns, records };
    let (_, sink) = execute_alone(&run, &store, clock, sink, &control).expect("it opens");
    (sink.records, control)
}

fn shaped(form: ProfileForm) -> Load {
    let arrivals =
        Arrivals { rate_profile: RateProfile::new(form), process: ArrivalProcess::Constant };
    Load::Open(Open { arrivals, in_flight: 1000, overflow: Overflow::Queue })
}

/// How many operations were issued in each second.
fn by_second(records: &[Record]) -> Vec<usize> {
    let mut counts = Vec::new();
    for record in records {
        let second = (record.intended.0 / 1_000_000_000) as usize;
        counts.resize(counts.len().max(second + 1), 0);
        counts[second] += 1;
        assert_eq!(record.lag(), Nanos::ZERO, "{}", record.intended);
    }
    counts
}

#[test]
fn stages_are_issued_as_they_are_planned() {
    let stage = |from, to| Stage { length: Nanos::from_secs(2), from, to };
    let load = shaped(ProfileForm::Stages(vec![
        stage(100.0, 100.0),
        stage(100.0, 500.0),
        stage(0.0, 0.0),
    ]));
    let (records, _) = run(load, extent(None, Some(6)), Vec::new());
    assert_eq!(by_second(&records), [100, 100, 200, 400]);
}

#[test]
fn a_spike_comes_and_goes() {
    let at = Nanos::from_secs(1);
    let load = shaped(ProfileForm::Spike(Spike { usual: 50.0, peak: 500.0, at, length: at }));
    let (records, _) = run(load, extent(None, Some(4)), Vec::new());
    assert_eq!(by_second(&records), [50, 500, 50, 50]);
}

#[test]
fn the_rate_is_changed_while_the_run_goes_on() {
    let load = open(100.0, 1000, Overflow::Queue);
    let turns = vec![(Nanos::from_millis(895), 1000.0), (Nanos::from_millis(1895), 10.0)];
    let (records, control) = run(load, extent(None, Some(4)), turns);
    let changes = control.rate_changes();
    let rates: Vec<(f64, f64)> = changes.iter().map(|one| (one.before, one.rate)).collect();
    assert_eq!(rates, [(100.0, 1000.0), (1000.0, 10.0)]);
    for (change, target) in changes.iter().zip([1000u64, 2000]) {
        let late = change.at.since(Nanos::from_millis(target));
        assert!(late < RATE_LEAD, "from {} on", change.at);
    }
    let expected = control.rate_profile().expect("it was open").integral(Nanos::from_secs(4));
    assert_eq!(records.len(), expected.ceil() as usize);
    assert!(records.iter().all(|record| record.lag() == Nanos::ZERO), "nobody received too late");
}

#[test]
fn a_pause_ends_when_it_is_notified() {
    let load = open(100.0, 1000, Overflow::Queue);
    let turns = vec![(Nanos::from_millis(900), 0.0), (Nanos::from_millis(2900), 100.0)];
    let (records, control) = run(load, extent(None, Some(5)), turns);
    let changes = control.rate_changes();
    let silent =
        |record: &Record| record.intended > changes[0].at && record.intended < changes[1].at;
    assert!(!records.iter().any(silent));
    let after = records.iter().filter(|record| record.intended >= changes[1].at).count() as f64;
    let seconds = Nanos::from_secs(5).since(changes[1].at).as_secs_f64();
    assert!((after - 100.0 * seconds).abs() <= 1.0, "{after} in {seconds} s");
}

#[test]
fn a_run_with_rare_arrivals_lasts_its_whole_duration() {
    let load = open(0.5, 1000, Overflow::Queue);
    let (records, _) = run(load, extent(None, Some(9)), vec![(Nanos::from_millis(6500), 100.0)]);
    // At 0, 2, 4, 6 s; then with every change of mind, 100 a second.
    assert!(records.len() > 200, "{} records", records.len());
}

#[test]
fn a_change_that_an_earlier_run_had_is_forgotten() {
    let control = Control::new();
    let source = || Box::new(Plan { width: 1 }) as Box<dyn Source>;
    let count = || {
        let load = open(100.0, 1000, Overflow::Queue);
        let run = workers(1, &source, load, extent(None, Some(1)));
        let clock = SimulatedClock::new();
        let store = StandInStore(Manner::Queue(MS), clock.clone());
        let (_, records) = execute_alone(&run, &store, clock, Vec::<Record>::new(), &control)
            .expect("a stand-in opens");
        records.len()
    };
    assert_eq!(count(), 100);
    control.set_rate(Nanos::ZERO, 5.0).expect("it was an open run");
    assert_eq!(count(), 100);
}
