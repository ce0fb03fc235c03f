//! One step of a tune: a fresh run with a run directory of its own.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use assay_analysis::Verdict;
use assay_analysis::tune::{Overload, Request, StepContext, StepOutcome, Waiting, assess};
use assay_history::manifest::TuneStepSection;
use assay_history::{Manifest, State};
use assay_live::progress::{Observer, ProgressSnapshot, Show};
use assay_live::rate_control::RateControl;
use assay_model::{Nanos, Seed};
use assay_results::{analysis_options, analyze_beside};
use assay_store::StoreTime;
use clap::ArgMatches;

use crate::command::tune::expected::TuneOptions;
use crate::command_line::{RESULT_FLAGS, without_flags};
use crate::coordinator;
use crate::exit::{Exit, Failure, as_usage, from_open, usage};
use crate::experiment::Experiment;
use crate::options::{Options, Origin, Settable};
use crate::setup::Setup;
use crate::show::{has_hallmark, keep_hallmark};

/// Ended operations are counted this much later at most: a worker publishes, then an observer
/// reads.
const UNSEEN: Nanos = Nanos::from_millis(300);

/// Flags that only a tune knows, or whose values it chooses for each step.
const OWN_FLAGS: [&str; 8] =
    ["--slo", "--min", "--max", "--within", "--step", "--confirm", "--sweep", "--warm-up"];

/// The directory of the step with this number.
pub fn dir_of(root: &Path, number: usize) -> PathBuf {
    root.join(format!("step-{:03}", number + 1))
}

/// What came of the wish to make a step.
pub enum Attempt {
    /// It was made.
    Made(StepOutcome),
    /// It was stopped.
    Interrupted,
}

/// Makes steps.
pub struct Steps {
    /// What all steps have in common.
    pub setup: Setup,
    /// What the tune is to do.
    pub expected: TuneOptions,
    /// The seed from which those of the steps follow.
    pub seed: Seed,
    /// The load of the steps, in words.
    pub load: String,
    /// Numbers of steps that held although their run has no hallmark.
    unmarked: Vec<usize>,
    /// How many agents share each step, with the command that they carry out.
    fleet: Option<(u32, ArgMatches)>,
}

impl Steps {
    /// Steps with `setup`; their seeds follow from `seed`.
    pub fn new(setup: Setup, expected: TuneOptions, seed: Seed) -> Steps {
        Steps { setup, expected, seed, load: String::new(), unmarked: Vec::new(), fleet: None }
    }

    /// Each step is shared among `agents`, which carry out the command of `matches`.
    pub fn share(&mut self, agents: u32, matches: &ArgMatches) {
        self.fleet = Some((agents, matches.clone()));
    }

    /// How long a run of `length` times the usual one takes; zero in simulated time.
    pub fn time_of(&self, length: u32) -> Option<Nanos> {
        let is_simulated = self.setup.store.capabilities().time == StoreTime::Simulated;
        let time = self.expected.step.0 * u64::from(length) + self.expected.warm_up.0;
        (!is_simulated).then_some(Nanos(time))
    }

    /// What a reader must know, one sentence each.
    pub fn warnings(&self) -> Vec<String> {
        let (noun, verb) = match self.unmarked.len() {
            0 => return Vec::new(),
            1 => ("step", "has"),
            _ => ("steps", "have"),
        };
        let numbers: Vec<String> =
            self.unmarked.iter().map(|number| (number + 1).to_string()).collect();
        let first = dir_of(&self.setup.plan.dir, self.unmarked[0]);
        vec![format!(
            "{noun} {} held, but {verb} no hallmark: see `assay report {}`; with \
             --require-hallmark such a step does not hold",
            numbers.join(", "),
            first.display()
        )]
    }

