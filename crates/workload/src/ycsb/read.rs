//! Properties become a specification.

use std::collections::BTreeMap;
use std::path::Path;

use super::known::{BIGTABLE, CLIENT, OF_BINDINGS, OWN_PREFIXES, WORKLOAD, property_of};
use super::options::{ClientOptions, Values};
use super::properties::{Properties, Property, Strictness};
use crate::distribution::Counting;
use crate::spec::{DatasetSection, OperationsSection, ProcessSection, SessionsSection};
use crate::spec::{
    FieldLength, KeyDistribution, KeyOrder, KeysSection, Problem, ReadFields, ReadFile,
    ScanDistribution, ScanSection, Spec, SpecError, WriteFields, read_histogram,
};
use assay_model::closest;

/// Java's largest int: YCSB's limit for records or operations.
const JAVA_INT_MAX: u64 = i32::MAX as u64;

/// How many unknown properties are compared with the known ones, to suggest a spelling.
const MOST_COMPARED: usize = 1000;

/// How many unknown properties are reported one by one.
const MOST_TOLD: usize = 20;

/// What properties say.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The workload.
    pub spec: Spec,
    /// The options of YCSB's client.
    pub options: ClientOptions,
    /// What only a store's binding understands, such as `redis.host`.
    pub binding: BTreeMap<String, String>,
    /// What the user should know, in sentences.
    pub warnings: Vec<String>,
    /// `operationcount` as it was written, 0 included: [`make_room`] uses it.
    pub operation_count: Option<u64>,
}

/// Reads `properties`.
///
/// Defaults are YCSB's: a proportion that is left out keeps its default (reads 0.95, updates
/// 0.05). A histogram file is requested from `files`: beside the file that names it, then as it
/// stands.
///
/// # Errors
/// If a property is unknown ([`Strictness::Native`]), or a value is invalid; with file, line.
pub fn read(
    properties: &Properties,
    strictness: Strictness,
    files: ReadFile<'_>,
) -> Result<Reading, SpecError> {
    let values = Values { properties, strictness };
    let mut warnings = Vec::new();
    let binding = sort(&values, &mut warnings)?;
    check_workload_class(&values)?;
    let operation_count = java_int(&values, "operationcount")?;
    let mut spec = Spec {
        dataset: dataset(&values, files, &mut warnings)?,
        operations: operations(&values)?,
        keys: keys(&values)?,
        scan: scan(&values)?,
        process: ProcessSection::default(),
        sessions: SessionsSection::default(),
    };
    make_room(&mut spec, operation_count);
    check(&spec, &values)?;
    let options = ClientOptions::new(&values)?;
    Ok(Reading { spec, options, binding, warnings, operation_count })
}

/// Splits off what is neither of the workload nor of the client.
fn sort(
    values: &Values<'_>,
    warnings: &mut Vec<String>,
) -> Result<BTreeMap<String, String>, SpecError> {
    let own = || WORKLOAD.iter().map(|(name, _)| *name).chain(CLIENT);
    let mut binding = BTreeMap::new();
    let (mut compared, mut unknown_ones) = (0, 0);
    for (name, Property { value, place }) in values.properties.iter() {
        if own().any(|known| known == name) {
            continue;
        }
        binding.insert(name.to_owned(), value.clone());
        if BIGTABLE.contains(&name) {
            warnings.push(format!("{name} changes nothing: YCSB's binding for Bigtable reads it"));
        }
        if BIGTABLE.contains(&name) || OF_BINDINGS.contains(&name) {
            continue;
        }
        compared += 1;
        let suggestion = (compared <= MOST_COMPARED).then(|| closest(name, own())).flatten();
        let prefix = name.split_once('.').map(|(prefix, _)| prefix);
        if suggestion.is_none() && prefix.is_some_and(|prefix| !OWN_PREFIXES.contains(&prefix)) {
            continue;
        }
        let unknown = SpecError::Unknown {
            place: place.clone(),
            what: "property",
            name: name.to_owned(),
            suggestion: suggestion.map(str::to_owned),
        };
        match values.strictness {
            Strictness::Native => return Err(unknown),
            Strictness::Ycsb if unknown_ones < MOST_TOLD => warnings.push(unknown.to_string()),
            Strictness::Ycsb => {}
        }
        unknown_ones += 1;
    }
    if unknown_ones > MOST_TOLD {
        let more = unknown_ones - MOST_TOLD;
        warnings.push(format!("{more} more properties are unknown; they change nothing"));
    }
    Ok(binding)
}

