//! Tests of the coordinator's knowledge, with times that are made up.

use super::*;

fn options() -> FleetOptions {
    FleetOptions {
        agents: 3,
        wait: Duration::from_secs(60),
        lease: Duration::from_secs(10),
        version: "1".to_owned(),
        boot_id: "kernel".to_owned(),
        plan: "seed 7".to_owned(),
        nonce: 5,
    }
}

fn hello(agent: u32) -> Hello {
    Hello {
        protocol: PROTOCOL,
        version: "1".to_owned(),
        agent,
        host: format!("host-{agent}"),
        cores: 2,
        boot_id: "kernel".to_owned(),
        pid: 100 + agent,
        nonce: u64::from(agent),
    }
}

struct Fleet {
    board: Board,
    now: Instant,
    tokens: Vec<u64>,
}

impl Fleet {
    fn of(count: u32) -> Fleet {
        let now = crate::offset::moment();
        let mut board = Board::new(options(), Job::default(), now);
        let join = |agent| board.join(hello(agent), now).unwrap().token;
        let tokens = (0..count).map(join).collect();
        Fleet { board, now, tokens }
    }

    fn beat_of(&self, agent: u32, state: AgentState) -> Beat {
        let (token, workers) = (self.tokens[agent as usize], agent + 1);
        Beat { agent, token, state, workers, plan: Some("seed 7".to_owned()), ..Beat::default() }
    }

    fn beat(&mut self, agent: u32, state: AgentState) -> Directive {
        let beat = self.beat_of(agent, state);
        self.board.beat(beat, self.now).unwrap()
    }

    fn all(&mut self, state: AgentState) -> Vec<Directive> {
        (0..3).map(|agent| self.beat(agent, state)).collect()
    }

    fn pass(&mut self, seconds: u64, reading: i64) {
        self.now += Duration::from_secs(seconds);
        self.board.tick(self.now, reading);
    }

    fn reason(&self) -> String {
        let later = self.now + Duration::from_secs(60);
        match self.board.outcome(later, Duration::from_secs(2)) {
            Some(FleetOutcome::Withdrawn(reason)) => reason,
            other => panic!("{other:?}"),
        }
    }

    /// Three agents whose clocks are 1, 2 and 3 s ahead, up to the choice of the start.
    fn prepared() -> Fleet {
        let mut fleet = Fleet::of(3);
        fleet.all(AgentState::Planned);
        fleet.pass(1, 0);
        fleet.all(AgentState::Prepared);
        for agent in 0..3 {
            let offset = i64::from(agent + 1) * 1_000_000_000;
            let probe = |n: i64| Probe {
                sent: n,
                received: n + 10 + offset,
                replied: n + 12 + offset,
                returned: n + 20,
            };
            let probes: Vec<Probe> = (0..10).map(|n| probe(1000 * n)).collect();
            fleet.board.add_probes(agent, &probes);
        }
        fleet
    }
}

#[test]
fn places_follow_from_the_workers_of_all() {
    let mut fleet = Fleet::of(3);
    assert!(fleet.all(AgentState::Planned).iter().all(|order| order.place.is_none()));
    fleet.pass(1, 0);
    let orders = fleet.all(AgentState::Planned);
    let places: Vec<WorkerPlace> = orders.iter().map(|order| order.place.unwrap()).collect();
    let place = |first_worker| WorkerPlace { first_worker, workers: 6 };
    assert_eq!(places, [place(0), place(1), place(3)]);
}

#[test]
fn each_agent_is_told_the_start_on_its_own_clock() {
    let mut fleet = Fleet::prepared();
    fleet.pass(1, 1_000_000);
    let orders = fleet.all(AgentState::Armed);
    let starts: Vec<u64> = orders.iter().map(|order| order.start.unwrap()).collect();
    let start = 2_001_000_000;
    let expected = [1, 2, 3].map(|ahead| start + ahead * 1_000_000_000);
    let apart = starts.iter().zip(expected).map(|(told, truth)| told.abs_diff(truth));
    // No closer than the way of the probes, whose asymmetry nobody knows.
    assert!(apart.clone().all(|apart| apart <= 10), "{starts:?} {expected:?}");
    fleet.pass(0, 1_600_000_000);
    assert_eq!(fleet.board.outcome(fleet.now, Duration::from_secs(2)), None);
    let clocks = fleet.board.clocks();
    assert!(clocks.iter().all(|(_, probes)| {
        let band = band_at(probes, 0);
        probes.len() == 10 && band.is_some_and(|band| band.low <= 0 && 0 <= band.high)
    }));
    assert_eq!(fleet.board.start(), Some(start as i64));
}