    /// Runs the step, or analyzes the existing one if the tune is resumed.
    pub fn make(&mut self, request: Request) -> Result<Attempt> {
        let listening = &self.setup.listening;
        // A signal that ended the step before does not end this one.
        listening.control.go_on();
        if listening.is_interrupted() {
            return Ok(Attempt::Interrupted);
        }
        let dir = dir_of(&self.setup.plan.dir, request.number);
        if self.expected.resumes && dir.exists() && self.is_whole(&dir, request)? {
            return Ok(Attempt::Made(self.assess(&dir, request, false)?));
        }
        self.send(&dir, request)
    }

    /// Whether the step in `dir` came to its end; moves it out of the way if it did not.
    fn is_whole(&self, dir: &Path, request: Request) -> Result<bool> {
        let manifest = Manifest::read(dir).map_err(as_usage)?;
        if manifest.state != State::Finished {
            let admin_task = (1..).map(|number| {
                let name = format!("{}-cut-off-{number}", dir.file_name()?.to_str()?);
                Some(dir.with_file_name(name))
            });
            let admin_task = admin_task.flatten().find(|admin_task| !admin_task.exists());
            let admin_task = admin_task.context("the directory of a step has a name")?;
            std::fs::rename(dir, &admin_task)
                .with_context(|| format!("cannot move {} aside", dir.display()))?;
            return Ok(false);
        }
        let requested = manifest.load.settings.rate.and_then(|text| text.parse::<f64>().ok());
        if requested != Some(request.rate) {
            return Err(usage(format!(
                "--resume: {} is of another tune: its rate is {}/s where this one has {}/s",
                dir.display(),
                requested.unwrap_or(0.0),
                request.rate
            )));
        }
        Ok(true)
    }

    fn send(&mut self, dir: &Path, request: Request) -> Result<Attempt> {
        let experiment = self.experiment(dir, request)?;
        let listening = Arc::clone(&self.setup.listening);
        let is_stopped = Arc::new(AtomicBool::new(false));
        let finished = match &self.fleet {
            Some((agents, matches)) => {
                coordinator::step(&self.setup, (*agents, matches), experiment)?
            }
            None => {
                let (watches, stopped) = (self.watches(request), Arc::clone(&is_stopped));
                let warden = StepWatchdog::new(watches, request.rate, stopped);
                let run_observer = warden.map(|one| Box::new(one) as _);
                Experiment { run_observer, ..experiment }.execute()?
            }
        };
        let is_stopped = is_stopped.load(Ordering::Relaxed);
        // A step that was whole when an interrupt came counts; the next one is not made.
        let is_cut = finished.exit != Exit::Fine && listening.is_interrupted();
        let is_ended_by_others = finished.exit == Exit::Interrupted && !is_stopped;
        if is_cut || is_ended_by_others {
            return Ok(Attempt::Interrupted);
        }
        match finished.exit {
            Exit::Unreachable => {
                let message = format!(
                    "step {} got no answer at all; see `assay report {}`",
                    request.number + 1,
                    dir.display()
                );
                Err(Failure { exit: Exit::Unreachable, message }.into())
            }
            Exit::Internal => Ok(Attempt::Made(StepOutcome::broken())),
            _ => Ok(Attempt::Made(self.assess(dir, request, is_stopped)?)),
        }
    }

    /// The run of a step, ready to be performed.
    fn experiment(&mut self, dir: &Path, request: Request) -> Result<Experiment> {
        let root = std::mem::replace(&mut self.setup.plan.dir, dir.to_owned());
        let ready = self.ready(request, &root);
        self.setup.plan.dir = root;
        ready
    }

