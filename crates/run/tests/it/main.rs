//! The executor against simulated stores, in told time: no sleeping, no wall clock.

mod bursts;
mod closed;
mod lanes;
mod open;
mod partly_open;
mod queries;
mod rates;
mod seeds;
mod stand_ins;
