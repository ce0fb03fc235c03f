//! Screens of a sequence of snapshots, at three sizes.

use assay_fleet::{AgentState, Progress};
use assay_model::{Kind, Nanos, Outcome};
use assay_report::Style;
use assay_run::WorkerStats;
use assay_run::arrival::RateProfile;
use expect_test::{Expect, expect};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::*;
use crate::interval::IntervalCollector;
use crate::progress::{Goal, ProgressSnapshot};

/// A run of 30 s at 20k/s of which so many seconds are over, with a stall in second 6.
struct Scene {
    caption: Caption,
    gathering: IntervalCollector,
    time_series: TimeSeries,
    latest: Option<LiveInterval>,
    warnings: Warnings,
    at: Nanos,
    shows_help: bool,
    is_ending: bool,
    agents: Vec<StatusRow>,
}

impl Scene {
    fn after(seconds: u64) -> Scene {
        let goal = Goal {
            duration: Some(Nanos::from_secs(30)),
            warm_up: Nanos::from_secs(2),
            ..Goal::default()
        };
        let mut scene = Scene {
            caption: Caption {
                title: "run ycsb-c on redis://127.0.0.1:6379".to_owned(),
                model: "poisson arrivals at 20000/s, at most 4096 in flight, then queue".to_owned(),
                goal,
                style: Style { colour: true, width: 0, letters: Letters::Unicode },
            },
            gathering: IntervalCollector::new(Nanos::from_secs(1)),
            time_series: TimeSeries::default(),
            latest: None,
            warnings: Warnings::default(),
            at: Nanos::ZERO,
            shows_help: false,
            is_ending: false,
            agents: Vec::new(),
        };
        (1..=seconds).for_each(|second| scene.pass(second));
        scene
    }

    fn pass(&mut self, second: u64) {
        let us = if second == 6 { 40_000 } else { 100 + second };
        let done = if second == 6 { 9_000 } else { 20_000 };
        let mut stats = WorkerStats { offered: done, processes: done, ..WorkerStats::default() };
        stats.outcomes[Kind::Read as usize][Outcome::Done as usize] = done - 2;
        stats.outcomes[Kind::Read as usize][Outcome::Refused as usize] = 2;
        stats.missed[Kind::Read as usize] = 100;
        stats.lag_max = Nanos::from_micros(15);
        stats.service[0].record(Nanos::from_micros(us));
        stats.response[0].record(Nanos::from_micros(us + 1));
        self.at = Nanos::from_secs(second);
        let (at, elapsed) = (self.at, self.at);
        let rate_profile = RateProfile::constant(20e3);
        let (stats, rate_profile) = (&stats, Some(&rate_profile));
        let progress_snapshot = ProgressSnapshot {
            at,
            elapsed,
            in_flight: 12,
            stats,
            rate_profile,
            is_ending: false,
            agents: &[],
        };
        self.latest = self.gathering.add(&progress_snapshot);
        let latest = self.latest.as_ref().expect("a second fills an interval");
        self.time_series.add(latest);
    }

    fn terminal(&self, columns: u16, rows: u16) -> Terminal<TestBackend> {
        let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
        let view = BoardView {
            caption: &self.caption,
            at: self.at,
            in_flight: 12,
            rate: Some(20e3),
            latest: self.latest.as_ref(),
            totals: self.gathering.totals(),
            time_series: &self.time_series,
            warnings: &self.warnings,
            is_ending: self.is_ending,
            agents: &self.agents,
            shows_help: self.shows_help,
        };
        terminal.draw(|frame| draw(frame, &view)).unwrap();
        terminal
    }

    /// The screen as text, without blanks at the ends of lines.
    fn check(&self, columns: u16, rows: u16, expected: &Expect) {
        let buffer = self.terminal(columns, rows).backend().buffer().clone();
        let lines = buffer.content.chunks(usize::from(columns)).map(|cells| {
            let line: String = cells.iter().map(|cell| cell.symbol()).collect();
            line.trim_end().to_owned() + "\n"
        });
        expected.assert_eq(&lines.collect::<String>());
    }
}

/// Agents of which the last one has not come, and the one before has the worst lag.
fn agents(count: u32) -> Vec<StatusRow> {
    let row = |agent| {
        let lag_ns = if agent + 2 == count { 9_000_000 } else { 80_000 };
        let is_missing = agent + 1 == count;
        let progress = Progress { offered: 5_000, done: 4_990, failed: 0, in_flight: 3, lag_ns };
        StatusRow {
            agent,
            host: if is_missing { String::new() } else { "left".to_owned() },
            state: (!is_missing).then_some(AgentState::Running),
            workers: 1,
            progress: if is_missing { Progress::default() } else { progress },
        }
    };
    (0..count).map(row).collect()
}

