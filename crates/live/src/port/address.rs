//! Address of the control port.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// `PORT`, `localhost:PORT` or `ADDRESS:PORT`, of this machine alone without `is_any`.
///
/// # Errors
/// If it is no address, or a public one.
pub fn parse(text: &str, is_any: bool) -> Result<SocketAddr, String> {
    let address = address(text)?;
    if address.ip().is_loopback() || is_any {
        return Ok(address);
    }
    Err(format!(
        "{} can be reached from other machines, and whoever reaches the port steers the run; if \
         that is wanted, say --port-any",
        address.ip()
    ))
}

/// `PORT`, `localhost:PORT` or `ADDRESS:PORT`.
///
/// # Errors
/// If it is no address.
pub fn address(text: &str) -> Result<SocketAddr, String> {
    let (host, port) = text.rsplit_once(':').unwrap_or(("", text));
    let local = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let host = match host.trim_start_matches('[').trim_end_matches(']') {
        "" | "localhost" => local,
        host => host
            .parse()
            .map_err(|_| format!("{text:?} is no address; write 9464 or 127.0.0.1:9464"))?,
    };
    let port = port.parse().map_err(|_| {
        format!("{text:?} names no port from 0 to 65535; write 9464 or 127.0.0.1:9464")
    })?;
    Ok(SocketAddr::new(host, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_port_is_on_this_machine_alone() {
        for (text, address) in [
            ("9464", "127.0.0.1:9464"),
            ("0", "127.0.0.1:0"),
            (":9464", "127.0.0.1:9464"),
            ("localhost:1", "127.0.0.1:1"),
            ("127.0.0.2:7", "127.0.0.2:7"),
            ("[::1]:7", "[::1]:7"),
        ] {
            assert_eq!(parse(text, false).unwrap().to_string(), address, "{text}");
        }
    }

    #[test]
    fn other_machines_reach_it_only_if_that_is_said() {
        for text in ["0.0.0.0:9464", "[::]:9464", "192.168.1.5:1"] {
            assert!(parse(text, false).unwrap_err().contains("--port-any"), "{text}");
            assert_eq!(parse(text, true).unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in ["", "x", "70000", "-1", "example.com:80", "127.0.0.1:", "1:2:3"] {
            assert!(parse(text, true).is_err(), "{text}");
        }
    }
}
