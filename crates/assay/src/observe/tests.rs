//! Tests of the thinning of samples.

use super::*;

fn sample(at: u64, hiccups: &[(u64, u64)]) -> Sample {
    Sample { at: Nanos(at), reading: Reading::default(), hiccups: hiccups.to_vec() }
}

#[test]
fn thinning_keeps_first_and_last_and_loses_no_hiccup() {
    for last in [4, 5] {
        let mut samples: Vec<Sample> = (0..=last).map(|at| sample(at, &[(at, 1)])).collect();
        thin(&mut samples);
        assert_eq!(samples.first().map(|sample| sample.at), Some(Nanos(0)));
        assert_eq!(samples.last().map(|sample| sample.at), Some(Nanos(last)));
        let count: u64 = samples.iter().flat_map(|sample| &sample.hiccups).map(|(_, n)| n).sum();
        assert_eq!(count, last + 1);
    }
}

#[test]
fn a_run_that_never_begins_shows_nothing() {
    let observed = watch(&Control::new(), &AtomicBool::new(true));
    assert_eq!(observed, []);
}
