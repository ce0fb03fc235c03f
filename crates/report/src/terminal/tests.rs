//! What a known run looks like on terminals of several kinds.

use expect_test::{Expect, expect};

use super::*;
use crate::facts::State;
use crate::sample;

const UNICODE: Style = Style { colour: false, width: 100, letters: Letters::Unicode };

fn check(style: Style, expected: &Expect) {
    expected.assert_eq(&terminal(&sample::facts(), &sample::summary(), style));
}

#[test]
fn a_run_is_shown_in_unicode() {
    check(
        UNICODE,
        &expect![[r#"
            FAILING: 1.17 % of the operations failed (4 refused, 3 unknown)
            197/s of 200/s offered, response p99 1.37 ms, 8 of 600 failed
            MISSES: 2.03 % of the answers found no record; a miss is no hit, so it is in no latency below

            ycsb-b on redis
              store     redis  redis://<script>alert(1)</script>&"'@127.0.0.1:6379
              model     open: arrivals do not wait for answers, so all waiting is measured
              load      Poisson arrivals, at most 64 in flight, then queue; 64 sessions, 1 lane
              plan      ycsb-b, seed 18446744073709551615, trace 00ff
              measured  3.00 s after 1.00 s of warm-up (200 operations left out), started 2026-11-21 18:30:12
                        UTC
              machine   2 × Some CPU, 8 GiB, Linux 6.1; assay 0.1.0

            Throughput
                      offered  done  offered/s  done/s  goodput/s
              read        560   553        187     184        180
              update       40    39       13.3    13.0       13.0
              all         600   592        200     197        193

            Latency
                                                p50       p90       p99     p99.9      max
              read               response    704 µs   1.18 ms  ~1.29 ms  ~1.30 ms  1.30 ms
                                 service     640 µs   1.07 ms  ~1.17 ms  ~1.18 ms  1.18 ms
              update             response    319 µs   ~495 µs   ~528 µs   ~528 µs   528 µs
                                 service     290 µs   ~450 µs   ~480 µs   ~480 µs   480 µs
              read-modify-write  response   ~198 µs   ~286 µs   ~308 µs   ~308 µs   308 µs
                                 service    ~180 µs   ~260 µs   ~280 µs   ~280 µs   280 µs
              all                response    746 µs   1.26 ms  ~1.37 ms  ~1.38 ms  1.38 ms
                                 service     678 µs   1.14 ms  ~1.25 ms  ~1.26 ms  1.26 ms
              read, misses       response  ~27.5 µs  ~33.0 µs  ~34.1 µs  ~34.1 µs  34.1 µs
              read, failed       response  ~7.70 ms  ~11.0 ms  ~11.0 ms  ~11.0 ms  11.0 ms
              update, failed     response  ~5.50 ms  ~5.50 ms  ~5.50 ms  ~5.50 ms  5.50 ms
              everything asked   lag        3.00 µs   5.40 µs  ~5.94 µs  ~5.99 µs  5.99 µs
              ~ fewer than ten independent values lie beyond: a longer run tells

            Outcomes
                      hits  misses  refused  unknown  dropped
              read     541      12        4        2        1
              update    39       0        0        1        0
              all      580      12        4        3        1

              outcome  reason           count
              refused  busy                 4
              unknown  timeout              2
              unknown  connection-lost      1
              dropped  in-flight-limit      1

            Checks
              in flight 0.13 operations by Little's law, 0.13 counted (they agree); plausible, 64 are possible
              available 98.8 % of what was asked succeeded, 1 outage, 40.0 ms in sum, 40.0 ms the longest
              values    541 right, 0 wrong, 12 empty

            Store settings
              appendfsync = everysec  (a crash loses up to a second of writes)
              maxmemory = 0  (no bound)

            To repeat it
              assay run ycsb-b -t redis://127.0.0.1:6379 --rate 200/s --duration 3s
        "#]],
    );
}

#[test]
fn the_first_line_is_the_verdict_and_the_second_the_headline() {
    let mut summary = sample::summary();
    summary.overall.rates.offered_per_s = 20_000.0;
    summary.overall.rates.done_per_s = 14_200.0;
    let text = terminal(&sample::facts(), &summary, Style::PLAIN);
    let lines: Vec<&str> = text.lines().take(2).collect();
    assert_eq!(
        lines,
        [
            "OVERLOADED: offered 20 000/s, achieved 14 200/s (71 %)",
            "14 200/s of 20 000/s offered, response p99 1.37 ms, 8 of 600 failed",
        ]
    );
}

#[test]
fn an_interrupted_run_is_marked() {
    let facts = Facts { state: State::Interrupted, ..sample::facts() };
    let text = terminal(&facts, &sample::summary(), Style::PLAIN);
    assert!(text.contains("INTERRUPTED: the run was stopped before its end"), "{text}");
}

#[test]
fn plain_style_is_ascii_and_no_wider_than_asked() {
    let text = terminal(&sample::facts(), &sample::summary(), Style::PLAIN);
    assert!(text.is_ascii(), "{text}");
    let too_wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > 100).collect();
    assert_eq!(too_wide, Vec::<&str>::new());
}

#[test]
fn colours_add_nothing_but_colours() {
    let coloured = Style { colour: true, ..UNICODE };
    let text = terminal(&sample::facts(), &sample::summary(), coloured);
    let mut bare = text.clone();
    for code in [BOLD, RED, GREEN, YELLOW, DIM, RESET] {
        bare = bare.replace(code, "");
    }
    assert_ne!(text, bare);
    assert_eq!(bare, terminal(&sample::facts(), &sample::summary(), UNICODE));
}

#[test]
fn names_cannot_smuggle_control_characters_into_a_terminal() {
    let mut facts = sample::facts();
    facts.store.url = "redis://\x1b]0;owned\x07".to_owned();
    facts.title = "a\nb".to_owned();
    let text = terminal(&facts, &sample::summary(), UNICODE);
    assert!(!text.contains(['\x1b', '\x07']), "{text}");
    assert!(text.contains("a?b"));
}

#[test]
fn long_texts_are_broken_at_blanks_and_hang() {
    let mut page = Page::new(Style { width: 40, ..UNICODE });
    page.titled("model", "open: arrivals do not wait for answers, so all waiting is measured");
    assert_eq!(
        page.text,
        "  model     open: arrivals do not wait\n            for answers, so all waiting\n            \
         is measured\n"
    );
}