    fn ready(&mut self, request: Request, root: &Path) -> Result<Experiment> {
        let setup = &mut self.setup;
        // Every step issues the same operations at other moments.
        let arrivals = Seed(self.seed.0.wrapping_add(request.number as u64 + 1));
        let duration = Nanos(self.expected.step.0 * u64::from(request.length));
        let time = |time: Nanos| humantime::format_duration(time.into()).to_string();
        let time = |nanos: Nanos| time(nanos).replace(' ', "");
        let changes = [
            ("rate", request.rate.to_string()),
            ("duration", time(duration)),
            ("warm-up", time(self.expected.warm_up)),
            ("seed", self.seed.to_string()),
            ("arrival-seed", arrivals.to_string()),
        ];
        let Options { rate, duration, warm_up, seed, arrival_seed, .. } = &mut setup.plan.options;
        let settings: [&mut dyn Settable; 5] = [rate, duration, warm_up, seed, arrival_seed];
        for (setting, (_, text)) in settings.into_iter().zip(&changes) {
            setting.set(text, Origin::Flag)?;
        }
        setup.plan.arrivals = arrivals;
        // What the step before left in queues, logs and caches is not this one's.
        setup.store.flush().map_err(from_open)?;
        let mut experiment = setup.ready()?;
        let manifest = &mut experiment.manifest;
        manifest.run.command = run_command(&setup.plan.command, &changes);
        manifest.load.settings.tune = Some(TuneStepSection {
            directory: root.to_owned(),
            step: request.number as u64 + 1,
            purpose: request.purpose.name().to_owned(),
        });
        if self.load.is_empty() {
            self.load = without_rate(&manifest.load.text, request.rate);
        }
        let is_live = setup.plan.show != Show::Nothing
            && std::io::IsTerminal::is_terminal(&std::io::stderr());
        experiment.show = if is_live { Show::Lines } else { Show::Nothing };
        Ok(experiment)
    }

    /// Whether about as many arrive in a step as its rate says.
    fn is_even(&self) -> bool {
        let text = self.setup.plan.options.arrivals.text().unwrap_or_default();
        let name = text.split_once(':').map_or(text, |(name, _)| name);
        matches!(name.trim(), "" | "constant" | "jitter" | "poisson")
    }

    /// A watch for each promised response time; none where a run is over in a blink, or where the
    /// rate does not say how many have arrived.
    fn watches(&self, request: Request) -> Vec<Overload> {
        if self.setup.store.capabilities().time == StoreTime::Simulated || !self.is_even() {
            return Vec::new();
        }
        let duration = Nanos(self.expected.step.0 * u64::from(request.length));
        let limits = self.expected.objective.iter().flat_map(|one| one.response_limits());
        limits
            .map(|(limit, allowed)| Overload::new(request.rate, duration, limit, allowed))
            .collect()
    }

    fn assess(&mut self, dir: &Path, request: Request, is_stopped: bool) -> Result<StepOutcome> {
        let manifest = Manifest::read(dir).map_err(as_usage)?;
        let mut waiting = Waiting::new(analysis_options(&manifest, None).window);
        let analyzed = analyze_beside(dir, manifest, None, &mut |records| waiting.push(records))?;
        keep_hallmark(dir, &analyzed)?;
        let circumstances = StepContext {
            target: request.rate,
            is_even: self.is_even(),
            is_stopped,
            backlog: waiting.backlog(),
            hallmark: analyzed.facts.hallmark.as_ref(),
            requires_hallmark: self.expected.requires_hallmark,
        };
        let found = assess(&analyzed.summary, self.expected.objective.as_ref(), &circumstances);
        if found.verdict == Verdict::Held && !has_hallmark(&analyzed) {
            self.unmarked.push(request.number);
        }
        Ok(found)
    }
}

/// The load of a step, without its rate.
fn without_rate(text: &str, rate: f64) -> String {
    let text = text.replace(&format!(" at {rate}/s"), "");
    match (text.split_once("mean "), text.split_once(", cv ")) {
        (Some((before, _)), Some((_, after))) => format!("{before}cv {after}"),
        _ => text,
    }
}

