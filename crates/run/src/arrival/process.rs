//! Arrival process: the gaps between arrivals, in units of the mean gap.

use std::fmt;

use super::mmpp2::Mmpp2;
use super::rate_profile::Length;
use super::recorded::Timetable;

/// How the gaps between arrivals are distributed.
#[derive(Clone, Debug, PartialEq)]
pub enum ArrivalProcess {
    /// All gaps are equal.
    Constant,
    /// Independent exponential gaps: many users who do not know of each other.
    Poisson,
    /// A beat from which each arrival is late by up to this share of a gap, from 0 to 1.
    Jitter(f64),
    /// Bursts and calms.
    Mmpp2(Mmpp2),
    /// Independent gamma gaps with this coefficient of variation, above 0.
    Gamma(f64),
    /// Independent lognormal gaps with this coefficient of variation, above 0.
    Lognormal(f64),
    /// As a written schedule says.
    Recorded(Timetable),
}

impl ArrivalProcess {
    /// The name used in flags and reports.
    pub const fn name(&self) -> &'static str {
        match self {
            ArrivalProcess::Constant => "constant",
            ArrivalProcess::Poisson => "poisson",
            ArrivalProcess::Jitter(_) => "jitter",
            ArrivalProcess::Mmpp2(_) => "mmpp2",
            ArrivalProcess::Gamma(_) => "gamma",
            ArrivalProcess::Lognormal(_) => "lognormal",
            ArrivalProcess::Recorded(_) => "trace",
        }
    }

    /// The coefficient of variation of gaps at a constant `rate` per second; unknown for a
    /// written schedule.
    pub fn cv(&self, rate: f64) -> Option<f64> {
        match self {
            ArrivalProcess::Constant => Some(0.0),
            ArrivalProcess::Poisson => Some(1.0),
            ArrivalProcess::Jitter(share) => Some(share / 6f64.sqrt()),
            ArrivalProcess::Mmpp2(chain) => Some(chain.cv(rate)),
            ArrivalProcess::Gamma(cv) | ArrivalProcess::Lognormal(cv) => Some(*cv),
            ArrivalProcess::Recorded(_) => None,
        }
    }
}

impl fmt::Display for ArrivalProcess {
    /// As on the command line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            ArrivalProcess::Jitter(number)
            | ArrivalProcess::Gamma(number)
            | ArrivalProcess::Lognormal(number) => write!(f, ":{number}"),
            ArrivalProcess::Mmpp2(Mmpp2 { ratio, burst, calm }) => {
                write!(f, ":{ratio},{},{}", Length(*burst), Length(*calm))
            }
            ArrivalProcess::Constant | ArrivalProcess::Poisson | ArrivalProcess::Recorded(_) => {
                Ok(())
            }
        }
    }
}
