//! Load model as the manifest keeps it.

use assay_history::manifest::{LoadPhase, LoadSettings, Spinning};
use assay_run::{ArrivalProcess, Arrivals, Load, Spin};
use assay_store::StoreTime;

use crate::load_config::LoadConfig;

/// The settings of the load model that the analyzer needs to know.
pub fn load_settings(load_config: &LoadConfig, time: StoreTime, phase: LoadPhase) -> LoadSettings {
    let mut settings = LoadSettings {
        phase,
        timeout_ns: Some(load_config.timeout.0),
        deadline_ns: Some(load_config.deadline.0),
        blocking_threads: load_config.blocking_threads as u64,
        spin: match load_config.spin {
            Spin::Never => Spinning::Never,
            Spin::LastStretch => Spinning::LastStretch,
            Spin::Always => Spinning::Always,
        },
        cpu_list: (!load_config.processors.is_empty())
            .then(|| assay_run::processors::show(&load_config.processors)),
        simulated_time: time == StoreTime::Simulated,
        ..LoadSettings::default()
    };
    match &load_config.load {
        Load::Open(open) => {
            let Arrivals { rate_profile, process } = &open.arrivals;
            match (process, rate_profile.constant_rate()) {
                // No one number tells how fast a written schedule is at any moment.
                (ArrivalProcess::Recorded(written), Some(rate)) => {
                    settings.speed = Some(rate / written.rate());
                }
                (_, Some(rate)) => settings.rate = Some(rate.to_string()),
                (_, None) => settings.rate = Some(rate_profile.to_string()),
            }
            let bound = load_config.in_flight(open);
            settings.arrivals = Some(process.to_string());
            settings.in_flight = Some(open.in_flight as u64);
            settings.in_flight_bound = (bound < open.in_flight).then_some(bound as u64);
            settings.overflow = Some(open.overflow.name().to_owned());
        }
        Load::Closed(closed) => {
            settings.closed = Some(closed.sessions as u64);
            settings.target_throughput = closed.target_rate;
        }
    }
    settings
}
