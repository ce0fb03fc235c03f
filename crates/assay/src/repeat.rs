//! A run several times over: fresh runs whose spread shows what a single one hides.
//!
//! All runs of a group issue the same operations of the same data set. Arrivals, pauses and the
//! chance within a simulated store are drawn anew for each (`--repeat-seeds same` keeps them), so
//! that the spread between runs holds the chance of arriving as well.

use std::path::{Path, PathBuf};

use anyhow::Result;
use assay_history::{Meeting, Repeat, RepeatedRun};
use assay_live::progress::Show;
use assay_model::Seed;
use assay_report::repeated;
use assay_results::group_beside;
use assay_results::run_dirs::HALLMARK;
use assay_store::Capabilities;
use clap::ArgMatches;

use crate::command_line::{command_line, typed, without_flags};
use crate::coordinator;
use crate::exit::Exit;
use crate::experiment::Finished;
use crate::load_config::Purpose;
use crate::options::{Options, Origin, RepeatSeeds, Settable};
use crate::run_dirs;
use crate::run_plan::RunPlan;
use crate::setup::Setup;
use crate::show::{Display, FORMATS_OF_SEVERAL, Format, keep_hallmark, require_hallmark};
use crate::units::rfc3339;

/// More runs than this are a slip of the finger.
const MOST: u64 = 1_000;

/// The stream of the seeds of repeated arrivals.
const STREAM: u64 = 0x4E_70;

/// How many runs are wanted, if more than one.
pub fn times(options: &Options) -> Result<Option<u64>> {
    match options.repeat.get() {
        None | Some(1) => Ok(None),
        Some(0) => Err(options.repeat.wrong("nothing would be issued; give at least 1")),
        Some(many) if many > MOST => {
            Err(options.repeat.wrong(format!("{many} is more than {MOST} runs")))
        }
        Some(times) => Ok(Some(times)),
    }
}

/// Runs `times` times, then shows the runs as one result.
pub fn execute(
    (agents, matches): (Option<u32>, &ArgMatches),
    options: Options,
    purpose: Purpose,
    times: u64,
) -> Result<Exit> {
    let display = Display::from(&options)?;
    display.require(&options, "repeated runs are", &FORMATS_OF_SEVERAL)?;
    let draws_arrivals = options.repeat_seeds.get() == Some(RepeatSeeds::Arrivals);
    let mut group: Option<RunningGroup> = None;
    let mut is_quiet = true;
    for number in 1..=times {
        let expected = &options;
        let mut options = options.clone();
        let seeds = group.as_ref().map(|group| (group.seed, group.arrivals));
        if let Some((seed, first)) = seeds {
            let arrivals = if draws_arrivals { arrival_seed(first, number) } else { first };
            options.seed.set(&seed.to_string(), Origin::Flag)?;
            options.arrival_seed.set(&arrivals.to_string(), Origin::Flag)?;
        }
        let dir = group.as_ref().map(|group| group.dir.clone());
        let dir = dir.map_or_else(|| group_dir(matches, &options), Ok)?;
        let run_dir = dir.join(number.to_string());
        options.run_dir.set(&run_dir.display().to_string(), Origin::Flag)?;
        let mut plan = RunPlan::from(matches, options.clone(), purpose)?;
        plan.command = own_command(&plan);
        let setup = Setup::open(plan)?;
        let group = group.get_or_insert_with(|| RunningGroup::new(&setup, expected, dir, times));
        say(&setup, &format!("run {number} of {times}"));
        is_quiet = setup.plan.show == Show::Nothing;
        let finished = group.run(setup, (agents, matches), number)?;
        if finished.exit != Exit::Fine {
            eprintln!("{}", why_ended(&group.repeat, number, finished.exit));
            if group.repeat.runs.is_empty() {
                return Ok(finished.exit);
            }
            show(&group.dir, &options, &display)?;
            return Ok(finished.exit);
        }
    }
    let Some(group) = group else { return Ok(Exit::Fine) };
    let exit = show(&group.dir, &options, &display)?;
    if !is_quiet {
        eprintln!("kept in {}", group.dir.display());
    }
    Ok(exit)
}

fn say(setup: &Setup, text: &str) {
    if setup.plan.show != Show::Nothing {
        eprintln!("{text}");
    }
}

/// The seed of the arrivals of run `number` of a group whose first run has `first`.
fn arrival_seed(first: Seed, number: u64) -> Seed {
    // Short enough to be read aloud, as every seed that is drawn.
    Seed(first.draws(STREAM, number).bits() & 0xFFFF_FFFF)
}

fn group_dir(matches: &ArgMatches, options: &Options) -> Result<PathBuf> {
    let dir = match options.run_dir() {
        Some(dir) => dir.to_owned(),
        None => {
            let spec = matches.get_one::<String>("spec").map_or("runs", String::as_str);
            let stem = Path::new(spec).file_stem().and_then(|stem| stem.to_str()).unwrap_or("runs");
            let name = format!("{stem}-x{}", options.repeat.text().unwrap_or_default());
            run_dirs::fresh(options.runs_dir(), &name, options.seed.get().unwrap_or(0))
        }
    };
    run_dirs::require_free(&dir)?;
    Ok(dir)
}

