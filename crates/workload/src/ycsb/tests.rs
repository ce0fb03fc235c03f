//! Properties as YCSB's users write them.

use super::{Interval, Properties, Reading, Strictness, make_room, read};
use crate::spec::{
    FieldLength, KeyDistribution, KeyOrder, ReadFields, ScanDistribution, SpecError, WriteFields,
    no_files,
};

fn parse(text: &str) -> Properties {
    Properties::parse(text.as_bytes(), "workload").unwrap()
}

fn is_read_as(text: &str, expected: &[(&str, &str)]) {
    let properties = parse(text);
    let found = properties.iter().map(|(key, property)| (key, property.value.as_str()));
    assert_eq!(found.collect::<Vec<_>>(), expected);
}

fn native(text: &str) -> Result<Reading, SpecError> {
    read(&parse(&format!("recordcount=1000\n{text}")), Strictness::Native, &no_files)
}

fn fails(text: &str) -> String {
    native(text).unwrap_err().to_string()
}

/// Each text is refused with the place and what is expected.
fn all_fail(cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        let found = fails(text);
        assert!(found.starts_with("workload:") && found.contains(expected), "{text}: {found}");
    }
}

#[test]
fn separators_comments_with_continuations_are_those_of_java() {
    let text =
        "# comment\n! comment\n\n a = 1 \nb:2\nc 3\nd\ne = x\\\n   y\nf=\\\\\ng= # no comment\n";
    is_read_as(
        text,
        &[
            ("a", "1 "),
            ("b", "2"),
            ("c", "3"),
            ("d", ""),
            ("e", "xy"),
            ("f", "\\"),
            ("g", "# no comment"),
        ],
    );
}

#[test]
fn escapes_are_those_of_java() {
    is_read_as("a\\ b\\=c=\\t\\u00e9\\ud83d\\ude00\\q", &[("a b=c", "\t\u{e9}😀q")]);
    is_read_as("a=1\\", &[("a", "1")]);
    is_read_as("a=1\\\n#2", &[("a", "1#2")]);
    let error = Properties::parse(b"\na=\\u00g0", "file").unwrap_err().to_string();
    assert_eq!(error, "file:2: \\u must be followed by four hexadecimal digits, found \"00g0\"");
}

#[test]
fn bytes_are_latin_1_with_any_line_end() {
    let properties = Properties::parse(b"a=\xe9\rb=2\r\nc=3", "file").unwrap();
    assert_eq!(properties.get("a").map(|property| property.value.as_str()), Some("\u{e9}"));
    assert_eq!(properties.get("c").and_then(|property| property.place.line), Some(3));
}

#[test]
fn the_last_of_equal_keys_wins() {
    let mut properties = parse("a=1\na=2");
    assert_eq!(properties.get("a").map(|property| property.value.as_str()), Some("2"));
    properties.extend(parse("a=3"));
    properties.set("b", "4", "command line");
    let values: Vec<&str> =
        properties.iter().map(|(_, property)| property.value.as_str()).collect();
    assert_eq!(values, ["3", "4"]);
}

#[test]
fn what_is_left_out_has_the_default_of_ycsb() {
    let Reading { spec, options, binding, warnings, operation_count } = native("").unwrap();
    assert_eq!(operation_count, None);
    assert_eq!((spec.operations.read, spec.operations.update), (0.95, 0.05));
    assert_eq!((spec.operations.insert, spec.operations.scan), (0.0, 0.0));
    assert_eq!(spec.operations.read_modify_write, 0.0);
    assert_eq!(spec.operations.count, None);
    assert_eq!(spec.operations.read_fields, ReadFields::All);
    assert_eq!(spec.operations.write_fields, WriteFields::One);
    assert_eq!(spec.keys.distribution, KeyDistribution::Uniform);
    assert_eq!(spec.dataset.field_length, FieldLength::Constant(100));
    assert_eq!((spec.dataset.fields, spec.dataset.key_digits), (10, 1));
    assert_eq!(spec.dataset.key_order, KeyOrder::Hashed);
    assert_eq!(spec.dataset.table, "usertable");
    assert_eq!((spec.scan.min, spec.scan.max), (1, 1000));
    assert_eq!((options.threads, options.target, options.status_interval), (1, None, 10));
    assert_eq!(options.percentiles, [95.0, 99.0]);
    assert_eq!(options.interval, Interval::Op);
    assert!(binding.is_empty() && warnings.is_empty());
}

