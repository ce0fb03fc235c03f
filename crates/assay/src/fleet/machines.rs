//! Names of this machine and this build, as agents tell them.

/// The version with what distinguishes two builds of it.
pub fn build() -> String {
    let features = if cfg!(debug_assertions) { " (debug)" } else { "" };
    format!("{}{features} {}", env!("CARGO_PKG_VERSION"), std::env::consts::ARCH)
}

/// The machine's name.
pub fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// The identity of the running kernel; empty where there is none.
pub fn boot_id() -> String {
    let read = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    read.map(|text| text.trim().to_owned()).unwrap_or_default()
}
