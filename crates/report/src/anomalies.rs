//! Study of anomalies: what stores were predicted to show, and what was seen.

use assay_consistency::QualityVerdict;
use assay_model::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::consistency::{ConsistencyResult, limitation};
use crate::object::pretty;
use crate::table::{Align, Table};
use crate::units::{Letters, count, duration, percent, plural};

/// The version of the JSON.
pub const SCHEMA: &str = "assay.anomalies/1";

/// Predictions with their outcomes.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct AnomalyStudy {
    /// Its subject, in one line.
    pub title: String,
    /// What a reader should know of it.
    pub about: String,
    /// The client machine.
    pub machine: String,
    /// One for each store in one situation.
    pub cells: Vec<AnomalyCell>,
}

/// One store in one situation.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct AnomalyCell {
    /// Its name.
    pub name: String,
    /// The store with the settings that matter, in words.
    pub store: String,
    /// The workload.
    pub workload: String,
    /// What is done to the store meanwhile, in words; empty for nothing.
    pub fault: String,
    /// Who predicts it.
    pub source: String,
    /// Qualities that are predicted to be violated.
    pub violates: Vec<String>,
    /// Qualities that the store promises.
    pub keeps: Vec<String>,
    /// The command of its first run.
    pub command: String,
    /// The most runs, each with the next seed.
    pub tries: u64,
    /// Why it was not run; empty if it was.
    pub not_run: String,
    /// Why it has failed; empty if it has not.
    pub failed: String,
    /// Its runs, each with a seed of its own.
    pub runs: Vec<AnomalyRun>,
}

/// One run with its verdicts.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct AnomalyRun {
    /// Its seed.
    pub seed: u64,
    /// What repeats it.
    pub command: String,
    /// Operations and transactions that were judged.
    pub judged: u64,
    /// Reads that missed an acknowledged write.
    pub stale_reads: u64,
    /// The age of the stalest in nanoseconds.
    pub oldest_ns: u64,
    /// The verdicts.
    pub verdicts: Vec<AnomalyVerdict>,
    /// The anomalies of transactions by name, each with its number.
    pub anomalies: Vec<(String, u64)>,
}

/// A verdict on one quality.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct AnomalyVerdict {
    /// The quality.
    pub quality: String,
    /// Violations that were found.
    pub violations: u64,
    /// What could have been one.
    pub opportunities: u64,
    /// Why it cannot be judged; empty if it can.
    pub not_assessable: String,
}

impl AnomalyRun {
    /// The verdicts of `result` on the run with this seed.
    pub fn of(seed: u64, command: String, result: &ConsistencyResult) -> AnomalyRun {
        let verdicts = result.findings.iter().map(|finding| {
            let (violations, opportunities, why) = match &finding.verdict {
                QualityVerdict::Violated(all) => (all.count, all.power.opportunities, ""),
                QualityVerdict::NoneFound(power) => (0, power.opportunities, ""),
                QualityVerdict::NotAssessable(why) => (0, 0, limitation(*why)),
            };
            let [quality, not_assessable] = [finding.quality.name(), why].map(str::to_owned);
            AnomalyVerdict { quality, violations, opportunities, not_assessable }
        });
        let named = result.anomalies.iter();
        let anomalies =
            named.map(|one| (crate::consistency::anomaly(one.anomaly).into(), one.count));
        AnomalyRun {
            seed,
            command,
            judged: result.operations + result.transactions,
            stale_reads: result.staleness.stale_reads,
            oldest_ns: result.staleness.oldest.0,
            verdicts: verdicts.collect(),
            anomalies: anomalies.collect(),
        }
    }

    /// The verdict on `quality`, if it was judged.
    pub fn verdict(&self, quality: &str) -> Option<&AnomalyVerdict> {
        self.verdicts.iter().find(|verdict| verdict.quality == quality)
    }

    /// Whether a violation of `quality` was found.
    pub fn violates(&self, quality: &str) -> bool {
        self.verdict(quality).is_some_and(|verdict| verdict.violations > 0)
    }
}

/// What became of one prediction.
#[derive(Clone, Debug, PartialEq)]
pub struct PredictionOutcome {
    /// Violations over all runs of the cell.
    pub violations: u64,
    /// What could have been one.
    pub opportunities: u64,
    /// Why no run could be judged; empty if one could.
    pub not_assessable: String,
    /// The seed of the first run that shows it.
    pub seed: Option<u64>,
}

