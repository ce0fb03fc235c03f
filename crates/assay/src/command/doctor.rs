//! Doctor: properties of this machine that would spoil a measurement.

use std::fmt::Write as _;
use std::fs;

use anyhow::Result;
use assay_drivers::registry;
use assay_lab::{Recipe, recipes};
use assay_model::Seed;
use clap::ArgMatches;

use crate::command::lab::{Readiness, readiness};
use crate::exit::{Exit, from_open};
use crate::lab::house::house;
use crate::lab::job_spec::missing_feature;
use crate::machine;
use crate::opening::open_store;
use crate::show::put;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Fine,
    Warning,
    Bad,
}

struct Finding {
    level: Level,
    text: String,
}

/// `assay doctor`: one line per check; exit code 1 if one of them is bad.
pub fn doctor(matches: &ArgMatches) -> Result<Exit> {
    let mut findings = vec![
        fine(format!(
            "{} × {}, {} GiB, {}",
            machine::cores(),
            machine::processor(),
            machine::memory_bytes() >> 30,
            machine::system()
        )),
        cores(),
        load_average(),
        clock_source(),
        governor(),
        open_files(),
        room(),
    ];
    findings.extend(labs()?);
    let mut is_away = None;
    if let Some(url) = matches.get_one::<String>("target") {
        match store(url) {
            Ok(lines) => findings.extend(lines),
            Err(error) => is_away = Some(error),
        }
    }
    let mut text = String::new();
    for Finding { level, text: line } in &findings {
        let mark = match level {
            Level::Fine => "ok   ",
            Level::Warning => "warning",
            Level::Bad => "bad  ",
        };
        let _ = writeln!(text, "{mark}  {line}");
    }
    put(&text, None)?;
    if let Some(error) = is_away {
        return Err(error);
    }
    let is_bad = findings.iter().any(|finding| finding.level == Level::Bad);
    Ok(if is_bad { Exit::Internal } else { Exit::Fine })
}

fn fine(text: impl Into<String>) -> Finding {
    Finding { level: Level::Fine, text: text.into() }
}

fn warning(text: impl Into<String>) -> Finding {
    Finding { level: Level::Warning, text: text.into() }
}

fn cores() -> Finding {
    match machine::cores() {
        1 => warning("1 core: we and a store on this machine take turns; expect lag"),
        cores => fine(format!("{cores} cores: a worker and a store can run at once")),
    }
}

fn load_average() -> Finding {
    let cores = machine::cores() as f64;
    match machine::load_average() {
        Some(load) if load > cores * 0.5 => {
            warning(format!("load average {load}: others use this machine; wait until it is quiet"))
        }
        Some(load) => fine(format!("load average {load}")),
        None => warning("the load average is unknown"),
    }
}

fn read(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

fn clock_source() -> Finding {
    match read("/sys/devices/system/clocksource/clocksource0/current_clocksource").as_deref() {
        Some(good @ ("tsc" | "arch_sys_counter" | "kvm-clock")) => {
            fine(format!("clock source {good}"))
        }
        Some(slow) => {
            warning(format!("clock source {slow}: reading the time is slow; choose tsc if you can"))
        }
        None => warning("the clock source is unknown"),
    }
}

fn governor() -> Finding {
    match read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").as_deref() {
        Some("performance") => fine("processor governor performance"),
        Some(other) => warning(format!(
            "processor governor {other}: speed changes while you measure; use performance"
        )),
        None => fine("the processor's speed is not ours to set here"),
    }
}

fn open_files() -> Finding {
    let limits = read("/proc/self/limits").unwrap_or_default();
    let line = limits.lines().find(|line| line.starts_with("Max open files"));
    let soft = line.and_then(|line| line.split_whitespace().nth(3)?.parse::<u64>().ok());
    match soft {
        Some(soft) if soft < 1024 => warning(format!(
            "{soft} open files allowed: raise it (ulimit -n 65536) for many connections"
        )),
        Some(soft) => fine(format!("{soft} open files allowed")),
        None => fine("open files are not limited, or the system does not tell"),
    }
}

fn room() -> Finding {
    // Whether run directories can be written here is tried out.
    let path = std::path::Path::new("runs");
    let existed = path.exists();
    let trial = path.join(".doctor");
    let tried = fs::create_dir_all(path).and_then(|()| fs::write(&trial, b"ok"));
    // What was only tried is taken away again, as far as that is possible.
    let _ = fs::remove_file(&trial);
    if !existed {
        let _ = fs::remove_dir(path);
    }
    match tried {
        Ok(()) => fine("run directories can be kept in ./runs"),
        Err(error) => {
            let text = format!("run directories cannot be kept in ./runs: {error}");
            Finding { level: Level::Bad, text }
        }
    }
}

/// What is missing to start each store that the lab can start.
fn labs() -> Result<Vec<Finding>> {
    let house = house()?;
    let one = |recipe: &&dyn Recipe| {
        let card = recipe.card();
        let name = card.name;
        let driver = missing_feature(*recipe)
            .map(|feature| format!("its driver in this binary (build with --features {feature})"));
        let (but, what) = match readiness(&card, &house.lacks(&card), house.can_install()) {
            Readiness::Ready => (String::new(), None),
            Readiness::Nearly(but) => (format!("; {but}"), None),
            Readiness::Lacking(what) => (String::new(), Some(what)),
        };
        let missing: Vec<String> = what.into_iter().chain(driver).collect();
        match missing.is_empty() {
            true => fine(format!("lab {name}: can be started here{but}")),
            false => warning(format!("lab {name}: missing {}", missing.join("; "))),
        }
    };
    Ok(recipes::ALL.iter().map(one).collect())
}

fn store(url: &str) -> Result<Vec<Finding>> {
    let store = open_store(url, Seed(0))?;
    let settings = store.settings().map_err(from_open)?;
    let mut findings = vec![fine(format!("{} answers", registry::without_secrets(url)))];
    findings.extend(settings.into_iter().map(|setting| {
        fine(format!("{} = {} ({})", setting.name, setting.value, setting.meaning))
    }));
    Ok(findings)
}
