//! The names of YCSB's properties.

/// A workload property with the key of our own form that it sets.
pub(super) const WORKLOAD: [(&str, &str); 30] = [
    ("recordcount", "dataset.records"),
    ("insertstart", "dataset.first"),
    ("insertcount", "dataset.count"),
    ("operationcount", "operations.count"),
    ("table", "dataset.table"),
    ("fieldcount", "dataset.fields"),
    ("fieldnameprefix", "dataset.field_prefix"),
    ("fieldlength", "dataset.field_length"),
    ("minfieldlength", "dataset.field_length"),
    ("fieldlengthdistribution", "dataset.field_length"),
    ("fieldlengthhistogram", "dataset.field_length"),
    ("readallfields", "operations.read_fields"),
    ("readallfieldsbyname", "operations.read_fields"),
    ("writeallfields", "operations.write_fields"),
    ("dataintegrity", "dataset.integrity"),
    ("readproportion", "operations.read"),
    ("updateproportion", "operations.update"),
    ("insertproportion", "operations.insert"),
    ("scanproportion", "operations.scan"),
    ("readmodifywriteproportion", "operations.read_modify_write"),
    ("requestdistribution", "keys.distribution"),
    ("zeropadding", "dataset.key_digits"),
    ("insertorder", "dataset.key_order"),
    ("minscanlength", "scan.min"),
    ("maxscanlength", "scan.max"),
    ("scanlengthdistribution", "scan.distribution"),
    ("hotspotdatafraction", "keys.hot_records"),
    ("hotspotopnfraction", "keys.hot_operations"),
    ("exponential.percentile", "keys.percentile"),
    ("exponential.frac", "keys.fraction"),
];

/// Properties of YCSB's client rather than of a workload.
pub(super) const CLIENT: [&str; 28] = [
    "workload",
    "db",
    "threadcount",
    "target",
    "maxexecutiontime",
    "dotransactions",
    "core_workload_insertion_retry_limit",
    "core_workload_insertion_retry_interval",
    "core_workload_insertion_keep_going_on_error",
    "spin.sleep",
    "status",
    "status.interval",
    "label",
    "measurementtype",
    "measurement.interval",
    "measurement.trackjvm",
    "measurement.histogram.verbose",
    "histogram.buckets",
    "timeseries.granularity",
    "measurement.raw.output_file",
    "measurement.raw.no_summary",
    "hdrhistogram.percentiles",
    "hdrhistogram.fileoutput",
    "hdrhistogram.output.path",
    "reportlatencyforeacherror",
    "latencytrackederrors",
    "exporter",
    "exportfile",
];

/// Properties that one binding of YCSB alone reads, though their names have no prefix.
pub(super) const BIGTABLE: [&str; 3] = ["maxscanrate", "scanoptimelimit", "discardscannedrecord"];

/// Properties of bindings whose names have no prefix.
pub(super) const OF_BINDINGS: [&str; 4] = ["hosts", "port", "ports", "debug"];

/// Whether a property is for YCSB's client alone. Not those that name what every workload file of
/// YCSB names, its own class, or the store.
pub fn is_for_client(name: &str) -> bool {
    CLIENT.contains(&name) && !["workload", "db"].contains(&name)
}

/// Dotted properties with these beginnings are YCSB's own, so an unknown one is a mistake.
pub(super) const OWN_PREFIXES: [&str; 7] =
    ["measurement", "hdrhistogram", "histogram", "status", "timeseries", "exponential", "spin"];

/// The property that sets a key of our own form; `given` prefers one that was given.
pub(super) fn property_of(key: &str, given: impl Fn(&str) -> bool) -> Option<&'static str> {
    let mut setters = WORKLOAD.iter().filter(|(_, set)| *set == key).map(|(name, _)| *name);
    let first = setters.clone().next();
    setters.find(|name| given(name)).or(first)
}
