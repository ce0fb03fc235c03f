//! Metrics in the text format of Prometheus.

use std::collections::HashSet;

use assay_store::reading::counter_name;

use super::Number;

/// The numbers of a page, in its order; lines that are none are passed over.
pub(super) fn parse(page: &str) -> Vec<Number> {
    let mut counters: HashSet<&str> = HashSet::new();
    let mut numbers = Vec::new();
    for line in page.lines() {
        if let Some(comment) = line.strip_prefix('#') {
            let mut words = comment.split_ascii_whitespace();
            if let (Some("TYPE"), Some(name), Some("counter")) =
                (words.next(), words.next(), words.next())
            {
                counters.insert(name);
            }
            continue;
        }
        numbers.extend(number(line).map(|(name, labels, value)| Number {
            node: String::new(),
            labels: labels.to_owned(),
            metric: if counters.contains(name) { counter_name(name) } else { name.to_owned() },
            value,
        }));
    }
    numbers
}

/// Name, labels, value of a line; a time behind it is left out, as are values that are no numbers.
fn number(line: &str) -> Option<(&str, &str, f64)> {
    let line = line.trim_start();
    let end = line.find(|c: char| c == '{' || c.is_ascii_whitespace())?;
    let (name, rest) = line.split_at(end);
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(inside) => {
            let close = closing(inside)?;
            (&inside[..close], &inside[close + 1..])
        }
        None => ("", rest),
    };
    let value: f64 = rest.split_ascii_whitespace().next()?.parse().ok()?;
    (!name.is_empty() && value.is_finite()).then_some((name, labels, value))
}

/// Where labels end: at the first brace outside quotes.
fn closing(labels: &str) -> Option<usize> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    for (place, byte) in labels.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_quoted => is_escaped = true,
            b'"' => is_quoted = !is_quoted,
            b'}' if !is_quoted => return Some(place),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_becomes_numbers() {
        let page = "# HELP a What.\n# TYPE a counter\na 5\n# TYPE b gauge\n\
                    b{x=\"1 } \\\" 2\",y=\"z\"} 2.5e3 1700000000\nnan NaN\ninf +Inf\nbroken{x 1\n\n\
                    c_total 7\n";
        let numbers = parse(page);
        let texts: Vec<String> = numbers
            .iter()
            .map(|number| format!("{}|{}|{}", number.metric, number.labels, number.value))
            .collect();
        assert_eq!(texts, ["a_total||5", "b|x=\"1 } \\\" 2\",y=\"z\"|2500", "c_total||7"]);
    }
}
