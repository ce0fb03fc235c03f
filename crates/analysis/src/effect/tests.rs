//! Actions with known effects.

use super::*;
use crate::summary::Quick;

/// A second for each `(operations done, p99 in µs, refused)`; the median is a tenth of the tail.
fn series(seconds: &[(u64, u64, u64)]) -> Series {
    let interval = |(place, &(done, micros, refused)): (usize, &(u64, u64, u64))| IntervalSummary {
        from: Nanos::from_secs(place as u64),
        offered: done + refused,
        in_time: done,
        errors: refused,
        done,
        refused,
        response: Quick {
            count: done,
            p50: Nanos(micros * 100),
            p99: Nanos(micros * 1000),
            ..Quick::default()
        },
        ..IntervalSummary::default()
    };
    let intervals = seconds.iter().enumerate().map(interval).collect();
    Series { width: Nanos::from_secs(1), intervals, ..Series::default() }
}

/// Something that is done at once.
fn at_once(millis: u64) -> TimedAction {
    let at = Nanos::from_millis(millis);
    TimedAction { at, ended: at }
}

/// A silence between two milliseconds.
fn silence(from: u64, until: u64) -> Silence {
    let [from, until] = [from, until].map(Nanos::from_millis);
    Silence { from, until, is_cut_off: false }
}

/// Seconds with a little noise of their own: `count` of them at `micros`.
fn steady(count: usize, micros: u64) -> Vec<(u64, u64, u64)> {
    (0..count).map(|place| (1000 + (place % 3) as u64, micros + (place % 5) as u64, 0)).collect()
}

fn describe(seconds: &[(u64, u64, u64)], actions: &[u64]) -> Vec<String> {
    let series = series(seconds);
    let window = Window { from: Nanos::ZERO, until: Nanos::from_secs(seconds.len() as u64) };
    let actions: Vec<TimedAction> = actions.iter().map(|millis| at_once(*millis)).collect();
    let show = |at: Option<Nanos>| at.map_or("-".to_owned(), |at| at.as_secs_f64().to_string());
    let line = |effect: Option<Effect>| match effect {
        None => "too little".to_owned(),
        Some(effect) => format!(
            "{} to {}{}",
            show(effect.first),
            show(effect.last),
            if effect.is_at_rest { "" } else { ", not at rest" }
        ),
    };
    effects(&series, &[], window, &actions).into_iter().map(line).collect()
}

#[test]
fn an_action_without_an_effect_has_none() {
    assert_eq!(describe(&steady(60, 200), &[20_500]), ["- to -"]);
}

#[test]
fn the_effect_of_an_action_lasts_from_its_first_change_to_its_rest() {
    let seconds = [steady(20, 200), steady(3, 200), steady(10, 900), steady(40, 100)].concat();
    // Done at 20.5 s, felt from 23 s on, at rest when the tenth slow second is over.
    assert_eq!(describe(&seconds, &[20_500]), ["23 to 33"]);
}

#[test]
fn one_stall_is_no_effect() {
    let mut seconds = steady(60, 200);
    seconds[40].1 = 50_000;
    assert_eq!(describe(&seconds, &[20_500]), ["- to -"]);
}

#[test]
fn failures_are_an_effect_although_there_were_none_before() {
    let mut seconds = steady(60, 200);
    for second in &mut seconds[22..25] {
        *second = (900, 200, 100);
    }
    assert_eq!(describe(&seconds, &[20_000]), ["22 to 25"]);
}

#[test]
fn what_goes_on_to_the_end_is_not_at_rest() {
    let mut seconds = steady(20, 200);
    seconds.extend((0..30).map(|place| (1000, 300 + 10 * place * place, 0)));
    let reported = describe(&seconds, &[20_000]);
    assert!(
        reported[0].starts_with("20 to ") && reported[0].ends_with("not at rest"),
        "{reported:?}"
    );
}

#[test]
fn each_action_is_compared_with_what_the_one_before_has_left() {
    let seconds = [steady(20, 200), steady(20, 800), steady(20, 200)].concat();
    assert_eq!(describe(&seconds, &[20_000, 40_000]), ["20 to -", "40 to -"]);
}