fn check_workload_class(values: &Values<'_>) -> Result<(), SpecError> {
    let class = values.text("workload").unwrap_or_default();
    let is_core = ["", "core", "CoreWorkload"].contains(&class.as_str())
        || class.ends_with(".workloads.CoreWorkload");
    let reason = "only the core workload, site.ycsb.workloads.CoreWorkload, is understood";
    values.require("workload", is_core, reason)
}

fn dataset(
    values: &Values<'_>,
    files: ReadFile<'_>,
    warnings: &mut Vec<String>,
) -> Result<DatasetSection, SpecError> {
    let default = DatasetSection::default();
    let hashed = values.text("insertorder").is_none_or(|order| order == "hashed");
    if !hashed && values.text("insertorder").as_deref() != Some("ordered") {
        let wrong = values.wrong("insertorder", "it must be hashed or ordered");
        match values.strictness {
            Strictness::Native => return Err(wrong),
            Strictness::Ycsb => warnings.push(format!("{wrong}; taken for ordered, as YCSB does")),
        }
    }
    Ok(DatasetSection {
        records: records(values)?,
        first: values.whole("insertstart")?.unwrap_or(0),
        count: values.whole("insertcount")?,
        table: values.text("table").unwrap_or(default.table),
        fields: values.whole("fieldcount")?.unwrap_or(default.fields),
        field_prefix: values.text("fieldnameprefix").unwrap_or(default.field_prefix),
        field_length: field_length(values, files)?,
        key_prefix: default.key_prefix,
        key_order: if hashed { KeyOrder::Hashed } else { KeyOrder::Ordered },
        key_digits: values.whole("zeropadding")?.unwrap_or(default.key_digits),
        key_length: None,
        integrity: values.is("dataintegrity")?,
        seed: None,
        preload: None,
    })
}

/// YCSB takes a `recordcount` of 0 for the largest possible number; here `insertcount` is enough.
fn records(values: &Values<'_>) -> Result<u64, SpecError> {
    let given = java_int(values, "recordcount")?.unwrap_or(0);
    match (given, values.strictness, values.whole("insertcount")?) {
        (0, Strictness::Ycsb, Some(count)) => {
            Ok(count.saturating_add(values.whole("insertstart")?.unwrap_or(0)))
        }
        _ => Ok(given),
    }
}

fn java_int(values: &Values<'_>, name: &str) -> Result<Option<u64>, SpecError> {
    let number = values.whole(name)?;
    let fits = number.is_none_or(|number| number <= JAVA_INT_MAX);
    let reason = "YCSB counts to 2147483647; more needs a specification in TOML";
    values.require(name, fits, reason)?;
    Ok(number)
}

fn field_length(values: &Values<'_>, files: ReadFile<'_>) -> Result<FieldLength, SpecError> {
    let max = values.whole("fieldlength")?.unwrap_or(100);
    let min = values.whole("minfieldlength")?.unwrap_or(1);
    let words = ["constant", "uniform", "zipfian", "histogram"].map(|word| (word, word));
    match values.one_of("fieldlengthdistribution", &words)? {
        "uniform" => Ok(FieldLength::Uniform { min, max }),
        "zipfian" => Ok(FieldLength::Zipfian { min, max }),
        "histogram" => histogram(values, files),
        _ => Ok(FieldLength::Constant(max)),
    }
}

fn histogram(values: &Values<'_>, files: ReadFile<'_>) -> Result<FieldLength, SpecError> {
    let name = "fieldlengthhistogram";
    let place = values.properties.get(name).map(|property| property.place.clone());
    let place = place.unwrap_or_default();
    let path = values.text(name).unwrap_or_else(|| "hist.txt".to_owned());
    let histogram = read_histogram(files, Path::new(&path), name, &place)?;
    Ok(FieldLength::Histogram(histogram, Counting::Ycsb))
}

