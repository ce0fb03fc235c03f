//! `assay serve`: a page of all runs, with their reports and comparisons of two.

use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use assay_live::port;
use assay_run::clock;
use assay_serve::RunsSite;
use assay_serve::http::{HttpLimits, Respond, serve as serve_pages};
use clap::{ArgMatches, Args, Command, FromArgMatches, ValueHint};
use tokio::sync::oneshot;

use crate::exit::{Exit, usage};
use crate::parent_death;
use crate::show::put;
use crate::signals::stop_flag;
use crate::units::duration_of;

/// How often the command looks whether it is to end.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A browser asks for a page at a time; analyzing a long history takes its time.
const LIMITS: HttpLimits = HttpLimits {
    connections: 16,
    accept_every: Duration::from_millis(1),
    connection_timeout: Duration::from_secs(300),
    is_slow: true,
};

/// What can be typed.
#[derive(Args, Debug)]
#[command(about = "Show runs in a browser: a list, their reports, comparisons of two")]
struct ServeArgs {
    /// The directory with the run directories
    #[arg(value_name = "DIR", default_value = "runs", value_hint = ValueHint::DirPath)]
    dir: PathBuf,
    /// Where; with port 0 the system chooses a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7417")]
    listen: String,
    /// Let --listen be an address that other machines reach
    #[arg(long)]
    listen_any: bool,
    /// End after this time
    #[arg(long = "for", value_name = "TIME")]
    length: Option<String>,
}

/// The command with its arguments.
pub fn command() -> Command {
    ServeArgs::augment_args(Command::new("serve"))
}

/// `assay serve`.
pub fn serve(matches: &ArgMatches) -> Result<Exit> {
    parent_death::heed()?;
    let arguments = ServeArgs::from_arg_matches(matches)?;
    let length = arguments.length.as_deref().map(|text| duration_of("--for", text)).transpose()?;
    let length = length.map(Duration::from);
    let dir = arguments.dir.as_path();
    if !dir.is_dir() {
        return Err(usage(format!(
            "there is no directory {}; name the one that holds run directories, which is runs \
             where `assay bench` was issued",
            dir.display()
        )));
    }
    let listener = listen(&arguments)?;
    let address = listener.local_addr().context("a listener has an address")?;
    let stop = stop_flag()?;
    let site: Arc<dyn Respond> =
        Arc::new(RunsSite::new(dir.to_owned(), address.ip().is_loopback(), clock::monotonic));
    let (open, closed) = oneshot::channel();
    let thread = thread::Builder::new()
        .name("pages".to_owned())
        .spawn(move || serve_pages(listener, &site, LIMITS, closed))
        .context("cannot start a thread for the pages")?;
    put(&format!("runs in {}: http://{address}/\n", dir.display()), None)?;
    let begun = Instant::now();
    let is_over = || length.is_some_and(|length| begun.elapsed() >= length);
    while !stop.load(Ordering::Relaxed) && !is_over() && !thread.is_finished() {
        thread::sleep(LOOK_EVERY);
    }
    drop(open);
    match thread.join() {
        Ok(ended) => ended.context("cannot serve the pages").map(|()| Exit::Fine),
        Err(_) => anyhow::bail!("the thread of the pages has panicked, see above"),
    }
}

/// Listens where it is wanted.
fn listen(arguments: &ServeArgs) -> Result<TcpListener> {
    let wrong = |reason: String| usage(format!("--listen: {reason}"));
    let address = port::address(&arguments.listen).map_err(wrong)?;
    if !address.ip().is_loopback() && !arguments.listen_any {
        return Err(wrong(format!(
            "{} can be reached from other machines, and nobody is asked who they are; if that is \
             wanted, say --listen-any",
            address.ip()
        )));
    }
    TcpListener::bind(address)
        .map_err(|error| wrong(format!("cannot listen on {address}: {error}")))
}