#[test]
fn without_responses_there_is_no_latency() {
    let seconds = [steady(20, 200), vec![(0, 0, 100); 30]].concat();
    let window = Window { from: Nanos::ZERO, until: Nanos::from_secs(50) };
    let found = effects(&series(&seconds), &[], window, &[at_once(20_500)]);
    let effect = found[0].as_ref().unwrap();
    assert_eq!((effect.after.p50, effect.after.p99), (None, None));
    // The second in which it was done shows it already.
    assert_eq!(effect.first, Some(Nanos::from_millis(20_500)));
    assert_eq!(effect.after.failed, 1.0);
}

#[test]
fn too_little_before_or_after_tells_nothing() {
    assert_eq!(describe(&steady(60, 200), &[3_000]), ["too little"]);
    assert_eq!(describe(&steady(60, 200), &[57_000]), ["too little"]);
    assert_eq!(describe(&steady(60, 200), &[99_000]), ["too little"]);
}

#[test]
fn levels_are_medians() {
    let series = series(&[steady(20, 200), steady(30, 800)].concat());
    let window = Window { from: Nanos::ZERO, until: Nanos::from_secs(50) };
    let found = effects(&series, &[], window, &[at_once(20_000)]);
    let effect = found[0].as_ref().unwrap();
    assert_eq!(effect.before.p99, Some(Nanos(202_000)));
    assert_eq!(effect.after.p99, Some(Nanos(802_000)));
    assert_eq!(effect.before.done_per_s, 1001.0);
    assert_eq!(effect.after.failed, 0.0);
}

#[test]
fn a_stop_below_a_second_has_an_effect() {
    // One second in which all but nothing was answered, then what had waited: 1000, 2, 1998.
    let mut seconds = steady(40, 200);
    (seconds[20].0, seconds[21].0) = (2, 1_998);
    assert_eq!(describe(&seconds, &[20_100]), ["20.1 to -"]);
    // The same stop on the way of another action is none of its effects.
    assert_eq!(describe(&seconds, &[10_100]), ["- to -"]);
}

#[test]
fn the_effect_of_a_silence_lasts_from_its_beginning_to_its_end() {
    let series = series(&steady(60, 200));
    let window = Window { from: Nanos::ZERO, until: Nanos::from_secs(60) };
    let actions = [20_100, 40_000].map(at_once);
    let silences = [silence(5_000, 5_400), silence(20_150, 20_900), silence(30_000, 30_300)];
    let found = effects(&series, &silences, window, &actions);
    let [Some(first), Some(second)] = &found[..] else { panic!("{found:?}") };
    assert_eq!(stops(&silences, &actions), [Some(silences[1]), None]);
    assert_eq!(first.first, Some(Nanos::from_millis(20_150)));
    assert_eq!(first.last, Some(Nanos::from_millis(20_900)));
    assert_eq!(second.first, None);
}

#[test]
fn what_ends_a_stop_did_not_make_it() {
    let stop = silence(10_111, 10_908);
    // Frozen, then thawed: too soon after each other for anything else to be reported.
    let actions = [10_100, 10_901].map(at_once);
    assert_eq!(stops(&[stop], &actions), [Some(stop), None]);
    assert_eq!(stops(&[stop], &[at_once(10_500)]), [Some(stop)]);
    assert_eq!(stops(&[stop], &[at_once(11_000)]), [None]);
}

#[test]
fn what_begins_long_after_an_action_is_no_effect_of_it() {
    let stop = silence(45_000, 47_000);
    assert_eq!(stops(&[stop], &[at_once(20_000)]), [None]);
    // One that takes until then may well have made it.
    let long = TimedAction { ended: Nanos::from_secs(40), ..at_once(20_000) };
    assert_eq!(stops(&[stop], &[long]), [Some(stop)]);
    let seconds = [steady(45, 200), steady(40, 900)].concat();
    assert_eq!(describe(&seconds, &[20_000]), ["- to -"]);
    assert_eq!(describe(&seconds, &[36_000]), ["45 to 45"]);
}
