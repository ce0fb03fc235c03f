//! Run while it goes on: progress, the dashboard, the control port with its metrics, the rate.
//!
//! One thread ([`progress::watch`]) reads the live counters for all observers.

pub mod progress;
pub mod rate_control;

pub mod interval;

pub mod dashboard;
pub mod lines;
pub mod port;
