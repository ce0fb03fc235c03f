//! One phase as an experiment, with what its manifest says before it begins.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use assay_fleet::gather::sha256_of;
use assay_history::Manifest;
use assay_history::manifest::{
    CallForm, CapabilitiesSection, HistorySection, LoadPhase, LoadSection, LoadSettings,
    MachineSection, RunSection, SettingSection, SpecSection, StoreSection,
};
use assay_model::{Nanos, Setting};
use assay_run::{Extent, Load, Spin};
use assay_store::{Calls, Capabilities, Isolation, StoreTime};
use assay_trace::Trace;
use assay_workload::script::fmke::FmkeSpec;

use crate::actions;
use crate::arrivals::Calendar;
use crate::compiled::{Compiled, replayed};
use crate::exit::from_open;
use crate::experiment::Experiment;
use crate::final_reads::FinalReadsOutcome;
use crate::lab::tied::RunLab;
use crate::load_config::{LoadConfig, Purpose};
use crate::load_settings::load_settings;
use crate::machine;
use crate::setup::Setup;
use crate::via::Via;

impl Setup {
    /// The load of `plan`, which issues `planned` processes if it ends.
    pub fn load_config(
        &self,
        plan: &Compiled,
        purpose: Purpose,
        planned: Option<u64>,
    ) -> Result<LoadConfig> {
        let schedule = plan.schedule();
        let calendar = match (&self.plan.workload.trace, &schedule) {
            (Some(trace), _) => Calendar::Trace(trace),
            (None, Some(schedule)) => Calendar::Script(schedule, plan.warm_up()),
            (None, None) => Calendar::None,
        };
        let calls = self.store.capabilities().calls;
        let load_config = LoadConfig::from(&self.plan.options, purpose, calls, planned, calendar)?;
        let workers = match (&self.member, &load_config.load) {
            (Some(member), Load::Open(open)) => member.workers_max(open.in_flight),
            (Some(member), Load::Closed(closed)) => member.workers_max(closed.sessions as usize),
            (None, _) => usize::MAX,
        };
        let workers = load_config.workers.min(workers);
        Ok(LoadConfig { room: self.store.room(), workers, ..load_config })
    }

    /// What all agents of a fleet must have in common, a line each.
    fn common(&self, plan: &Compiled, load_config: &LoadConfig, is_load: bool) -> String {
        let Extent { processes, duration, warm_up } = load_config.extent;
        // Of a load, the data set says all: how many operations a run has changes nothing.
        let spec = match is_load {
            true => String::new(),
            false => sha256_of(plan.spec_text().as_bytes()),
        };
        let trace = self.plan.workload.trace.as_ref().map(|trace| trace.hash().to_string());
        let trace = trace.unwrap_or_else(|| "none".to_owned());
        let processes = processes.map_or("any number of".to_owned(), |number| number.to_string());
        let duration = duration.map_or("any time".to_owned(), |time| time.to_string());
        format!(
            "seed {}, arrivals {}\nworkload {} {spec}\ntrace {trace}\nload {}\n\
             length {processes} processes, {duration}, warm-up {warm_up}\ndata set {}",
            self.plan.seed,
            self.plan.arrivals,
            self.plan.workload.name,
            load_config.load_text(),
            self.plan.workload.dataset(self.plan.seed).to_line(),
        )
    }

    /// Simulated time has one worker: several would need an order among each other, and a second
    /// one would not make it faster.
    fn in_the_stores_time(&self, load_config: LoadConfig) -> LoadConfig {
        if self.store.capabilities().time == StoreTime::Wall {
            return load_config;
        }
        if load_config.workers > 1 && self.plan.options.threads.is_given() {
            eprintln!("warning: {} runs in simulated time with one worker", self.url);
        }
        let processors = Vec::new();
        LoadConfig { workers: 1, blocking_threads: 0, spin: Spin::Never, processors, ..load_config }
    }

