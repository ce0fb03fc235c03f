//! Header of a trace.

use assay_model::{Layout, Named, Phase, Seed, Table};

use crate::script::{Origins, Script};

/// The most tables, fields of a table or transaction types that a header may name.
///
/// Numbers of fields and types are 16-bit; a header that names more is damaged.
pub(crate) const NAMES: usize = 1 << 16;

/// The facts under which the operations of a trace were made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The spec from which the plan was made, word for word; empty if there was none.
    pub spec: String,
    /// The seed from which everything random follows.
    pub seed: Seed,
    /// The phase that the operations are for.
    pub phase: Phase,
    /// The most operations of one process; operation index = process × width + place.
    pub width: u64,
    /// The names of the transaction types, by their numbers; type 0 is a lone operation.
    pub transaction_types: Vec<String>,
    /// The tables with their fields.
    pub layout: Layout,
    /// Who made the operations, in which version, for example `assay 0.1.0`.
    pub generator: String,
    /// Which part of a split plan this is; `None` if it is whole.
    pub part: Option<Part>,
    /// The texts of the operations' statements; `None` for records by key.
    pub script: Option<Script>,
}

/// A part of a split plan: the processes p with p mod `of` = `index`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Which one, from 0.
    pub index: u32,
    /// How many there are.
    pub of: u32,
}

impl Part {
    /// Whether `process` belongs to this part.
    pub fn holds(self, process: u64) -> bool {
        process % u64::from(self.of) == u64::from(self.index)
    }
}

/// What is wrong with a header: the key, and why.
#[derive(Debug)]
pub(crate) struct HeaderFault {
    pub key: String,
    pub reason: String,
}

impl Header {
    /// Of queries for measuring that follow from no spec.
    pub(crate) fn of_script(script: Script, types: Vec<String>, width: u64, by: &str) -> Header {
        Header {
            spec: String::new(),
            seed: Seed(0),
            phase: Phase::Measure,
            width,
            transaction_types: types,
            layout: Layout { tables: Vec::new(), records: 0 },
            generator: by.to_owned(),
            part: None,
            script: Some(script),
        }
    }

    /// The header as keys with values, in a fixed order.
    pub(crate) fn to_pairs(&self) -> Vec<(String, String)> {
        let mut pairs = vec![
            ("assay.generator".to_owned(), self.generator.clone()),
            ("assay.seed".to_owned(), self.seed.to_string()),
            ("assay.phase".to_owned(), self.phase.name().to_owned()),
            ("assay.width".to_owned(), self.width.to_string()),
            ("assay.records".to_owned(), self.layout.records.to_string()),
        ];
        if let Some(Part { index, of }) = self.part {
            pairs.push(("assay.part".to_owned(), format!("{index}/{of}")));
        }
        for (number, name) in self.transaction_types.iter().enumerate() {
            pairs.push((format!("assay.transaction_type.{number}"), name.clone()));
        }
        for (number, table) in self.layout.tables.iter().enumerate() {
            pairs.push((format!("assay.table.{number}"), table.name.clone()));
            for (field, name) in table.fields.iter().enumerate() {
                pairs.push((format!("assay.table.{number}.field.{field}"), name.clone()));
            }
        }
        if let Some(script) = &self.script {
            push_script(script, &mut pairs);
        }
        pairs.push(("assay.spec".to_owned(), self.spec.clone()));
        pairs
    }

    /// The header that `pairs` describes; keys that are not the header's are passed over.
    pub(crate) fn from_pairs(pairs: &Pairs<'_>) -> Result<Header, HeaderFault> {
        let phase = pairs.get("assay.phase")?;
        let phase = Phase::ALL
            .into_iter()
            .find(|known| known.name() == phase)
            .ok_or_else(|| fault("assay.phase", format!("{phase:?} is no phase")))?;
        let header = Header {
            spec: pairs.get("assay.spec")?.to_owned(),
            seed: Seed(pairs.number("assay.seed")?),
            phase,
            width: pairs.number("assay.width")?,
            transaction_types: pairs.names("assay.transaction_type."),
            layout: Layout { tables: tables(pairs), records: pairs.number("assay.records")? },
            generator: pairs.get("assay.generator")?.to_owned(),
            part: pairs.find("assay.part").map(part).transpose()?,
            script: script(pairs)?,
        };
        header.check()?;
        Ok(header)
    }

