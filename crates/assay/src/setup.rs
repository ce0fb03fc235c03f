//! Set-up of load, run, bench: the plan, with what is started and opened for it.

mod afterwards;
mod load;
mod phase;
mod readiness;
mod store_url;

use std::sync::Arc;

use anyhow::Result;
use assay_drivers::registry;
use assay_live::port::ControlPort;
use assay_live::progress::Show;
use assay_model::Nanos;
use assay_results::analyze_beside;
use assay_store::{Store, StoreTime};
use assay_workload::script::fmke::Through;

use crate::exit::{Exit, usage};
use crate::experiment::{Experiment, Finished};
use crate::final_reads::UsedNumbers;
use crate::fleet::FleetMember;
use crate::lab::tied::RunLab;
use crate::load_config::Purpose;
use crate::observe::scrape::Scraper;
use crate::opening::open_store;
use crate::options::{Options, ViaServer};
use crate::run_plan::RunPlan;
use crate::show::{Display, PAGE_FILE, keep_hallmark, require_hallmark, show};
use crate::signals::Listening;
use crate::via::{self, Hop, Via};
use crate::workload::Workload;
use crate::{live, mapped};
use store_url::store_url;

/// A plan, with all that is open for it.
pub struct Setup {
    /// What is to be done.
    pub plan: RunPlan,
    /// The store.
    pub store: Arc<dyn Store>,
    /// Its URL without secrets.
    pub url: String,
    /// Hears the keyboard.
    pub listening: Arc<Listening>,
    /// The run's HTTP port.
    pub port: Option<Arc<ControlPort>>,
    /// Whether nothing more is to be said of what the store holds: this process has filled it, or
    /// has warned that nobody knows.
    pub is_content_settled: bool,
    /// How long it took to make the store ready the last time.
    init: Nanos,
    /// What HTTP adds to an operation is measured with this, if a server is in between.
    hop: Option<Arc<Hop>>,
    /// The server between the load and its store, if there is one.
    via: Option<Via>,
    /// What is read of servers during the run, if anything is.
    scraper: Option<Arc<Scraper>>,
    /// The member in a fleet, if this process is one of its agents.
    member: Option<Arc<FleetMember>>,
    /// The lab that the store is in, if it is in one. The last field: it ends after the store's
    /// connections.
    lab: Option<RunLab>,
}

impl Setup {
    /// Starts the lab and the server that the plan wants, then opens the store.
    pub fn open(mut plan: RunPlan) -> Result<Setup> {
        let lab = RunLab::from(&plan.options)?;
        if let Some(lab) = &lab {
            plan.schedule.settle_in(&lab.record, &plan.options)?;
        }
        let url = store_url(&plan, lab.as_ref().map(|lab| lab.record.url.as_str()))?;
        let via = match plan.options.via.get() {
            Some(ViaServer::Http) => Some(start_via(&plan, &url)?),
            None => None,
        };
        let url = via.as_ref().map_or(url, |via| via.url.clone());
        send_through_server(&mut plan.workload, &url);
        let arrivals = plan.arrivals;
        let open = |url: &str| open_store(url, arrivals);
        let RunPlan { options, workload, seed, .. } = &plan;
        let store = mapped::taking_queries(open(&url)?, workload, *seed, options)?;
        let scraper = Scraper::open(options, &store)?.map(Arc::new);
        let layout = workload.fmke_spec().map_or("", |spec| spec.layout.name());
        let measures_hop = via.is_some() && plan.purpose != Purpose::Load;
        let hop = measures_hop.then(|| Hop::start(layout, open)).transpose()?.map(Arc::new);
        let port = open_port(options)?;
        Ok(Setup { hop, via, scraper, lab, ..Setup::with(plan, store, &url, port)? })
    }

    /// The plan with an open store that has no lab, and no server before it.
    pub fn with(
        plan: RunPlan,
        store: Arc<dyn Store>,
        url: &str,
        port: Option<Arc<ControlPort>>,
    ) -> Result<Setup> {
        Ok(Setup {
            plan,
            store,
            url: registry::without_secrets(url),
            listening: Arc::new(Listening::begin()?),
            port,
            is_content_settled: false,
            init: Nanos::ZERO,
            hop: None,
            via: None,
            scraper: None,
            member: None,
            lab: None,
        })
    }

    /// From now on this process is an agent of a fleet.
    pub fn join_fleet(&mut self, member: &Arc<FleetMember>) {
        member.heed(&self.listening.control);
        self.member = Some(Arc::clone(member));
    }

