//! The versions of YCSB whose behaviour can be chosen.

use anyhow::Result;

use crate::exit::usage;

/// The property that chooses one.
pub const PROPERTY: &str = "assay.ycsb";

/// A version of YCSB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// The last release, of 2019.
    V0_17,
    /// The sources since then, never released.
    V0_18,
}

impl Version {
    /// The version that the property's value means; 0.17.0 if it is not given.
    pub fn from(text: Option<&str>) -> Result<Version> {
        match text.map(|text| text.trim_end_matches("-SNAPSHOT").trim_end_matches(".0")) {
            None | Some("0.17") => Ok(Version::V0_17),
            Some("0.18") => Ok(Version::V0_18),
            Some(_) => Err(usage(format!("{PROPERTY}: there are 0.17 (the default), 0.18"))),
        }
    }

    /// As YCSB's client says it.
    pub fn name(self) -> &'static str {
        match self {
            Version::V0_17 => "0.17.0",
            Version::V0_18 => "0.18.0-SNAPSHOT",
        }
    }

    /// The percentiles of a result if none are given.
    pub fn percentiles(self) -> Vec<f64> {
        match self {
            Version::V0_17 => vec![95.0, 99.0],
            Version::V0_18 => vec![50.0, 95.0, 99.0],
        }
    }

    /// Whether a scan is measured per record too.
    pub fn measures_scans_per_record(self) -> bool {
        self == Version::V0_18
    }

    /// Whether status lines have the median.
    pub fn shows_medians(self) -> bool {
        self == Version::V0_18
    }

    /// Whether checks of values are announced.
    pub fn announces_integrity(self) -> bool {
        self == Version::V0_18
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_known_by_their_numbers() {
        assert_eq!(Version::from(None).unwrap(), Version::V0_17);
        assert_eq!(Version::from(Some("0.17.0")).unwrap(), Version::V0_17);
        assert_eq!(Version::from(Some("0.18.0-SNAPSHOT")).unwrap(), Version::V0_18);
        assert!(Version::from(Some("0.16")).unwrap_err().to_string().contains("0.17"));
    }
}
