//! What an answered write survives, from the words of each store.

use assay_model::Setting;

/// The setting in which a driver says what a crash loses; some add of what: `durability of ks`.
const DURABILITY: &str = "durability";

/// How a setting's meaning begins if a kill takes nothing, whatever the setting is called.
const SURVIVES: &str = "an answered write survives the end of this process";

/// How it begins if only the machine's end takes what the value names.
const OF_MACHINE: &str = "a crash of the machine loses";

/// How durable an answered write is, from the weakest to the strongest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    /// The store does not tell.
    Untold,
    /// The end of the process, or of all its nodes, takes everything since some earlier moment.
    Nothing,
    /// The end of the process, or of all its nodes, takes the last writes, of a bounded time.
    Moments,
    /// It survives the end of the process; the operating system may lose it with the power.
    Process,
    /// It survives the end of the process; loss of power takes the last writes, of a bounded time.
    Interval,
    /// It is on disk before the answer.
    EveryWrite,
}

impl Tier {
    /// The name in tables and files.
    pub const fn name(self) -> &'static str {
        match self {
            Tier::Untold => "untold",
            Tier::Nothing => "nothing",
            Tier::Moments => "moments",
            Tier::Process => "process",
            Tier::Interval => "interval",
            Tier::EveryWrite => "every write",
        }
    }
}

/// Words that begin the value of a durability setting, with what they mean.
const WORDS: [(&str, Tier); 22] = [
    ("none", Tier::Nothing),
    ("snapshots", Tier::Nothing),
    ("checkpoint", Tier::Nothing),
    ("process", Tier::Process),
    ("operating system", Tier::Process),
    ("no-meta-sync", Tier::Interval),
    ("nearly every commit", Tier::Interval),
    ("one second", Tier::Moments),
    ("two seconds", Tier::Moments),
    ("below a second", Tier::Moments),
    ("up to", Tier::Moments),
    ("commitlog_sync=periodic", Tier::Moments),
    ("commitlog_sync=batch", Tier::EveryWrite),
    ("commitlog_sync=group", Tier::EveryWrite),
    ("fsync", Tier::EveryWrite),
    ("every write", Tier::EveryWrite),
    ("every commit", Tier::EveryWrite),
    ("every change", Tier::EveryWrite),
    ("page cache", Tier::Process),
    ("memory", Tier::Nothing),
    ("volatile", Tier::Nothing),
    // Of NATS: in the memory of several nodes, and gone with them.
    ("replicas", Tier::Nothing),
];

/// The setting that says what a crash loses, if there is one.
pub fn durability(settings: &[Setting]) -> Option<&Setting> {
    let is_it = |setting: &&Setting| {
        setting.name == DURABILITY || setting.name.starts_with("durability of ")
    };
    settings.iter().find(is_it)
}

/// The tier that the settings of a store say.
pub fn tier(settings: &[Setting]) -> Tier {
    let Some(setting) = durability(settings) else { return Tier::Untold };
    let value = setting.value.to_lowercase();
    // LMDB's `none` waits for no disk, and its pages are the operating system's.
    if setting.meaning.starts_with(SURVIVES) {
        return Tier::Process;
    }
    let found = WORDS.iter().find(|(words, _)| value.starts_with(words));
    match found.map_or(Tier::Untold, |(_, tier)| *tier) {
        Tier::Moments if setting.meaning.starts_with(OF_MACHINE) => Tier::Interval,
        tier => tier,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, value: &str) -> Tier {
        let setting = |name: &str, value: &str| Setting {
            name: name.into(),
            value: value.into(),
            meaning: String::new(),
        };
        tier(&[setting("server", "fsync 3.1"), setting(name, value)])
    }

    #[test]
    fn words_of_drivers_are_tiers() {
        for (value, wanted) in [
            ("none", Tier::Nothing),
            ("process", Tier::Process),
            ("replicas", Tier::Nothing),
            ("commitlog_sync=periodic 10000ms", Tier::Moments),
            ("commitlog_sync=batch", Tier::EveryWrite),
            ("every commit, on standbys too", Tier::EveryWrite),
            ("up to 0.1 s", Tier::Moments),
            ("unknown", Tier::Untold),
        ] {
            assert_eq!(of("durability", value), wanted, "{value}");
        }
        assert_eq!(of("durability of bucket", "fsync"), Tier::EveryWrite);
        assert_eq!(of("isolation", "fsync"), Tier::Untold);
    }

    #[test]
    fn a_meaning_says_more_than_a_name() {
        let of = |value: &str, meaning: &str| {
            let (name, value, meaning) = ("durability".into(), value.into(), meaning.into());
            tier(&[Setting { name, value, meaning }])
        };
        let survives = "an answered write survives the end of this process (kill -9); a loss";
        assert_eq!(of("none", survives), Tier::Process);
        // Redis has given it to the operating system, MariaDB has not.
        let (redis, mariadb) = ("a crash of the machine loses up", "a crash of the server loses");
        assert_eq!(of("one second", redis), Tier::Interval);
        assert_eq!(of("one second", mariadb), Tier::Moments);
    }

    #[test]
    fn tiers_are_ordered_by_what_they_keep() {
        let rising = [Tier::Nothing, Tier::Moments, Tier::Process, Tier::Interval];
        assert!(rising.is_sorted() && Tier::Interval < Tier::EveryWrite);
    }
}
