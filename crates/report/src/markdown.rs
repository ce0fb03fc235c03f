//! A result in Markdown, for a pull request or an issue.

use assay_analysis::Summary;

use crate::facts::Facts;
use crate::units::Letters;
use crate::verdict::{Level, findings, headline};
use crate::{prose, tables};

/// The result as Markdown: verdict, circumstances, tables. Texts cannot become markup.
pub fn markdown(facts: &Facts, summary: &Summary) -> String {
    let letters = Letters::Unicode;
    let mut out = format!("### {}\n\n", escape(&facts.title));
    let findings = findings(facts, summary, letters);
    for finding in &findings {
        out +=
            &format!("**{}**: {}\n\n", escape(&finding.name.to_uppercase()), escape(&finding.text));
    }
    if findings[0].level != Level::Fine {
        out += &format!("{}\n\n", headline(summary, letters));
    }
    out += &tables::throughput(summary).markdown();
    out.push('\n');
    let latency = tables::latency(summary, letters);
    out += &latency.markdown();
    out.push('\n');
    if tables::is_rough(&latency) {
        out += &format!("{}\n\n", tables::ROUGH_MEANING);
    }
    out += &tables::outcomes(summary).markdown();
    out.push('\n');
    if tables::has_failures(summary) {
        out += &tables::reasons(summary).markdown();
        out.push('\n');
    }
    out += &details(facts, summary, letters);
    out
}

/// What was run against what, folded away.
fn details(facts: &Facts, summary: &Summary, letters: Letters) -> String {
    let mut out = "<details><summary>Circumstances</summary>\n\n".to_owned();
    for (title, text) in prose::circumstances(facts, summary, letters) {
        out += &format!("- {title}: {}\n", escape(&text));
    }
    out += &format!("- in flight: {}\n", prose::concurrency(summary));
    out += &format!("- available: {}\n", prose::availability(summary, letters));
    for setting in &facts.store.settings {
        out += &format!(
            "- setting {} = {}: {}\n",
            escape(&setting.name),
            escape(&setting.value),
            escape(&setting.meaning)
        );
    }
    out + &format!("- to repeat it: {}\n\n</details>\n", code(&facts.command))
}

/// Text in which nothing is markup, on one line.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '!' | '@' => {
                out.push('\\');
                out.push(letter);
            }
            letter if letter.is_control() => out.push(' '),
            letter => out.push(letter),
        }
    }
    out
}

/// A code span, with a fence that is longer than any run of backticks within.
fn code(text: &str) -> String {
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if longest > 0 { format!("{fence} {text} {fence}") } else { format!("{fence}{text}{fence}") }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::sample;

    #[test]
    fn a_run_is_a_few_tables() {
        expect![[r####"
            ### ycsb-b on redis

            **FAILING**: 1.17 % of the operations failed (4 refused, 3 unknown)

            **MISSES**: 2.03 % of the answers found no record; a miss is no hit, so it is in no latency below

            197/s of 200/s offered, response p99 1.37 ms, 8 of 600 failed

            |        | offered | done | offered/s | done/s | goodput/s |
            | ------ | ------: | ---: | --------: | -----: | --------: |
            | read   |     560 |  553 |       187 |    184 |       180 |
            | update |      40 |   39 |      13.3 |   13.0 |      13.0 |
            | all    |     600 |  592 |       200 |    197 |       193 |

            |                   |          |      p50 |      p90 |      p99 |    p99.9 |     max |
            | ----------------- | -------- | -------: | -------: | -------: | -------: | ------: |
            | read              | response |   704 µs |  1.18 ms | ~1.29 ms | ~1.30 ms | 1.30 ms |
            |                   | service  |   640 µs |  1.07 ms | ~1.17 ms | ~1.18 ms | 1.18 ms |
            | update            | response |   319 µs |  ~495 µs |  ~528 µs |  ~528 µs |  528 µs |
            |                   | service  |   290 µs |  ~450 µs |  ~480 µs |  ~480 µs |  480 µs |
            | read-modify-write | response |  ~198 µs |  ~286 µs |  ~308 µs |  ~308 µs |  308 µs |
            |                   | service  |  ~180 µs |  ~260 µs |  ~280 µs |  ~280 µs |  280 µs |
            | all               | response |   746 µs |  1.26 ms | ~1.37 ms | ~1.38 ms | 1.38 ms |
            |                   | service  |   678 µs |  1.14 ms | ~1.25 ms | ~1.26 ms | 1.26 ms |
            | read, misses      | response | ~27.5 µs | ~33.0 µs | ~34.1 µs | ~34.1 µs | 34.1 µs |
            | read, failed      | response | ~7.70 ms | ~11.0 ms | ~11.0 ms | ~11.0 ms | 11.0 ms |
            | update, failed    | response | ~5.50 ms | ~5.50 ms | ~5.50 ms | ~5.50 ms | 5.50 ms |
            | everything asked  | lag      |  3.00 µs |  5.40 µs | ~5.94 µs | ~5.99 µs | 5.99 µs |

            ~ fewer than ten independent values lie beyond: a longer run tells

            |        | hits | misses | refused | unknown | dropped |
            | ------ | ---: | -----: | ------: | ------: | ------: |
            | read   |  541 |     12 |       4 |       2 |       1 |
            | update |   39 |      0 |       0 |       1 |       0 |
            | all    |  580 |     12 |       4 |       3 |       1 |

            | outcome | reason          | count |
            | ------- | --------------- | ----: |
            | refused | busy            |     4 |
            | unknown | timeout         |     2 |
            | unknown | connection-lost |     1 |
            | dropped | in-flight-limit |     1 |

            <details><summary>Circumstances</summary>

            - store: redis  redis://&lt;script&gt;alert(1)&lt;/script&gt;&amp;"'\@127.0.0.1:6379
            - model: open: arrivals do not wait for answers, so all waiting is measured
            - load: Poisson arrivals, at most 64 in flight, then queue; 64 sessions, 1 lane
            - plan: ycsb-b, seed 18446744073709551615, trace 00ff
            - measured: 3.00 s after 1.00 s of warm-up (200 operations left out), started 2026-11-21 18:30:12 UTC
            - machine: 2 × Some CPU, 8 GiB, Linux 6.1; assay 0.1.0
            - in flight: 0.13 operations by Little's law, 0.13 counted (they agree); plausible, 64 are possible
            - available: 98.8 % of what was asked succeeded, 1 outage, 40.0 ms in sum, 40.0 ms the longest
            - setting appendfsync = everysec: a crash loses up to a second of writes
            - setting maxmemory = 0: no bound
            - to repeat it: `assay run ycsb-b -t redis://127.0.0.1:6379 --rate 200/s --duration 3s`

            </details>
        "####]].assert_eq(&markdown(&sample::facts(), &sample::summary()));
    }

    #[test]
    fn texts_cannot_become_markup() {
        assert_eq!(escape("<b>*x*</b>\n# @you"), "&lt;b&gt;\\*x\\*&lt;/b&gt; \\# \\@you");
        assert_eq!(code("a `b`` c"), "``` a `b`` c ```");
    }
}
