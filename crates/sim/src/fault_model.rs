//! The faults that can be switched on, each with a rate.

use std::fmt;
use std::str::FromStr;

use assay_model::Nanos;

use super::quantity::{TimeWindow, length, share, spell};

/// The rate, time and duration of one fault.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FaultRate {
    /// The share of the requests that it can affect.
    pub rate: f64,
    /// When it strikes, counted from the first request.
    pub window: TimeWindow,
    /// How long its effect lasts, or how late it comes; its own default if not given.
    pub span: Option<Nanos>,
}

impl FaultRate {
    /// Never.
    pub const NEVER: FaultRate = FaultRate { rate: 0.0, window: TimeWindow::ALWAYS, span: None };

    /// As often as `rate` says, at any time.
    pub const fn at_rate(rate: f64) -> FaultRate {
        FaultRate { rate, ..FaultRate::NEVER }
    }

    /// Whether it ever strikes.
    pub fn is_on(&self) -> bool {
        self.rate > 0.0
    }
}

impl FromStr for FaultRate {
    type Err = String;

    /// A rate, then optionally when, then optionally for how long: `1% 10s..20s for 100ms`.
    ///
    /// `:` may stand for a space, so that it fits into a URL.
    fn from_str(text: &str) -> Result<FaultRate, String> {
        let spaced = text.replace(':', " ");
        let mut words = spaced.split_whitespace();
        let rate = words.next().ok_or("nothing is no rate; write 0.01 or 1%")?;
        let mut fault_rate = FaultRate::at_rate(share(rate)?);
        while let Some(word) = words.next() {
            if word == "for" {
                let span = words.next().ok_or_else(|| format!("{text:?} ends after `for`"))?;
                fault_rate.span = Some(length(span)?);
            } else {
                fault_rate.window = word.parse()?;
            }
        }
        Ok(fault_rate)
    }
}

impl fmt::Display for FaultRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.rate)?;
        if self.window != TimeWindow::ALWAYS {
            write!(f, " {}", self.window)?;
        }
        match self.span {
            Some(span) => write!(f, " for {}", spell(span)),
            None => Ok(()),
        }
    }
}

macro_rules! fault_model {
    ($($(#[$doc:meta])* $field:ident,)*) => {
        /// The configurable faults.
        #[derive(Clone, Debug, PartialEq)]
        pub struct FaultModel { $($(#[$doc])* pub $field: FaultRate,)* }

        impl FaultModel {
            /// The names of all faults, as options spell them.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($field),)*];

            /// The fault of this name.
            pub fn get_mut(&mut self, name: &str) -> Option<&mut FaultRate> {
                match name {
                    $(stringify!($field) => Some(&mut self.$field),)*
                    _ => None,
                }
            }

            /// The fault of this name.
            pub fn get(&self, name: &str) -> Option<FaultRate> {
                match name {
                    $(stringify!($field) => Some(self.$field),)*
                    _ => None,
                }
            }
        }

        impl Default for FaultModel {
            fn default() -> FaultModel {
                FaultModel { $($field: FaultRate::NEVER,)* }
            }
        }
    };
}

fault_model! {
    /// Acknowledged writes that are not done.
    lost,
    /// Writes that are done again after the span (1 s).
    duplicate,
    /// Writes of several fields, or several keys, of which half shows the span (10 ms) later.
    torn,
    /// Writes that are refused but can be read for the span (100 ms).
    dirty,
    /// Acknowledged writes that can be read for the span (100 ms), then are undone.
    undone,
    /// Reads that are answered with what could be read the span (1 s) ago.
    stale_cache,
    /// Requests that are refused without being done.
    refused,
    /// Requests that are never answered; every other one is done.
    silent,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_read_as_it_is_spelled() {
        for text in ["0.01", "0.01 10s..20s", "0.5 for 100ms", "1 5s.. for 1s"] {
            assert_eq!(text.parse::<FaultRate>().unwrap().to_string(), text);
        }
        assert_eq!("1%:10s..20s:for:5ms".parse(), "0.01 10s..20s for 5ms".parse::<FaultRate>());
        for text in ["", "often", "1% for", "1% soon", "1% for ever", "200%"] {
            assert!(text.parse::<FaultRate>().is_err(), "{text}");
        }
    }

    #[test]
    fn every_name_is_found() {
        let mut fault_model = FaultModel::default();
        for name in FaultModel::NAMES {
            *fault_model.get_mut(name).unwrap() = FaultRate::at_rate(1.0);
            assert!(fault_model.get(name).unwrap().is_on(), "{name}");
        }
        assert!(fault_model.get("bored").is_none());
    }
}
