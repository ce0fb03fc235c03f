//! Objectives as people write them, such as `read.p99<5ms,errors<0.1%`.

use anyhow::Result;
use assay_analysis::slo::{Comparison, Measure, Objective, ObjectiveTerm, Scope, Stretch};
use assay_analysis::sweep::{Spread, Sweep};
use assay_model::Kind;
use assay_model::closest;

use crate::units;

/// An objective that cannot be read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("at column {column}: {reason}")]
pub struct ParseError {
    /// Where, counted from 1.
    pub column: usize,
    /// What is wrong there, and what to write.
    pub reason: String,
}

/// More points than this make no useful plot, at one run each.
const POINTS_MAX: u64 = 1000;

/// Reads terms with commas between them: `[kind.][latency.]pN<TIME`, `[kind.]errors<N%`,
/// `[kind.]misses<N%`; `<=` where the limit itself is allowed.
///
/// The latency is the response time unless `service` or `lag` is named.
pub fn objective(text: &str) -> Result<Objective, ParseError> {
    let mut terms = Vec::new();
    let mut at = 0;
    for part in text.split(',') {
        let lead = part.len() - part.trim_start().len();
        terms.push(Words { text, at: at + lead }.term(part.trim())?);
        at += part.len() + 1;
    }
    Ok(Objective { terms })
}

/// The percentile beyond which no run of a reasonable length tells anything.
const HIGHEST_PERCENTILE: f64 = 99.9999;

/// A position in the text.
#[derive(Clone, Copy)]
struct Words<'a> {
    text: &'a str,
    /// In bytes.
    at: usize,
}

impl Words<'_> {
    fn wrong(self, ahead: usize, reason: String) -> ParseError {
        let before = self.text.get(..self.at + ahead).unwrap_or(self.text);
        ParseError { column: before.chars().count() + 1, reason }
    }

    fn term(self, part: &str) -> Result<ObjectiveTerm, ParseError> {
        let Some(place) = part.find(['<', '>', '=']) else {
            let reason = match part.is_empty() {
                true => "an objective is missing; write read.p99<5ms or errors<0.1%".to_owned(),
                false => format!("{part:?} has no limit; write read.p99<5ms or errors<0.1%"),
            };
            return Err(self.wrong(0, reason));
        };
        let (left, right) = part.split_at(place);
        let (comparison, limit) = if let Some(limit) = right.strip_prefix("<=") {
            (Comparison::AtMost, limit)
        } else if let Some(limit) = right.strip_prefix('<') {
            (Comparison::Below, limit)
        } else {
            let sign = &right[..1];
            let reason = format!("{sign:?} promises nothing to anybody; write < or <=");
            return Err(self.wrong(place, reason));
        };
        let limit_at = part.len() - limit.trim_start().len();
        let limit = Limit { text: limit.trim(), words: self, ahead: limit_at };
        let (scope, measure) = self.left(left.trim_end(), &limit)?;
        let share = match measure {
            Measure::Errors { limit } | Measure::Misses { limit } => Some(limit),
            Measure::Latency { .. } => None,
        };
        if share == Some(0.0) && comparison == Comparison::Below {
            return Err(limit.wrong("nothing is below zero; write <=0%"));
        }
        Ok(ObjectiveTerm { scope, measure, comparison })
    }

    /// What stands before the sign: a kind, a latency, a measure, the first two if one likes.
    fn left(self, left: &str, limit: &Limit<'_>) -> Result<(Scope, Measure), ParseError> {
        let (mut scope, mut stretch) = (None, None);
        let mut ahead = 0;
        loop {
            let rest = &left[ahead..];
            if let Some(number) = percentile_number(rest) {
                let quantile = self.quantile(ahead, number)?;
                let stretch = stretch.unwrap_or(Stretch::Response);
                let measure = Measure::Latency { stretch, quantile, limit: limit.latency()? };
                return Ok((scope.unwrap_or(Scope::All), measure));
            }
            let (word, more) = match rest.split_once('.') {
                Some((word, _)) => (word, true),
                None => (rest, false),
            };
            let is_first = scope.is_none() && stretch.is_none();
            match word {
                "errors" | "misses" if !more && stretch.is_none() => {
                    let limit = limit.share()?;
                    let measure = match word {
                        "errors" => Measure::Errors { limit },
                        _ => Measure::Misses { limit },
                    };
                    return Ok((scope.unwrap_or(Scope::All), measure));
                }
                "all" if more && is_first => scope = Some(Scope::All),
                _ => match (Kind::from_name(word), known_stretch(word)) {
                    (Some(kind), _) if more && is_first => scope = Some(Scope::Kind(kind)),
                    (_, Some(found)) if more && stretch.is_none() => stretch = Some(found),
                    _ => return Err(self.wrong(ahead, misplaced(word, more))),
                },
            }
            ahead += word.len() + 1;
        }
    }

    fn quantile(self, ahead: usize, number: &str) -> Result<f64, ParseError> {
        let percent = number.parse::<f64>().ok().filter(|percent| (0.0..100.0).contains(percent));
        match percent {
            Some(percent) if percent > HIGHEST_PERCENTILE => {
                let reason = format!(
                    "p{number} is beyond p{HIGHEST_PERCENTILE}, which takes a run of ten million \
                     operations already"
                );
                Err(self.wrong(ahead, reason))
            }
            // 99.9 / 100 is not quite 0.999; quantiles are compared with each other.
            Some(percent) if percent > 0.0 => Ok((percent * 1e6).round() / 1e8),
            _ => {
                let reason = format!("p{number} is no percentile; write p50, p99 or p99.9");
                Err(self.wrong(ahead, reason))
            }
        }
    }
}

