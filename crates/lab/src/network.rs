//! Network of nodes: on loopback addresses, or each in a network namespace of its own.

pub(crate) mod cut;
mod probe;

use std::net::{Ipv4Addr, SocketAddrV4, TcpListener};
use std::process::Command;

use serde::{Deserialize, Serialize};

use crate::card::Port;
use crate::error::LabError;

/// How far ports are moved when they are in use; the first free one is taken.
const SHIFTS: [u16; 3] = [0, 10_000, 20_000];
/// The host's own address within the network of a lab with namespaces.
const HOST: u8 = 254;

/// What is added to the number of a node for the address of a proxy before it.
const ENTRIES: u8 = 200;

/// Where nodes live.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Network {
    /// On addresses 127.42.SLOT.NODE of this machine.
    #[default]
    Loopback,
    /// Each in a namespace of its own at 10.42.SLOT.NODE, behind a bridge; needs root.
    Namespaces,
}

impl Network {
    /// The address of node `node` in slot `slot`.
    pub(crate) fn address(self, slot: u8, node: usize) -> Ipv4Addr {
        let node = u8::try_from(node).expect("no lab has more than a few nodes");
        match self {
            Network::Loopback => Ipv4Addr::new(127, 42, slot, node),
            Network::Namespaces => Ipv4Addr::new(10, 42, slot, node),
        }
    }

    /// The address where a proxy takes what is for node `node`: on loopback, wherever nodes live.
    pub(crate) fn entry(slot: u8, node: usize) -> Ipv4Addr {
        let node = u8::try_from(node).expect("no lab has more than a few nodes");
        Ipv4Addr::new(127, 42, slot, ENTRIES + node)
    }

    /// The words before a program that runs on node `node`. `ip netns exec` would give it mounts of
    /// its own too, which would keep a disk that was replaced.
    pub(crate) fn prefix(self, slot: u8, node: usize) -> Vec<String> {
        match self {
            Network::Loopback => Vec::new(),
            Network::Namespaces => {
                vec!["nsenter".to_owned(), format!("--net=/run/netns/{}", name(slot, node))]
            }
        }
    }

    /// How far the ports of the nodes must be moved so that all of them are free.
    pub(crate) fn shift(self, slot: u8, nodes: usize, ports: &[Port]) -> Result<u16, LabError> {
        if self == Network::Namespaces {
            return Ok(0);
        }
        let is_free = |node: usize, port: u16| {
            TcpListener::bind(SocketAddrV4::new(self.address(slot, node), port)).is_ok()
        };
        let taken = |shift: u16| {
            let all = (1..=nodes).flat_map(|node| ports.iter().map(move |port| (node, port)));
            let mut all = all.map(|(node, port)| (node, port.number.saturating_add(shift)));
            all.find(|(node, port)| !is_free(*node, *port))
        };
        let Some((node, port)) = taken(SHIFTS[0]) else { return Ok(SHIFTS[0]) };
        let free = SHIFTS[1..].iter().copied().find(|shift| taken(*shift).is_none());
        free.ok_or_else(|| {
            LabError::Order(format!(
                "port {port} of {} is taken, and so are those 10,000 and 20,000 above; `ss -ltnp` \
                 shows by whom",
                self.address(slot, node)
            ))
        })
    }

    /// Makes the network of a lab, without nodes. What an earlier lab left there is removed.
    pub(crate) fn build(self, slot: u8) -> Result<(), LabError> {
        if self == Network::Loopback {
            return Ok(());
        }
        self.remove(slot);
        let bridge = bridge(slot);
        ip(&format!("link add {bridge} type bridge"))?;
        ip(&format!("addr add 10.42.{slot}.{HOST}/24 dev {bridge}"))?;
        ip(&format!("link set {bridge} up"))
    }

    /// Makes a place for node `node`. The slot is ours, so whatever has its name was left behind.
    pub(crate) fn add(self, slot: u8, node: usize) -> Result<(), LabError> {
        if self == Network::Loopback {
            return Ok(());
        }
        let (name, bridge) = (name(slot, node), bridge(slot));
        let address = self.address(slot, node);
        self.take_away(slot, node);
        ip(&format!("netns add {name}"))?;
        ip(&format!("link add {name} type veth peer name eth0 netns {name}"))?;
        ip(&format!("link set {name} master {bridge}"))?;
        ip(&format!("link set {name} up"))?;
        ip(&format!("-n {name} link set lo up"))?;
        ip(&format!("-n {name} addr add {address}/24 dev eth0"))?;
        ip(&format!("-n {name} link set eth0 up"))
    }

    /// Removes the place of node `node`.
    pub(crate) fn take_away(self, slot: u8, node: usize) {
        if self == Network::Namespaces {
            remove_place(&name(slot, node));
        }
    }

    /// Removes everything that a lab in `slot` has made.
    pub(crate) fn remove(self, slot: u8) {
        if self == Network::Loopback {
            return;
        }
        // Namespaces by their names, and cables whose namespaces have lost theirs.
        let of_slot = format!("{}-", bridge(slot));
        let entries = ["/run/netns", "/sys/class/net"].map(std::fs::read_dir);
        let entries = entries.into_iter().flatten().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| name.starts_with(&of_slot)).for_each(|name| remove_place(&name));
        let _ = ip(&format!("link del {}", bridge(slot)));
    }
}

