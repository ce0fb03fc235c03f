//! Shares of a run: what several agents issue is together what one machine issues.

use assay_model::{Nanos, Outcome, Record, Seed, Source};
use assay_run::executor::{WorkerOutcome, execute_alone};
use assay_run::{
    ArrivalProcess, Arrivals, Control, Load, Mmpp2, Open, Overflow, Share, SimulatedClock, Think,
    Workers,
};

use crate::stand_ins::{Manner, Plan, RECORDS, StandInStore, closed, extent, open, workers};

/// The share of agent `agent` of `agents`, each with one worker.
fn execute_share(load: &Load, limit: Option<u64>, share: Share) -> (WorkerOutcome, Vec<Record>) {
    let source = move || Box::new(Plan { width: 1 }) as Box<dyn Source>;
    let run = workers(1, &source, load.clone(), extent(limit, Some(2)));
    let run = Workers { share: Some(share), seed: Seed(41), ..run };
    let clock = SimulatedClock::new();
    let store = StandInStore(Manner::Queue(Nanos::from_micros(40)), clock.clone());
    let sink = Vec::with_capacity(RECORDS);
    execute_alone(&run, &store, clock, sink, &Control::new()).expect("a stand-in opens")
}

/// The operations of all agents by number, with when they were intended, and the sum of their
/// fingerprints.
fn union(load: &Load, limit: Option<u64>, agents: u64) -> (Vec<(u64, Nanos)>, u128) {
    let mut all = Vec::new();
    let mut sum = 0u128;
    for agent in 0..agents {
        let workers = agents as usize;
        let share = Share { agent, agents, first_worker: agent as usize, workers };
        let (outcome, records) = execute_share(load, limit, share);
        sum = sum.wrapping_add(outcome.fingerprint);
        all.extend(records.iter().map(|record| (record.index, record.intended)));
    }
    all.sort_unstable();
    (all, sum)
}

#[test]
fn open_arrivals_of_all_agents_are_those_of_one_machine() {
    let chain = Mmpp2 { ratio: 8.0, burst: Nanos::from_millis(30), calm: Nanos::from_millis(150) };
    let processes = [
        ArrivalProcess::Constant,
        ArrivalProcess::Poisson,
        ArrivalProcess::Mmpp2(chain),
        ArrivalProcess::Gamma(2.0),
    ];
    for process in processes {
        let arrivals = Arrivals::constant_rate(3_000.0, process);
        let load = Load::Open(Open { arrivals, in_flight: 4096, overflow: Overflow::Queue });
        for limit in [None, Some(1_777)] {
            let (whole, hash) = union(&load, limit, 1);
            assert!(whole.len() > 1_500, "{}", whole.len());
            for agents in [2, 3, 7] {
                assert!(union(&load, limit, agents) == (whole.clone(), hash), "{agents} agents");
            }
        }
    }
}

#[test]
fn closed_sessions_of_all_agents_issue_the_processes_of_one_machine() {
    let numbers = |(records, sum): (Vec<(u64, Nanos)>, u128)| {
        (records.into_iter().map(|(index, _)| index).collect::<Vec<_>>(), sum)
    };
    let thinking = Think::Constant(Nanos::from_micros(10));
    for load in
        [closed(7, Think::No, None), closed(8, thinking, None), closed(9, Think::No, Some(5_000.0))]
    {
        let whole = numbers(union(&load, Some(1_777), 1));
        assert_eq!(whole.0.len(), 1_777);
        for agents in [2, 3, 7] {
            let shared = numbers(union(&load, Some(1_777), agents));
            assert!(shared == whole, "{agents} agents");
        }
    }
}

#[test]
fn the_bound_on_processes_in_flight_is_that_of_the_whole_fleet() {
    // Nothing is answered within the run, so each agent lets in as many as its part of the bound.
    let load = open(1_000.0, 10, Overflow::Drop);
    let admitted = |agents: u64| -> Vec<usize> {
        let never = Manner::Queue(Nanos::from_secs(3_600));
        let share =
            |agent| Share { agent, agents, first_worker: agent as usize, workers: agents as usize };
        let execute = |agent| {
            let source = || Box::new(Plan { width: 1 }) as Box<dyn Source>;
            let run = workers(1, &source, load.clone(), extent(None, Some(1)));
            let run = Workers { share: Some(share(agent)), ..run };
            let clock = SimulatedClock::new();
            let store = StandInStore(never, clock.clone());
            let sink = Vec::with_capacity(RECORDS);
            let (_, records) = execute_alone(&run, &store, clock, sink, &Control::new()).unwrap();
            records.iter().filter(|record| record.outcome != Outcome::Dropped).count()
        };
        (0..agents).map(execute).collect()
    };
    assert_eq!(admitted(1), [10]);
    assert_eq!(admitted(3), [4, 3, 3]);
}