#[test]
fn a_fleet_has_a_row_for_each_agent() {
    let scene = Scene { agents: agents(3), ..Scene::after(3) };
    scene.check(
        80,
        24,
        &expect![[r#"
        run ycsb-c on redis://127.0.0.1:6379
        poisson arrivals at 20000/s, at most 4096 in flight, then queue
        ████░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░  10 %  measure 00:03, 00:27 left
        offered      achieved     in flight    lag max      errors       misses
        20 000/s     19 998/s     12           15.0 µs      6            300
                          p50          p99        p99.9          max
        response       104 µs       104 µs       104 µs       104 µs
        service        103 µs       103 µs       103 µs       103 µs
        59 994 done, 6 refused; mean lag 1.00 µs
        agent  state          offered         done    failed    lag max  host
            0  running          5 000        4 990         0    80.0 µs  left
            1  running          5 000        4 990         0    9.00 ms  left
            2  missing              0            0         0       0 ns
        achieved over the run, up to 19 998/s
        ███
        ███
        ███
        p99 of response over the run, up to 104 µs
        ▇▇█
        ███
        ███


        rate 20 000/s  +/- 10 %  [/] half/twice  q end  ? help
    "#]],
    );
}

#[test]
fn of_many_agents_those_are_shown_that_are_worth_a_look() {
    let scene = Scene { agents: agents(40), ..Scene::after(3) };
    let buffer = scene.terminal(80, 40).backend().buffer().clone();
    let lines: Vec<String> = buffer
        .content
        .chunks(80)
        .map(|cells| cells.iter().map(|cell| cell.symbol()).collect::<String>())
        .collect();
    let has = |text: &str| lines.iter().any(|line| line.contains(text));
    assert!(has("   39  missing"), "{lines:#?}");
    assert!(has("   38  running") && has("9.00 ms"), "{lines:#?}");
    assert!(has("24 more are as far as these"), "{lines:#?}");
    // Without room for them the agents are left out first.
    let small = scene.terminal(80, 14).backend().buffer().clone();
    let text: String = small.content.iter().map(|cell| cell.symbol()).collect();
    assert!(text.contains("done") && !text.contains("missing"), "{text}");
}

#[test]
fn nothing_is_known_before_the_first_second() {
    Scene::after(0).check(
        80,
        24,
        &expect![[r#"
        run ycsb-c on redis://127.0.0.1:6379

        poisson arrivals at 20000/s, at most 4096 in flight, then queue

        ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░   0 %  preparing 00:00, 00:30 left

        offered      achieved     in flight    lag max      errors       misses
        –            –            12           –            0            0

                          p50          p99        p99.9          max
        response            –            –            –            –
        service             –            –            –            –

        0 done

        achieved over the run, up to 0/s


        p99 of response over the run




        rate 20 000/s  +/- 10 %  [/] half/twice  q end  ? help
    "#]],
    );
}

#[test]
fn an_ordinary_terminal_shows_everything() {
    let mut scene = Scene::after(12);
    scene.warnings.add("rate 20 000/s -> 22 000/s from 12.4 s on");
    scene.check(
        80,
        24,
        &expect![[r#"
            run ycsb-c on redis://127.0.0.1:6379

            poisson arrivals at 20000/s, at most 4096 in flight, then queue

            ██████████████████░░░░░░░░░░░░░░░░░░░░░░░░░░░░░  40 %  measure 00:12, 00:18 left

            offered      achieved     in flight    lag max      errors       misses
            20 000/s     19 998/s     12           15.0 µs      24           1 200

                              p50          p99        p99.9          max
            response       113 µs       113 µs       113 µs       113 µs
            service        112 µs       112 µs       112 µs       112 µs

            228 976 done, 24 refused; mean lag 1.00 µs

            achieved over the run, up to 19 998/s
            █████ ██████
            █████▇██████
            p99 of response over the run, up to 40.0 ms, log scale
                 █
            ▁▁▁▁▁█▁▁▁▁▁▁

            rate 20 000/s -> 22 000/s from 12.4 s on
            rate 20 000/s  +/- 10 %  [/] half/twice  q end  ? help
        "#]],
    );
}

#[test]
fn a_small_terminal_shows_what_matters_most() {
    let mut scene = Scene::after(12);
    scene.warnings.add("rate 20 000/s -> 22 000/s from 12.4 s on");
    scene.check(
        40,
        12,
        &expect![[r#"
        run ycsb-c on redis://127.0.0.1:6379
        ██░░░░░  40 %  measure 00:12, 00:18 left
        offered      achieved     in flight
        20 000/s     19 998/s     12
        lag max      errors       misses
        15.0 µs      24           1 200
                     p50     p99   p99.9     max
        response  113 µs  113 µs  113 µs  113 µs
        service   112 µs  112 µs  112 µs  112 µs
        228 976 done, 24 refused; mean lag 1.00
        rate 20 000/s -> 22 000/s from 12.4 s on
        rate 20 000/s  +/- 10 %  [/] half/twice
    "#]],
    );
}

#[test]
fn a_large_terminal_gives_the_charts_more_room() {
    Scene::after(29).check(
        200,
        50,
        &expect![[r#"
        run ycsb-c on redis://127.0.0.1:6379

        poisson arrivals at 20000/s, at most 4096 in flight, then queue

        ████████████████████████████████████████████████░░  97 %  measure 00:29, 00:01 left

        offered        achieved       in flight      lag max        errors         misses
        20 000/s       19 998/s       12             15.0 µs        58             2 900

                          p50          p99        p99.9          max
        response       130 µs       130 µs       130 µs       130 µs
        service        129 µs       129 µs       129 µs       129 µs

        568 942 done, 58 refused; mean lag 1.00 µs

        achieved over the run, up to 19 998/s
        █████ ███████████████████████
        █████ ███████████████████████
        █████ ███████████████████████
        █████ ███████████████████████
        █████▄███████████████████████
        █████████████████████████████
        █████████████████████████████
        █████████████████████████████
        p99 of response over the run, up to 40.0 ms, log scale
             █
             █
             █
             █
             █
             █
             █
        ▆▆▆▆▇█▇▇▇▇▇▇▇▇▇▇█████████████
















        rate 20 000/s  +/- 10 %  [/] half/twice  q end  ? help
    "#]],
    );
}

#[test]
fn a_terminal_without_unicode_gets_ascii() {
    let mut scene = Scene::after(7);
    scene.caption.style.letters = Letters::Ascii;
    scene.shows_help = true;
    let buffer = scene.terminal(80, 24).backend().buffer().clone();
    assert!(buffer.content.iter().all(|cell| cell.symbol().is_ascii()));
    scene.check(
        80,
        24,
        &expect![[r#"
            run ycsb-c on redis://127.0.0.1:6379

            poisson arrivals at 20000/s, at most 4096 in flight, then queue

            ##########.....................................  23 %  measure 00:07, 00:23 left

            offered      achieved     in flight    lag max      errors       misses
            20 000/s  + keys ----------------------------------------------------+
                      | +      rate x 1.1, open load only                        |
                      | -      rate / 1.1                                        |
            response  | ]      rate x 2                                          |
            service   | [      rate / 2                                          |
                      | q      issue no more, wait for those in flight, report   |
            128 986 do| Ctrl-C the same; a second one waits for nothing          |
                      | ?      close this                                        |
            achieved o+----------------------------------------------------------+
            ##### #
            #######
            p99 of response over the run, up to 40.0 ms, log scale
                 #
            .....#.


            rate 20 000/s  +/- 10 %  [/] half/twice  q end  ? help
        "#]],
    );
}

#[test]
fn a_run_that_ends_says_so() {
    let mut scene = Scene::after(7);
    scene.is_ending = true;
    scene.check(
        60,
        16,
        &expect![[r#"
            run ycsb-c on redis://127.0.0.1:6379
            poisson arrivals at 20000/s, at most 4096 in flight, then q…
            █████████░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░  23 %  ending 00:07
            offered        achieved       in flight
            20 000/s       19 998/s       12
            lag max        errors         misses
            15.0 µs        14             700
                              p50          p99        p99.9          max
            response       108 µs       108 µs       108 µs       108 µs
            service        107 µs       107 µs       107 µs       107 µs
            128 986 done, 14 refused; mean lag 1.00 µs




            Ctrl-C gives up what is in flight
        "#]],
    );
}

#[test]
fn without_colours_nothing_is_coloured() {
    let mut scene = Scene::after(7);
    let colours = |scene: &Scene| {
        let buffer = scene.terminal(80, 24).backend().buffer().clone();
        buffer.content.iter().filter(|cell| cell.fg != ratatui::style::Color::Reset).count()
    };
    assert!(colours(&scene) > 0);
    scene.caption.style.colour = false;
    assert_eq!(colours(&scene), 0);
}

#[test]
fn latencies_far_apart_are_shown_on_a_log_scale() {
    let us = |us| Some(Nanos::from_micros(us));
    assert_eq!(heights(&[us(10), None, us(90)]), (vec![10_000, 0, 90_000], ""));
    assert_eq!(heights(&[us(10), None, us(80_000)]).0, [1000, 0, 13_965]);
    assert_eq!(heights(&[None, us(0), us(4)]), (vec![0, 1000, 12_965], ", log scale"));
    assert_eq!(heights(&[None]), (vec![0], ""));
}

#[test]
fn any_size_can_be_drawn() {
    let mut scene = Scene::after(12);
    (0..99).for_each(|number| scene.warnings.add(&format!("notice {number}")));
    scene.shows_help = true;
    for columns in [1, 2, 7, 39, 79, 300] {
        for rows in [1, 2, 3, 5, 9, 14, 80] {
            let terminal = scene.terminal(columns, rows);
            assert_eq!(terminal.backend().buffer().area.width, columns);
        }
    }
}
