//! A fleet on machines of its own: network namespaces over a bridge.
//!
//! All of them share one kernel, so the truth about their clocks is known: every second probe was
//! made by its raw clock.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use assay_history::{Manifest, State, read_clock};
use assay_model::{Probe, band_at};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::place::{ASSAY, Place, Running, wait_until};
use crate::run_dir::manifest;

/// Namespaces of the tests of this process that have been made.
static MADE: AtomicU32 = AtomicU32::new(0);
/// How much later what an agent says leaves the relay.
const LATE: Duration = Duration::from_millis(2);

/// A hub with a bridge, and spokes on it, each a network namespace; gone with this value.
struct Wheel {
    name: String,
    spokes: u32,
}

fn ip(words: &str) -> Output {
    let output = Command::new("ip").args(words.split_whitespace()).output();
    output.expect("iproute2 is installed")
}

#[track_caller]
fn ip_fine(words: &str) {
    let output = ip(words);
    assert!(output.status.success(), "ip {words}: {}", String::from_utf8_lossy(&output.stderr));
}

impl Wheel {
    /// Makes it; `None`, loudly, where namespaces cannot be made.
    fn of(spokes: u32) -> Option<Wheel> {
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let wheel = Wheel { name: format!("as{}-{number}", std::process::id()), spokes };
        let name = &wheel.name;
        let made = Command::new("ip").args(["netns", "add", &format!("{name}-hub")]).output();
        if !made.as_ref().is_ok_and(|made| made.status.success()) {
            eprintln!("NOT RUN: network namespaces cannot be made here: {made:?}");
            return None;
        }
        let hub = format!("-n {name}-hub");
        ip_fine(&format!("{hub} link add bridge type bridge"));
        ip_fine(&format!("{hub} addr add 10.77.0.1/24 dev bridge"));
        ip_fine(&format!("{hub} link set bridge up"));
        ip_fine(&format!("{hub} link set lo up"));
        for spoke in 0..spokes {
            let there = format!("{name}-{spoke}");
            ip_fine(&format!("netns add {there}"));
            ip_fine(&format!("{hub} link add to{spoke} type veth peer name wire netns {there}"));
            ip_fine(&format!("{hub} link set to{spoke} master bridge up"));
            ip_fine(&format!("-n {there} addr add 10.77.0.{}/24 dev wire", 10 + spoke));
            ip_fine(&format!("-n {there} link set wire up"));
            ip_fine(&format!("-n {there} link set lo up"));
        }
        Some(wheel)
    }

    /// Starts the binary in the namespace `-name` of these.
    fn start(&self, place: &Place, name: &str, words: &str) -> Running {
        let mut command = place.program("ip");
        command.args(["netns", "exec", &format!("{}-{name}", self.name), ASSAY]);
        command.args(words.split_whitespace());
        place.spawn(command)
    }

    /// The coordinator of a run by all spokes, when it listens.
    fn coordinator(&self, place: &Place, words: &str) -> Running {
        place.fine("fleet keys -o keys");
        let run = format!(
            "run ycsb-c -t null: --records 100 --rate 1k/s --floor 0s {words} --agents {} --listen \
             10.77.0.1:7447 --keys keys/coordinator.pem --run-dir b",
            self.spokes
        );
        let coordinator = self.start(place, "hub", &run);
        wait_until("it listens", || coordinator.said().contains(" at 10.77.0.1:7447"));
        coordinator
    }

    fn agent(&self, place: &Place, index: u32, port: u16) -> Running {
        let words = format!(
            "agent --join 10.77.0.1:{port} --keys keys/agent.pem --index {index} --run-dir \
             part-{index}"
        );
        self.start(place, &index.to_string(), &words)
    }

    /// Passes on what comes to port 7448 of the hub to the coordinator, and back; what the agent
    /// says is late. It ends with the test's process.
    fn relay(&self) {
        let namespace = File::open(format!("/run/netns/{}-hub", self.name)).expect("it was made");
        let (sender, listens) = mpsc::channel();
        thread::spawn(move || {
            // Threads that this one starts are in the namespace too; no other is.
            move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))
                .expect("it was made by us");
            let listener = TcpListener::bind("10.77.0.1:7448").expect("the namespace is ours");
            sender.send(()).expect("the test waits");
            for agent in listener.incoming().flatten() {
                let Ok(coordinator) = TcpStream::connect("10.77.0.1:7447") else { return };
                let clone = |stream: &TcpStream| stream.try_clone().expect("there are handles");
                let (back, there) = (clone(&agent), clone(&coordinator));
                thread::spawn(move || pass_on(agent, there, LATE));
                thread::spawn(move || pass_on(coordinator, back, Duration::ZERO));
            }
        });
        listens.recv().expect("the relay listens");
    }

    /// From now on nothing that an agent says leaves its machine.
    fn silence(&self, spoke: u32) {
        let rules = "add table inet cut; add chain inet cut out { type filter hook output priority \
                     0 ; }; add rule inet cut out drop";
        let output = Command::new("ip")
            .args(["netns", "exec", &format!("{}-{spoke}", self.name), "nft", rules])
            .output()
            .expect("iproute2 is installed");
        assert!(output.status.success(), "nft: {}", String::from_utf8_lossy(&output.stderr));
    }
}

