//! Counters of the operating system.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use super::{metric, part};

/// Nanoseconds of the unit in which Linux tells processor time: 1/100 s wherever we run.
const TICK_NS: f64 = 1e7;

/// Bytes of the unit in which Linux tells memory in `status`.
const KIB: f64 = 1024.0;

/// The places that are read again and again.
pub struct System {
    workers: Vec<(String, PathBuf)>,
    throttle: Option<Throttle>,
}

/// Where the control group tells how long it held the process back.
struct Throttle {
    file: PathBuf,
    key: &'static str,
    unit_ns: f64,
}

/// Numbers by part and metric.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    values: BTreeMap<(String, &'static str), f64>,
}

impl System {
    /// Finds the workers and the control group; missing ones are not read.
    pub fn open() -> System {
        System { workers: workers(), throttle: throttle() }
    }

    /// Reads everything that the system tells.
    pub fn read(&self) -> Reading {
        let mut reading = Reading::default();
        reading.add(part::MACHINE, text("/proc/stat"), machine);
        reading.add(part::MACHINE, text("/proc/net/snmp"), tcp);
        reading.add(part::PROCESS, text("/proc/self/stat"), process);
        reading.add(part::PROCESS, text("/proc/self/status"), memory);
        if let Some(throttle) = &self.throttle {
            let held = text(&throttle.file);
            reading.add(part::PROCESS, held, |text| {
                let held = keyed(text, throttle.key)? * throttle.unit_ns;
                Some(vec![(metric::THROTTLED, held)])
            });
        }
        for (name, dir) in &self.workers {
            reading.add(name, text(dir.join("schedstat")), schedule);
            reading.add(name, text(dir.join("status")), |text| {
                Some(vec![(metric::PREEMPTED, keyed(text, "nonvoluntary_ctxt_switches:")?)])
            });
        }
        reading
    }
}

