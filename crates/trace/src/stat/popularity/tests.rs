//! Tests of the popularity of keys, against distributions that are known.

use assay_model::Seed;

use super::*;

fn count(bound: usize, keys: impl IntoIterator<Item = u64>) -> Popularity {
    let mut counts = KeyCounts::new(bound);
    keys.into_iter().for_each(|key| counts.add(key));
    counts.finish(3)
}

/// A true zipf over ranks 1..=`keys`, drawn through its cumulative shares.
fn zipf(exponent: f64, keys: usize, operations: u64) -> Vec<u64> {
    let mut shares = Vec::with_capacity(keys);
    let mut sum = 0.0;
    for rank in 1..=keys {
        sum += (rank as f64).powf(-exponent);
        shares.push(sum);
    }
    (0..operations)
        .map(|operation| {
            let draw = Seed(5).draws(9, operation).unit() * sum;
            shares.partition_point(|&share| share <= draw) as u64
        })
        .collect()
}

#[test]
fn a_handful_of_keys_is_counted_exactly() {
    let found = count(100, [7, 7, 7, 7, 3, 3, 9, 1, 2, 4]);
    assert_eq!((found.accuracy, found.distinct), (Accuracy::Exact, 6));
    let top: Vec<_> = found.top.iter().map(|key| (key.key, key.count, key.share)).collect();
    assert_eq!(top, [(7, 4, 0.4), (3, 2, 0.2), (1, 1, 0.1)]);
    let counts: Vec<_> = found.ranks.iter().map(|point| (point.rank, point.count)).collect();
    assert_eq!(counts, [(1, 4.0), (2, 2.0), (3, 1.0), (4, 1.0), (5, 1.0), (6, 1.0)]);
    assert_eq!(found.zipf, None);
}

#[test]
fn the_hottest_keys_of_a_known_split_have_their_share() {
    // 20 keys get 40 operations each, 80 keys get 2 each: 20 % of the keys get 800 of 960.
    let hot = (0..20).flat_map(|key| [key; 40]);
    let cold = (20..100).flat_map(|key| [key; 2]);
    let found = count(1000, hot.chain(cold));
    let shares: Vec<f64> = found.hottest.iter().map(|hottest| hottest.share).collect();
    let expected = [40.0 / 960.0, 400.0 / 960.0, 800.0 / 960.0];
    for (share, expected) in shares.iter().zip(expected) {
        assert!((share - expected).abs() < 1e-12, "{shares:?}");
    }
}

#[test]
fn the_exponent_of_drawn_keys_is_found() {
    for exponent in [0.7, 0.99, 1.2] {
        let fit = count(1 << 20, zipf(exponent, 20_000, 500_000)).zipf.unwrap();
        assert!((fit.exponent - exponent).abs() < 0.02, "{exponent}: {fit:?}");
        assert!(fit.distance < 0.02, "{fit:?}");
    }
}

#[test]
fn uniform_keys_have_almost_no_exponent() {
    let keys = (0..400_000).map(|operation| Seed(2).draws(3, operation).below(1000));
    let fit = count(1 << 20, keys).zipf.unwrap();
    assert!(fit.exponent < 0.06, "{fit:?}");
}

#[test]
fn estimates_agree_with_counts() {
    let keys = zipf(0.99, 50_000, 400_000);
    let exact = count(1 << 20, keys.iter().copied());
    let estimated = count(8192, keys);
    assert!(matches!(estimated.accuracy, Accuracy::Estimated { sampled: 1..4097, .. }));
    let ratio = estimated.distinct as f64 / exact.distinct as f64;
    assert!((ratio - 1.0).abs() < 0.06, "distinct {ratio}");
    for (found, expected) in estimated.hottest.iter().zip(&exact.hottest) {
        assert!((found.share - expected.share).abs() < 0.03, "{found:?} {expected:?}");
    }
    let top = |found: &Popularity| found.top.iter().map(|key| key.key).collect::<Vec<_>>();
    assert_eq!(top(&estimated), top(&exact));
    let exponent = |found: &Popularity| found.zipf.unwrap().exponent;
    assert!((exponent(&estimated) - exponent(&exact)).abs() < 0.05);
}

#[test]
fn the_top_key_of_a_drifting_stream_is_found_by_estimates() {
    // The hot key appears only after the counters are full.
    let cold = 0..20_000;
    let late = (0..20_000).map(|number| if number % 4 == 0 { 77_777_777 } else { 30_000 + number });
    let found = count(1024, cold.chain(late));
    assert_eq!(found.top[0].key, 77_777_777);
    let Accuracy::Estimated { count_error, .. } = found.accuracy else { panic!("{found:?}") };
    assert!(found.top[0].count + count_error >= 5000, "{found:?}");
}

#[test]
fn no_operations_have_no_popularity() {
    let found = count(10, []);
    assert_eq!((found.distinct, found.top.len(), found.hottest.len()), (0, 0, 0));
}
