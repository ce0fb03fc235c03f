//! Sockets on which the servers of a lab listen, from the kernel.

use std::collections::BTreeSet;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::lab::Cluster;

/// The state of a socket that listens, in `/proc/net/tcp`.
const LISTENS: &str = "0A";

/// Every process of the cluster listens at its node's own address alone.
#[track_caller]
pub fn assert_listens_at_home(cluster: &mut Cluster) {
    for node in cluster.lab().record().nodes {
        let home: IpAddr = node.address.parse().expect("an address is one");
        for server in &node.servers {
            let found = addresses(server.pid);
            assert_eq!(found, BTreeSet::from([home]), "node {}, {}", node.number, server.role);
        }
    }
}

/// The addresses that process `pid` listens at.
fn addresses(pid: u32) -> BTreeSet<IpAddr> {
    let files = fs::read_dir(format!("/proc/{pid}/fd")).expect("the process is there").flatten();
    let target = |file: fs::DirEntry| Some(fs::read_link(file.path()).ok()?.to_str()?.to_owned());
    let sockets = files.filter_map(target);
    let inodes: BTreeSet<String> = sockets
        .filter_map(|name| Some(name.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned()))
        .collect();
    let tables = ["tcp", "tcp6"].map(|table| {
        fs::read_to_string(format!("/proc/{pid}/net/{table}")).expect("the kernel has TCP")
    });
    let mut found = BTreeSet::new();
    for line in tables.iter().flat_map(|table| table.lines().skip(1)) {
        let fields: Vec<&str> = line.split_whitespace().collect();
        if fields[3] == LISTENS && inodes.contains(fields[9]) {
            found.insert(address(fields[1].split(':').next().unwrap_or_default()));
        }
    }
    found
}

/// An address as the kernel writes it: words of four bytes, each in the machine's own order.
fn address(text: &str) -> IpAddr {
    let words = text.as_bytes().chunks(8).map(|word| {
        let word = std::str::from_utf8(word).expect("the kernel writes digits");
        u32::from_str_radix(word, 16).expect("the kernel writes digits").to_ne_bytes()
    });
    let bytes: Vec<u8> = words.flatten().collect();
    match bytes.len() {
        4 => Ipv4Addr::from(<[u8; 4]>::try_from(bytes).expect("there are four")).into(),
        _ => {
            let bytes = <[u8; 16]>::try_from(bytes).expect("there are sixteen");
            Ipv6Addr::from(bytes).to_canonical()
        }
    }
}

#[test]
fn addresses_are_read_as_the_kernel_writes_them() {
    assert_eq!(address("0100007F"), IpAddr::from([127, 0, 0, 1]));
    assert_eq!(address("0000000000000000FFFF000001002A7F"), IpAddr::from([127, 42, 0, 1]));
    assert!(address("00000000000000000000000000000000").is_unspecified());
    let listener = std::net::TcpListener::bind("127.0.0.9:0").unwrap();
    assert!(addresses(std::process::id()).contains(&IpAddr::from([127, 0, 0, 9])));
    drop(listener);
}
