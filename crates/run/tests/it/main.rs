//! The executor against simulated stores, in told time: no sleeping, no wall clock.

mod closed;
mod lanes;
mod open;
mod stand_ins;