/// The command that repeats this run alone.
fn own_command(plan: &RunPlan) -> Vec<String> {
    let of_group = ["--repeat", "--repeat-seeds", "--run-dir", "--seed", "--arrival-seed"];
    let mut words = without_flags(&typed(), &of_group);
    words.extend(["--seed".to_owned(), plan.seed.to_string()]);
    if plan.arrivals != plan.seed {
        words.extend(["--arrival-seed".to_owned(), plan.arrivals.to_string()]);
    }
    words
}

/// A group under way.
struct RunningGroup {
    dir: PathBuf,
    seed: Seed,
    arrivals: Seed,
    repeat: Repeat,
}

impl RunningGroup {
    fn new(setup: &Setup, typed: &Options, dir: PathBuf, times: u64) -> RunningGroup {
        let has_own_store = setup.plan.options.target().is_none();
        let state = meeting(&setup.store.capabilities(), setup.plan.purpose, has_own_store);
        if state == Meeting::Kept {
            say(setup, "all runs meet the same store: each what the one before left");
        }
        let repeat = Repeat {
            started: rfc3339(std::time::SystemTime::now()),
            command: command_line(setup.plan.seed, typed),
            expected: times as u32,
            state,
            ..Repeat::default()
        };
        RunningGroup { dir, seed: setup.plan.seed, arrivals: setup.plan.arrivals, repeat }
    }

    /// Performs one run; a store that was made for it goes with it.
    fn run(
        &mut self,
        mut setup: Setup,
        (agents, matches): (Option<u32>, &ArgMatches),
        number: u64,
    ) -> Result<Finished> {
        let fleet = agents.map(|agents| (agents, matches));
        let finished = match setup.plan.purpose {
            Purpose::Bench => {
                let dir = setup.plan.dir.join("load");
                let loaded = coordinator::load_alone_or(&mut setup, fleet, &dir)?;
                match loaded.exit {
                    Exit::Fine => coordinator::run_alone_or(&mut setup, fleet)?,
                    _ => loaded,
                }
            }
            _ => coordinator::run_alone_or(&mut setup, fleet)?,
        };
        if finished.exit == Exit::Fine {
            self.repeat.runs.push(RepeatedRun {
                run_dir: number.to_string(),
                arrival_seed: setup.plan.arrivals.to_string(),
            });
            self.repeat.write(&self.dir)?;
        }
        // An interrupt after the last operation did not end this run, but ends the group.
        let is_interrupted = setup.listening.is_interrupted();
        let keeps_store = setup.keeps_store();
        if setup.plan.purpose == Purpose::Bench && !keeps_store {
            setup.remove_store();
        }
        match finished.exit {
            Exit::Fine if is_interrupted => Ok(Finished { exit: Exit::Interrupted, ..finished }),
            _ => Ok(finished),
        }
    }
}

fn why_ended(repeat: &Repeat, number: u64, exit: Exit) -> String {
    let times = repeat.expected;
    match repeat.runs.len() as u64 == number {
        _ if exit == Exit::Undone => format!(
            "in run {number} of {times} not all was done to the store that was to be; the group \
             ends here"
        ),
        true => format!("interrupted after run {number} of {times}; the group ends here"),
        false => format!("run {number} of {times} did not come to its end; the group ends here"),
    }
}

/// In which state each run meets the store.
fn meeting(capabilities: &Capabilities, purpose: Purpose, has_own_store: bool) -> Meeting {
    match (purpose, capabilities.is_persistent) {
        (_, false) => Meeting::Fresh,
        (Purpose::Bench, true) if has_own_store => Meeting::Fresh,
        (Purpose::Bench, true) => Meeting::Reloaded,
        (_, true) => Meeting::Kept,
    }
}

/// Shows the runs of the group `dir` as one result; gives the code to end with.
pub fn show(dir: &Path, options: &Options, display: &Display) -> Result<Exit> {
    display.require(options, "repeated runs are", &FORMATS_OF_SEVERAL)?;
    let mut exit = Exit::Fine;
    let group = group_beside(dir, |run| {
        // The first to analyze a run keeps its hallmark.
        if !run.dir.join(HALLMARK).exists() {
            keep_hallmark(&run.dir, &run.analyzed)?;
        }
        if exit == Exit::Fine {
            exit = require_hallmark(options, &run.analyzed);
        }
        anyhow::Ok(())
    })?;
    let other = |format| match format {
        Format::Csv => repeated::csv(&group),
        Format::Junit => assay_report::junit::group(&group),
        _ => repeated::json(&group),
    };
    display.show(|| repeated::document(&group), |format| Ok(other(format)))?;
    Ok(exit)
}
