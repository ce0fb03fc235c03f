//! Simulated stores with a name.

use assay_model::Nanos;

use super::config::Config;
use super::delay::{Band, Delay};
use super::queue::Hiccup;

/// What the paper's hiccups of one second were run with, by capacity, over SickStore's own files
/// and those of NoSQLMark.
const SECOND_LONG: [u32; 14] =
    [110, 125, 200, 700, 800, 1053, 1111, 1250, 1333, 1430, 1666, 2000, 4100, 10_000];

/// The same for hiccups of 200 ms.
const SHORT: [u32; 4] = [220, 250, 400, 10_000];

/// When the paper's hiccups begin.
const AFTER: Nanos = Nanos::from_secs(30);

/// The names of all presets, with what they are in one line.
pub fn list() -> Vec<(String, String)> {
    let mut list = vec![
        ("healthy".to_owned(), "three replicas, at once everywhere, never faulty".to_owned()),
        (
            "goodbadugly".to_owned(),
            "YCSB's GoodBadUglyDB: 90 % fast, 9 % slow, 0.99 % slower, 0.01 % stop everything"
                .to_owned(),
        ),
    ];
    let hiccups = |length: u32, capacities: &[u32]| -> Vec<(String, String)> {
        let describe = |max: &u32| {
            let name = format!("hickup{length}_max{max}");
            (name, format!("{max} requests/s, after 30 s a hiccup of {length} ms"))
        };
        capacities.iter().map(describe).collect()
    };
    list.extend(hiccups(1000, &SECOND_LONG));
    list.extend(hiccups(200, &SHORT));
    list
}

/// The preset of this name.
pub fn find(name: &str) -> Option<Config> {
    let config = match name {
        "healthy" => Config::default(),
        "goodbadugly" => good_bad_ugly(),
        _ => {
            let (length, max) = name.strip_prefix("hickup")?.split_once("_max")?;
            let max: u32 = max.parse().ok()?;
            let is_known = match length {
                "1000" => SECOND_LONG.contains(&max),
                "200" => SHORT.contains(&max),
                _ => false,
            };
            // A number that is spelled otherwise, such as +110, is no name.
            let is_spelled_so = name == format!("hickup{length}_max{max}");
            let length = length.parse().ok()?;
            (is_known && is_spelled_so).then(|| hiccups(length, max))?
        }
    };
    Some(Config { name: name.to_owned(), ..config })
}

fn hiccups(length_ms: u64, max: u32) -> Config {
    let length = Nanos::from_millis(length_ms);
    let hiccup = Hiccup { after: AFTER, length, is_periodic: false };
    let mut config = Config::default();
    for node in &mut config.nodes {
        node.max = f64::from(max);
        node.hiccup = Some(hiccup);
    }
    config
}

/// The default delays of `site.ycsb.GoodBadUglyDB`, in microseconds: 200, 1000, 10000, 50000,
/// 100000.
fn good_bad_ugly() -> Config {
    let band = |share: f64, from_us: u64, to_us: u64| Band {
        share,
        from: Nanos::from_micros(from_us),
        to: Nanos::from_micros(to_us),
        stops: false,
    };
    let bands = vec![
        band(0.9, 200, 1_000),
        band(0.09, 1_000, 10_000),
        band(0.0099, 10_000, 50_000),
        Band { stops: true, ..band(0.0001, 50_000, 100_000) },
    ];
    let mut config = Config::default();
    config.nodes.truncate(1);
    config.nodes[0].latency = Delay::Bands(bands);
    config
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_is_found_by_its_name_and_makes_sense() {
        assert_eq!(list().len(), 20);
        for (name, _) in list() {
            let config = find(&name).unwrap_or_else(|| panic!("{name} is not found"));
            assert_eq!((config.check(), &config.name), (Ok(()), &name));
        }
    }

    #[test]
    fn near_misses_are_no_presets() {
        for name in ["", "hickup", "hickup1000_max1251", "hickup200_max1250", "hickup1000_max+110"]
        {
            assert!(find(name).is_none(), "{name}");
        }
    }

    #[test]
    fn a_preset_is_what_its_name_says() {
        let config = find("hickup200_max400").unwrap();
        let node = &config.nodes[2];
        let hiccup = node.hiccup.unwrap();
        assert_eq!(
            (node.max, hiccup.after, hiccup.length),
            (400.0, AFTER, Nanos::from_millis(200))
        );
    }
}