impl AnomalyCell {
    /// What became of the prediction on `quality`, over all runs.
    pub fn outcome(&self, quality: &str) -> PredictionOutcome {
        let verdicts: Vec<&AnomalyVerdict> =
            self.runs.iter().filter_map(|run| run.verdict(quality)).collect();
        let is_judged = verdicts.iter().any(|verdict| verdict.not_assessable.is_empty());
        let why = match verdicts.first() {
            _ if is_judged => "",
            Some(verdict) => &verdict.not_assessable,
            None => "this workload does not show it",
        };
        PredictionOutcome {
            violations: verdicts.iter().map(|verdict| verdict.violations).sum(),
            opportunities: verdicts.iter().map(|verdict| verdict.opportunities).sum(),
            not_assessable: why.to_owned(),
            seed: self.runs.iter().find(|run| run.violates(quality)).map(|run| run.seed),
        }
    }

    /// Whether every predicted violation was seen.
    pub fn has_shown_all(&self) -> bool {
        self.violates.iter().all(|quality| self.outcome(quality).violations > 0)
    }

    /// Promised qualities that are violated.
    pub fn broken_promises(&self) -> Vec<&str> {
        let promised = self.keeps.iter().map(String::as_str);
        promised.filter(|quality| self.outcome(quality).violations > 0).collect()
    }