#[test]
fn a_change_of_the_rate_is_told_to_each_agent_once() {
    let mut fleet = Fleet::prepared();
    assert_eq!(fleet.board.rate_lead(), None, "nobody issues operations");
    (0..2).for_each(|agent| drop(fleet.beat(agent, AgentState::Running)));
    assert_eq!(fleet.board.rate_lead(), None, "agent 2 does not yet");
    fleet.all(AgentState::Running);
    let lead = fleet.board.rate_lead().expect("all of them do");
    // 1 ms for each of them, and ten ways of 20 ns.
    assert_eq!(lead, Duration::from_millis(303) + Duration::from_nanos(200));
    assert!(fleet.board.is_quiet());
    let orders = [(1, 500.0), (2, 0.5)].map(|(from_ns, rate)| RateOrder { from_ns, rate });
    orders.into_iter().for_each(|order| fleet.board.order_rate(order));
    assert_eq!(fleet.beat(0, AgentState::Running).rates, orders);
    let beat = Beat { rates: 1, ..fleet.beat_of(0, AgentState::Running) };
    assert_eq!(fleet.board.beat(beat, fleet.now).unwrap().rates, orders[1..]);
    let beat = Beat { rates: 2, ..fleet.beat_of(0, AgentState::Running) };
    assert_eq!(fleet.board.beat(beat, fleet.now).unwrap().rates, []);
    assert_eq!(fleet.beat(1, AgentState::Done).rates, [], "its load is over");
    assert!(!fleet.board.is_quiet(), "others wait for the end");
    assert_eq!(fleet.board.rate_lead(), None);
}

#[test]
fn figures_that_come_twice_count_once() {
    let mut fleet = Fleet::prepared();
    let figures = LiveFigures { offered: 5, ..LiveFigures::default() };
    for (agent, number) in [(0, 1), (0, 1), (1, 1), (0, 2)] {
        let figures = figures.clone();
        let beat = Beat { number, figures, ..fleet.beat_of(agent, AgentState::Running) };
        fleet.board.beat(beat, fleet.now).unwrap();
    }
    assert_eq!(fleet.board.take_figures().offered, 15);
    assert_eq!(fleet.board.take_figures(), LiveFigures::default());
}

#[test]
fn a_missing_acknowledgement_calls_the_run_off_for_all() {
    let mut fleet = Fleet::prepared();
    fleet.pass(1, 0);
    (0..2).for_each(|agent| drop(fleet.beat(agent, AgentState::Armed)));
    fleet.pass(0, LEAD_MIN - ARMED_BEFORE + 1);
    assert!(fleet.reason().contains("agent 2 on host-2 did not acknowledge"), "{}", fleet.reason());
    let orders = fleet.all(AgentState::Armed);
    assert!(orders.iter().all(|order| order.command == Command::Abort));
}

#[test]
fn who_has_not_come_is_named() {
    let mut fleet = Fleet::of(2);
    for _ in 0..13 {
        (0..2).for_each(|agent| drop(fleet.beat(agent, AgentState::Planned)));
        fleet.pass(5, 0);
    }
    let reason = fleet.reason();
    assert!(reason.contains("agents 2 have not come within 60 s"), "{reason}");
    assert!(reason.contains("here: 0, 1"), "{reason}");
}