/// The number of `p99.9`.
fn percentile_number(word: &str) -> Option<&str> {
    let number = word.strip_prefix('p')?;
    number.starts_with(|letter: char| letter.is_ascii_digit()).then_some(number)
}

fn known_stretch(word: &str) -> Option<Stretch> {
    Stretch::ALL.into_iter().find(|stretch| stretch.name() == word)
}

/// Why `word` cannot stand where it stands.
fn misplaced(word: &str, more: bool) -> String {
    let kinds = Kind::ALL.map(Kind::name);
    let stretches = Stretch::ALL.map(Stretch::name);
    let measures = ["errors", "misses"];
    let is_known = |words: &[&str]| words.contains(&word);
    match word {
        "" => "a name is missing; write read.p99, p99.9, errors or misses".to_owned(),
        "mean" | "avg" | "average" => {
            format!("a {word} tells nothing about those who wait longest; bound a percentile: p99")
        }
        "max" | "maximum" => {
            "a maximum grows with the length of a run; bound a percentile: p99.9".to_owned()
        }
        _ if !more && (is_known(&kinds) || is_known(&stretches)) => {
            format!("what of {word}? write {word}.p99, for example")
        }
        _ if is_known(&kinds) || is_known(&stretches) || is_known(&measures) || word == "all" => {
            format!(
                "{word} cannot stand here; the order is kind, latency, measure: read.service.p99"
            )
        }
        _ => {
            let names = kinds.into_iter().chain(stretches).chain(measures);
            let names = names.chain(["all", "p50", "p99"]);
            match closest(word, names) {
                Some(near) => format!("there is no {word:?}; did you mean {near}?"),
                None => format!(
                    "there is no {word:?}; there are {}, then {}, then p50 … p99.9, {}",
                    kinds.join(", "),
                    stretches.join(", "),
                    measures.join(", ")
                ),
            }
        }
    }
}

/// What stands behind the sign.
struct Limit<'a> {
    text: &'a str,
    words: Words<'a>,
    ahead: usize,
}

impl Limit<'_> {
    fn latency(&self) -> Result<assay_model::Nanos, ParseError> {
        match units::duration(self.text) {
            Ok(limit) if limit.0 > 0 => Ok(limit),
            Ok(_) => Err(self.wrong("nothing is answered in no time; give more than 0s")),
            Err(_) => Err(self.wrong("a latency needs a time with its unit, such as 5ms or 250us")),
        }
    }

    fn share(&self) -> Result<f64, ParseError> {
        let share = self.text.strip_suffix('%').and_then(|text| text.trim().parse::<f64>().ok());
        match share {
            Some(percent) if (0.0..=100.0).contains(&percent) => Ok(percent / 100.0),
            _ => Err(self.wrong("a share needs a percentage, such as 0.1%")),
        }
    }

    fn wrong(&self, reason: &str) -> ParseError {
        let found = match self.text {
            "" => "the limit is missing".to_owned(),
            text => format!("{text:?} is no limit"),
        };
        self.words.wrong(self.ahead, format!("{found}: {reason}"))
    }
}

/// A series of rates: `rate=1k..100k:log:8`, or `lin`.
pub fn sweep(text: &str) -> Result<Sweep> {
    let rate_profile = "write rate=FROM..TO:log:POINTS, for example rate=1k..100k:log:8";
    let Some(rates) = text.strip_prefix("rate=") else {
        anyhow::bail!("only the rate can be swept; {rate_profile}");
    };
    let parts: Vec<&str> = rates.split(':').collect();
    let [range, spread, points] = parts[..] else {
        anyhow::bail!("{text:?} does not have three parts; {rate_profile}");
    };
    let Some((from, to)) = range.split_once("..") else {
        anyhow::bail!("{range:?} is no range; {rate_profile}");
    };
    let (from, to) = (units::rate(from)?, units::rate(to)?);
    if from >= to {
        anyhow::bail!("{range} does not rise; rates are approached from below");
    }
    let spread = match spread {
        "log" => Spread::Log,
        "lin" => Spread::Linear,
        other => anyhow::bail!("{other:?} is neither log nor lin"),
    };
    let points = units::count(points)?;
    if !(2..=POINTS_MAX).contains(&points) {
        anyhow::bail!("{points} points make no curve; give 2 to {POINTS_MAX}");
    }
    Ok(Sweep { from, to, points: points as usize, spread })
}