#[test]
fn every_workload_property_becomes_part_of_the_specification() {
    let text = "operationcount=5\ninsertstart=10\ninsertcount=20\ntable=t\nfieldcount=3\n\
        fieldnameprefix=f\nfieldlength=50\nminfieldlength=7\nfieldlengthdistribution=zipfian\n\
        readallfieldsbyname=true\nwriteallfields=true\nreadproportion=0.1\nupdateproportion=0.2\n\
        insertproportion=0.3\nscanproportion=0.4\nreadmodifywriteproportion=0.5\n\
        requestdistribution=hotspot\nzeropadding=12\ninsertorder=ordered\nminscanlength=2\n\
        maxscanlength=9\nscanlengthdistribution=zipfian\nhotspotdatafraction=0.3\n\
        hotspotopnfraction=0.6\n";
    let spec = native(text).unwrap().spec;
    let (dataset, operations, keys) = (&spec.dataset, &spec.operations, &spec.keys);
    assert_eq!((dataset.records, dataset.first, dataset.count), (1000, 10, Some(20)));
    assert_eq!((dataset.table.as_str(), dataset.fields), ("t", 3));
    assert_eq!((dataset.field_prefix.as_str(), dataset.key_digits), ("f", 12));
    assert_eq!(dataset.field_length, FieldLength::Zipfian { min: 7, max: 50 });
    assert_eq!(dataset.key_order, KeyOrder::Ordered);
    assert_eq!(operations.count, Some(5));
    assert_eq!((operations.read, operations.update, operations.insert), (0.1, 0.2, 0.3));
    assert_eq!((operations.scan, operations.read_modify_write), (0.4, 0.5));
    assert_eq!(operations.read_fields, ReadFields::Named);
    assert_eq!(operations.write_fields, WriteFields::All);
    assert_eq!(keys.distribution, KeyDistribution::Hotspot);
    assert_eq!((keys.hot_records, keys.hot_operations), (Some(0.3), Some(0.6)));
    assert_eq!((spec.scan.min, spec.scan.max), (2, 9));
    assert_eq!(spec.scan.distribution, ScanDistribution::Zipfian);
    let keys =
        native("requestdistribution=exponential\nexponential.percentile=90\nexponential.frac=0.5");
    let keys = keys.unwrap().spec.keys;
    assert_eq!((keys.percentile, keys.fraction), (Some(90.0), Some(0.5)));
    assert_eq!(native("readallfields=false").unwrap().spec.operations.read_fields, ReadFields::One);
    assert!(native("dataintegrity=true").unwrap().spec.dataset.integrity);
}

#[test]
fn properties_of_the_client_are_options() {
    let text = "workload=site.ycsb.workloads.CoreWorkload\nthreadcount=16\ntarget=5000\n\
        maxexecutiontime=60\ndotransactions=false\nstatus=true\nstatus.interval=1\nlabel=x\n\
        measurement.interval=both\nhdrhistogram.percentiles=50, 99.9\nexportfile=out\n\
        latencytrackederrors=A,B\ndb=site.ycsb.db.RedisClient\nspin.sleep=TRUE\n";
    let options = native(text).unwrap().options;
    assert_eq!((options.threads, options.target), (16, Some(5000.0)));
    assert_eq!((options.max_execution_seconds, options.do_transactions), (Some(60), Some(false)));
    assert_eq!((options.status, options.status_interval, options.label.as_str()), (true, 1, "x"));
    assert_eq!(options.interval, Interval::Both);
    assert_eq!(options.percentiles, [50.0, 99.9]);
    assert_eq!(options.export_file.as_deref(), Some("out"));
    assert_eq!(options.tracked_errors, ["A", "B"]);
    assert_eq!(options.db.as_deref(), Some("site.ycsb.db.RedisClient"));
    assert!(options.spin_sleep);
}

#[test]
fn properties_of_a_binding_are_handed_on() {
    let reading = native("redis.host=127.0.0.1\nbasicdb.verbose=false").unwrap();
    let binding: Vec<(&str, &str)> =
        reading.binding.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    assert_eq!(binding, [("basicdb.verbose", "false"), ("redis.host", "127.0.0.1")]);
}

