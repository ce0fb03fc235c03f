//! The binary as its users run it.

mod bundle;
mod place;

mod bad_input;
mod golden;
mod repeat;
