//! Durability class of an answered write, from the words of each store.

use assay_model::{Setting, named_enum};

/// The setting in which a driver says what a crash loses; some add an object: `durability_setting
/// of ks`.
const DURABILITY: &str = "durability";

/// How a setting's meaning begins if a kill loses nothing, whatever the setting is called.
const SURVIVES: &str = "an answered write survives the end of this process";

/// How it begins if only a crash of the machine loses what the value names.
const OF_MACHINE: &str = "a crash of the machine loses";

named_enum! {
    /// How durable an answered write is, from the weakest to the strongest.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum DurabilityClass {
        /// The store does not say.
        Untold => "untold",
        /// A crash of the process, or of all its nodes, loses everything since some earlier moment.
        Nothing => "nothing",
        /// A crash of the process, or of all its nodes, loses the last writes, of a bounded time.
        Moments => "moments",
        /// It survives a crash of the process; a power failure may lose it.
        Process => "process",
        /// It survives a crash of the process; a power failure loses the last writes, of a bounded
        /// time.
        Interval => "interval",
        /// It is on disk before the response.
        EveryWrite => "every write",
    }
}

/// Words that begin the value of a durability setting, with what they mean.
const WORDS: [(&str, DurabilityClass); 22] = [
    ("none", DurabilityClass::Nothing),
    ("snapshots", DurabilityClass::Nothing),
    ("checkpoint", DurabilityClass::Nothing),
    ("process", DurabilityClass::Process),
    ("operating system", DurabilityClass::Process),
    ("no-meta-sync", DurabilityClass::Interval),
    ("nearly every commit", DurabilityClass::Interval),
    ("one second", DurabilityClass::Moments),
    ("two seconds", DurabilityClass::Moments),
    ("below a second", DurabilityClass::Moments),
    ("up to", DurabilityClass::Moments),
    ("commitlog_sync=periodic", DurabilityClass::Moments),
    ("commitlog_sync=batch", DurabilityClass::EveryWrite),
    ("commitlog_sync=group", DurabilityClass::EveryWrite),
    ("fsync", DurabilityClass::EveryWrite),
    ("every write", DurabilityClass::EveryWrite),
    ("every commit", DurabilityClass::EveryWrite),
    ("every change", DurabilityClass::EveryWrite),
    ("page cache", DurabilityClass::Process),
    ("memory", DurabilityClass::Nothing),
    ("volatile", DurabilityClass::Nothing),
    // Of NATS: in the memory of several nodes, and gone with them.
    ("replicas", DurabilityClass::Nothing),
];

/// The setting that says what a crash loses, if there is one.
pub fn durability_setting(settings: &[Setting]) -> Option<&Setting> {
    let is_it = |setting: &&Setting| {
        setting.name == DURABILITY || setting.name.starts_with("durability of ")
    };
    settings.iter().find(is_it)
}

/// The durability class according to a store's settings.
pub fn durability(settings: &[Setting]) -> DurabilityClass {
    let Some(setting) = durability_setting(settings) else { return DurabilityClass::Untold };
    let value = setting.value.to_lowercase();
    // LMDB's `none` waits for no disk, and its pages are the operating system's.
    if setting.meaning.starts_with(SURVIVES) {
        return DurabilityClass::Process;
    }
    let found = WORDS.iter().find(|(words, _)| value.starts_with(words));
    match found.map_or(DurabilityClass::Untold, |(_, durability)| *durability) {
        DurabilityClass::Moments if setting.meaning.starts_with(OF_MACHINE) => {
            DurabilityClass::Interval
        }
        durability => durability,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, value: &str) -> DurabilityClass {
        let setting = |name: &str, value: &str| Setting {
            name: name.into(),
            value: value.into(),
            meaning: String::new(),
        };
        durability(&[setting("server", "fsync 3.1"), setting(name, value)])
    }

    #[test]
    fn words_of_drivers_are_durability_classes() {
        for (value, expected) in [
            ("none", DurabilityClass::Nothing),
            ("process", DurabilityClass::Process),
            ("replicas", DurabilityClass::Nothing),
            ("commitlog_sync=periodic 10000ms", DurabilityClass::Moments),
            ("commitlog_sync=batch", DurabilityClass::EveryWrite),
            ("every commit, on standbys too", DurabilityClass::EveryWrite),
            ("up to 0.1 s", DurabilityClass::Moments),
            ("unknown", DurabilityClass::Untold),
        ] {
            assert_eq!(of("durability", value), expected, "{value}");
        }
        assert_eq!(of("durability of bucket", "fsync"), DurabilityClass::EveryWrite);
        assert_eq!(of("isolation", "fsync"), DurabilityClass::Untold);
    }

    #[test]
    fn a_settings_meaning_says_more_than_its_name() {
        let of = |value: &str, meaning: &str| {
            let (name, value, meaning) = ("durability".into(), value.into(), meaning.into());
            durability(&[Setting { name, value, meaning }])
        };
        let survives = "an answered write survives the end of this process (kill -9); a loss";
        assert_eq!(of("none", survives), DurabilityClass::Process);
        // Redis has given it to the operating system, MariaDB has not.
        let (redis, mariadb) = ("a crash of the machine loses up", "a crash of the server loses");
        assert_eq!(of("one second", redis), DurabilityClass::Interval);
        assert_eq!(of("one second", mariadb), DurabilityClass::Moments);
    }

    #[test]
    fn durability_classes_are_ordered_by_what_they_keep() {
        let rising = [
            DurabilityClass::Nothing,
            DurabilityClass::Moments,
            DurabilityClass::Process,
            DurabilityClass::Interval,
        ];
        assert!(rising.is_sorted() && DurabilityClass::Interval < DurabilityClass::EveryWrite);
    }
}
