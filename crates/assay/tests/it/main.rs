//! The binary as its users run it.
