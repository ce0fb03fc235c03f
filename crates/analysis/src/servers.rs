//! Use of their machines by the store's servers, under load.

use assay_model::Nanos;

use crate::options::Window;

/// The counters of one node, read at some moments; each counts since its processes were started.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counted {
    /// The node's name.
    pub name: String,
    /// The readings, in order of time.
    pub readings: Vec<Counters>,
}

/// One reading of a node. Unknown values are absent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counters {
    /// When, on the run's time axis.
    pub at: Nanos,
    /// Processor time used, in nanoseconds.
    pub cpu_ns: Option<f64>,
    /// Memory in RAM, in bytes; no counter.
    pub memory: Option<f64>,
    /// Bytes that the disk was made to read.
    pub disk_read: Option<f64>,
    /// Bytes that the disk was made to write.
    pub disk_written: Option<f64>,
    /// Bytes that came over TCP.
    pub received: Option<f64>,
    /// Bytes that left over TCP.
    pub sent: Option<f64>,
}

/// A node's use of its machine over time.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerTimeSeries {
    /// The node's name.
    pub name: String,
    /// Between which readings, by the later one; the first reading has none before it.
    pub points: Vec<Used>,
    /// The measured window in one row; `None` if no reading lies there.
    pub used: Option<ServerUse>,
}

/// What a node used between two readings: bytes and processors per second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Used {
    /// The later reading.
    pub at: Nanos,
    /// Processors in use.
    pub processors: Option<f64>,
    /// Bytes in RAM at the later reading.
    pub memory: Option<f64>,
    /// Bytes per second from disk.
    pub disk_read: Option<f64>,
    /// Bytes per second to disk.
    pub disk_written: Option<f64>,
    /// Bytes per second from the network.
    pub received: Option<f64>,
    /// Bytes per second to the network.
    pub sent: Option<f64>,
}

/// Means over a window with the largest memory, of one node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ServerUse {
    /// Means over time; memory is the largest value.
    pub mean: Used,
    /// The most processors in use between two readings.
    pub processors_max: Option<f64>,
}

/// What was used between each two readings. A counter that fell was started anew meanwhile: what
/// it had grown to before is lost, so nothing is said there.
pub fn time_course(counted: &Counted, window: Window) -> ServerTimeSeries {
    let pairs = counted.readings.windows(2);
    let points = pairs.filter(|pair| pair[1].at > pair[0].at).map(|pair| {
        let [before, after] = [&pair[0], &pair[1]];
        let seconds = after.at.since(before.at).as_secs_f64();
        let per_second = |of: fn(&Counters) -> Option<f64>| {
            let grown = of(after)? - of(before)?;
            (grown >= 0.0).then_some(grown / seconds)
        };
        Used {
            at: after.at,
            processors: per_second(|counters| counters.cpu_ns).map(|ns| ns / 1e9),
            memory: after.memory,
            disk_read: per_second(|counters| counters.disk_read),
            disk_written: per_second(|counters| counters.disk_written),
            received: per_second(|counters| counters.received),
            sent: per_second(|counters| counters.sent),
        }
    });
    let points: Vec<Used> = points.collect();
    let used = summed_up(&points, window);
    ServerTimeSeries { name: counted.name.clone(), points, used }
}

fn summed_up(points: &[Used], window: Window) -> Option<ServerUse> {
    let inside: Vec<&Used> = points.iter().filter(|used| window.contains(used.at)).collect();
    let last = inside.last()?;
    let known = |of: fn(&Used) -> Option<f64>| inside.iter().filter_map(move |used| of(used));
    // Readings are equally far apart, so a mean of rates is a mean over time.
    let mean = |of: fn(&Used) -> Option<f64>| {
        let count = known(of).count();
        (count > 0).then(|| known(of).sum::<f64>() / count as f64)
    };
    Some(ServerUse {
        mean: Used {
            at: last.at,
            processors: mean(|used| used.processors),
            memory: known(|used| used.memory).reduce(f64::max),
            disk_read: mean(|used| used.disk_read),
            disk_written: mean(|used| used.disk_written),
            received: mean(|used| used.received),
            sent: mean(|used| used.sent),
        },
        processors_max: known(|used| used.processors).reduce(f64::max),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Window = Window { from: Nanos::from_secs(2), until: Nanos::from_secs(4) };

    fn counted(readings: &[(u64, f64, f64)]) -> Counted {
        let reading = |&(second, cpu, memory): &(u64, f64, f64)| Counters {
            at: Nanos::from_secs(second),
            cpu_ns: Some(cpu * 1e9),
            memory: Some(memory),
            ..Counters::default()
        };
        Counted { name: "node-1".into(), readings: readings.iter().map(reading).collect() }
    }

    fn processors(time_course: &ServerTimeSeries) -> Vec<Option<f64>> {
        time_course.points.iter().map(|used| used.processors).collect()
    }

    #[test]
    fn counters_become_rates() {
        let readings = [(0, 5.0, 1.0), (2, 6.0, 2.0), (3, 8.0, 3.0)];
        let time_course = time_course(&counted(&readings), WINDOW);
        assert_eq!(processors(&time_course), [Some(0.5), Some(2.0)]);
        assert_eq!(time_course.points[1].memory, Some(3.0));
        assert_eq!(time_course.points[0].disk_read, None);
    }

    #[test]
    fn a_restarted_process_has_no_rate_at_the_restart() {
        let readings = [(0, 5.0, 1.0), (1, 0.25, 1.0), (2, 1.0, 1.0)];
        let time_course = time_course(&counted(&readings), WINDOW);
        assert_eq!(processors(&time_course), [None, Some(0.75)]);
    }

    #[test]
    fn a_row_covers_the_window() {
        let counted =
            counted(&[(0, 0.0, 9.0), (1, 2.0, 9.0), (2, 3.0, 4.0), (3, 3.5, 6.0), (4, 9.0, 9.0)]);
        let row = time_course(&counted, WINDOW).used.unwrap();
        assert_eq!((row.mean.processors, row.processors_max), (Some(0.75), Some(1.0)));
        assert_eq!((row.mean.memory, row.mean.sent), (Some(6.0), None));
        let nowhere = Window { from: Nanos::from_secs(8), until: Nanos::from_secs(9) };
        assert_eq!(time_course(&counted, nowhere).used, None);
    }
}
