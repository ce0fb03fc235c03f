//! Searches against scripted stores, whose capacity is known.

use super::*;

/// A random number from 0 to below 1 that belongs to a seed with a place (SplitMix64).
fn draw(seed: u64, place: u64) -> f64 {
    let mut z = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(place);
    z = z.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

fn outcome(verdict: Verdict) -> StepOutcome {
    StepOutcome { verdict, ..StepOutcome::broken() }
}

/// A search to its end against a store that answers a request with a verdict.
fn search(plan: Plan, mut store: impl FnMut(Request) -> Verdict) -> Search {
    let mut search = Search::new(plan);
    while let Some(request) = search.request() {
        assert!(request.rate >= plan.min, "below the floor: {request:?}");
        assert!(plan.max.is_none_or(|max| request.rate <= max), "above the ceiling: {request:?}");
        assert!(search.steps().len() < plan.steps_max, "too many steps");
        search.take(outcome(store(request)));
    }
    search
}

/// A store that sustains everything up to `capacity`.
fn sharp(capacity: f64) -> impl FnMut(Request) -> Verdict {
    move |request| if request.rate <= capacity { Verdict::Held } else { Verdict::Violated }
}

/// A store near whose capacity chance decides, and shorter runs cannot tell.
fn noisy(capacity: f64, noise: f64, seed: u64) -> impl FnMut(Request) -> Verdict {
    move |request| {
        let place = request.number as u64;
        let observed = request.rate / capacity * (1.0 + noise * (2.0 * draw(seed, place) - 1.0));
        let width = 0.05 / f64::from(request.length);
        match observed {
            observed if observed < 1.0 - width => Verdict::Held,
            observed if observed > 1.0 + width => Verdict::Violated,
            _ => Verdict::Unknown,
        }
    }
}

fn purposes(search: &Search) -> String {
    let letter = |step: &Step| match (step.request.purpose, step.outcome.verdict) {
        (purpose, Verdict::Held) => purpose.name()[..1].to_uppercase(),
        (purpose, Verdict::Violated) => purpose.name()[..1].to_owned(),
        (_, Verdict::Unknown) => "?".to_owned(),
    };
    // Confirm is written as v, for climb begins with the same letter.
    let written = |step: &Step| match step.request.purpose {
        Purpose::Confirm => letter(step).replace('c', "v").replace('C', "V"),
        _ => letter(step),
    };
    search.steps().iter().map(written).collect()
}

fn found(search: &Search) -> f64 {
    match search.ending() {
        Some(SearchEnd::Found { rate, .. }) => rate,
        other => panic!("{other:?} after {}", purposes(search)),
    }
}

#[test]
fn a_search_climbs_bisects_confirms_exceeds() {
    let search = search(Plan::default(), sharp(1_000.0));
    assert_eq!(purposes(&search), "CCCCcbBbBbbVVVe");
    assert!((found(&search) - 993.0).abs() < 1.0, "{}", found(&search));
    let Some(SearchEnd::Found { exceeded: Some(number), is_ceiling: false, .. }) = search.ending()
    else {
        panic!("{:?}", search.ending());
    };
    let last = search.steps()[number].request;
    assert!((last.rate / found(&search) - 1.05).abs() < 1e-4);
    assert_eq!(inversions(search.steps()), []);
}

#[test]
fn any_sharp_capacity_is_found_within_the_tolerance() {
    for seed in 0..3_000 {
        let capacity = 100.0 * 10_f64.powf(4.0 * draw(seed, 0));
        let within = 0.005 + 0.05 * draw(seed, 1);
        let plan = Plan { within, ..Plan::default() };
        let search = search(plan, sharp(capacity));
        let rate = found(&search);
        let gap = capacity / rate;
        assert!((1.0..=1.0 + within + 1e-9).contains(&gap), "seed {seed}: {rate} of {capacity}");
        let confirmed =
            |step: &&Step| step.request.purpose == Purpose::Confirm && step.request.rate == rate;
        assert_eq!(search.steps().iter().filter(confirmed).count(), 3, "seed {seed}");
    }
}

#[test]
fn noise_moves_the_result_by_no_more_than_itself() {
    let (mut settled, mut total) = (0, 0.0);
    for seed in 0..3_000 {
        let search = search(Plan::default(), noisy(5_000.0, 0.03, seed));
        match search.ending() {
            Some(SearchEnd::Found { rate, .. }) => {
                assert!((4_600.0..5_200.0).contains(&rate), "seed {seed}: {rate}");
                settled += 1;
                total += rate;
            }
            Some(SearchEnd::Undecided { .. }) => {}
            other => panic!("seed {seed}: {other:?}"),
        }
    }
    assert!(settled > 2_950, "{settled} of 3000 came to an end");
    let mean = total / f64::from(settled);
    assert!((4_750.0..5_000.0).contains(&mean), "the mean is {mean}");
}

#[test]
fn the_search_ends_even_on_a_random_store() {
    for seed in 0..3_000 {
        let dice = |request: Request| match draw(seed, request.number as u64) {
            chance if chance < 0.45 => Verdict::Held,
            chance if chance < 0.9 => Verdict::Violated,
            _ => Verdict::Unknown,
        };
        let search = search(Plan { max: Some(1e6), ..Plan::default() }, dice);
        assert!(search.ending().is_some());
        assert!(search.steps().len() <= search.plan().steps_max);
    }
}

#[test]
fn the_same_outcomes_make_the_same_search() {
    for seed in 0..1_000 {
        let whole = search(Plan::default(), noisy(3_000.0, 0.05, seed));
        let cut = (draw(seed, 99) * whole.steps().len() as f64) as usize;
        let mut again = Search::replay(Plan::default(), &whole.steps()[..cut]).unwrap();
        for step in &whole.steps()[cut..] {
            assert_eq!(again.request(), Some(step.request));
            again.take(step.outcome.clone());
        }
        assert_eq!((again.ending(), again.request()), (whole.ending(), None));
    }
}

#[test]
fn steps_of_another_search_are_not_taken_up() {
    let whole = search(Plan::default(), sharp(1_000.0));
    let other = Plan { min: 150.0, ..Plan::default() };
    let differs = ReplayError::Differs { number: 0, found: 100.0, expected: 150.0 };
    assert_eq!(Search::replay(other, whole.steps()).unwrap_err(), differs);
    let mut steps = whole.steps().to_vec();
    steps.push(Step { request: Request { number: 15, ..steps[0].request }, ..steps[0].clone() });
    let error = Search::replay(Plan::default(), &steps).unwrap_err();
    assert_eq!(error, ReplayError::TooMany { number: 15 });
}

#[test]
fn a_floor_that_fails_twice_is_too_much() {
    let search = search(Plan::default(), sharp(50.0));
    assert_eq!((purposes(&search).as_str(), search.ending()), ("cc", Some(SearchEnd::BelowFloor)));
    let found = found(&self::search(Plan::default(), |request| match request.number {
        0 => Verdict::Violated,
        _ => sharp(1_000.0)(request),
    }));
    assert!((980.0..=1_000.0).contains(&found), "one failure at the floor may be chance");
}

#[test]
fn a_ceiling_that_holds_is_the_result() {
    let plan = Plan { max: Some(1_500.0), ..Plan::default() };
    let search = search(plan, sharp(9_000.0));
    assert_eq!(purposes(&search), "CCCCCVVV");
    let ending = SearchEnd::Found { rate: 1_500.0, exceeded: None, is_ceiling: true };
    assert_eq!(search.ending(), Some(ending));
    let plan = Plan { min: 700.0, max: Some(700.0), ..Plan::default() };
    assert_eq!(purposes(&self::search(plan, sharp(9_000.0))), "CVVV");
}

#[test]
fn an_undecided_rate_is_tried_longer_then_counted_as_failed() {
    let vague = |request: Request| match request.rate {
        rate if rate <= 400.0 => Verdict::Held,
        rate if rate < 500.0 => Verdict::Unknown,
        _ => Verdict::Violated,
    };
    let search = search(Plan::default(), vague);
    let lengths: Vec<u32> = search.steps().iter().map(|step| step.request.length).collect();
    assert_eq!(lengths[..9], [1, 1, 1, 1, 1, 1, 2, 4, 8], "{}", purposes(&search));
    assert_eq!(lengths.last(), Some(&8));
    assert_eq!(found(&search), 400.0);
    // 420 and 440 stayed undecided, so no rate was shown to fail.
    assert!(matches!(search.ending(), Some(SearchEnd::Found { exceeded: None, .. })));
}

#[test]
fn steps_of_a_climb_are_as_long_as_their_operations_need() {
    let enough = |request: Request| match request.rate * f64::from(request.length) {
        operations if operations < 800.0 => Verdict::Unknown,
        _ if request.rate <= 3_000.0 => Verdict::Held,
        _ => Verdict::Violated,
    };
    let search = search(Plan::default(), enough);
    let lengths: Vec<u32> = search.steps().iter().map(|step| step.request.length).collect();
    assert_eq!(lengths[..9], [1, 2, 4, 8, 4, 2, 1, 1, 1], "{}", purposes(&search));
    assert!((2_900.0..=3_000.0).contains(&found(&search)), "{}", purposes(&search));
}

#[test]
fn a_rate_that_was_sustained_by_chance_is_not_confirmed() {
    let lucky = |request: Request| match request.purpose {
        Purpose::Bisect if request.number == 5 => Verdict::Held,
        _ => sharp(1_000.0)(request),
    };
    // Step 5 bisects 800 with 1600 at 1131, which is too much.
    let search = search(Plan::default(), lucky);
    assert!(purposes(&search).contains("cBbbbbbv"), "{}", purposes(&search));
    // Below it lies nothing that held but 800, yet the search looks near it first.
    let after = search.steps().iter().find(|step| step.request.number == 12).unwrap();
    assert_eq!((after.request.purpose, after.request.rate), (Purpose::Bisect, 1_111.4));
    assert!((980.0..=1_000.0).contains(&found(&search)), "{}", found(&search));
}

#[test]
fn a_rate_that_failed_by_chance_is_found_out() {
    let unlucky = |request: Request| match request.number {
        // 800 fails once, on the way up.
        3 => Verdict::Violated,
        _ => sharp(1_000.0)(request),
    };
    let search = search(Plan::default(), unlucky);
    assert!((980.0..=1_000.0).contains(&found(&search)), "{}", purposes(&search));
    let [Inversion { failed: 3, held }] = inversions(search.steps())[..] else {
        panic!("{:?}", inversions(search.steps()));
    };
    assert!(search.steps()[held].request.rate > 800.0);
}

#[test]
fn a_hole_below_the_capacity_is_recorded() {
    let hole = |request: Request| match request.rate {
        rate if (395.0..403.0).contains(&rate) => Verdict::Violated,
        rate => sharp(1_000.0)(Request { rate, ..request }),
    };
    let search = search(Plan::default(), hole);
    assert!(!inversions(search.steps()).is_empty(), "{}", purposes(&search));
    assert!((980.0..=1_000.0).contains(&found(&search)), "{}", purposes(&search));
}

#[test]
fn an_unfinished_search_says_so() {
    let plan = Plan { steps_max: 12, ..Plan::default() };
    let search = search(plan, sharp(1e12));
    let ending = SearchEnd::Undecided { best: Some(204_800.0), why: Undecided::Steps };
    assert_eq!((search.steps().len(), search.ending()), (12, Some(ending)));
}

#[test]
fn repeated_success_above_a_failure_is_not_monotone() {
    // Every second step fails, whatever its rate; the odd ones confirm or exceed.
    let contrary = |request: Request| match request.purpose {
        Purpose::Climb if request.number > 0 => Verdict::Violated,
        Purpose::Bisect => Verdict::Violated,
        _ => Verdict::Held,
    };
    let search = search(Plan { steps_max: 1_000, ..Plan::default() }, contrary);
    let Some(SearchEnd::Undecided { why: Undecided::NonMonotone, best: Some(best) }) =
        search.ending()
    else {
        panic!("{:?}", search.ending());
    };
    assert!((best / (100.0 * 1.1_f64.powi(3)) - 1.0).abs() < 1e-3, "{best}");
}

/// The outcome of a step whose client was too slow to measure.
fn of_client() -> StepOutcome {
    let reasons = vec![StepReason::Client(crate::hallmark::CheckId::WorkerCpu)];
    StepOutcome { reasons, ..outcome(Verdict::Unknown) }
}

/// A store that sustains every rate up to `capacity`, with a client that is fast enough if told so.
fn search_by(mut is_fit: impl FnMut(Request) -> bool, capacity: f64) -> Search {
    let mut search = Search::new(Plan::default());
    let mut store = sharp(capacity);
    while let Some(request) = search.request() {
        search.take(if is_fit(request) { outcome(store(request)) } else { of_client() });
    }
    search
}

#[test]
fn a_step_with_a_late_client_is_repeated_then_undecided() {
    let search = search_by(|request| request.rate < 500.0, 20_000.0);
    assert_eq!(purposes(&search), "CCC???");
    let last = &search.steps()[3..];
    assert!(last.iter().all(|step| step.request.rate == 800.0 && step.request.length == 1));
    let ending = SearchEnd::Undecided { best: Some(400.0), why: Undecided::Client };
    assert_eq!(search.ending(), Some(ending));
    let known = Bracket { held: Some(400.0), failed: None, unknown: Some(800.0) };
    assert_eq!(bracket(search.steps(), search.best()), known);
}

#[test]
fn a_client_that_recovers_costs_only_the_undecided_steps() {
    let search = search_by(|request| request.number % 3 != 1, 1_000.0);
    assert_eq!(purposes(&search).replace('?', ""), "CCCCcbBbBbbVVVe");
    let alone = search_by(|_| true, 1_000.0);
    assert_eq!(search.ending().map(|_| found(&search)), Some(found(&alone)));
}

#[test]
fn a_client_that_fails_above_what_was_found_leaves_it_found() {
    let search = search_by(|request| request.purpose != Purpose::Exceed, 1_000.0);
    let Some(SearchEnd::Found { rate, exceeded: None, .. }) = search.ending() else {
        panic!("{:?}", search.ending());
    };
    let known = bracket(search.steps(), Some(rate));
    assert!(known.failed.is_some_and(|failed| failed <= rate * 1.021), "{known:?}");
}

#[test]
fn how_many_steps_are_left_is_never_more_than_was_said() {
    for seed in 0..300 {
        let capacity = 100.0 * 10_f64.powf(3.0 * draw(seed, 0));
        let plan = Plan { max: (seed % 2 == 0).then_some(200_000.0), ..Plan::default() };
        let mut search = Search::new(plan);
        let (mut store, mut said) = (sharp(capacity), Vec::new());
        while let Some(request) = search.request() {
            said.push(search.left());
            search.take(outcome(store(request)));
        }
        for (made, left) in said.iter().enumerate() {
            let really = search.steps().len() - made;
            match left {
                Left::AtMost(most) => assert!(really <= *most, "seed {seed}: {really}, {left:?}"),
                Left::AtLeast(_) => {
                    assert_eq!(search.steps()[made].request.purpose, Purpose::Climb)
                }
            }
        }
        assert_eq!(search.left(), Left::AtMost(0));
    }
}

#[test]
fn the_bracket_is_as_narrow_as_the_steps_have_shown() {
    let step = |rate, verdict| {
        let request = Request { number: 0, rate, purpose: Purpose::Exceed, length: 1 };
        Step { request, outcome: outcome(verdict) }
    };
    use Verdict::{Held, Unknown, Violated};
    // The sustained rate, one above it that was decided at last, one that never was, one that
    // failed.
    let steps = [
        step(100.0, Held),
        step(105.0, Unknown),
        step(105.0, Held),
        step(107.0, Unknown),
        step(110.0, Violated),
        step(120.0, Unknown),
        step(90.0, Violated),
    ];
    let known = Bracket { held: Some(105.0), failed: Some(110.0), unknown: Some(107.0) };
    assert_eq!(bracket(&steps, Some(100.0)), known);
    let nothing = Bracket { held: None, failed: Some(90.0), unknown: None };
    assert_eq!(bracket(&steps, None), nothing);
}