#[cfg(test)]
mod tests {
    use assay_model::Nanos;

    use super::*;

    fn latency(scope: Scope, stretch: Stretch, quantile: f64, limit: Nanos) -> ObjectiveTerm {
        let measure = Measure::Latency { stretch, quantile, limit };
        ObjectiveTerm { scope, measure, comparison: Comparison::Below }
    }

    #[test]
    fn objectives_are_read() {
        let five = Nanos::from_millis(5);
        let read = Scope::Kind(Kind::Read);
        let errors = ObjectiveTerm {
            scope: Scope::All,
            measure: Measure::Errors { limit: 0.001 },
            comparison: Comparison::AtMost,
        };
        assert_eq!(
            objective(" read.p99 < 5ms , errors<=0.1%").unwrap().terms,
            [latency(read, Stretch::Response, 0.99, five), errors]
        );
        for (text, expected) in [
            ("p99.9<5ms", latency(Scope::All, Stretch::Response, 0.999, five)),
            ("all.lag.p50<5ms", latency(Scope::All, Stretch::Lag, 0.5, five)),
            ("read.service.p99<5ms", latency(read, Stretch::Service, 0.99, five)),
            ("response.p99<5ms", latency(Scope::All, Stretch::Response, 0.99, five)),
        ] {
            assert_eq!(objective(text).unwrap().terms, [expected], "{text}");
        }
        let misses = Measure::Misses { limit: 0.05 };
        assert_eq!(objective("read.misses<5%").unwrap().terms[0].measure, misses);
    }

    #[test]
    fn what_cannot_be_read_says_where_and_why() {
        for (text, column, part) in [
            ("", 1, "an objective is missing"),
            ("read.p99", 1, "has no limit"),
            ("read.p99<", 10, "the limit is missing"),
            ("read.p99<5", 10, "needs a time with its unit"),
            ("read.p99<fast", 10, "needs a time with its unit"),
            ("p99<0s", 5, "more than 0s"),
            ("p99<5ms,", 9, "an objective is missing"),
            ("p99<5ms, reed.p99<1ms", 10, "did you mean read?"),
            ("p99<5ms,errors<0.001", 16, "needs a percentage"),
            ("read.erors<1%", 6, "did you mean errors?"),
            ("read.servce.p99<5ms", 6, "did you mean service?"),
            ("service.read.p99<5ms", 9, "read cannot stand here"),
            ("read<5ms", 1, "write read.p99"),
            ("read.<5ms", 6, "a name is missing"),
            ("read.mean<5ms", 6, "percentile"),
            ("max<5ms", 1, "grows with the length"),
            ("p100<5ms", 1, "p100 is no percentile"),
            ("p0<5ms", 1, "p0 is no percentile"),
            ("p99.99999999<5ms", 1, "beyond p99.9999"),
            ("errors<0%", 8, "write <=0%"),
            ("p99>5ms", 4, "write < or <="),
            ("p99=5ms", 4, "write < or <="),
            ("misses<-1%", 8, "needs a percentage"),
            ("bananas<5%", 1, "there are read, update"),
            ("µ.p99<5ms", 1, "there is no"),
            ("p99<5ms,µs.p99<5ms", 9, "there is no"),
        ] {
            let error = objective(text).unwrap_err();
            assert!(error.reason.contains(part), "{text}: {error}");
            assert_eq!(error.column, column, "{text}: {error}");
        }
    }

    #[test]
    fn sweeps_are_read() {
        let expected = Sweep { from: 1e3, to: 1e5, points: 8, spread: Spread::Log };
        assert_eq!(sweep("rate=1k..100k:log:8").unwrap(), expected);
        let expected = Sweep { from: 0.5, to: 10.0, points: 2, spread: Spread::Linear };
        assert_eq!(sweep("rate=0.5/s..10/s:lin:2").unwrap(), expected);
        for text in [
            "1k..2k:log:8",
            "closed=1..8:lin:8",
            "rate=1k..2k",
            "rate=1k:log:8",
            "rate=2k..1k:log:8",
            "rate=1k..2k:cubic:8",
            "rate=1k..2k:log:1",
            "rate=1k..2k:log:1M",
            "rate=0..2k:log:4",
        ] {
            assert!(sweep(text).is_err(), "{text}");
        }
    }
}