#[test]
fn a_silent_agent_is_lost_and_the_result_withdrawn() {
    let mut fleet = Fleet::prepared();
    fleet.pass(1, 0);
    fleet.all(AgentState::Running);
    for _ in 0..3 {
        (0..2).for_each(|agent| drop(fleet.beat(agent, AgentState::Running)));
        fleet.pass(4, 3_000_000_000);
    }
    let reason = fleet.reason();
    assert!(reason.contains("agent 2 on host-2 (process 102) was lost while running"), "{reason}");
    assert_eq!(fleet.beat(0, AgentState::Running).command, Command::Abort);
    // One that comes back is told the same; its run is over.
    assert_eq!(fleet.beat(2, AgentState::Running).command, Command::Abort);
}

#[test]
fn a_number_has_one_claimant() {
    let mut fleet = Fleet::of(2);
    let again = fleet.board.join(hello(1), fleet.now).unwrap();
    assert_eq!(again.token, fleet.tokens[1], "the answer to the first attempt was lost");
    let restarted = Hello { nonce: 77, ..hello(1) };
    let refused = fleet.board.join(restarted, fleet.now).unwrap_err().0;
    assert!(refused.contains("agent 1 is here already (process 101 on host-1)"), "{refused}");
    let refused = fleet.board.join(hello(3), fleet.now).unwrap_err().0;
    assert!(refused.contains("no agent 3 is expected"), "{refused}");
    let beat = Beat { token: 1, ..fleet.beat_of(0, AgentState::Planned) };
    assert!(fleet.board.beat(beat, fleet.now).is_err());
}

#[test]
fn another_version_is_refused_with_both() {
    let mut fleet = Fleet::of(0);
    let other = Hello { version: "2".to_owned(), ..hello(0) };
    let refused = fleet.board.join(other, fleet.now).unwrap_err().0;
    assert!(refused.contains("agent 0 on host-0 is assay 2, the coordinator is 1"), "{refused}");
}

#[test]
fn another_plan_is_refused_with_both() {
    let mut fleet = Fleet::of(3);
    fleet.all(AgentState::Planned);
    let plan = Some("seed 8".to_owned());
    let beat = Beat { plan, ..fleet.beat_of(1, AgentState::Planned) };
    fleet.board.beat(beat, fleet.now).unwrap();
    fleet.pass(1, 0);
    let reason = fleet.reason();
    assert!(reason.contains("agent 1 on host-1 has another plan"), "{reason}");
    assert!(reason.contains("seed 7 there: seed 8"), "{reason}");
}

#[test]
fn the_failure_of_one_calls_the_run_off() {
    let mut fleet = Fleet::of(3);
    let failure = Some("the store is away".to_owned());
    let beat = Beat { failure, ..fleet.beat_of(1, AgentState::Joining) };
    assert_eq!(fleet.board.beat(beat, fleet.now).unwrap().command, Command::Abort);
    assert_eq!(fleet.reason(), "agent 1 on host-1: the store is away");
}

#[test]
fn an_interrupt_ends_the_load_of_all() {
    let mut fleet = Fleet::prepared();
    fleet.pass(1, 0);
    fleet.all(AgentState::Running);
    let beat = Beat { is_interrupted: true, ..fleet.beat_of(1, AgentState::Done) };
    assert_eq!(fleet.board.interrupted(), None);
    assert_eq!(fleet.board.beat(beat, fleet.now).unwrap().command, Command::Stop);
    assert_eq!(fleet.board.interrupted().as_deref(), Some("agent 1 on host-1"));
    assert_eq!(fleet.beat(0, AgentState::Running).command, Command::Stop);
    fleet.all(AgentState::Delivered);
    let outcome = fleet.board.outcome(fleet.now, Duration::from_secs(2));
    assert_eq!(outcome, Some(FleetOutcome::Delivered));
    let mut early = Fleet::of(2);
    early.board.stop(early.now);
    assert_eq!(early.reason(), "interrupted before the start");
}

#[test]
fn many_agents_tell_their_news_less_often_but_often_enough_for_the_lease() {
    let beat = |agents, lease| {
        let options = FleetOptions { agents, lease: Duration::from_secs(lease), ..options() };
        let now = crate::offset::moment();
        Board::new(options, Job::default(), now).join(hello(0), now).unwrap().beat_ms
    };
    assert_eq!([beat(3, 10), beat(50, 10), beat(1000, 10), beat(1000, 2)], [100, 1000, 2000, 400]);
}
