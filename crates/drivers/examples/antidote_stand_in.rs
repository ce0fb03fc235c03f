//! The stand-in for AntidoteDB as a program, for clients that are tried without one.
//!
//! `cargo run -p assay-drivers --example antidote_stand_in -- port=8087 data_centres=2
//! delay_ms=1000 certify=on` serves until it is killed; each word may be left out.

#[path = "../tests/antidote_stand_in/server.rs"]
mod server;

use std::time::Duration;

use server::{Config, StandIn};

fn main() -> Result<(), String> {
    let mut config = Config { port: 8087, ..Config::default() };
    for word in std::env::args().skip(1) {
        set(&mut config, &word)?;
    }
    let stand_in = StandIn::start(&config).map_err(|error| format!("no server: {error}"))?;
    println!("{}", stand_in.url());
    loop {
        std::thread::sleep(Duration::from_secs(3600));
    }
}

fn set(config: &mut Config, word: &str) -> Result<(), String> {
    let wrong = || {
        format!(
            "{word:?} is no option; write port=8087 data_centres=1..3 delay_ms=N \
                            certify=on|off"
        )
    };
    let (name, value) = word.split_once('=').ok_or_else(wrong)?;
    let number = value.parse::<u16>().map_err(|_| wrong());
    match (name, value) {
        ("port", _) => config.port = number?,
        ("data_centres", "1" | "2" | "3") => config.data_centres = usize::from(number?),
        ("delay_ms", _) => config.delay = Duration::from_millis(number?.into()),
        ("certify", "on") => config.certify = true,
        ("certify", "off") => config.certify = false,
        _ => return Err(wrong()),
    }
    Ok(())
}
