//! The binary: parse, assemble, call.

/// A line on standard error. Unlike that of the standard library, it does not end the program,
/// thus a run, because the reader of the output went away.
macro_rules! eprintln {
    ($($line:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($line)*);
    }};
}

mod actions;
mod arrivals;
mod atomic_file;
mod binding;
mod broken;
mod build_info;
mod cleanup;
mod cli;
mod command;
mod command_line;
mod compiled;
mod completion;
mod conditions;
mod consistency;
mod coordinator;
mod exit;
mod experiment;
mod final_reads;
mod fleet;
mod floor;
mod lab;
mod live;
mod load_config;
mod load_settings;
mod machine;
mod mapped;
mod memory_bound;
mod note;
mod observe;
mod opening;
mod options;
mod parent_death;
mod repeat;
mod run_dirs;
mod run_plan;
mod section;
mod seed;
mod setup;
mod show;
mod signals;
mod slo;
mod thresholds;
mod truth;
mod units;
mod via;
mod workload;

use std::process::ExitCode;

use anyhow::Result;
use clap::ArgMatches;

use crate::exit::Exit;

fn main() -> ExitCode {
    // A shell that completes a line expects values, and nothing else.
    clap_complete::CompleteEnv::with_factory(cli::command).complete();
    let ended =
        signals::outlive_file_limits().and_then(|()| parent_death::words()).and_then(|words| {
            match build_info::is_wanted(&words) {
                true => show::finish(&build_info::text()),
                false => dispatch(&cli::parse(&words)?),
            }
        });
    match ended {
        Ok(exit) => exit.into(),
        Err(error) => {
            eprintln!("error: {error:#}");
            exit::code(&error).into()
        }
    }
}

fn dispatch(matches: &ArgMatches) -> Result<Exit> {
    let Some((verb, matches)) = matches.subcommand() else { return Ok(Exit::Usage) };
    match verb {
        "bench" => command::measure::bench(matches),
        "load" => command::measure::load(matches),
        "run" => command::measure::run(matches),
        "tune" => command::tune::tune(matches),
        "analyze" => command::look::analyze(matches),
        "report" => command::look::report(matches),
        "check" => command::check::check(matches),
        "compare" => command::compare::compare(matches),
        "history" => command::history::dispatch(matches),
        "lab" => command::lab::dispatch(matches),
        "fmke" => command::fmke::dispatch(matches),
        "agent" => command::agent::agent(matches, &cli::of_job),
        "fleet" => command::fleet::dispatch(matches),
        "serve" => command::serve::serve(matches),
        "sim" => command::sim::dispatch(matches),
        "study" => command::study::dispatch(matches),
        "trace" => command::trace::dispatch(matches),
        "mapping" => command::mapping::dispatch(matches),
        "workloads" => command::list::workloads(matches),
        "stores" => command::stores::dispatch(matches),
        "doctor" => command::doctor::doctor(matches),
        "config" => command::list::config(matches),
        "schema" => command::list::schema(matches),
        "man" => command::man::man(matches, cli::command()),
        "completion" => command::list::completion(matches),
        "ycsb" => command::ycsb::ycsb(matches),
        other => unreachable!("the command line knows no {other}"),
    }
}
