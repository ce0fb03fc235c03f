//! Conditions of a comparison as text: `read.p99>+10%,throughput<-5%`.

use std::fmt;
use std::ops::Range;

use assay_analysis::compare::{Condition, Figure, Limit, Measure};
use assay_model::Kind;
use assay_model::closest;

/// A condition with its text.
#[derive(Clone, Debug, PartialEq)]
pub struct Stated {
    /// As it was written.
    pub text: String,
    /// What it means.
    pub condition: Condition,
}

/// What is wrong with a text, with the place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    text: String,
    at: Range<usize>,
    reason: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letters = |range: Range<usize>| self.text.get(range).map_or(0, |t| t.chars().count());
        let (before, marked) = (letters(0..self.at.start), letters(self.at.clone()));
        let (gap, marks) = (" ".repeat(before), "^".repeat(marked.max(1)));
        write!(f, "--fail-on: {}\n  {}\n  {gap}{marks}", self.reason, self.text)
    }
}

/// The names of what can be measured.
const MEASURES: [(&str, Measure); 8] = [
    ("throughput", Measure::Throughput),
    ("p50", Measure::Response(0.5)),
    ("p90", Measure::Response(0.9)),
    ("p99", Measure::Response(0.99)),
    ("p99.9", Measure::Response(0.999)),
    ("errors", Measure::Errors),
    ("misses", Measure::Misses),
    ("cpu", Measure::Cpu),
];

/// Reads conditions that are separated by commas.
///
/// A condition is `[KIND.][response.|service.]FIGURE>+N%` or `…<-N%`; the shares errors with
/// misses take percentage points, `errors>+0.1pp`.
///
/// # Errors
/// If it is invalid; says where, and suggests a correction.
pub fn parse(text: &str) -> Result<Vec<Stated>, Problem> {
    let mut stated = Vec::new();
    let mut start = 0;
    for part in text.split(',') {
        let trimmed = part.trim();
        let offset = start + (part.len() - part.trim_start().len());
        let place = Place { text, offset };
        stated.push(Stated { text: trimmed.to_owned(), condition: place.condition(trimmed)? });
        start += part.len() + 1;
    }
    Ok(stated)
}

/// Where in the whole text a part begins.
struct Place<'a> {
    text: &'a str,
    offset: usize,
}

