//! The lines of figures on the dashboard.

use std::cmp::Reverse;

use assay_fleet::{AgentState, Progress, StatusRow};
use assay_model::{Nanos, Outcome};
use assay_report::units::{count, duration, rate};
use ratatui::text::{Line, Span};

use crate::dashboard::board::BoardView;
use crate::dashboard::board::tone::{Tone, paint};
use crate::interval::{LiveInterval, Quantiles};

/// The least width of a figure with its name above.
const CELL_COLUMNS: u16 = 13;

/// Rows of agents at most: of more, the others have nothing that is worth a look.
const AGENT_ROWS_MAX: usize = 16;

/// What achieved falls short of offered by before it is worth a look.
const SHORTFALL: f64 = 0.05;

/// Lines that belong together.
pub struct Section {
    /// 0 is never left out; the greatest goes first.
    pub rank: u8,
    /// From top to bottom.
    pub lines: Vec<Line<'static>>,
}

/// All sections from top to bottom, for a screen of so many columns.
pub fn sections(view: &BoardView<'_>, columns: u16) -> Vec<Section> {
    let section = |rank, lines| Section { rank, lines };
    let title = Line::styled(fitted(view, &view.caption.title, columns), paint(view, Tone::Strong));
    let model = Line::styled(fitted(view, &view.caption.model, columns), paint(view, Tone::Label));
    let mut sections = vec![
        section(1, vec![title]),
        section(4, vec![model]),
        section(0, vec![progress(view, columns)]),
        section(0, cells(view, columns)),
        section(2, latencies(view, columns)),
        section(3, vec![counts(view)]),
    ];
    if !view.agents.is_empty() {
        sections.push(section(5, agents(view)));
    }
    sections
}

