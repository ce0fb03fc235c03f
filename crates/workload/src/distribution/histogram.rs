//! A distribution given as a histogram: how often each multiple of a block size comes.

use assay_model::Draws;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Counts of sizes; count *i* belongs to size (*i* + 1) × `block`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Histogram {
    /// The size of one block.
    pub block: u64,
    /// How often 1, 2, … blocks come.
    pub counts: Vec<u64>,
}

/// How a draw becomes a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counting {
    /// Each size comes as often as it was counted.
    Exact,
    /// As YCSB counts: a draw that uses up a bucket to the last one still belongs to it. The first
    /// bucket gets one draw too many. The last bucket is never reached, because the walk ends one
    /// bucket early with the size of the last but one.
    Ycsb,
}

/// A histogram file could not be read.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct HistogramError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong, and what it should be.
    pub reason: String,
}

impl Histogram {
    /// Reads YCSB's histogram file: `BlockSize`, tab, size; then lines of bucket, tab, count.
    ///
    /// # Errors
    /// If a line has another form, buckets do not count up from 0, or all counts are zero.
    pub fn parse(text: &str) -> Result<Histogram, HistogramError> {
        let mut lines = text.lines().enumerate().map(|(line, text)| (line + 1, text.trim_end()));
        let (line, head) = lines.next().unwrap_or((1, ""));
        let block = head
            .strip_prefix("BlockSize\t")
            .and_then(|size| size.trim().parse::<u32>().ok())
            .filter(|&size| size > 0)
            .ok_or_else(|| wrong(line, "the first line must be BlockSize, a tab, a number"))?;
        let mut counts = Vec::new();
        let mut last = line;
        for (line, text) in lines.filter(|(_, text)| !text.is_empty()) {
            counts.push(bucket(line, text, counts.len())?);
            last = line;
        }
        if counts.iter().sum::<u64>() == 0 {
            return Err(wrong(last, "the counts add up to zero; at least one must be positive"));
        }
        Ok(Histogram { block: u64::from(block), counts })
    }

    /// The largest size.
    pub fn max(&self) -> u64 {
        self.block * self.counts.len() as u64
    }

    /// One size.
    #[inline]
    pub fn draw(&self, counting: Counting, draws: &mut Draws) -> u64 {
        let mut rest = draws.below(self.counts.iter().sum()) as i128;
        let last = self.counts.len() - 1;
        for (bucket, &count) in self.counts[..last].iter().enumerate() {
            rest -= i128::from(count);
            if rest < 0 || (counting == Counting::Ycsb && rest == 0) {
                return (bucket as u64 + 1) * self.block;
            }
        }
        match counting {
            Counting::Exact => self.max(),
            Counting::Ycsb => last as u64 * self.block,
        }
    }
}

fn bucket(line: usize, text: &str, expected: usize) -> Result<u64, HistogramError> {
    let (number, count) = text
        .split_once('\t')
        .ok_or_else(|| wrong(line, "a line must be a bucket, a tab, a count"))?;
    if number.trim().parse() != Ok(expected) {
        return Err(wrong(line, &format!("bucket {expected} must come here, found {number:?}")));
    }
    let count = count.trim().parse::<u32>().map(u64::from);
    count.map_err(|_| wrong(line, "the count must be a whole number from 0 to 2^32 - 1"))
}

fn wrong(line: usize, reason: &str) -> HistogramError {
    HistogramError { line, reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distribution::theory::{chi_square_holds, counted};

    fn drawn(counting: Counting) -> Vec<u64> {
        let histogram = Histogram { block: 10, counts: vec![1, 1, 1, 1] };
        counted(40_000, 4, |draws| histogram.draw(counting, draws) / 10 - 1)
    }

    #[test]
    fn exact_counting_gives_each_size_its_share() {
        chi_square_holds(&drawn(Counting::Exact), |_| 0.25);
    }

    #[test]
    fn counting_as_ycsb_doubles_the_first_and_loses_the_last() {
        let counts = drawn(Counting::Ycsb);
        let near = |found: u64, expected: u64| found.abs_diff(expected) < 500;
        assert!(near(counts[0], 20_000) && near(counts[1], 10_000), "{counts:?}");
        assert!(near(counts[2], 10_000) && counts[3] == 0, "{counts:?}");
    }

    #[test]
    fn files_are_read() {
        let histogram = Histogram::parse("BlockSize\t1024\n0\t5\n1\t0\n2\t7\n").unwrap();
        assert_eq!(histogram, Histogram { block: 1024, counts: vec![5, 0, 7] });
    }

    #[test]
    fn wrong_files_name_the_line() {
        let fails = |text: &str| Histogram::parse(text).unwrap_err().to_string();
        assert!(fails("").starts_with("line 1: the first line must be BlockSize"));
        assert!(fails("BlockSize\t0\n").starts_with("line 1"));
        assert!(fails("BlockSize\t10\n0\t1\n2\t1\n").starts_with("line 3: bucket 1 must come"));
        assert!(fails("BlockSize\t10\n0 1\n").starts_with("line 2: a line must be"));
        assert!(fails("BlockSize\t10\n0\t-1\n").starts_with("line 2: the count must"));
        assert!(fails("BlockSize\t10\n0\t0\n").contains("add up to zero"));
    }
}