    /// The version of the format that a trace with this header has.
    pub(crate) fn format(&self) -> u32 {
        if self.script.is_some() { crate::FORMAT } else { crate::FORMAT_OF_RECORDS }
    }

    /// What must hold for every header, read or to be written.
    pub(crate) fn check(&self) -> Result<(), HeaderFault> {
        if self.width == 0 {
            return Err(fault("assay.width", "a process has at least one operation".to_owned()));
        }
        if self.layout.tables.is_empty() && self.script.is_none() {
            return Err(fault("assay.table.0", "a plan has at least one table".to_owned()));
        }
        if self.transaction_types.is_empty() {
            return Err(fault(
                "assay.transaction_type.0",
                "a plan names at least the type of a lone operation".to_owned(),
            ));
        }
        let most_fields = self.layout.tables.iter().map(|table| table.fields.len()).max();
        let counts =
            [Some(self.layout.tables.len()), Some(self.transaction_types.len()), most_fields];
        if counts.into_iter().flatten().any(|count| count > NAMES) {
            return Err(fault("assay.table.0", format!("a list has more than {NAMES} names")));
        }
        if let Some(script) = &self.script {
            check_script(script)?;
        }
        match self.part {
            Some(Part { index, of }) if index >= of => {
                Err(fault("assay.part", format!("there is no part {index} of {of}")))
            }
            _ => Ok(()),
        }
    }

    /// A small header for tests.
    #[cfg(test)]
    pub(crate) fn example() -> Header {
        Header {
            spec: "workload = \"example\"\n".to_owned(),
            seed: Seed(42),
            phase: Phase::Measure,
            width: 2,
            transaction_types: vec!["operation".to_owned(), "read-modify-write".to_owned()],
            layout: Layout {
                tables: vec![Table {
                    name: "usertable".to_owned(),
                    fields: vec!["field0".to_owned(), "field1".to_owned()],
                    needs_key_order: false,
                }],
                records: 1000,
            },
            generator: "assay 0.1.0".to_owned(),
            part: None,
            script: None,
        }
    }
}

/// The key that says that a trace has statements, with how many queries there are.
const QUERIES: &str = "assay.queries";

fn push_script(script: &Script, pairs: &mut Vec<(String, String)>) {
    pairs.push((QUERIES.to_owned(), script.queries.len().to_string()));
    if script.origins == Origins::Kept {
        pairs.push(("assay.origins".to_owned(), "kept".to_owned()));
    }
    let lists = [
        ("assay.ddl.", &script.ddl),
        ("assay.query.", &script.queries),
        ("assay.property.", &script.properties),
    ];
    for (prefix, list) in lists {
        for (number, named) in list.iter().enumerate() {
            pairs.push((format!("{prefix}{number}"), named.text.clone()));
            pairs.push((format!("{prefix}{number}.name"), named.name.clone()));
        }
    }
    for (number, hint) in script.hints.iter().enumerate() {
        pairs.push((format!("assay.hint.{number}"), hint.clone()));
    }
}

fn script(pairs: &Pairs<'_>) -> Result<Option<Script>, HeaderFault> {
    if pairs.find(QUERIES).is_none() {
        return Ok(None);
    }
    let named = |prefix: &str| -> Result<Vec<Named>, HeaderFault> {
        let texts = pairs.names(prefix).into_iter().enumerate();
        let with_name = |(number, text)| {
            let name = pairs.get(&format!("{prefix}{number}.name"))?.to_owned();
            Ok(Named { name, text })
        };
        texts.map(with_name).collect()
    };
    let queries = named("assay.query.")?;
    let scheduled = pairs.number(QUERIES)?;
    if queries.len() as u64 != scheduled {
        let found = queries.len();
        return Err(fault(QUERIES, format!("{scheduled} queries are promised, {found} are there")));
    }
    let origins = match pairs.find("assay.origins") {
        None => Origins::Own,
        Some("kept") => Origins::Kept,
        Some(other) => return Err(fault("assay.origins", format!("{other:?} is not `kept`"))),
    };
    Ok(Some(Script {
        ddl: named("assay.ddl.")?,
        queries,
        hints: pairs.names("assay.hint."),
        properties: named("assay.property.")?,
        origins,
    }))
}