/// The agents of a fleet, a row each; of many those that are behind, and those with the worst lag.
fn agents(view: &BoardView<'_>) -> Vec<Line<'static>> {
    let letters = view.caption.style.letters;
    let mut rows: Vec<&StatusRow> = view.agents.iter().collect();
    let left_out = rows.len().saturating_sub(AGENT_ROWS_MAX);
    if left_out > 0 {
        rows.sort_by_key(|row| (row.state, Reverse(row.progress.lag_ns)));
        rows.truncate(AGENT_ROWS_MAX);
        rows.sort_by_key(|row| row.agent);
    }
    let head = format!(
        "{:>5}  {:<9}  {:>11}  {:>11}  {:>8}  {:>9}  host",
        "agent", "state", "offered", "done", "failed", "lag max"
    );
    let line = |row: &StatusRow| {
        let Progress { offered, done, failed, lag_ns, .. } = row.progress;
        let state = row.state.map_or("missing", AgentState::name);
        let text = format!(
            "{:>5}  {state:<9}  {:>11}  {:>11}  {:>8}  {:>9}  {}",
            row.agent,
            count(offered),
            count(done),
            count(failed),
            duration(Nanos(lag_ns), letters),
            row.host
        );
        let tone = if failed > 0 { Tone::Bad } else { Tone::Plain };
        Line::styled(text, paint(view, tone))
    };
    let mut lines = vec![Line::styled(head, paint(view, Tone::Label))];
    lines.extend(rows.into_iter().map(line));
    if left_out > 0 {
        let text = format!("{left_out} more are as far as these, with less lag");
        lines.push(Line::styled(text, paint(view, Tone::Label)));
    }
    lines
}

/// As much of `text` as fits into a line, with a sign where some is missing.
fn fitted(view: &BoardView<'_>, text: &str, columns: u16) -> String {
    let columns = usize::from(columns);
    if text.chars().count() <= columns {
        return text.to_owned();
    }
    let sign = view.caption.style.letters.pick("…", "...");
    let room = columns.saturating_sub(sign.chars().count());
    text.chars().take(room).collect::<String>() + sign
}

/// The bottom line: what can be done.
pub fn keys(view: &BoardView<'_>) -> Line<'static> {
    let text = match view.rate {
        _ if view.is_ending => "Ctrl-C gives up what is in flight".to_owned(),
        Some(per_s) => format!("rate {}  +/- 10 %  [/] half/twice  q end  ? help", rate(per_s)),
        None => "q end  ? help".to_owned(),
    };
    Line::styled(text, paint(view, Tone::Label))
}

/// A bar, the phase, how long it has been and how long it will be.
fn progress(view: &BoardView<'_>, columns: u16) -> Line<'static> {
    let clock = |time: Nanos| {
        let seconds = time.0 / 1_000_000_000;
        match seconds / 3600 {
            0 => format!("{:02}:{:02}", seconds / 60, seconds % 60),
            hours => format!("{hours}:{:02}:{:02}", seconds / 60 % 60, seconds % 60),
        }
    };
    let mut text = format!("{} {}", phase(view), clock(view.at));
    if let Some(left) = left(view).filter(|_| !view.is_ending) {
        text += &format!(", {} left", clock(left));
    }
    let Some(share) = share(view) else { return Line::from(text) };
    let text = format!(" {:>3.0} %  {text}", share * 100.0);
    let room = usize::from(columns).saturating_sub(text.chars().count()).min(50);
    let full = (share * room as f64) as usize;
    let letters = view.caption.style.letters;
    Line::from(vec![
        Span::styled(letters.pick("█", "#").repeat(full), paint(view, Tone::Throughput)),
        Span::styled(letters.pick("░", ".").repeat(room - full), paint(view, Tone::Label)),
        Span::raw(text),
    ])
}

fn phase(view: &BoardView<'_>) -> &'static str {
    let goal = &view.caption.goal;
    match view.at {
        _ if view.is_ending => "ending",
        Nanos::ZERO => "preparing",
        _ if goal.is_load => "load",
        at if at < goal.warm_up => "warm-up",
        _ => "measure",
    }
}

/// How much of the run is over, from 0 to 1, if it has an end.
fn share(view: &BoardView<'_>) -> Option<f64> {
    let goal = &view.caption.goal;
    let by_time = goal.duration.map(|all| view.at.0 as f64 / all.0.max(1) as f64);
    let by_count = goal.processes.map(|all| view.totals.processes as f64 / all.max(1) as f64);
    // Whichever comes first ends the run.
    by_time.into_iter().chain(by_count).reduce(f64::max).map(|share| share.min(1.0))
}

/// How long the run goes on if it goes on like this.
fn left(view: &BoardView<'_>) -> Option<Nanos> {
    let goal = &view.caption.goal;
    let by_time = goal.duration.map(|all| all.since(view.at));
    let by_count = goal.processes.filter(|_| view.totals.processes > 0).map(|all| {
        let missing = all.saturating_sub(view.totals.processes) as f64;
        Nanos((view.at.0 as f64 * missing / view.totals.processes as f64) as u64)
    });
    by_time.into_iter().chain(by_count).min()
}

/// Figures of the last interval with their names above, in as many rows as they need.
fn cells(view: &BoardView<'_>, columns: u16) -> Vec<Line<'static>> {
    let figures = figures(view);
    let most = usize::from((columns / CELL_COLUMNS).max(1));
    let rows = figures.len().div_ceil(most);
    let per_row = figures.len().div_ceil(rows);
    let width = (usize::from(columns) / per_row).min(15);
    let mut lines = Vec::new();
    for row in figures.chunks(per_row) {
        let line = |cell: &dyn Fn(&Figure) -> Span<'static>| {
            Line::from(row.iter().map(cell).collect::<Vec<_>>())
        };
        lines.push(line(&|figure| {
            Span::styled(format!("{:<width$}", figure.name), paint(view, Tone::Label))
        }));
        lines.push(line(&|figure| {
            Span::styled(format!("{:<width$}", figure.text), paint(view, figure.tone))
        }));
    }
    lines
}

/// A figure with its name.
struct Figure {
    name: &'static str,
    text: String,
    tone: Tone,
}

fn figures(view: &BoardView<'_>) -> Vec<Figure> {
    let letters = view.caption.style.letters;
    let latest = |text: &dyn Fn(&LiveInterval) -> String| {
        view.latest.map_or_else(|| letters.pick("–", "-").to_owned(), text)
    };
    let tone_if = |is_so: bool, tone: Tone| if is_so { tone } else { Tone::Plain };
    let is_short = view.latest.is_some_and(|interval| {
        interval.achieved_per_s < (1.0 - SHORTFALL) * interval.offered_per_s
    });
    let errors = view.totals.with(Outcome::Refused) + view.totals.with(Outcome::Unknown);
    let dropped = view.totals.with(Outcome::Dropped);
    let figure = |name, text, tone| Figure { name, text, tone };
    let offered = if view.rate.is_some() { "offered" } else { "issued" };
    let mut figures = vec![
        figure(offered, latest(&|of| rate(of.offered_per_s.round())), Tone::Plain),
        figure(
            "achieved",
            latest(&|of| rate(of.achieved_per_s.round())),
            tone_if(is_short, Tone::Warning),
        ),
        figure("in flight", count(view.in_flight), Tone::Plain),
        figure("lag max", latest(&|of| duration(of.lag_max, letters)), Tone::Plain),
        figure("errors", count(errors), tone_if(errors > 0, Tone::Bad)),
        figure("misses", count(view.totals.missed()), Tone::Plain),
    ];
    if dropped > 0 {
        figures.push(figure("dropped", count(dropped), Tone::Bad));
    }
    figures
}

/// Quantiles of the last interval, response above service.
fn latencies(view: &BoardView<'_>, columns: u16) -> Vec<Line<'static>> {
    let letters = view.caption.style.letters;
    let width = ((usize::from(columns).saturating_sub(8)) / 4).clamp(8, 13);
    let row = |name: &str, cells: [String; 4]| {
        cells.iter().fold(format!("{name:<8}"), |row, cell| row + &format!("{cell:>width$}"))
    };
    let of = |quantiles: Option<Quantiles>| match quantiles {
        Some(of) => [of.p50, of.p99, of.p999, of.max].map(|time| duration(time, letters)),
        None => std::array::from_fn(|_| letters.pick("–", "-").to_owned()),
    };
    let head = row("", ["p50", "p99", "p99.9", "max"].map(str::to_owned));
    let response = row("response", of(view.latest.and_then(|latest| latest.response)));
    let service = row("service", of(view.latest.and_then(|latest| latest.service)));
    vec![Line::styled(head, paint(view, Tone::Label)), Line::from(response), Line::from(service)]
}

/// Counts since the beginning.
fn counts(view: &BoardView<'_>) -> Line<'static> {
    let mut text = format!("{} done", count(view.totals.with(Outcome::Done)));
    for (outcome, word) in [
        (Outcome::Refused, "refused"),
        (Outcome::Unknown, "unknown"),
        (Outcome::Dropped, "dropped"),
    ] {
        let number = view.totals.with(outcome);
        if number > 0 {
            text += &format!(", {} {word}", count(number));
        }
    }
    if let Some(mean) = view.latest.and_then(|latest| latest.lag_mean) {
        text += &format!("; mean lag {}", duration(mean, view.caption.style.letters));
    }
    Line::from(text)
}
