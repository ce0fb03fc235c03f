//! The figures of a run that can be compared.

use assay_model::Kind;

/// The quantiles of a latency that are compared.
pub const PLACES: [f64; 4] = [0.5, 0.9, 0.99, 0.999];

/// One figure: a measure of all operations, or of those of one kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// The kind, or all of them.
    pub of: Option<Kind>,
    /// What of it.
    pub measure: Measure,
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Measure {
    /// Operations done per second of the window.
    Throughput,
    /// A quantile of the response times of hits, one of [`PLACES`], in nanoseconds.
    Response(f64),
    /// A quantile of the service times of hits, one of [`PLACES`], in nanoseconds.
    Service(f64),
    /// Refused, unknown or dropped operations as a share of those offered.
    Errors,
    /// Misses as a share of what was done.
    Misses,
    /// Processor time of our own workers per operation, in nanoseconds. Reported by the run as a
    /// whole, so a single run has no interval of it.
    Cpu,
}

/// How two values of a measure are held against each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// By their ratio; computed with logarithms.
    Ratio,
    /// By their difference: shares may be zero.
    Difference,
}

impl Measure {
    /// How two of its values are held against each other.
    pub const fn scale(self) -> Scale {
        match self {
            Measure::Errors | Measure::Misses => Scale::Difference,
            _ => Scale::Ratio,
        }
    }

    /// A value as it is averaged, if it can be: times below the clock's resolution count as that.
    pub fn forth(self, value: f64) -> Option<f64> {
        let value = if self.is_time() { value.max(1.0) } else { value };
        match self.scale() {
            Scale::Ratio => (value > 0.0).then(|| value.ln()),
            Scale::Difference => Some(value),
        }
    }

    /// Whether it is a share of operations.
    pub const fn is_share(self) -> bool {
        matches!(self.scale(), Scale::Difference)
    }

    /// Whether it is a length of time.
    pub const fn is_time(self) -> bool {
        matches!(self, Measure::Response(_) | Measure::Service(_) | Measure::Cpu)
    }

    /// The quantile, if it is one.
    pub const fn quantile(self) -> Option<f64> {
        match self {
            Measure::Response(quantile) | Measure::Service(quantile) => Some(quantile),
            _ => None,
        }
    }
}

impl Scale {
    /// An average, or a shift, as it is shown.
    pub fn back(self, value: f64) -> f64 {
        match self {
            Scale::Ratio => value.exp(),
            Scale::Difference => value,
        }
    }
}

impl Figure {
    /// The default subject of a verdict.
    pub const USUAL: [Figure; 5] = [
        Figure::overall(Measure::Throughput),
        Figure::overall(Measure::Response(0.5)),
        Figure::overall(Measure::Response(0.99)),
        Figure::overall(Measure::Errors),
        // A store that finds nothing is fast, and its hits' latencies are none.
        Figure::overall(Measure::Misses),
    ];

    /// `measure` of all operations.
    pub const fn overall(measure: Measure) -> Figure {
        Figure { of: None, measure }
    }

    /// Every figure that there can be: all operations first, then kind by kind.
    pub fn all() -> impl Iterator<Item = Figure> {
        let of = [None].into_iter().chain(Kind::ALL.into_iter().map(Some));
        of.flat_map(|of| {
            measures()
                .filter(move |measure| of.is_none() || *measure != Measure::Cpu)
                .map(move |measure| Figure { of, measure })
        })
    }
}

fn measures() -> impl Iterator<Item = Measure> {
    [Measure::Throughput]
        .into_iter()
        .chain(PLACES.map(Measure::Response))
        .chain(PLACES.map(Measure::Service))
        .chain([Measure::Errors, Measure::Misses, Measure::Cpu])
}
