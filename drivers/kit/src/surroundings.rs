//! Surroundings of this process, as far as stores ask.

use std::ffi::OsString;
use std::path::PathBuf;

/// What a store may ask about the place where it runs; only the binary looks it up.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings {
    /// The value of an environment variable.
    pub variable: fn(&str) -> Option<OsString>,
    /// Where this program is, if the system tells.
    pub program: fn() -> Option<PathBuf>,
}

impl Surroundings {
    /// An empty environment, and an unknown program.
    pub const NONE: Surroundings = Surroundings { variable: |_| None, program: || None };
}