fn operations(values: &Values<'_>) -> Result<OperationsSection, SpecError> {
    let all = values.truth("readallfields")?.unwrap_or(true);
    let read_fields = match (all, values.is("readallfieldsbyname")?) {
        (false, _) => ReadFields::One,
        (true, false) => ReadFields::All,
        (true, true) => ReadFields::Named,
    };
    let write_fields =
        if values.is("writeallfields")? { WriteFields::All } else { WriteFields::One };
    Ok(OperationsSection {
        // YCSB's 0 means without end.
        count: java_int(values, "operationcount")?.filter(|&count| count > 0),
        read: values.number("readproportion", 0.95)?,
        update: values.number("updateproportion", 0.05)?,
        insert: values.number("insertproportion", 0.0)?,
        scan: values.number("scanproportion", 0.0)?,
        read_modify_write: values.number("readmodifywriteproportion", 0.0)?,
        read_fields,
        write_fields,
    })
}

fn keys(values: &Values<'_>) -> Result<KeysSection, SpecError> {
    let distribution = values.one_of(
        "requestdistribution",
        &[
            ("uniform", KeyDistribution::Uniform),
            ("zipfian", KeyDistribution::YcsbZipfian),
            ("latest", KeyDistribution::YcsbLatest),
            ("hotspot", KeyDistribution::Hotspot),
            ("exponential", KeyDistribution::Exponential),
            ("sequential", KeyDistribution::Sequential),
        ],
    )?;
    let mut keys = KeysSection { distribution, ..KeysSection::default() };
    // A workload file may set the parameters of all distributions; YCSB reads those it needs.
    match distribution {
        KeyDistribution::Hotspot => {
            keys.hot_records = values.some_number("hotspotdatafraction")?;
            keys.hot_operations = values.some_number("hotspotopnfraction")?;
        }
        KeyDistribution::Exponential => {
            keys.percentile = values.some_number("exponential.percentile")?;
            keys.fraction = values.some_number("exponential.frac")?;
        }
        _ => {}
    }
    Ok(keys)
}

fn scan(values: &Values<'_>) -> Result<ScanSection, SpecError> {
    let default = ScanSection::default();
    Ok(ScanSection {
        min: values.whole("minscanlength")?.unwrap_or(default.min),
        max: values.whole("maxscanlength")?.unwrap_or(default.max),
        distribution: values.one_of(
            "scanlengthdistribution",
            &[("uniform", ScanDistribution::Uniform), ("zipfian", ScanDistribution::Zipfian)],
        )?,
    })
}

/// Makes the room for inserts that YCSB's zipfian makes if `operationcount` says `operations`:
/// int(operations × proportion × 2), with the proportion as it stands and an `operationcount` of 0,
/// which is without end, as 0. Without one, and for other distributions, what the spec says itself.
///
/// A spec of our own normalises proportions, and takes as many operations as records if it has no
/// number of them: the room is written into it only where that comes to something else.
pub fn make_room(spec: &mut Spec, operations: Option<u64>) {
    spec.keys.expected_inserts = None;
    let is_zipfian = spec.keys.distribution == KeyDistribution::YcsbZipfian;
    let Some(operations) = operations.filter(|_| is_zipfian) else { return };
    let room = ((operations as f64 * spec.operations.insert * 2.0) as u64).min(JAVA_INT_MAX);
    if spec.expected_inserts() != room {
        spec.keys.expected_inserts = Some(room);
    }
}

/// Errors in terms of properties.
fn check(spec: &Spec, values: &Values<'_>) -> Result<(), SpecError> {
    let Err(Problem { key, value, reason }) = spec.find_problem() else { return Ok(()) };
    let given = |name: &str| values.properties.get(name).is_some();
    let key = if key == "keys.expected_inserts" { "operations.count" } else { key };
    let (key, value, reason) = match key {
        "scan.min" if !given("minscanlength") && given("maxscanlength") => {
            let reason = format!("it must not be below minscanlength, {}", spec.scan.min);
            ("scan.max", spec.scan.max.to_string(), reason)
        }
        _ => (key, value, reason),
    };
    let name = property_of(key, given).unwrap_or(key);
    let property = values.properties.get(name);
    Err(SpecError::Value {
        place: property.map(|property| property.place.clone()).unwrap_or_default(),
        name: name.to_owned(),
        value: property.map_or(value, |property| property.value.clone()),
        reason,
    })
}