/// Removes a node's cable and namespace, or what there is of them. The cable goes first: with a
/// namespace alone it goes some time later, and until then nobody else can have its name.
fn remove_place(name: &str) {
    let _ = ip(&format!("link del {name}"));
    let _ = ip(&format!("netns del {name}"));
}

fn bridge(slot: u8) -> String {
    format!("aslab{slot}")
}

/// The name of a node's namespace, and of its cable's end outside.
fn name(slot: u8, node: usize) -> String {
    format!("aslab{slot}-{node}")
}

fn ip(words: &str) -> Result<(), LabError> {
    let output = Command::new("ip").args(words.split(' ')).output();
    let output = output.map_err(|_| {
        LabError::Missing("network namespaces need `ip`: apt-get install iproute2".into())
    })?;
    if output.status.success() {
        return Ok(());
    }
    let reported = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(LabError::Failed(format!("`ip {words}` failed: {reported}; network namespaces need root")))
}

#[cfg(test)]
mod tests {
    use super::cut::Cuts;
    use super::*;
    use crate::package_cache::find_program;
    use crate::slot::Slot;

    #[test]
    fn every_node_of_every_lab_has_an_address_of_its_own() {
        assert_eq!(Network::Loopback.address(3, 2), Ipv4Addr::new(127, 42, 3, 2));
        assert_eq!(Network::Namespaces.address(3, 2), Ipv4Addr::new(10, 42, 3, 2));
    }

    #[test]
    fn what_an_earlier_node_has_left_is_no_obstacle() {
        let claim = Slot::claim().unwrap();
        let (network, slot) = (Network::Namespaces, claim.number);
        if network.build(slot).and_then(|()| network.add(slot, 1)).is_err() {
            eprintln!("NOT RUN: only root with CAP_SYS_ADMIN makes network namespaces");
            return network.remove(slot);
        }
        // A namespace that somebody still uses goes without its name, and keeps its cable.
        let namespace = std::fs::File::open(format!("/run/netns/{}", name(slot, 1))).unwrap();
        ip(&format!("netns del {}", name(slot, 1))).unwrap();
        network.add(slot, 1).unwrap();
        network.add(slot, 1).unwrap();
        network.remove(slot);
        assert!(!std::path::Path::new("/sys/class/net").join(name(slot, 1)).exists());
        drop(namespace);
    }

    #[test]
    fn a_link_is_cut_only_when_nothing_passes_it() {
        let claim = Slot::claim().expect("there are enough slots");
        let (network, slot) = (Network::Namespaces, claim.number);
        let place = |node| network.add(slot, node);
        let built = network.build(slot).and_then(|()| (1..=3).try_for_each(place));
        let nft = find_program(&[], &[], cut::NFT);
        let (Ok(()), Some(nft)) = (built, nft) else {
            eprintln!("NOT RUN: it takes root with CAP_SYS_ADMIN, and nft (nftables)");
            return network.remove(slot);
        };
        let probe = |cuts: &Cuts| {
            let probed = network.probe(slot, 3, cuts);
            probed.map_err(|error| error.to_string())
        };
        let set = |cuts: &Cuts| network.cut(slot, 3, cuts, &nft).expect("rules can be set");
        let (none, one_way) = (Cuts::new(), cut::one_way(&[2], 3));
        let (alone, clients) = (cut::isolate(&[2], 3), cut::from_clients(&[2]));
        assert_eq!(probe(&none), Ok(()));
        let uncut = probe(&one_way).unwrap_err();
        assert_eq!(
            uncut,
            "the link from node 2 to node 1 is not cut, and 1 more are not as they should be"
        );
        for cuts in [&one_way, &alone, &clients] {
            set(cuts);
            assert_eq!(probe(cuts), Ok(()));
        }
        let unhealed = probe(&none).unwrap_err();
        assert!(unhealed.contains(" is still cut, and "), "{unhealed}");
        set(&none);
        assert_eq!(probe(&none), Ok(()));
        network.remove(slot);
    }

    #[test]
    fn ports_move_when_somebody_has_one_of_them() {
        let ports = [Port { name: "a", number: 7311 }, Port { name: "b", number: 7312 }];
        let network = Network::Loopback;
        let claim = Slot::claim().unwrap();
        let slot = claim.number;
        assert_eq!(network.shift(slot, 2, &ports).unwrap(), 0);
        let taken = TcpListener::bind((network.address(slot, 2), 7312)).unwrap();
        assert_eq!(network.shift(slot, 1, &ports).unwrap(), 0);
        assert_eq!(network.shift(slot, 2, &ports).unwrap(), 10_000);
        let others = [17_312, 27_312]
            .map(|port| TcpListener::bind((network.address(slot, 2), port)).unwrap());
        let reported = network.shift(slot, 2, &ports).unwrap_err().to_string();
        assert!(reported.contains(&format!("port 7312 of 127.42.{slot}.2 is taken")), "{reported}");
        drop((taken, others));
    }
}