    /// The experiment of one phase, ready to be performed.
    pub fn experiment(
        &self,
        plan: &Compiled,
        load_config: LoadConfig,
        dir: &Path,
        is_load: bool,
    ) -> Result<Experiment> {
        let load_config = self.in_the_stores_time(load_config);
        let mut settings = self.store.settings().map_err(from_open)?;
        settings.extend(self.lab.iter().flat_map(RunLab::settings));
        settings.extend(self.via.iter().flat_map(Via::settings));
        settings.extend(self.plan.workload.fmke_spec().into_iter().flat_map(FmkeSpec::settings));
        settings.extend(self.plan.schedule.settings().filter(|_| !is_load));
        let manifest = self.manifest(plan, &load_config, settings, is_load);
        let common = self.common(plan, &load_config, is_load);
        let header = plan.header(self.plan.seed);
        let fields = plan.fields();
        let (workload_kind, roles, plan) = (plan.workload_kind(), plan.roles(), plan.clone());
        let trace = match is_load {
            true => self.plan.workload.preload()?,
            false => self.plan.workload.trace.clone(),
        };
        let planned = match is_load {
            true => self.loaded(plan.len())?,
            false => trace.as_ref().map_or(plan.len(), |trace| Some(trace.end())),
        };
        let encoder = plan.encoder();
        // Opened once here, so that a damaged trace is found before the run.
        trace.as_ref().map(Trace::source).transpose().map_err(crate::exit::as_usage)?;
        Ok(Experiment {
            store: Arc::clone(&self.store),
            source: Box::new(move || match &trace {
                Some(trace) => replayed(trace),
                None => plan.source(),
            }),
            planned,
            encoder,
            fields,
            workload_kind,
            roles,
            init: self.init,
            load_config,
            is_load,
            seed: self.plan.arrivals,
            dir: dir.to_owned(),
            manifest,
            header,
            listening: Arc::clone(&self.listening),
            show: self.plan.show,
            latency: self.plan.latency,
            run_observer: None,
            style: self.plan.style,
            port: self.port.clone(),
            floor: Nanos::ZERO,
            hop: self.hop.clone(),
            observations: Vec::new(),
            lab: self.lab.as_ref().map(|lab| lab.client.clone()),
            scraper: self.scraper.clone().filter(|_| !is_load),
            unread: Vec::new(),
            schedule: self.plan.schedule.clone(),
            done: actions::ExecutedActions::default(),
            stops_at_failure: is_load,
            final_reads: None,
            read_finally: FinalReadsOutcome::default(),
            used: None,
            member: self.member.clone(),
            share: None,
            common,
        })
    }

    fn manifest(
        &self,
        plan: &Compiled,
        load_config: &LoadConfig,
        settings: Vec<Setting>,
        is_load: bool,
    ) -> Manifest {
        let capabilities = self.store.capabilities();
        let trace_hash = self.plan.workload.trace.as_ref().filter(|_| !is_load);
        let phase = if is_load { LoadPhase::Load } else { LoadPhase::Run };
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let name = self.plan.dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let own =
            || (if is_load { format!("{name}-load") } else { name }, self.plan.command.clone());
        let job = self.member.as_ref().map(|member| member.session.job());
        let (id, command) = job.map_or_else(own, |job| (job.run_id.clone(), job.command.clone()));
        Manifest {
            run: RunSection { id, command, assay: version, ..RunSection::default() },
            spec: SpecSection {
                name: self.plan.workload.name.clone(),
                seed: self.plan.seed.0,
                trace_hash: trace_hash.map(|trace| trace.hash().to_string()).unwrap_or_default(),
                text: plan.spec_text(),
            },
            load: LoadSection {
                model: match load_config.load {
                    Load::Open(_) => "open".to_owned(),
                    Load::Closed(_) => "closed".to_owned(),
                },
                text: match capabilities.time {
                    StoreTime::Wall => load_config.describe(),
                    StoreTime::Simulated => {
                        format!("{}; in simulated time", load_config.describe())
                    }
                },
                workers: load_config.workers as u16,
                settings: LoadSettings {
                    arrival_seed: (self.plan.arrivals != self.plan.seed)
                        .then_some(self.plan.arrivals.0),
                    ..load_settings(load_config, capabilities.time, phase)
                },
            },
            store: StoreSection {
                url: self.url.clone(),
                name: capabilities.name.to_owned(),
                version: self.lab.as_ref().map_or(String::new(), |lab| lab.record.version.clone()),
                capabilities: capabilities_section(&capabilities),
                settings: settings.into_iter().map(SettingSection::from).collect(),
            },
            machine: MachineSection {
                system: machine::system(),
                processor: machine::processor(),
                cores: machine::cores() as u32,
                memory_bytes: machine::memory_bytes(),
                facts: machine::facts(),
            },
            history: HistorySection {
                agent: self.member.as_ref().map_or(0, |member| member.session.agent()),
                width: plan.width(),
                transaction_types: plan.transaction_types(),
                queries: plan.query_names(),
                key_shape: plan.key_shape(),
                ..HistorySection::default()
            },
            hallmark: self.plan.thresholds.clone(),
            ..Manifest::default()
        }
    }
}

/// What the analysis has to know of a store's client.
fn capabilities_section(of: &Capabilities) -> CapabilitiesSection {
    CapabilitiesSection {
        no_op: of.is_no_op,
        calls: Some(match of.calls {
            Calls::Inline => CallForm::Inline,
            Calls::Blocking => CallForm::Blocking,
            Calls::Pipelined => CallForm::Pipelined,
        }),
        persistent: of.is_persistent,
        keeps_other_fields: of.keeps_other_fields,
        isolation: Some(of.isolation.map_or("none", Isolation::name).to_owned()),
        hidden_retries: Some(of.hidden_retries.unwrap_or("none").to_owned()),
    }
}