/// The command that makes the step as a run of its own.
fn run_command(typed: &[String], changes: &[(&'static str, String)]) -> Vec<String> {
    let mut words = without_flags(typed, &[&OWN_FLAGS[..], &RESULT_FLAGS].concat());
    words.retain(|word| word != "--resume");
    if let Some(verb) = words.get_mut(1).filter(|verb| *verb == "tune") {
        *verb = "run".to_owned();
    }
    for (name, text) in changes {
        words.extend([format!("--{name}"), text.clone()]);
    }
    words
}

/// Ends a step whose backlog has decided it.
struct StepWatchdog {
    watches: Vec<Overload>,
    rate: f64,
    ended: u64,
    must_stop: bool,
    is_stopped: Arc<AtomicBool>,
}

impl StepWatchdog {
    fn new(watches: Vec<Overload>, rate: f64, is_stopped: Arc<AtomicBool>) -> Option<StepWatchdog> {
        let warden = StepWatchdog { watches, rate, ended: 0, must_stop: false, is_stopped };
        (!warden.watches.is_empty()).then_some(warden)
    }
}

impl Observer for StepWatchdog {
    fn see(&mut self, progress_snapshot: &ProgressSnapshot<'_>) {
        self.ended += progress_snapshot.stats.processes;
        if progress_snapshot.is_ending || progress_snapshot.at == Nanos::ZERO {
            return;
        }
        let waiting = self.rate * progress_snapshot.at.as_secs_f64() - self.ended as f64;
        let unseen = self.rate * UNSEEN.as_secs_f64();
        // Poisson arrivals may be fewer than the rate says.
        let unsure = unseen + 4.0 * (self.rate * progress_snapshot.at.as_secs_f64()).sqrt();
        for watch in &mut self.watches {
            self.must_stop |= watch.look(progress_snapshot.at, waiting, unsure);
        }
    }

    fn step(&mut self, rate_control: &RateControl) {
        if self.must_stop && !self.is_stopped.swap(true, Ordering::Relaxed) {
            rate_control.drain();
        }
    }
}

#[cfg(test)]
mod tests {
    use assay_run::live_counters::WorkerStats;

    use super::*;

    #[test]
    fn the_load_of_steps_is_reported_without_their_rates() {
        for (text, expected) in [
            (
                "poisson arrivals (gaps: mean 2.00 ms, cv 1) at 500/s, x",
                "poisson arrivals (gaps: cv 1), x",
            ),
            ("constant arrivals at 500/s, x", "constant arrivals, x"),
        ] {
            assert_eq!(without_rate(text, 500.0), expected);
        }
    }

    #[test]
    fn a_step_is_repeated_as_a_run() {
        let typed = "assay tune ycsb-c -t sim: --slo p99<5ms --min=1k --seed 7 --resume -o a.html \
                     --arrivals constant";
        let typed: Vec<String> = typed.split_whitespace().map(str::to_owned).collect();
        let changes = [("rate", "1500".to_owned()), ("seed", "9".to_owned())];
        assert_eq!(
            run_command(&typed, &changes).join(" "),
            "assay run ycsb-c -t sim: --arrivals constant --rate 1500 --seed 9"
        );
    }

    /// The second after which a step of 20 s at 1000/s, of which `done` end per second, is stopped.
    fn stopped_after(done: u64) -> Option<u64> {
        let is_stopped = Arc::new(AtomicBool::new(false));
        let duration = Nanos::from_secs(20);
        let watch = Overload::new(1_000.0, duration, Nanos::from_millis(50), 0.01);
        let mut warden =
            StepWatchdog::new(vec![watch], 1_000.0, is_stopped).expect("it has a watch");
        (1..20).find(|&second| {
            let stats = WorkerStats { processes: done, ..WorkerStats::default() };
            let at = Nanos::from_secs(second);
            let progress_snapshot = ProgressSnapshot {
                at,
                elapsed: at,
                in_flight: 0,
                stats: &stats,
                rate_profile: None,
                is_ending: false,
                agents: &[],
            };
            warden.see(&progress_snapshot);
            warden.must_stop
        })
    }

    #[test]
    fn a_step_that_falls_behind_is_stopped() {
        assert_eq!(stopped_after(1_000), None);
        assert_eq!(stopped_after(980), None, "chance may have made as few");
        assert_eq!(stopped_after(0), Some(2));
        assert!(stopped_after(700).is_some_and(|second| second < 5));
    }
}