impl Drop for Wheel {
    fn drop(&mut self) {
        let spokes = (0..self.spokes).map(|spoke| spoke.to_string());
        for name in spokes.chain(["hub".to_owned()]) {
            ip(&format!("netns del {}-{name}", self.name));
        }
    }
}

fn pass_on(mut from: TcpStream, mut to: TcpStream, late: Duration) {
    let _ = to.set_nodelay(true);
    let mut bytes = vec![0; 1 << 16];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        thread::sleep(late);
        if to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}

/// The probes through the network, and those of the kernel's raw clock, which follow them.
fn by_kind(probes: &[Probe]) -> Vec<(Probe, Probe)> {
    let is_way = |probe: &Probe| probe.replied >= probe.received;
    let pairs = probes.windows(2).filter(|two| is_way(&two[0]) && !is_way(&two[1]));
    pairs.map(|two| (two[0], two[1])).collect()
}

#[test]
fn the_true_offset_lies_in_the_band_of_a_way_that_is_slow_in_one_direction() {
    let Some(wheel) = Wheel::of(3) else { return };
    let place = Place::new();
    let coordinator = wheel.coordinator(&place, "--duration 3s --seed 4");
    wheel.relay();
    let agents = [0, 1, 2].map(|index| {
        let port = if index == 2 { 7448 } else { 7447 };
        wheel.agent(&place, index, port)
    });
    agents.into_iter().for_each(|agent| drop(agent.wait().code(0)));
    coordinator.wait().code(0).shows("Agents");
    let whole = manifest(&place, "b");
    assert_eq!((whole.state, whole.agents.len()), (State::Finished, 3));
    for agent in &whole.agents {
        let (least, most) = (agent.start_least_ns.unwrap(), agent.start_most_ns.unwrap());
        let spread = least.abs().max(most.abs());
        assert!(spread < 1_000_000, "agent {} began {least} to {most} ns late", agent.agent);
    }
    let clocks = read_clock(&place.path("b")).expect("it is ours").expect("clocks were probed");
    for (agent, probes) in &clocks {
        let both = by_kind(probes);
        // Every 120 ms for 3 s, and ten before the start; a busy machine may miss a few.
        assert!(both.len() > 25, "agent {agent}: {} of {}", both.len(), probes.len());
        let ways: Vec<Probe> = both.iter().map(|(way, _)| *way).collect();
        let mut off = Vec::new();
        for (way, raw) in &both {
            let band = band_at(&ways, way.sent).expect("there are probes");
            let truth = band_at(&[*raw], way.sent).expect("there is one");
            let is_within = band.low <= truth.high && truth.low <= band.high;
            assert!(is_within, "agent {agent}: {truth:?} is not in {band:?}");
            off.push(band.center() - truth.center());
        }
        off.sort_unstable();
        let middle = off[off.len() / 2];
        match agent {
            // Half of what the two ways differ by: the middle is wrong, and its band says so.
            2 => assert!(middle < -800_000, "{middle}"),
            _ => assert!(middle.abs() < 500_000, "{middle}"),
        }
    }
}

#[test]
fn a_cut_in_one_direction_ends_the_load_within_the_lease() {
    let Some(wheel) = Wheel::of(3) else { return };
    let place = Place::new();
    let coordinator = wheel.coordinator(&place, "--duration 60s --lease 1s --seed 4");
    let [first, second, cut] = [0, 1, 2].map(|index| wheel.agent(&place, index, 7447));
    wait_until("all issue", || coordinator.said().contains("all 3 agents are running"));
    let begun = Instant::now();
    wheel.silence(2);
    coordinator.wait().code(1).says("agent 2 on").says("was lost while running");
    first.wait().code(4).says("agent 2 on");
    second.wait().code(4).says("agent 2 on");
    cut.wait().code(4).says("no answer of the coordinator");
    assert!(begun.elapsed() < Duration::from_secs(12), "{:?}", begun.elapsed());
    let kept = Manifest::read(&place.path("part-2")).expect("its part is closed");
    let until = kept.phases.iter().map(|phase| phase.to_ns).max().expect("it has a phase");
    // A second of lease, and the length of a call that gets no answer.
    assert!(until < 8_000_000_000, "{until}");
    assert_eq!(manifest(&place, "b").state, State::Failed);
}
