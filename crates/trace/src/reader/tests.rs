//! Tests of files that no writer of ours would make.

use std::collections::BTreeMap;

use assay_model::{Fields, Kind, Nanos, Operation};
use parquet::basic::Type as PhysicalType;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use tempfile::NamedTempFile;

use super::*;
use crate::columns::Rows;
use crate::footer::show_guards;

/// One thing that is wrong with a trace.
#[derive(Debug)]
enum Change {
    Nothing,
    /// A key of the metadata has this value; `None` removes it.
    Pair(&'static str, Option<&'static str>),
    /// A column has this declaration; an empty one removes it.
    Column(&'static str, &'static str),
    /// All rows have this number in a column.
    Number(&'static str, i64),
    /// All rows have this kind.
    Kind(&'static str),
    /// There are no rows.
    NoRows,
    /// A row group without rows comes first.
    EmptyGroup,
    /// The checksum of the row group is off.
    Guard,
}

fn operation(index: u64) -> Operation {
    Operation {
        index,
        key: index * 7,
        kind: Kind::ALL[index as usize % 5],
        fields: Fields::One(3),
        limit: 1,
        bytes: 100,
        statement: 0,
        transaction: 0,
        transaction_type: 0,
        ends_transaction: true,
        think: Nanos(5),
    }
}

fn declarations(change: &Change) -> String {
    let declare = |(name, physical, _): &(&str, PhysicalType, &str)| match change {
        Change::Column(changed, declaration) if changed == name => (*declaration).to_owned(),
        _ if *name == "kind" => "required binary kind (string);".to_owned(),
        _ => format!("required {physical} {name};"),
    };
    columns::COLUMNS[..INTENDED].iter().map(declare).collect()
}

/// The values of column `name`, as numbers.
fn numbers(rows: &Rows, name: &str) -> Vec<i64> {
    let wide = |values: &[i32]| values.iter().map(|&value| i64::from(value)).collect();
    match name {
        "index" => rows.index.clone(),
        "process" => rows.process.clone(),
        "transaction" => wide(&rows.transaction),
        "transaction_type" => wide(&rows.transaction_type),
        "ends_transaction" => vec![1; rows.len()],
        "fields" => wide(&rows.fields),
        "key" => rows.key.clone(),
        "limit" => wide(&rows.limit),
        "bytes" => wide(&rows.bytes),
        _ => rows.think.clone(),
    }
}

/// Writes the operations 0..8 of width 1, with one thing changed, by Parquet's own means.
fn craft(change: &Change) -> NamedTempFile {
    let place = NamedTempFile::new().unwrap();
    let schema = format!("message trace {{ {} }}", declarations(change));
    let schema = Arc::new(parse_message_type(&schema).unwrap());
    let properties = Arc::new(WriterProperties::builder().build());
    let file = File::create(place.path()).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, properties).unwrap();
    let mut rows = Rows::default();
    let mut sum = TraceHash::new();
    for process in 0..8 {
        rows.push(process, &operation(process));
        sum.add(&operation(process));
    }
    let mut guards = Vec::new();
    let groups: &[Rows] = match change {
        Change::NoRows => &[],
        Change::EmptyGroup => &[Rows::default(), rows],
        _ => &[rows],
    };
    for rows in groups {
        craft_group(&mut writer, rows, change);
        writer.flush().unwrap();
        let written = std::fs::read(place.path()).unwrap();
        let chunks = writer.flushed_row_groups().last().unwrap().columns().iter();
        let ranges: Vec<(u64, u64)> = chunks.map(|chunk| chunk.byte_range()).collect();
        let start = ranges.iter().map(|(start, _)| *start).min().unwrap();
        let end = ranges.iter().map(|(start, length)| start + length).max().unwrap();
        let crc = crc32fast::hash(&written[start as usize..end as usize]);
        let crc = crc ^ u32::from(matches!(change, Change::Guard));
        guards.push(Guard { crc, first_process: 0 });
    }
    let mut pairs: BTreeMap<String, String> = header().to_pairs().into_iter().collect();
    let count = if guards.is_empty() { "0" } else { "8" };
    pairs.insert(FORMAT.to_owned(), "1".to_owned());
    pairs.insert(GROUPS.to_owned(), show_guards(&guards));
    pairs.insert("assay.sum".to_owned(), format!("{:032x}", sum.sum()));
    pairs.insert("assay.hash".to_owned(), sum.seal(&header()).to_string());
    for key in ["assay.operations", "assay.processes", "assay.end"] {
        pairs.insert(key.to_owned(), count.to_owned());
    }
    match *change {
        Change::Pair(key, Some(value)) => drop(pairs.insert(key.to_owned(), value.to_owned())),
        Change::Pair(key, None) => drop(pairs.remove(key)),
        _ => {}
    }
    let pairs: Vec<KeyValue> =
        pairs.into_iter().map(|(key, value)| KeyValue::new(key, value)).collect();
    let crc = check(pairs.iter(), writer.flushed_row_groups().iter());
    pairs.into_iter().for_each(|pair| writer.append_key_value_metadata(pair));
    writer.append_key_value_metadata(KeyValue::new(CHECK.to_owned(), format!("{crc:08x}")));
    writer.finish().unwrap();
    place
}

fn header() -> Header {
    Header { width: 1, ..Header::example() }
}

fn craft_group(writer: &mut SerializedFileWriter<File>, rows: &Rows, change: &Change) {
    let schema = writer.schema_descr().clone();
    let mut group = writer.next_row_group().unwrap();
    for column in schema.columns() {
        let name = column.path().string();
        let mut values = numbers(rows, &name);
        match change {
            Change::Number(changed, value) if *changed == name => values.fill(*value),
            _ => {}
        }
        let levels = vec![1i16; rows.len()];
        let levels = (column.max_def_level() > 0).then_some(&levels[..]);
        let mut writer = group.next_column().unwrap().unwrap();
        match column.physical_type() {
            PhysicalType::INT64 => {
                writer.typed::<Int64Type>().write_batch(&values, levels, None).unwrap()
            }
            PhysicalType::INT32 => {
                let values: Vec<i32> = values.iter().map(|&value| value as i32).collect();
                writer.typed::<Int32Type>().write_batch(&values, levels, None).unwrap()
            }
            PhysicalType::BOOLEAN => {
                let values: Vec<bool> = values.iter().map(|&value| value != 0).collect();
                writer.typed::<BoolType>().write_batch(&values, levels, None).unwrap()
            }
            _ => {
                let name = |kind: &Kind| match change {
                    Change::Kind(name) => ByteArray::from(*name),
                    _ => ByteArray::from(kind.name()),
                };
                let values: Vec<ByteArray> = rows.kind.iter().map(name).collect();
                writer.typed::<ByteArrayType>().write_batch(&values, levels, None).unwrap()
            }
        };
        writer.close().unwrap();
    }
    group.close().unwrap();
}

/// What opening, else verifying, the changed trace says, without the place of the file.
fn says(change: &Change) -> String {
    let place = craft(change);
    let text = match Trace::open(place.path()) {
        Err(error) => error.to_string(),
        Ok(trace) => match trace.verify() {
            Err(error) => error.to_string(),
            Ok(_) => "all right".to_owned(),
        },
    };
    text.replace(&place.path().display().to_string(), "T")
}

/// What is shown, what is wrong, what is said of it.
const SAID: [(&str, Change, &str); 17] = [
    ("made by other means, it is read if it keeps the format", Change::Nothing, "all right"),
    (
        "a newer format names both versions and what to do",
        Change::Pair(FORMAT, Some("3")),
        "trace T has format 3, this binary reads up to format 2: use the assay that wrote it \
         (assay 0.1.0), or generate the trace again with this one",
    ),
    (
        "another type",
        Change::Column("key", "required int32 key;"),
        "trace T has no usable column \"key\": it must be a required INT64, it is a INT32",
    ),
    (
        "another type",
        Change::Column("key", "optional int64 key;"),
        "trace T has no usable column \"key\": it must be a required INT64, it is a INT64 that \
         may be missing",
    ),
    (
        "unknown columns are passed over",
        Change::Column("think", "required int64 think; required int64 deadline;"),
        "all right",
    ),
    (
        "a number that stands for nothing",
        Change::Number("fields", 65_538),
        "row 0 of trace T has fields 65538: that stands for nothing",
    ),
    (
        "a number that stands for nothing",
        Change::Number("transaction", 65_536),
        "row 0 of trace T has transaction 65536: that stands for nothing",
    ),
    (
        "a number that stands for nothing",
        Change::Number("transaction_type", 2),
        "row 0 of trace T has transaction_type 2: the header has no name for it",
    ),
    (
        "a word that stands for nothing",
        Change::Kind("upsert"),
        "row 0 of trace T has kind upsert: that stands for nothing",
    ),
    (
        "a transaction without end",
        Change::Number("ends_transaction", 0),
        "operation 0 of trace T breaks its transaction: exactly the last operation of each \
         ends it",
    ),
    (
        "rows out of order",
        Change::Number("index", 0),
        "row 1 of trace T has index 0: it is not within process × width",
    ),
    (
        "rows out of order",
        Change::Number("process", -1),
        "row 0 of trace T has process 18446744073709551615: process numbers never fall",
    ),
    (
        "counts that differ",
        Change::Pair("assay.operations", Some("9")),
        "trace T promises 9 operations, but holds 8",
    ),
    (
        "counts that differ",
        Change::Pair("assay.end", Some("7")),
        "trace T promises 7 process numbers, but holds 8",
    ),
    (
        "an empty trace has nothing to issue",
        Change::NoRows,
        "trace T has no operation: there is nothing to issue",
    ),
    ("a row group without rows is no end", Change::EmptyGroup, "all right"),
    (
        "a wrong checksum of a row group is damage",
        Change::Guard,
        "row group 0 of trace T is damaged: its bytes do not match their checksum; copy or \
         generate it again",
    ),
];

#[test]
fn what_is_wrong_with_a_trace_is_named() {
    for (label, change, expected) in SAID {
        assert_eq!(says(&change), expected, "{label}: {change:?}");
    }
}

#[test]
fn what_is_wrong_with_a_trace_is_named_among_other_words() {
    let other_hash = "00000000000000000000000000000001";
    let said = format!("its header says hash {other_hash}");
    let rows = [
        ("no version", Change::Pair(FORMAT, Some("one")), "its format \"one\" is no version"),
        ("no version", Change::Pair(FORMAT, Some("0")), "its format \"0\" is no version"),
        (
            "a schedule whose column lost its name, even where columns are not listed",
            Change::Column("think", "required int64 think; required int64 intendee;"),
            "its columns are not those it was written with",
        ),
        ("another hash", Change::Pair("assay.hash", Some(other_hash)), &said),
    ];
    for (label, change, expected) in rows {
        let said = says(&change);
        assert!(said.contains(expected), "{label}: {change:?}: {said}");
    }
    let rows = [
        ("another Parquet file", Change::Pair(FORMAT, None), "T is a Parquet file but no trace"),
        (
            "other operations than the hash promises",
            Change::Number("key", 9),
            "trace T does not hold what was written: its header says hash ",
        ),
    ];
    for (label, change, expected) in rows {
        let said = says(&change);
        assert!(said.starts_with(expected), "{label}: {change:?}: {said}");
    }
}

#[test]
fn what_is_missing_is_named() {
    for name in &NAMES[..INTENDED] {
        let said = says(&Change::Column(name, ""));
        assert_eq!(said, format!("trace T has no usable column {name:?}: it is missing"));
    }
    for key in ["assay.hash", "assay.sum", "assay.operations", "assay.width", GROUPS] {
        let said = says(&Change::Pair(key, None));
        assert_eq!(said, format!("trace T has an unusable header: {key}: it is missing"));
    }
}