    /// The URL of the store, secrets included, as an agent's command takes it. Fails if there is
    /// none that another process could use.
    pub fn raw_target(&self) -> Result<String> {
        let capabilities = self.store.capabilities();
        let is_within = !capabilities.is_persistent && !capabilities.is_no_op;
        if is_within || capabilities.time == StoreTime::Simulated {
            return Err(usage(format!(
                "{} is within the process that measures it: agents would have a store each; name \
                 a server, such as redis://127.0.0.1",
                self.url
            )));
        }
        let named = || self.plan.options.target().map(str::to_owned);
        let via = self.via.as_ref().map(|via| via.url.clone());
        let lab = || self.lab.as_ref().map(|lab| lab.record.url.clone());
        via.or_else(lab).or_else(named).ok_or_else(|| {
            usage("agents need a store that they can reach: give -t URL, or --up STORE")
        })
    }

    /// Runs the workload; the run directory is the setup's. Fails if the store holds other data
    /// than the workload wants.
    pub fn run(&mut self) -> Result<Finished> {
        let undoes_inserts = self.undoes_inserts()?;
        let final_reads = self.final_reads()?;
        let experiment = self.ready()?;
        // The coordinator of a fleet makes them when all its agents have ended.
        let is_asked = self.member.is_some() && self.plan.options.final_reads.is_on();
        let used = (final_reads.is_some() || is_asked).then(UsedNumbers::default);
        let mut finished = Experiment { final_reads, used, ..experiment }.execute()?;
        self.look_after(&mut finished, undoes_inserts)?;
        Ok(finished)
    }

    /// Whether the store of a bench stays: one that was named, or that is to be kept.
    pub fn keeps_store(&self) -> bool {
        self.plan.options.target().is_some() || self.plan.options.keep.is_on()
    }

    /// Removes the store that was made for this bench alone.
    pub fn remove_store(self) {
        let path = self.plan.dir.join("store");
        drop(self);
        match std::fs::remove_dir_all(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                eprintln!("warning: cannot remove {}: {error}", path.display());
            }
            _ => {}
        }
    }

    /// Whether the store was started for this process alone.
    pub fn has_own_lab(&self) -> bool {
        self.lab.as_ref().is_some_and(RunLab::is_own)
    }

    /// Analyzes the finished run directory, keeps its hallmark with its page, shows the result,
    /// says where it is kept; returns the exit code.
    pub fn show_result(&self, finished: &Finished) -> Result<Exit> {
        let known = finished.manifest.clone();
        let analyzed = analyze_beside(&finished.dir, known, None, &mut |_| {})?;
        // A disk that takes no more does not hide what was found.
        let is_kept = keep_hallmark(&finished.dir, &analyzed);
        show(&analyzed, &Display::from(&self.plan.options)?)?;
        if self.plan.show != Show::Nothing || finished.exit != Exit::Fine {
            eprintln!("kept in {}", finished.dir.display());
        }
        is_kept?;
        if self.plan.show != Show::Nothing {
            eprintln!("page: {}", finished.dir.join(PAGE_FILE).display());
        }
        match finished.exit {
            Exit::Fine if analyzed.is_all_warm_up() => {
                eprintln!(
                    "error: nothing was measured, because every operation was issued in the \
                     warm-up: give more --operations or a longer --duration, or a shorter --warm-up"
                );
                Ok(Exit::Usage)
            }
            Exit::Fine => Ok(require_hallmark(&self.plan.options, &analyzed)),
            other => Ok(other),
        }
    }
}

/// A server before the store at `url`.
fn start_via(plan: &RunPlan, url: &str) -> Result<Via> {
    let RunPlan { workload, options, .. } = plan;
    let spec = workload.fmke_spec().ok_or_else(|| via::refuse(&workload.name))?;
    let replaces = options.fresh.is_on() || options.replace.is_on();
    Via::start(url, spec.layout.name(), replaces)
}

/// Operations of FMKe are requests if the store is a server of it.
fn send_through_server(workload: &mut Workload, target: &str) {
    if let Some(spec) = workload.fmke_mut().filter(|_| target.starts_with("fmke+http:")) {
        spec.through = Through::Server;
    }
}

/// The control port, if one is wanted.
fn open_port(options: &Options) -> Result<Option<Arc<ControlPort>>> {
    Ok(live::port(options)?.map(ControlPort::open).transpose()?.map(Arc::new))
}