    /// Violated qualities of which nothing was predicted, in the order of the verdicts.
    fn also_violated(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for verdict in self.runs.iter().flat_map(|run| &run.verdicts) {
            let name = verdict.quality.as_str();
            let is_predicted = self.violates.iter().chain(&self.keeps).any(|other| other == name);
            if verdict.violations > 0 && !is_predicted && !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// The anomalies of transactions over all runs.
    fn anomalies(&self) -> Vec<(&str, u64)> {
        let mut sums: Vec<(&str, u64)> = Vec::new();
        for (name, number) in self.runs.iter().flat_map(|run| &run.anomalies) {
            match sums.iter_mut().find(|(other, _)| other == name) {
                Some((_, sum)) => *sum += number,
                None => sums.push((name, *number)),
            }
        }
        sums.retain(|(_, sum)| *sum > 0);
        sums
    }

    /// The run whose command shows the cell best: the first with a predicted violation.
    pub fn best_run(&self) -> Option<&AnomalyRun> {
        let shows = |run: &&AnomalyRun| self.violates.iter().any(|quality| run.violates(quality));
        self.runs.iter().find(shows).or(self.runs.first())
    }

    fn workload_and_fault(&self) -> String {
        match self.fault.is_empty() {
            true => self.workload.clone(),
            false => format!("{}; {}", self.workload, self.fault),
        }
    }

    /// Why there is no verdict.
    fn missing(&self) -> Option<String> {
        match (self.failed.is_empty(), self.not_run.is_empty()) {
            (false, _) => Some(format!("failed: {}", self.failed)),
            (true, false) => Some(format!("not run: {}", self.not_run)),
            (true, true) => None,
        }
    }

    /// What was seen of a prediction, at which rate, with which seed.
    fn seen(&self, quality: &str, is_promise: bool) -> [String; 3] {
        if self.missing().is_some() || self.runs.is_empty() {
            return ["not run".to_owned(), String::new(), String::new()];
        }
        let outcome = self.outcome(quality);
        if !outcome.not_assessable.is_empty() {
            let why = format!("not assessable: {}", outcome.not_assessable);
            return [why, String::new(), String::new()];
        }
        let all = count(outcome.opportunities);
        let rate = match outcome.violations {
            0 => format!("0 of {all}"),
            violations => {
                let share = violations as f64 / outcome.opportunities.max(1) as f64;
                format!("{} of {all} ({})", count(violations), percent(share))
            }
        };
        let word = match (is_promise, outcome.violations > 0) {
            (false, true) => "yes",
            (false, false) => "no",
            (true, false) => "kept",
            (true, true) => "BROKEN",
        };
        let seed = outcome.seed.map_or_else(String::new, |seed| seed.to_string());
        [word.to_owned(), rate, seed]
    }
}

/// The predictions: `is_whole` with the columns that only a wide page has room for.
fn predictions(study: &AnomalyStudy, letters: Letters, is_whole: bool) -> Table {
    let narrow = [
        ("cell", Align::Left),
        ("prediction", Align::Left),
        ("seen", Align::Left),
        ("violations", Align::Left),
        ("stalest read", Align::Right),
        ("seed", Align::Right),
    ];
    let wide = [("store", Align::Left), ("workload; fault", Align::Left), ("source", Align::Left)];
    let columns =
        if is_whole { [&narrow[..1], &wide, &narrow[1..]].concat() } else { narrow.into() };
    let mut table = Table::new(&columns);
    for cell in &study.cells {
        let violated = cell.violates.iter().map(|quality| (quality, false));
        let mut described =
            [&cell.store, &cell.workload_and_fault(), &cell.source].map(String::clone);
        for (quality, is_promise) in violated.chain(cell.keeps.iter().map(|name| (name, true))) {
            let verb = if is_promise { "keeps" } else { "violates" };
            let shows = cell.runs.iter().filter(|run| run.violates(quality));
            let oldest = match shows.map(|run| run.oldest_ns).max() {
                None | Some(0) => String::new(),
                Some(oldest) => duration(Nanos(oldest), letters),
            };
            let [seen, rate, seed] = cell.seen(quality, is_promise);
            let mut row = vec![cell.name.clone()];
            if is_whole {
                // Once for each cell, in its first row.
                row.extend(std::mem::take(&mut described));
            }
            row.extend([format!("{verb} {quality}"), seen, rate, oldest, seed]);
            table.row(row);
        }
    }
    table
}

/// A sentence for each cell of which more is to be said.
fn remarks(study: &AnomalyStudy) -> Vec<String> {
    let mut lines = Vec::new();
    for cell in &study.cells {
        let name = &cell.name;
        lines.extend(cell.missing().map(|why| format!("{name}: {why}")));
        let also = cell.also_violated();
        if !also.is_empty() {
            lines.push(format!("{name}: also violated: {}", also.join(", ")));
        }
        let named = cell.anomalies().into_iter();
        let named: Vec<String> =
            named.map(|(name, number)| format!("{name} ({})", count(number))).collect();
        if !named.is_empty() {
            lines.push(format!("{name}: anomalies: {}", named.join(", ")));
        }
    }
    lines
}

/// How many predictions came true, in a line.
fn heading(study: &AnomalyStudy) -> String {
    let of = |cell: &AnomalyCell| {
        let seen = cell.violates.iter().filter(|name| cell.outcome(name).violations > 0).count();
        (cell.violates.len() as u64, seen as u64, cell.broken_promises().len() as u64)
    };
    let is_run = |cell: &&AnomalyCell| cell.missing().is_none() && !cell.runs.is_empty();
    let run: Vec<&AnomalyCell> = study.cells.iter().filter(is_run).collect();
    let sums = run.iter().map(|cell| of(cell));
    let (predicted, seen, broken) =
        sums.fold((0, 0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1, sum.2 + one.2));
    format!(
        "{} of {} run: {} of {} seen, {} broken",
        count(run.len() as u64),
        plural(study.cells.len() as u64, "cell"),
        count(seen),
        plural(predicted, "predicted violation"),
        plural(broken, "promise")
    )
}

/// The study for a terminal.
pub fn anomalies_text(study: &AnomalyStudy, letters: Letters) -> String {
    let mut lines = vec![study.title.clone(), heading(study), String::new()];
    lines.extend(predictions(study, letters, false).lines());
    let remarks = remarks(study);
    if !remarks.is_empty() {
        lines.push(String::new());
        lines.extend(remarks);
    }
    lines.join("\n") + "\n"
}

/// The study as Markdown, with the command of each cell.
pub fn anomalies_markdown(study: &AnomalyStudy) -> String {
    let mut text = format!("## {}\n\n", study.title);
    if !study.about.trim().is_empty() {
        text += &format!("{}\n\n", study.about.trim());
    }
    text += &format!("{}. {}\n\n", heading(study), study.machine);
    text += &predictions(study, Letters::Unicode, true).markdown();
    let remarks = remarks(study);
    if !remarks.is_empty() {
        text.push('\n');
        text.extend(remarks.iter().map(|line| format!("* {line}\n")));
    }
    text += "\nEach cell is one command, followed by `assay check last`:\n\n```\n";
    for cell in &study.cells {
        if let Some(run) = cell.best_run() {
            text += &format!("# {}\n{}\n", cell.name, run.command);
        }
    }
    text + "```\n"
}

/// Predictions with their outcomes.
#[derive(JsonSchema, Serialize)]
#[schemars(title = "Predicted anomalies with their outcomes")]
pub(crate) struct AnomalyStudyObject<'a> {
    /// The version of this object.
    #[schemars(extend("const" = SCHEMA))]
    schema: &'static str,
    #[serde(flatten)]
    study: &'a AnomalyStudy,
}

/// The study as JSON, its names in alphabetical order.
///
/// # Panics
/// Never: all of it are texts and numbers.
pub fn anomalies_json(study: &AnomalyStudy) -> String {
    let object = AnomalyStudyObject { schema: SCHEMA, study };
    pretty(&serde_json::to_value(object).expect("texts and numbers are JSON"))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    fn verdict(quality: &str, violations: u64, opportunities: u64) -> AnomalyVerdict {
        AnomalyVerdict { quality: quality.into(), violations, opportunities, ..Default::default() }
    }

    pub(crate) fn cell() -> AnomalyCell {
        let run = |seed, violations| AnomalyRun {
            seed,
            command: format!("assay bench --seed {seed}"),
            judged: 100,
            oldest_ns: 5_000_000,
            verdicts: vec![
                verdict("linearizable", violations, 50),
                verdict("read-your-writes", 0, 40),
                verdict("2-atomic", violations, 50),
                AnomalyVerdict {
                    quality: "no-lost-writes".into(),
                    not_assessable: "no reads at the end".into(),
                    ..Default::default()
                },
            ],
            ..AnomalyRun::default()
        };
        AnomalyCell {
            name: "c".into(),
            store: "a store".into(),
            workload: "ycsb-a".into(),
            source: "somebody".into(),
            violates: vec!["linearizable".into(), "no-lost-writes".into()],
            keeps: vec!["read-your-writes".into()],
            runs: vec![run(1, 0), run(2, 3)],
            ..AnomalyCell::default()
        }
    }

    pub(crate) fn study(cell: AnomalyCell) -> AnomalyStudy {
        AnomalyStudy { title: "T".into(), cells: vec![cell], ..AnomalyStudy::default() }
    }

    #[test]
    fn a_prediction_is_seen_at_a_rate_over_all_runs_with_the_seed_that_shows_it() {
        let text = anomalies_text(&study(cell()), Letters::Ascii);
        let line = |part: &str| text.lines().find(|line| line.contains(part)).unwrap_or_default();
        let words: Vec<&str> = line("violates linearizable").split_whitespace().collect();
        assert_eq!(words.join(" "), "c violates linearizable yes 3 of 100 (3 %) 5.00 ms 2");
        assert!(line("keeps read-your-writes").contains("kept"), "{text}");
        assert!(line("violates no-lost-writes").contains("not assessable: no reads"), "{text}");
        assert!(text.contains("1 of 1 cell run: 1 of 2 predicted violations seen"), "{text}");
        assert!(text.contains("c: also violated: 2-atomic"), "{text}");
    }

    #[test]
    fn a_broken_promise_is_loud() {
        let mut cell = cell();
        cell.keeps.push("2-atomic".into());
        assert_eq!(cell.broken_promises(), ["2-atomic"]);
        assert!(anomalies_text(&study(cell), Letters::Ascii).contains("BROKEN"));
    }

    #[test]
    fn what_was_not_run_says_why_and_claims_nothing() {
        let not_run = "no workload list-append".into();
        let cell = AnomalyCell { runs: Vec::new(), not_run, ..cell() };
        let text = anomalies_text(&study(cell), Letters::Ascii);
        assert!(text.contains("c: not run: no workload list-append"), "{text}");
        assert!(!text.contains(" yes ") && !text.contains(" kept "), "{text}");
    }

    #[test]
    fn markdown_has_the_command_of_the_run_that_shows_it_and_json_everything() {
        let study = study(cell());
        let text = anomalies_markdown(&study);
        assert!(text.contains("# c\nassay bench --seed 2\n"), "{text}");
        let json: serde_json::Value = serde_json::from_str(&anomalies_json(&study)).expect("JSON");
        assert_eq!(json["cells"][0]["runs"][1]["verdicts"][0]["violations"], 3);
        assert_eq!(json["schema"], SCHEMA);
    }
}
