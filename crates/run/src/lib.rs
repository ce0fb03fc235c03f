//! Executor: turns a plan into requests at the right times, with one record per operation.
//!
//! [`execute`] starts a thread per *worker*. A worker owns its source of processes,
//! its client of the store and its sink for records; workers share nothing on the hot path. The
//! load model ([`Load`]) decides when a process is issued: open arrivals come by the clock, closed
//! sessions come when the answer before has come.

pub mod arrival;
pub mod load;

pub mod clock;
pub mod control;
pub mod live_counters;
pub mod processors;
pub mod rates;
pub mod sink;

mod worker;

pub mod executor;

pub use arrival::text;
pub use arrival::{
    ArrivalProcess, Arrivals, Mmpp2, ProfileForm, RateProfile, Schedule, ScheduleTimes, Sine,
    Spike, Stage, Timetable,
};
pub use clock::{Clock, SimulatedClock, Wall};
pub use control::Control;
pub use executor::{ExecuteError, RunOutcome, Start, Workers, execute, execute_in_simulated_time};
pub use live_counters::{Latencies, Latency, LiveCounters, Snapshot, WorkerStats};
pub use load::{Closed, Extent, Load, Open, Overflow, Share, Spin, Think, WorkloadKind};
pub use rates::{RATE_LEAD, RateChange, SetRateError};
pub use sink::Sink;
