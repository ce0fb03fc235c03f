//! Rules of a link: what happens to what passes.

use assay_model::Nanos;

/// Directions of a link.
pub(crate) const REQUESTS: usize = 0;
pub(crate) const REPLIES: usize = 1;

/// What happens to what passes a link, in either direction unless it says otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rules {
    /// How late everything is, each way.
    pub(crate) delay: Nanos,
    /// By how much more or less.
    pub(crate) jitter: Nanos,
    /// How many bytes pass in a second, each way; 0 means any number.
    pub(crate) limit: u64,
    /// Whether requests, or replies, are held until the link is healed.
    pub(crate) hold: [bool; 2],
    /// Whether everything is lost: streams are broken then, and end when the link is healed.
    pub(crate) is_lossy: bool,
    /// Whether new connections are accepted and never answered.
    pub(crate) is_deaf: bool,
}

impl Rules {
    /// With what a delay such as `20ms` or `20ms~5ms` says.
    pub(crate) fn set_delay(&mut self, text: &str) {
        if let Some((delay, jitter)) = delay(text) {
            (self.delay, self.jitter) = (delay, jitter);
        }
    }

    /// In words.
    pub(crate) fn describe(&self) -> String {
        let [requests, replies] = self.hold;
        let parts = [
            (self.delay > Nanos::ZERO).then(|| format!("{} late", self.delay)),
            (self.limit > 0).then(|| format!("{} bytes/s", self.limit)),
            requests.then(|| "requests are held".to_owned()),
            replies.then(|| "replies are held".to_owned()),
            self.is_lossy.then(|| "all is lost".to_owned()),
            self.is_deaf.then(|| "new connections are not answered".to_owned()),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// With what a limit such as `1MB/s` says.
    pub(crate) fn set_limit(&mut self, text: &str) {
        self.limit = limit(text).unwrap_or(0);
    }
}

/// Whether it is a delay, such as `20ms` or `20ms~5ms`.
pub(crate) fn is_delay(text: &str) -> bool {
    delay(text).is_some()
}

/// Whether it is a limit, such as `1MB/s`.
pub(crate) fn is_limit(text: &str) -> bool {
    limit(text).is_some()
}

/// The longest delay: a link that is later is as good as held.
const DELAY_MAX: Nanos = Nanos::from_secs(60);
/// The smallest limit, in bytes per second.
const LIMIT_MIN: u64 = 100;

fn delay(text: &str) -> Option<(Nanos, Nanos)> {
    let (delay, jitter) = text.split_once('~').unwrap_or((text, "0ms"));
    let (delay, jitter) = (time(delay)?, time(jitter)?);
    (delay > Nanos::ZERO && delay <= DELAY_MAX && jitter <= delay).then_some((delay, jitter))
}

fn time(text: &str) -> Option<Nanos> {
    let units = [("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];
    let (number, factor) =
        units.into_iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)))?;
    number.parse::<u64>().ok()?.checked_mul(factor).map(Nanos)
}

fn limit(text: &str) -> Option<u64> {
    let text = text.strip_suffix("/s")?;
    let units = [("kB", 1_000), ("MB", 1_000_000), ("GB", 1_000_000_000), ("B", 1)];
    let (number, factor) =
        units.into_iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)))?;
    number.parse::<u64>().ok()?.checked_mul(factor).filter(|limit| *limit >= LIMIT_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_and_limits_are_read() {
        assert_eq!(delay("20ms"), Some((Nanos::from_millis(20), Nanos::ZERO)));
        assert_eq!(delay("1s~5ms"), Some((Nanos::from_secs(1), Nanos::from_millis(5))));
        assert_eq!(limit("1MB/s"), Some(1_000_000));
        assert_eq!(limit("500B/s"), Some(500));
        for wrong in ["20", "ms", "0ms", "5ms~20ms", "2h", "999s"] {
            assert_eq!(delay(wrong), None, "{wrong}");
        }
        for wrong in ["1MB", "1/s", "MB/s", "1B/s", "1mb/s"] {
            assert_eq!(limit(wrong), None, "{wrong}");
        }
    }
}
