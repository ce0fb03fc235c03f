//! Rates of faults that a user gives, for the availability that would follow from them.

use anyhow::Result;
use assay_analysis::recovery::{AnnualRate, what_if};
use assay_results::AnalyzedRun;
use clap::ArgMatches;

use crate::exit::usage;

/// Periods with how many of them a year has.
const PERIODS: [(&str, f64); 5] =
    [("year", 1.0), ("month", 12.0), ("week", 365.25 / 7.0), ("day", 365.25), ("hour", 8766.0)];

/// Adds what the faults of `analyzed` mean at the rates of `--what-if`, if it was given. Fails if
/// the run says nothing about faults.
pub fn add(matches: &ArgMatches, analyzed: &mut AnalyzedRun) -> Result<()> {
    let Some(text) = matches.get_one::<String>("what-if") else { return Ok(()) };
    let rates = rates(text)?;
    let facts = analyzed.facts.availability.as_mut().filter(|facts| facts.has_faults());
    let Some(facts) = facts else {
        return Err(usage(
            "--what-if: no fault was injected into this run: see --at, or `assay lab fault`",
        ));
    };
    facts.what_if = Some(what_if(&facts.recovery.injections, &rates));
    Ok(())
}

/// Reads `kill 12/year, partition 4/year`.
fn rates(text: &str) -> Result<Vec<AnnualRate>> {
    text.split(',').map(|one| rate(one.trim())).collect()
}

fn rate(text: &str) -> Result<AnnualRate> {
    let wrong = |reason: &str| {
        usage(format!("--what-if: {text:?} {reason}; write 'kill 12/year, partition 4/year'"))
    };
    let (fault, rate) = text.rsplit_once(' ').ok_or_else(|| wrong("has no fault and rate"))?;
    let (number, period) = rate.split_once('/').ok_or_else(|| wrong("has no rate at its end"))?;
    let number: f64 = number.parse().map_err(|_| wrong("has no number before the slash"))?;
    let of_year = PERIODS.iter().find(|(name, _)| *name == period);
    let (_, of_year) = of_year.ok_or_else(|| wrong("is per year, month, week, day or hour"))?;
    if !number.is_finite() || number < 0.0 {
        return Err(wrong("has a rate that is no number from 0 on"));
    }
    Ok(AnnualRate { fault: fault.trim().to_owned(), per_year: number * of_year })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_per_year() {
        let read = rates("kill leader 12/year, partition 4/month").expect("they are rates");
        let rows: Vec<_> = read.iter().map(|rate| (rate.fault.as_str(), rate.per_year)).collect();
        assert_eq!(rows, [("kill leader", 12.0), ("partition", 48.0)]);
    }

    #[test]
    fn what_is_no_rate_is_an_error_with_an_example() {
        for text in ["kill", "kill often", "kill x/year", "kill 1/eon", "kill -1/year", "kill 1/"] {
            let error = rates(text).expect_err(text).to_string();
            assert!(error.contains("write 'kill 12/year"), "{error}");
        }
    }
}