#[test]
fn a_misspelt_property_is_an_error_or_a_warning() {
    let expected = "workload:2: unknown property \"recrodcount\"; did you mean \"recordcount\"?";
    assert_eq!(fails("recrodcount=5"), expected);
    let properties = parse("recordcount=1000\nrecrodcount=5\nbanana=a");
    let reading = read(&properties, Strictness::Ycsb, &no_files).unwrap();
    assert_eq!(reading.warnings[1], expected);
    assert_eq!(reading.warnings[0], "workload:3: unknown property \"banana\"");
    assert_eq!(reading.binding.get("banana").map(String::as_str), Some("a"));
    assert!(fails("exponental.percentile=5").ends_with("did you mean \"exponential.percentile\"?"));
    assert!(fails("measurement.foo=5").contains("unknown property \"measurement.foo\""));
}

#[test]
fn an_unknown_order_is_an_error_or_a_warning() {
    assert_eq!(
        fails("insertorder=random"),
        "workload:2: insertorder = random: it must be hashed or ordered"
    );
    let properties = parse("recordcount=1\ninsertorder=random");
    let reading = read(&properties, Strictness::Ycsb, &no_files).unwrap();
    assert_eq!(reading.spec.dataset.key_order, KeyOrder::Ordered);
    assert_eq!(reading.warnings.len(), 1);
}

#[test]
fn bad_values_name_property_value_file_with_line() {
    let cases = [
        ("readproportion=-0.1", "readproportion = -0.1: a proportion must be a number from 0"),
        ("readproportion=NaN", "readproportion = NaN: it must be a number"),
        ("recordcount=0", "recordcount = 0: the number of records must be from 1"),
        ("recordcount=2147483648", "recordcount = 2147483648: YCSB counts to 2147483647"),
        ("recordcount=-5", "recordcount = -5: it must be a whole number from 0"),
        ("operationcount=3000000000", "operationcount = 3000000000: YCSB counts to"),
        ("insertstart=1000", "insertstart = 1000: it must be below the number of records, 1000"),
        ("insertcount=1001", "insertcount = 1001: only 1000 records follow record number 0"),
        ("insertcount=0", "insertcount = 0: a share has at least one record"),
        ("fieldcount=0", "fieldcount = 0: a record has from 1 to 65535 fields"),
        ("fieldlength=1G", "fieldlength = 1G: 10 such fields are more than 4 GiB"),
        ("dataintegrity=yes", "dataintegrity = yes: it must be true or false"),
        ("minscanlength=1001", "minscanlength = 1001: it must not be above scan.max, 1000"),
        ("requestdistribution=zipfan", "it must be one of uniform, zipfian, latest, hotspot"),
        ("requestdistribution=zipfan", "did you mean \"zipfian\"?"),
        ("threadcount=0", "threadcount = 0: a client has at least one thread"),
        ("target=-1", "target = -1: it must be from 0, which is unthrottled"),
        ("hdrhistogram.percentiles=101", "it must be numbers from 0 to 100"),
        ("workload=site.ycsb.workloads.RestWorkload", "only the core workload"),
        ("measurementtype=foo", "measurementtype = foo: it must be one of hdrhistogram"),
        (
            "fieldlengthdistribution=histogram\nfieldlengthhistogram=none",
            "names \"none\", which cannot",
        ),
    ];
    all_fail(&cases);
}

#[test]
fn values_that_contradict_each_other_are_errors() {
    let all_zero = "readproportion=0\nupdateproportion=0";
    assert!(fails(all_zero).contains("at least one of the proportions"));
    let cases = [
        ("dataintegrity=true\nfieldlengthdistribution=uniform", "need a constant field length"),
        ("fieldlengthdistribution=uniform\nminfieldlength=101", "the shortest must not be above"),
        ("requestdistribution=hotspot\nhotspotdatafraction=1.5", "a fraction must be from 0 to 1"),
        ("requestdistribution=hotspot\nhotspotdatafraction=0.0001", "hot or the cold set empty"),
        ("requestdistribution=hotspot\nhotspotopnfraction=-1", "a fraction must be from 0 to 1"),
        ("requestdistribution=exponential\nexponential.percentile=100", "between 0 and 100"),
        ("insertstart=999\ninsertcount=2", "only 1 records follow record number 999"),
        (
            "requestdistribution=zipfian\noperationcount=2000000000\ninsertproportion=0.5",
            "makes each key be drawn",
        ),
    ];
    all_fail(&cases);
}

