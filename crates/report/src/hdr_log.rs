//! A result as an HdrHistogram log, which the field's plotting tools read.

use std::time::{Duration, SystemTime};

use assay_analysis::ycsb::Measures;
use assay_analysis::{Distribution, Group, Histogram, Summary};
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriter, IntervalLogWriterBuilder, Tag};

use crate::facts::Facts;
use crate::ycsb::{Options, histograms};

/// The histograms cannot be written as a log.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the histogram {tag:?} as a log line: {reason}")]
pub struct WriteLogError {
    /// The tag of the line.
    pub tag: String,
    /// What is wrong.
    pub reason: String,
}

/// Values in the log are nanoseconds; the maximum beside each histogram is in milliseconds, as
/// the log's readers expect.
const NANOS_PER_MILLI: f64 = 1e6;

/// An HdrHistogram log, format 1.3, with one interval for each tag over the measured window.
///
/// Tags are the kind or transaction type, whose operations (nothing for hits, `miss`, `failed`),
/// which latency: `read-response`, `read-service`, `read-lag`, `read-miss-response` …,
/// `all-response` …, `requested-lag`. Times are seconds since the run's start, which is both the
/// StartTime and the BaseTime. A histogram without values has no line.
///
/// # Errors
/// If a histogram cannot be encoded, which cannot happen within the analyzer's bounds.
pub fn hdr_log(facts: &Facts, summary: &Summary) -> Result<String, WriteLogError> {
    let about = format!("[Run: {}; values in nanoseconds]", one_line(&facts.run_id));
    let lines = tagged(summary);
    let lines = lines.iter().map(|(tag, distribution)| (tag.as_str(), &distribution.histogram));
    log(facts, summary, &about, lines)
}

/// The files of YCSB's `hdrhistogram.fileoutput`: the name of each metric with its log, as
/// `OneMeasurementHdrHistogram` writes it after a run without status lines.
///
/// Values are microseconds in one interval without a tag; the maximum beside it is in seconds,
/// since YCSB leaves the divisor as it is.
///
/// # Errors
/// As [`hdr_log`].
pub fn ycsb_hdr_logs(
    facts: &Facts,
    summary: &Summary,
    measures: &Measures,
    options: &Options,
) -> Result<Vec<(String, String)>, WriteLogError> {
    let one = |(name, histogram): (String, Histogram)| {
        let about = format!("[Logging for: {}]", one_line(&name));
        let text = log(facts, summary, &about, [("", &histogram)].into_iter())?;
        Ok((name, text))
    };
    histograms(measures, options).into_iter().map(one).collect()
}

/// A log of histograms over the measured window, each with its tag if that is not empty.
fn log<'a>(
    facts: &Facts,
    summary: &Summary,
    about: &str,
    lines: impl Iterator<Item = (&'a str, &'a Histogram)>,
) -> Result<String, WriteLogError> {
    let mut bytes = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    let epoch = SystemTime::UNIX_EPOCH + Duration::from_millis(facts.started_unix_ms);
    let mut builder = IntervalLogWriterBuilder::new();
    builder
        .add_comment(&format!("[Logged with assay {}]", one_line(&facts.version)))
        .add_comment("[Histogram log format version 1.3]")
        .add_comment(about)
        .with_start_time(epoch)
        .with_base_time(epoch)
        .with_max_value_divisor(NANOS_PER_MILLI);
    if let Some(line) = crate::hallmark::line(facts) {
        builder.add_comment(&format!("[{}]", one_line(&line.shout())));
    }
    let writer = builder.begin_log_with(&mut bytes, &mut serializer);
    let mut writer =
        writer.map_err(|error| WriteLogError { tag: String::new(), reason: error.to_string() })?;
    for (tag, histogram) in lines {
        write_line(&mut writer, summary, tag, histogram)?;
    }
    drop(writer);
    Ok(with_legend(&String::from_utf8_lossy(&bytes)))
}

fn write_line(
    writer: &mut IntervalLogWriter<'_, '_, Vec<u8>, V2DeflateSerializer>,
    summary: &Summary,
    tag: &str,
    histogram: &Histogram,
) -> Result<(), WriteLogError> {
    let wrong = |reason: String| WriteLogError { tag: tag.to_owned(), reason };
    let from = Duration::from(summary.window.from);
    let length = Duration::from(summary.duration);
    let valid = || Tag::new(tag).ok_or_else(|| wrong("a tag has no blanks or commas".to_owned()));
    let tag = (!tag.is_empty()).then(valid).transpose()?;
    writer
        .write_histogram(histogram, from, length, tag)
        .map_err(|error| wrong(format!("{error:?}")))
}

/// The line of column names, which some readers require, comes before the first interval.
fn with_legend(log: &str) -> String {
    const LEGEND: &str = "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\
                          \"Interval_Compressed_Histogram\"\n";
    let header = log.lines().take_while(|line| line.starts_with('#')).map(|l| l.len() + 1).sum();
    format!("{}{LEGEND}{}", &log[..header], &log[header..])
}

/// Every distribution that has values, with its tag.
fn tagged(summary: &Summary) -> Vec<(String, &Distribution)> {
    let mut all = Vec::new();
    for (kind, group) in &summary.kinds {
        push_group(&mut all, kind.name(), group);
    }
    for types in &summary.transactions {
        push_group(&mut all, &types.name, &types.group);
    }
    push_group(&mut all, "all", &summary.overall);
    all.push(("issued-lag".to_owned(), &summary.lag));
    all.retain(|(_, distribution)| distribution.count > 0);
    all
}