impl Reading {
    fn add(
        &mut self,
        part: &str,
        text: Option<String>,
        parse: impl Fn(&str) -> Option<Vec<(&'static str, f64)>>,
    ) {
        let found = text.as_deref().and_then(parse).unwrap_or_default();
        self.values.extend(found.into_iter().map(|(name, value)| ((part.to_owned(), name), value)));
    }

    /// Counters as they have grown since `origin`; everything else as it is.
    pub fn since(mut self, origin: &Reading) -> Reading {
        for (key, value) in &mut self.values {
            if key.1 != metric::MEMORY {
                *value -= origin.values.get(key).copied().unwrap_or(0.0);
            }
        }
        self
    }

    /// Visits every number with its part and metric.
    pub fn each(&self, visit: &mut dyn FnMut(&str, &str, f64)) {
        self.values.iter().for_each(|((part, name), value)| visit(part, name, *value));
    }
}

fn text(path: impl AsRef<std::path::Path>) -> Option<String> {
    fs::read_to_string(path).ok()
}

/// The threads of this process that are workers.
fn workers() -> Vec<(String, PathBuf)> {
    let Ok(threads) = fs::read_dir("/proc/self/task") else { return Vec::new() };
    let named = threads.flatten().filter_map(|thread| {
        let name = text(thread.path().join("comm"))?.trim().to_owned();
        name.strip_prefix("worker-")?.parse::<usize>().ok()?;
        Some((name, thread.path()))
    });
    named.collect()
}

/// The control group's file that has what we want, of the second version or of the first.
fn throttle() -> Option<Throttle> {
    let groups = text("/proc/self/cgroup")?;
    let of = |controller: &str| {
        groups.lines().find_map(|line| {
            let mut fields = line.splitn(3, ':').skip(1);
            let controllers = fields.next()?;
            let path = fields.next()?.trim_start_matches('/');
            controllers.split(',').any(|name| name == controller).then(|| path.to_owned())
        })
    };
    let places = [
        ("/sys/fs/cgroup", of(""), "throttled_usec", 1e3),
        ("/sys/fs/cgroup/cpu", of("cpu"), "throttled_time", 1.0),
        // In a container the group is the root of what is seen, whatever its path outside is.
        ("/sys/fs/cgroup", Some(String::new()), "throttled_usec", 1e3),
    ];
    places.into_iter().find_map(|(root, path, key, unit_ns)| {
        let file = PathBuf::from(root).join(path?).join("cpu.stat");
        keyed(&text(&file)?, key)?;
        Some(Throttle { file, key, unit_ns })
    })
}

/// The number behind `key` at the beginning of a line.
fn keyed(text: &str, key: &str) -> Option<f64> {
    let line = text.lines().find(|line| line.split_whitespace().next() == Some(key))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// The first line of `/proc/stat`: user, nice, system, idle, iowait, irq, softirq, steal.
fn machine(text: &str) -> Option<Vec<(&'static str, f64)>> {
    let line = text.lines().find(|line| line.starts_with("cpu "))?;
    let ticks: Vec<f64> =
        line.split_whitespace().skip(1).take(8).filter_map(|word| word.parse().ok()).collect();
    let [user, nice, system, idle, wait, irq, soft, steal] = ticks[..] else { return None };
    let busy = user + nice + system + irq + soft;
    Some(vec![
        (metric::CPU, busy * TICK_NS),
        (metric::CAPACITY, (busy + idle + wait + steal) * TICK_NS),
        (metric::STEAL, steal * TICK_NS),
    ])
}

/// `/proc/net/snmp` names its columns in one line, the next has the numbers.
fn tcp(text: &str) -> Option<Vec<(&'static str, f64)>> {
    let mut lines = text.lines().filter(|line| line.starts_with("Tcp:"));
    let (names, numbers) = (lines.next()?, lines.next()?);
    let column = |expected: &str| {
        let place = names.split_whitespace().position(|name| name == expected)?;
        numbers.split_whitespace().nth(place)?.parse().ok()
    };
    Some(vec![
        (metric::SEGMENTS, column("OutSegs")?),
        (metric::RETRANSMITS, column("RetransSegs")?),
    ])
}

/// `/proc/self/stat`: the command may hold blanks, so fields count from its closing bracket.
fn process(text: &str) -> Option<Vec<(&'static str, f64)>> {
    let (_, fields) = text.rsplit_once(')')?;
    let mut ticks = fields.split_whitespace().skip(11);
    let (user, system): (f64, f64) = (ticks.next()?.parse().ok()?, ticks.next()?.parse().ok()?);
    Some(vec![(metric::CPU, (user + system) * TICK_NS)])
}

fn memory(text: &str) -> Option<Vec<(&'static str, f64)>> {
    Some(vec![(metric::MEMORY, keyed(text, "VmRSS:")? * KIB)])
}

/// A thread's `schedstat`: time on a processor, time waiting for one, in nanoseconds.
fn schedule(text: &str) -> Option<Vec<(&'static str, f64)>> {
    let mut numbers = text.split_whitespace().map(str::parse::<f64>);
    let (used, waited) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    Some(vec![(metric::CPU, used), (metric::WAITED, waited)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_is_busy_idle_or_robbed() {
        let text = "cpu  10 1 5 80 2 1 1 4 0 0\ncpu0 10 1 5 80 2 1 1 4 0 0\n";
        let found = machine(text).unwrap();
        assert_eq!(found, [("cpu_ns", 18e7), ("capacity_ns", 104e7), ("steal_ns", 4e7)]);
        assert_eq!(machine("cpu  1 2 3\n"), None);
    }

    #[test]
    fn columns_of_tcp_are_found_by_name() {
        let text = "Ip: A B\nIp: 1 2\nTcp: InSegs OutSegs RetransSegs\nTcp: 7 100 3\n";
        assert_eq!(tcp(text).unwrap(), [("tcp_segments", 100.0), ("tcp_retransmits", 3.0)]);
    }

    #[test]
    fn a_command_with_brackets_does_not_move_the_fields() {
        let text = "42 (a (b) c) S 1 2 3 4 5 6 7 8 9 10 250 50 0 0 20";
        assert_eq!(process(text).unwrap(), [("cpu_ns", 3e9)]);
    }

    #[test]
    fn a_thread_tells_what_it_used_and_waited() {
        assert_eq!(schedule("123 456 7\n").unwrap(), [("cpu_ns", 123.0), ("waited_ns", 456.0)]);
        assert_eq!(schedule("123"), None);
    }

    #[test]
    fn numbers_are_found_by_their_key() {
        let text = "nr_throttled 3\nthrottled_usec 250\nVmRSS:\t  2048 kB\n";
        assert_eq!(keyed(text, "throttled_usec"), Some(250.0));
        assert_eq!(memory(text).unwrap(), [("memory_bytes", 2_097_152.0)]);
        assert_eq!(keyed(text, "throttled"), None);
    }

    #[test]
    fn counters_count_from_the_origin_and_levels_do_not() {
        let reading = |cpu: f64, memory: f64| {
            let mut reading = Reading::default();
            reading.add(part::PROCESS, Some(String::new()), |_| {
                Some(vec![(metric::CPU, cpu), (metric::MEMORY, memory)])
            });
            reading
        };
        assert_eq!(reading(5.0, 900.0).since(&reading(2.0, 800.0)), reading(3.0, 900.0));
    }
}