impl Place<'_> {
    fn problem(&self, at: Range<usize>, reason: impl Into<String>) -> Problem {
        let at = self.offset + at.start..self.offset + at.end;
        Problem { text: self.text.to_owned(), at, reason: reason.into() }
    }

    fn condition(&self, part: &str) -> Result<Condition, Problem> {
        let Some(sign_at) = part.find(['>', '<']) else {
            let reason = "there is no > or <; write p99>+10% or throughput<-5%";
            return Err(self.problem(0..part.len(), reason));
        };
        let figure = self.figure(part[..sign_at].trim_end())?;
        let is_above = part[sign_at..].starts_with('>');
        let rest = &part[sign_at + 1..];
        let limit_at = part.len() - rest.trim_start().len();
        let change = self.change(rest.trim(), limit_at, figure.measure)?;
        let nothing = if figure.measure.is_share() { 0.0 } else { 1.0 };
        if is_above != (change >= 0.0) {
            let reason = "a condition says what must not be: more than a rise, p99>+10%, or less \
                          than a fall, throughput<-5%";
            return Err(self.problem(sign_at..part.len(), reason));
        }
        let limit = match is_above {
            true => Limit::Above(nothing + change),
            false => Limit::Below(nothing + change),
        };
        Ok(Condition { figure, limit })
    }

    /// `[KIND.][response.|service.]FIGURE`.
    fn figure(&self, text: &str) -> Result<Figure, Problem> {
        let mut at = 0;
        let mut word = || {
            let (first, _) = text[at..].split_once('.')?;
            // The dot of p99.9 separates nothing.
            (text[at..] != *"p99.9").then(|| {
                at += first.len() + 1;
                (first, at - first.len() - 1)
            })
        };
        let mut next = word();
        let of = next.and_then(|(name, _)| Kind::from_name(name));
        if of.is_some() {
            next = word();
        }
        let is_service = match next {
            None | Some(("response", _)) => false,
            Some(("service", _)) => true,
            Some((name, place)) => {
                let latencies = ["response", "service"].into_iter();
                let known = latencies.chain(Kind::ALL.map(Kind::name));
                let hint = closest(name, known).map_or_else(
                    || "a kind such as read, or service, can stand before the dot".to_owned(),
                    |near| format!("did you mean {near}?"),
                );
                let reason = format!("there is no kind or latency {name}; {hint}");
                return Err(self.problem(place..place + name.len(), reason));
            }
        };
        let measure = self.measure(&text[at..], at, next.is_some())?;
        if measure == Measure::Cpu && of.is_some() {
            return Err(self.problem(0..at, "cpu exists for all operations together only"));
        }
        let measure = match (measure, is_service) {
            (Measure::Response(quantile), true) => Measure::Service(quantile),
            (measure, _) => measure,
        };
        Ok(Figure { of, measure })
    }

    fn measure(&self, name: &str, at: usize, is_latency: bool) -> Result<Measure, Problem> {
        let place = at..at + name.len();
        let Some((_, measure)) = MEASURES.iter().find(|(known, _)| *known == name) else {
            let names = MEASURES.map(|(name, _)| name);
            let hint = match closest(name, names) {
                Some(near) => format!("did you mean {near}?"),
                None => format!("there are {}", names.join(", ")),
            };
            return Err(self.problem(place, format!("there is no figure {name:?}; {hint}")));
        };
        if is_latency && measure.quantile().is_none() {
            return Err(self.problem(0..at, format!("{name} is no latency")));
        }
        Ok(*measure)
    }

    /// `+10%` as 0.1, `+0.1pp` as 0.001.
    fn change(&self, text: &str, at: usize, measure: Measure) -> Result<f64, Problem> {
        let place = at..at + text.len();
        if !text.starts_with(['+', '-']) {
            let reason = "a limit is a change from BASE and has a sign: +10%; a bound on NEW alone \
                          is an objective of `assay tune`";
            return Err(self.problem(place, reason));
        }
        let unit = if measure.is_share() { "pp" } else { "%" };
        let Some(number) = text.strip_suffix(unit) else {
            let reason = match measure.is_share() {
                true => "a share changes by percentage points: write +0.1pp",
                false => "a limit is in percent of BASE: write +10%",
            };
            return Err(self.problem(place, reason));
        };
        let number = number.trim().parse::<f64>().ok().filter(|number| number.is_finite());
        let Some(number) = number else {
            return Err(self.problem(place, format!("{text:?} is no number of {unit}")));
        };
        if number <= -100.0 {
            return Err(self.problem(place, "nothing falls by 100 % or more"));
        }
        Ok(number / 100.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Condition {
        let stated = parse(text).unwrap_or_else(|problem| panic!("{problem}"));
        assert_eq!(stated.len(), 1);
        stated[0].condition
    }

    fn wrong(text: &str) -> String {
        parse(text).unwrap_err().to_string()
    }

    #[test]
    fn conditions_are_read() {
        let overall = |measure, limit| Condition { figure: Figure::overall(measure), limit };
        let p99 = |limit| overall(Measure::Response(0.99), Limit::Above(limit));
        assert_eq!(one("p99>+10%"), p99(1.1));
        assert_eq!(one(" p99 > +10 % "), p99(1.1));
        assert_eq!(one("p99.9>+1%"), overall(Measure::Response(0.999), Limit::Above(1.01)));
        assert_eq!(one("throughput<-5%"), overall(Measure::Throughput, Limit::Below(0.95)));
        assert_eq!(one("errors>+0.1pp"), overall(Measure::Errors, Limit::Above(0.001)));
        let read = Figure { of: Some(Kind::Read), measure: Measure::Service(0.999) };
        let expected = Condition { figure: read, limit: Limit::Above(1.2) };
        assert_eq!(one("read.service.p99.9>+20%"), expected);
        assert_eq!(one("response.p99>+10%"), p99(1.1));
    }

    #[test]
    fn several_stand_between_commas() {
        let texts: Vec<String> =
            parse("p99>+10%, read.p50>+5%").unwrap().into_iter().map(|s| s.text).collect();
        assert_eq!(texts, ["p99>+10%", "read.p50>+5%"]);
    }

    #[test]
    fn a_misspelling_is_marked_with_a_suggestion() {
        assert_eq!(
            wrong("throughput<-5%, troughput<-5%"),
            "--fail-on: there is no figure \"troughput\"; did you mean throughput?\n  \
             throughput<-5%, troughput<-5%\n                  ^^^^^^^^^"
        );
        assert!(
            wrong("reed.p99>+10%").contains("there is no kind or latency reed; did you mean read?")
        );
        assert!(wrong("p98>+10%").contains("there is no figure \"p98\"; did you mean p9"));
    }

    #[test]
    fn invalid_conditions_are_refused() {
        for (text, reason) in [
            ("p99", "there is no > or <"),
            ("p99>10%", "has a sign"),
            ("p99>5ms", "has a sign"),
            ("p99>+5ms", "in percent of BASE"),
            ("p99<+10%", "says what must not be"),
            ("errors>+1%", "percentage points"),
            ("service.throughput<-5%", "throughput is no latency"),
            ("read.cpu>+5%", "all operations together only"),
            ("throughput<-100%", "nothing falls by 100 %"),
            ("p99>+ten%", "is no number of %"),
            ("", "there is no > or <"),
        ] {
            assert!(wrong(text).contains(reason), "{text}: {}", wrong(text));
        }
    }
}
