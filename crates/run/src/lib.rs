//! Asks: turns a plan into requests at the right times, with one record for every operation.
//!
//! [`execute`] starts a thread per *lane*. A lane owns its source of processes,
//! its client of the store and its sink for records; lanes share nothing on the hot path. The load
//! model ([`Load`]) decides when a process is asked: open arrivals come by the clock, closed
//! sessions come when the answer before has come.

pub mod arrival;
pub mod load;

pub mod clock;
pub mod control;
pub mod gauge;
pub mod processors;
pub mod rates;
pub mod sink;

mod lane;

pub mod executor;

pub use arrival::{
    ArrivalProcess, Arrivals, Form, Mmpp2, Schedule, Shape, Sine, Spike, Stage, Times, Timetable,
};
pub use clock::{Clock, Told, Wall};
pub use control::Control;
pub use executor::{ExecuteError, Lanes, Outcome, execute, execute_in_told_time};
pub use gauge::{Gauge, Latencies, Latency, Snapshot, Tally};
pub use load::{Asks, Closed, Extent, Load, Open, Overflow, Spin, Think};
pub use rates::{RATE_LEAD, RateChange, SetRateError};
pub use sink::Sink;