fn check_script(script: &Script) -> Result<(), HeaderFault> {
    if script.queries.is_empty() {
        return Err(fault("assay.query.0", "a script has at least one query".to_owned()));
    }
    let counts = [
        ("assay.ddl.0", script.ddl.len()),
        ("assay.query.0", script.queries.len()),
        ("assay.hint.0", script.hints.len()),
        ("assay.property.0", script.properties.len()),
    ];
    match counts.into_iter().find(|(_, count)| *count >= NAMES) {
        Some((key, count)) => Err(fault(key, format!("there are {count}, at most {}", NAMES - 1))),
        None => Ok(()),
    }
}

fn tables(pairs: &Pairs<'_>) -> Vec<Table> {
    let names = pairs.names("assay.table.");
    let fields = |number| pairs.names(&format!("assay.table.{number}.field."));
    names
        .into_iter()
        .enumerate()
        .map(|(number, name)| Table { name, fields: fields(number), needs_key_order: false })
        .collect()
}

fn part(text: &str) -> Result<Part, HeaderFault> {
    let parsed = text
        .split_once('/')
        .and_then(|(index, of)| Some(Part { index: index.parse().ok()?, of: of.parse().ok()? }));
    parsed.ok_or_else(|| fault("assay.part", format!("{text:?} is not of the form 0/3")))
}

fn fault(key: &str, reason: String) -> HeaderFault {
    HeaderFault { key: key.to_owned(), reason }
}

/// The key–value pairs of a file.
pub(crate) struct Pairs<'a> {
    map: std::collections::HashMap<&'a str, &'a str>,
}

impl<'a> Pairs<'a> {
    pub(crate) fn new(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> Pairs<'a> {
        Pairs { map: pairs.collect() }
    }

    pub(crate) fn find(&self, key: &str) -> Option<&'a str> {
        self.map.get(key).copied()
    }

    pub(crate) fn get(&self, key: &str) -> Result<&'a str, HeaderFault> {
        self.find(key).ok_or_else(|| fault(key, "it is missing".to_owned()))
    }

    pub(crate) fn number(&self, key: &str) -> Result<u64, HeaderFault> {
        let text = self.get(key)?;
        text.parse().map_err(|_| fault(key, format!("{text:?} is no number")))
    }

    /// The values of `prefix`0, `prefix`1 … until one is missing.
    fn names(&self, prefix: &str) -> Vec<String> {
        (0..=NAMES)
            .map_while(|number| self.find(&format!("{prefix}{number}")))
            .map(str::to_owned)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(String, String)]) -> Result<Header, HeaderFault> {
        let texts = pairs.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        Header::from_pairs(&Pairs::new(texts))
    }

    #[test]
    fn a_header_comes_back_from_its_pairs() {
        let part = Some(Part { index: 1, of: 3 });
        let named = |name: &str, text: &str| Named { name: name.to_owned(), text: text.to_owned() };
        let script = Some(Script {
            ddl: vec![named("t", "CREATE TABLE t (a INT PRIMARY KEY)")],
            queries: vec![named("get", "SELECT a FROM t WHERE a = ?"), named("all", "SELECT 1")],
            hints: vec!["QUORUM".to_owned()],
            properties: vec![named("resultDir", "a:b")],
            origins: Origins::Kept,
        });
        let layout = Layout { tables: Vec::new(), records: 0 };
        let headers = [
            Header::example(),
            Header { part, ..Header::example() },
            Header { script, layout, ..Header::example() },
        ];
        for header in headers {
            assert_eq!(read(&header.to_pairs()).unwrap(), header);
        }
    }

    #[test]
    fn every_missing_key_but_part_is_named() {
        let pairs = Header::example().to_pairs();
        for dropped in ["assay.seed", "assay.phase", "assay.width", "assay.spec", "assay.table.0"] {
            let rest: Vec<_> = pairs.iter().filter(|(key, _)| key != dropped).cloned().collect();
            assert_eq!(read(&rest).unwrap_err().key, dropped);
        }
    }

    #[test]
    fn wrong_values_are_named() {
        let wrong = [
            ("assay.width", "0"),
            ("assay.width", "-1"),
            ("assay.seed", "seven"),
            ("assay.phase", "later"),
            ("assay.part", "3/3"),
            ("assay.part", "1 of 3"),
        ];
        for (key, value) in wrong {
            let mut pairs = Header::example().to_pairs();
            pairs.retain(|(known, _)| known != key);
            pairs.push((key.to_owned(), value.to_owned()));
            assert_eq!(read(&pairs).unwrap_err().key, key, "{value}");
        }
    }
}