fn push_group<'a>(all: &mut Vec<(String, &'a Distribution)>, name: &str, group: &'a Group) {
    let name: String =
        name.chars().map(|c| if c == ',' || c.is_whitespace() { '_' } else { c }).collect();
    for (of, latency) in [("", &group.hits), ("-miss", &group.misses), ("-failed", &group.failed)] {
        all.push((format!("{name}{of}-response"), &latency.response));
        all.push((format!("{name}{of}-service"), &latency.service));
        all.push((format!("{name}{of}-lag"), &latency.lag));
    }
}

fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use hdrhistogram::serialization::Deserializer;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

    use super::*;
    use crate::sample;
    use crate::ycsb::{Interval, JavaNumber, Line};

    fn log() -> String {
        hdr_log(&sample::facts(), &sample::summary()).expect("the sample can be logged")
    }

    #[test]
    fn the_header_is_the_one_that_readers_look_for() {
        let text = log();
        let header: Vec<&str> = text.lines().take(7).collect();
        assert_eq!(
            header,
            [
                "#[Logged with assay 0.1.0]",
                "#[Histogram log format version 1.3]",
                "#[Run: 2026-11-21T18-30-12Z-redis-ycsb-b-7f3c; values in nanoseconds]",
                "#[StartTime: 1795285812.000 (seconds since epoch)]",
                "#[BaseTime: 1795285812.000 (seconds since epoch)]",
                "#[MaxValueDivisor: 1000000.000]",
                "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\
                 \"Interval_Compressed_Histogram\"",
            ]
        );
    }

    #[test]
    fn a_reader_finds_every_histogram_again() {
        let text = log();
        let found = read(&text);
        let summary = sample::summary();
        let expected = tagged(&summary);
        assert_eq!(found.len(), expected.len());
        for ((tag, histogram), (wanted_tag, distribution)) in found.iter().zip(&expected) {
            assert_eq!((tag, histogram), (wanted_tag, &distribution.histogram));
        }
    }

    #[test]
    fn ycsb_has_a_file_for_each_metric_in_microseconds() {
        let (facts, summary) = (sample::facts(), sample::summary());
        let options = Options { interval: Interval::Both, ..Options::default() };
        let measures = sample::measures(&assay_analysis::ycsb::Options::default());
        let logs = ycsb_hdr_logs(&facts, &summary, &measures, &options);
        let logs = logs.expect("the sample can be logged");
        let names: Vec<&str> = logs.iter().map(|(name, _)| name.as_str()).collect();
        for name in ["READ", "UPDATE", "Intended-READ", "Intended-UPDATE"] {
            assert!(names.contains(&name), "{name}: {names:?}");
        }
        let lines = crate::ycsb::lines(&measures, &options);
        for (name, log) in &logs {
            assert!(log.contains(&format!("#[Logging for: {name}]\n")), "{log}");
            let all = read(log);
            let [(tag, histogram)] = &all[..] else { panic!("not one interval: {log}") };
            let describe = |measurement: &str| {
                let found = |line: &&Line| line.metric == *name && line.measurement == measurement;
                lines.iter().find(found).map(|line| line.value)
            };
            assert_eq!(tag, "");
            assert_eq!(
                describe("Operations"),
                Some(JavaNumber::Whole(histogram.len() as i64)),
                "{name}"
            );
            assert_eq!(
                describe("MaxLatency(us)"),
                Some(JavaNumber::Whole(histogram.max() as i64)),
                "{name}"
            );
        }
    }

    #[test]
    fn tags_name_kind_operations_and_latency() {
        let summary = sample::summary();
        let tags: Vec<String> = tagged(&summary).into_iter().map(|(tag, _)| tag).collect();
        assert_eq!(
            tags.join(" "),
            "read-response read-service read-lag read-miss-response read-miss-service \
             read-miss-lag read-failed-response read-failed-service read-failed-lag \
             update-response update-service update-lag update-failed-response \
             update-failed-service update-failed-lag read-modify-write-response \
             read-modify-write-service read-modify-write-lag all-response all-service all-lag \
             all-miss-response all-miss-service all-miss-lag all-failed-response \
             all-failed-service all-failed-lag issued-lag"
        );
    }

    /// The intervals of a log, each with its tag.
    fn read(text: &str) -> Vec<(String, Histogram)> {
        let mut deserializer = Deserializer::new();
        let mut found = Vec::new();
        for entry in IntervalLogIterator::new(text.as_bytes()) {
            let LogEntry::Interval(line) = entry.expect("every line can be parsed") else {
                continue;
            };
            let bytes = decode_base64(line.encoded_histogram());
            let histogram =
                deserializer.deserialize(&mut bytes.as_slice()).expect("the histogram is whole");
            assert_eq!(line.start_timestamp(), Duration::from_secs(1));
            assert_eq!(line.duration(), Duration::from_secs(3));
            let tag = line.tag().map_or(String::new(), |tag| tag.as_str().to_owned());
            found.push((tag, histogram));
        }
        found
    }

    /// RFC 4648, enough to read what the log's writer wrote.
    fn decode_base64(text: &str) -> Vec<u8> {
        const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let (mut bytes, mut buffer, mut bits) = (Vec::new(), 0u32, 0);
        for letter in text.bytes().filter(|letter| *letter != b'=') {
            let value = LETTERS.iter().position(|l| *l == letter).expect("only base64 letters");
            buffer = buffer << 6 | value as u32;
            bits += 6;
            if bits >= 8 {
                bits -= 8;
                bytes.push((buffer >> bits) as u8);
            }
        }
        bytes
    }
}
