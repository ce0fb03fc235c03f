//! The executor against simulated stores, in simulated time: no sleeping, no wall clock.

mod bursts;
mod closed;
mod open;
mod partly_open;
mod queries;
mod rates;
mod seeds;
mod shares;
mod stand_ins;
mod workers;