#[test]
fn no_record_count_says_what_to_give() {
    let error = read(&Properties::default(), Strictness::Ycsb, &no_files).unwrap_err().to_string();
    assert_eq!(error, "recordcount = 0: the number of records must be from 1 to 2^63 - 1");
}

#[test]
fn zipfian_makes_room_for_twice_the_likely_inserts() {
    let room = |text: &str| native(text).unwrap().spec.expected_inserts();
    let e = "requestdistribution=zipfian\nreadproportion=0.95\nupdateproportion=0\n\
        insertproportion=0.05\n";
    assert_eq!(room(&format!("{e}operationcount=1000")), 100);
    assert_eq!(room(&format!("{e}operationcount=19")), 1);
    assert_eq!(room(e), 100, "without a number of operations, as many as records");
    let odd = "requestdistribution=zipfian\ninsertproportion=0.5\noperationcount=100";
    assert_eq!(room(odd), 100, "the proportion is taken as it stands");
    assert_eq!(room(&format!("{e}operationcount=0")), 0, "without end is 0 in YCSB");
}

#[test]
fn room_that_was_made_is_made_anew_for_other_lengths() {
    let text = "requestdistribution=zipfian\nreadproportion=.95\ninsertproportion=.05\n\
        operationcount=1000";
    let mut reading = native(text).unwrap();
    assert_eq!(reading.operation_count, Some(1000));
    assert_eq!(reading.spec.keys.expected_inserts, Some(100), "its proportions add up to 1.05");
    make_room(&mut reading.spec, Some(10_000_000));
    assert_eq!(reading.spec.expected_inserts(), 1_000_000);
    reading.spec.keys.distribution = KeyDistribution::Uniform;
    make_room(&mut reading.spec, Some(1000));
    assert_eq!(reading.spec.keys.expected_inserts, None);
}

#[test]
fn what_one_binding_alone_reads_is_reported() {
    let reading = native("maxscanrate=0\nscanoptimelimit=0\ndiscardscannedrecord=false").unwrap();
    assert_eq!(reading.warnings.len(), 3);
    assert!(reading.warnings[0].contains("Bigtable"), "{:?}", reading.warnings);
    assert_eq!(reading.binding["maxscanrate"], "0");
}

#[test]
fn scans_that_are_too_short_are_reported_by_the_name_that_was_given() {
    let found = fails("maxscanlength=0");
    assert!(found.contains("maxscanlength = 0: it must not be below minscanlength, 1"), "{found}");
}

#[test]
fn a_workload_from_properties_survives_its_toml_form() {
    let spec = native("requestdistribution=zipfian\ninsertproportion=0.5\noperationcount=100");
    let spec = spec.unwrap().spec;
    let again = crate::Spec::from_toml(&spec.to_toml(), "again", &no_files).unwrap();
    assert_eq!(again, spec);
}

#[test]
fn many_unknown_properties_are_counted_and_few_are_reported() {
    let lines: String = (0..100_000).map(|number| format!("prop{number}=1\n")).collect();
    let properties = parse(&format!("recordcount=1000\n{lines}"));
    let reading = read(&properties, Strictness::Ycsb, &no_files).unwrap();
    assert_eq!(reading.warnings.len(), 21);
    assert_eq!(reading.warnings[20], "99980 more properties are unknown; they change nothing");
    assert_eq!(reading.binding.len(), 100_000, "a binding may know them");
}

#[test]
fn hosts_without_a_prefix_are_a_bindings() {
    let reading = native("hosts=a,b\nport=9042\ncassandra.keyspace=k").unwrap();
    assert!(reading.warnings.is_empty(), "{:?}", reading.warnings);
    assert_eq!(reading.binding["hosts"], "a,b");
}

#[test]
fn insertcount_says_how_many_where_recordcount_does_not() {
    let properties = parse("insertcount=10\ninsertstart=5");
    let dataset = read(&properties, Strictness::Ycsb, &no_files).unwrap().spec.dataset;
    assert_eq!((dataset.records, dataset.first, dataset.count), (15, 5, Some(10)));
    assert!(read(&properties, Strictness::Native, &no_files).is_err());
}
