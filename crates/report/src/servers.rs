//! Report of actions on the store and of its servers' resources, in words and in a table.

use assay_analysis::effect::{Effect, Level};

use crate::facts::{ActionEffect, Facts};
use crate::table::Table;
use crate::units::{Letters, duration, moment, percent, rate, three_digits};

/// Bytes in a mebibyte.
pub(crate) const MIB: f64 = 1_048_576.0;
/// What is not known.
const UNTOLD: &str = "-";

/// Each action with its observed effect, a sentence each.
pub fn effects(facts: &Facts, letters: Letters) -> Vec<String> {
    let sentence = |action: &ActionEffect| {
        let what = format!("{} at {}", action.text, moment(action.at));
        let stop = action.stop.map_or_else(String::new, |stop| {
            let length = duration(stop.length(), letters);
            format!("no response for {length} from {}; ", moment(stop.from))
        });
        match &action.effect {
            None => format!("{what}: {stop}too little of the run lies before or after it to tell"),
            Some(effect) => format!("{what}: {stop}{}", observed(effect, letters)),
        }
    };
    facts.effects.iter().map(sentence).collect()
}

/// The observed effect of an action.
fn observed(effect: &Effect, letters: Letters) -> String {
    let after = |at: assay_model::Nanos| {
        format!("{} ({} after)", moment(at), duration(at.since(effect.at), letters))
    };
    let arrow = letters.pick("→", "->");
    let rest = match (effect.first, effect.last, effect.is_at_rest) {
        (None, _, _) => return "no effect was observed".to_owned(),
        (Some(first), None, true) => format!("seen from {}, to stay", after(first)),
        (Some(first), Some(last), true) => {
            format!("first seen at {}, last at {}", after(first), after(last))
        }
        (Some(first), _, false) => {
            format!("first seen at {}, not at rest before the end", after(first))
        }
    };
    let Level { done_per_s, p50, p99, failed } = effect.before;
    let now = &effect.after;
    let latency = |time: Option<assay_model::Nanos>| {
        time.map_or(UNTOLD.to_owned(), |time| duration(time, letters))
    };
    let mut text = format!(
        "{rest}; done {} {arrow} {}, p50 {} {arrow} {}, p99 {} {arrow} {}",
        rate(done_per_s),
        rate(now.done_per_s),
        latency(p50),
        latency(now.p50),
        latency(p99),
        latency(now.p99),
    );
    if failed > 0.0 || now.failed > 0.0 {
        text += &format!(", failed {} {arrow} {}", percent(failed), percent(now.failed));
    }
    text
}

/// The resource use of each server over the measured window; `None` if not observed.
pub fn table(facts: &Facts) -> Option<Table> {
    let number = |value: Option<f64>, unit: f64| {
        value.map_or(UNTOLD.to_owned(), |value| three_digits(value / unit))
    };
    let servers = facts.servers.iter();
    Table::of(servers.filter_map(|server| Some((&server.name, server.used?))))
        .left("", |(name, _)| *name)
        .right("processors", |(_, used)| number(used.mean.processors, 1.0))
        .right("at most", |(_, used)| number(used.processors_max, 1.0))
        .right("most MiB", |(_, used)| number(used.mean.memory, MIB))
        .right("read MB/s", |(_, used)| number(used.mean.disk_read, 1e6))
        .right("written MB/s", |(_, used)| number(used.mean.disk_written, 1e6))
        .right("in MB/s", |(_, used)| number(used.mean.received, 1e6))
        .right("out MB/s", |(_, used)| number(used.mean.sent, 1e6))
        .build()
        .filled()
}

#[cfg(test)]
mod tests {
    use assay_analysis::Silence;
    use assay_model::Nanos;

    use super::*;

    fn effect(first: Option<u64>, last: Option<u64>, is_at_rest: bool) -> Effect {
        let level = |micros: u64, failed: f64| Level {
            done_per_s: 1000.0,
            p50: Some(Nanos(micros * 100)),
            p99: Some(Nanos(micros * 1000)),
            failed,
        };
        Effect {
            at: Nanos::from_secs(300),
            first: first.map(Nanos::from_secs),
            last: last.map(Nanos::from_secs),
            is_at_rest,
            before: level(500, 0.0),
            after: level(250, 0.0),
        }
    }

    #[test]
    fn an_effect_is_reported_with_its_times_and_levels() {
        let text = observed(&effect(Some(302), Some(341), true), Letters::Ascii);
        let expected = "first seen at 302 s (2.00 s after), last at 341 s (41.0 s after); \
                        done 1 000/s -> 1 000/s, p50 50.0 us -> 25.0 us, p99 500 us -> 250 us";
        assert_eq!(text, expected);
        assert_eq!(observed(&effect(None, None, true), Letters::Ascii), "no effect was observed");
        let text = observed(&effect(Some(302), None, true), Letters::Ascii);
        assert!(text.starts_with("seen from 302 s (2.00 s after), to stay; "), "{text}");
        let text = observed(&effect(Some(302), Some(400), false), Letters::Ascii);
        assert!(text.contains("not at rest before the end"), "{text}");
        let (from, until) = (Nanos::from_millis(300_020), Nanos::from_millis(302_320));
        let stop = Some(Silence { from, until, is_cut_off: false });
        let (at, text) = (Nanos::from_secs(300), "kill node 1".to_owned());
        let mut facts = crate::sample::facts();
        facts.effects = vec![ActionEffect { text, at, stop, effect: None }];
        let expected = "kill node 1 at 300 s: no response for 2.30 s from 300.02 s; too little of \
                        the run lies before or after it to tell";
        assert_eq!(effects(&facts, Letters::Ascii), [expected]);
    }
}
