//! Settings that a server tells by their names.

use assay_model::Setting;

/// What is reported of a setting that a server does not tell.
pub const UNKNOWN: &str = "unknown";

/// A setting of a server, with what its value means.
#[derive(Clone, Copy, Debug)]
pub struct KnownSetting {
    /// The server's name for it.
    pub name: &'static str,
    /// Values that mean something of their own.
    values: &'static [(&'static str, &'static str)],
    /// What any other value means.
    otherwise: &'static str,
}

impl KnownSetting {
    /// One whose `values` have meanings of their own; others mean what `otherwise` says.
    pub const fn new(
        name: &'static str,
        values: &'static [(&'static str, &'static str)],
        otherwise: &'static str,
    ) -> KnownSetting {
        KnownSetting { name, values, otherwise }
    }

    /// One whose values all mean the same.
    pub const fn plain(name: &'static str, meaning: &'static str) -> KnownSetting {
        KnownSetting::new(name, &[], meaning)
    }

    /// The setting with this value; `untold` is what it means that the server does not tell it.
    pub fn explain(&self, value: Option<&str>, untold: &str) -> Setting {
        let Some(value) = value else { return Setting::new(self.name, UNKNOWN, untold) };
        let known = self.values.iter().find(|(known, _)| *known == value);
        let meaning = known.map_or(self.otherwise, |(_, meaning)| meaning);
        Setting::new(self.name, if value.is_empty() { "(none)" } else { value }, meaning)
    }
}
