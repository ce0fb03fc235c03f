//! A store of rows for tests, which understands as much SQL as our own queries are written in.

use std::collections::BTreeMap;

use assay_model::{Argument, Arguments, Datum, Decimal, Filled, Kind, Operation, Pick, Taken};

use super::ScriptPlan;

/// The sign of a change that appends text.
const APPEND: i64 = 2;

/// A row's values, encoded.
type Row = Vec<Vec<u8>>;

#[derive(Clone, Debug, Default)]
struct Table {
    columns: Vec<String>,
    key: Vec<usize>,
    rows: BTreeMap<Vec<i64>, Row>,
}

/// What a query is made of.
#[derive(Clone, Debug)]
struct Parsed {
    kind: Kind,
    table: String,
    /// The table that is joined, with pairs of columns: of the joined one, of the first.
    join: Option<(String, Vec<(String, String)>)>,
    /// Columns returned or written.
    columns: Vec<String>,
    /// Changes: column, sign (0 sets, [`APPEND`] appends), literal if it is no argument.
    changes: Vec<(String, i64, Option<i64>)>,
    /// Column with comparison, each with an argument.
    filters: Vec<(String, String)>,
    /// Column, whether the greatest comes first.
    order: Option<(String, bool)>,
    limit: usize,
}

/// All rows, with how to undo the open transaction.
#[derive(Clone, Debug)]
pub(super) struct Engine {
    tables: BTreeMap<String, Table>,
    queries: Vec<Parsed>,
    undo: Vec<(String, Vec<i64>, Option<Row>)>,
    /// Inserts of a key that was there already, as a store would refuse them.
    pub refused: Vec<String>,
    /// How many rows each operation affected, in the order in which they were issued.
    pub touched: Vec<(u16, usize)>,
}

fn words(text: &str) -> Vec<String> {
    text.split([' ', ',', '\n']).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

fn between<'a>(text: &'a str, begin: &str, ends: &[&str]) -> Option<&'a str> {
    let rest = &text[text.find(begin)? + begin.len()..];
    let end = ends.iter().filter_map(|end| rest.find(end)).min().unwrap_or(rest.len());
    Some(rest[..end].trim())
}

fn table(text: &str) -> (String, Table) {
    let name = between(text, "CREATE TABLE ", &["("]).unwrap().to_owned();
    let inner = &text[text.find('(').unwrap() + 1..];
    let columns: Vec<String> = inner
        .lines()
        .filter(|line| line.starts_with("  ") && !line.contains(" KEY ("))
        .map(|line| words(line)[0].clone())
        .collect();
    let key = words(between(text, "PRIMARY KEY (", &[")"]).unwrap());
    let place = |column: &String| columns.iter().position(|one| one == column).unwrap();
    let key = key.iter().map(place).collect();
    (name, Table { columns, key, rows: BTreeMap::new() })
}

fn parsed(text: &str) -> Parsed {
    let ends = [" FROM ", " WHERE ", " ORDER BY ", " LIMIT ", " FOR UPDATE", " JOIN ", " SET "];
    let first = |part: Option<&str>| words(part.unwrap())[0].clone();
    let conditions = |part: Option<&str>| {
        let parts = part.into_iter().flat_map(|part| part.split(" AND "));
        parts.map(words).collect::<Vec<_>>()
    };
    let filters = conditions(between(text, " WHERE ", &ends[2..]))
        .into_iter()
        .map(|words| (words[0].clone(), words[1].clone()))
        .collect();
    let kind = match text.split(' ').next().unwrap() {
        "SELECT" => Kind::Read,
        "INSERT" => Kind::Insert,
        "UPDATE" => Kind::Update,
        _ => Kind::Delete,
    };
    let table = match kind {
        Kind::Insert => first(between(text, "INTO ", &["("])),
        Kind::Update => first(between(text, "UPDATE ", &ends)),
        _ => first(between(text, "FROM ", &ends)),
    };
    let columns = match kind {
        Kind::Read => words(between(text, "SELECT ", &ends).unwrap()),
        Kind::Insert => words(between(text, "(", &[")"]).unwrap()),
        _ => Vec::new(),
    };
    let join = between(text, " JOIN ", &[" ON "]).map(|joined| {
        let pairs = conditions(between(text, " ON ", &ends));
        let pairs = pairs.into_iter().map(|words| (words[0].clone(), words[2].clone()));
        (joined.to_owned(), pairs.collect())
    });
    let order = between(text, " ORDER BY ", &ends[3..]).map(words);
    Parsed {
        kind,
        table,
        join,
        columns,
        changes: between(text, " SET ", &ends).map_or(Vec::new(), changes),
        filters,
        order: order.map(|words| (words[0].clone(), words.get(1).is_some())),
        limit: between(text, " LIMIT ", &[" "]).map_or(usize::MAX, |n| n.parse().unwrap()),
    }
}

fn changes(text: &str) -> Vec<(String, i64, Option<i64>)> {
    let change = |part: &str| {
        let words = words(part);
        let sign = match words.get(3).map(String::as_str) {
            None => 0,
            Some("+") => 1,
            Some("||") => APPEND,
            Some(_) => -1,
        };
        (words[0].clone(), sign, words.last().unwrap().parse().ok())
    };
    text.split(',').map(|part| change(part.trim())).collect()
}

fn datum(bytes: &[u8]) -> Datum<'_> {
    Datum::decode(bytes).unwrap().0
}

fn encoded(datum: &Datum<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    datum.encode(&mut bytes);
    bytes
}

fn compares(left: &[u8], comparison: &str, right: &[u8]) -> bool {
    let (left, right) = (datum(left), datum(right));
    if left.is_null() || right.is_null() {
        return false;
    }
    match (left.exact(), right.exact()) {
        (Some(left), Some(right)) => match comparison {
            "=" => left.partial_cmp(&right).unwrap().is_eq(),
            "<" => left < right,
            ">=" => left >= right,
            other => panic!("no comparison {other}"),
        },
        _ => left == right,
    }
}

impl Engine {
    pub(super) fn new(plan: &ScriptPlan) -> Engine {
        let is_table = |text: &&str| text.starts_with("CREATE TABLE");
        let texts = plan.schema.iter().map(|named| named.text.as_str()).filter(is_table);
        Engine {
            tables: texts.map(table).collect(),
            queries: plan.queries.iter().map(|query| parsed(&query.text)).collect(),
            undo: Vec::new(),
            refused: Vec::new(),
            touched: Vec::new(),
        }
    }

    /// Issues the processes with these numbers one after another.
    pub(super) fn run(&mut self, plan: &ScriptPlan, processes: impl Iterator<Item = u64>) {
        let mut source = plan.source();
        let (mut operations, mut arguments) = (Vec::new(), Arguments::default());
        for process in processes {
            if source.fill(process, &mut operations).unwrap() == Filled::End {
                break;
            }
            source.arguments(&mut arguments);
            self.issue(&operations, &arguments);
        }
    }

    fn issue(&mut self, operations: &[Operation], arguments: &Arguments) {
        let mut answers: Vec<Vec<Row>> = Vec::new();
        for (place, operation) in operations.iter().enumerate() {
            if operation.kind == Kind::Rollback {
                self.roll_back();
            }
            if operation.ends_transaction {
                self.undo.clear();
            }
            let mut rows = Vec::new();
            if operation.statement > 0 {
                let values: Vec<Vec<u8>> = arguments
                    .of(place)
                    .map(|argument| match argument {
                        Argument::Given(datum) => encoded(&datum),
                        Argument::Taken(taken) => {
                            taken_from(&taken, &answers[usize::from(taken.operation)])
                        }
                    })
                    .collect();
                rows = self.query(operation.statement, &values);
            }
            answers.push(rows);
        }
    }

    fn roll_back(&mut self) {
        for (table, key, old) in self.undo.drain(..).rev() {
            let rows = &mut self.tables.get_mut(&table).unwrap().rows;
            match old {
                Some(row) => rows.insert(key, row),
                None => rows.remove(&key),
            };
        }
    }

    /// The rows that a query returns, once it has done what it does.
    pub(super) fn query(&mut self, statement: u16, values: &[Vec<u8>]) -> Vec<Row> {
        let query = self.queries[usize::from(statement) - 1].clone();
        let rows = match query.kind {
            Kind::Insert => self.insert(&query, values),
            Kind::Update => self.update(&query, values),
            Kind::Delete => self.delete(&query, values),
            _ => self.select(&query, values),
        };
        self.touched.push((statement, rows.len()));
        rows
    }

    fn insert(&mut self, query: &Parsed, values: &[Vec<u8>]) -> Vec<Row> {
        let table = self.tables.get_mut(&query.table).unwrap();
        let of = |column: &String| {
            let place = query.columns.iter().position(|one| one == column);
            place.map_or_else(|| encoded(&Datum::Null), |place| values[place].clone())
        };
        let row: Row = table.columns.iter().map(of).collect();
        let key: Vec<i64> = table.key.iter().map(|column| number(&row[*column])).collect();
        if table.rows.contains_key(&key) {
            self.refused.push(format!("{} {key:?}", query.table));
            return Vec::new();
        }
        self.undo.push((query.table.clone(), key.clone(), None));
        table.rows.insert(key, row.clone());
        vec![row]
    }

    fn update(&mut self, query: &Parsed, values: &[Vec<u8>]) -> Vec<Row> {
        let arguments = query.changes.iter().filter(|change| change.2.is_none()).count();
        let keys = self.matching(&query.table, &query.filters, &values[arguments..]);
        let table = self.tables.get_mut(&query.table).unwrap();
        for key in &keys {
            let row = table.rows.get_mut(key).unwrap();
            self.undo.push((query.table.clone(), key.clone(), Some(row.clone())));
            let mut given = values.iter();
            for (column, sign, literal) in &query.changes {
                let place = table.columns.iter().position(|one| one == column).unwrap();
                let value = match literal {
                    Some(literal) => encoded(&Datum::Int(*literal)),
                    None => given.next().unwrap().clone(),
                };
                row[place] = match *sign {
                    0 => value,
                    APPEND => appended(&row[place], &value),
                    sign => added(&row[place], sign, &value),
                };
            }
        }
        keys.into_iter().map(|key| table.rows[&key].clone()).collect()
    }

    fn delete(&mut self, query: &Parsed, values: &[Vec<u8>]) -> Vec<Row> {
        let keys = self.matching(&query.table, &query.filters, values);
        let rows = &mut self.tables.get_mut(&query.table).unwrap().rows;
        let removed: Vec<Row> = keys.iter().map(|key| rows.remove(key).unwrap()).collect();
        for (key, row) in keys.into_iter().zip(&removed) {
            self.undo.push((query.table.clone(), key, Some(row.clone())));
        }
        removed
    }

    fn select(&self, query: &Parsed, values: &[Vec<u8>]) -> Vec<Row> {
        let table = &self.tables[&query.table];
        // Conditions on the joined table wait until its columns are there.
        type Condition = ((String, String), Vec<u8>);
        let conditions = query.filters.iter().cloned().zip(values.iter().cloned());
        let (of_table, of_joined): (Vec<Condition>, Vec<Condition>) =
            conditions.partition(|((name, _), _)| table.columns.contains(name));
        let (filters, values): (Vec<_>, Vec<_>) = of_table.into_iter().unzip();
        let keys = self.matching(&query.table, &filters, &values);
        let mut columns = table.columns.clone();
        let mut rows: Vec<Row> = keys.iter().map(|key| table.rows[key].clone()).collect();
        if let Some((joined, pairs)) = &query.join {
            let filters: Vec<(String, String)> =
                pairs.iter().map(|(right, _)| (right.clone(), "=".to_owned())).collect();
            let place = |name: &String| columns.iter().position(|one| one == name).unwrap();
            let join = |row: &Row| -> Vec<Row> {
                let values: Vec<Vec<u8>> =
                    pairs.iter().map(|(_, left)| row[place(left)].clone()).collect();
                let found = self.matching(joined, &filters, &values);
                let right = |key: Vec<i64>| self.tables[joined].rows[&key].clone();
                found.into_iter().map(|key| [row.clone(), right(key)].concat()).collect()
            };
            rows = rows.iter().flat_map(join).collect();
            columns.extend(self.tables[joined].columns.clone());
        }
        let place = |name: &String| columns.iter().position(|one| one == name).unwrap();
        for ((name, comparison), value) in &of_joined {
            rows.retain(|row| compares(&row[place(name)], comparison, value));
        }
        if let Some((column, descends)) = &query.order {
            let by = place(column);
            rows.sort_by(|left, right| order(&left[by], &right[by]));
            if *descends {
                rows.reverse();
            }
        }
        rows.truncate(query.limit);
        let output =
            |row: &Row| query.columns.iter().map(|name| row[place(name)].clone()).collect();
        rows.iter().map(output).collect()
    }

    /// The keys of the rows that pass all filters.
    fn matching(
        &self,
        table: &str,
        filters: &[(String, String)],
        values: &[Vec<u8>],
    ) -> Vec<Vec<i64>> {
        let table = &self.tables[table];
        assert_eq!(filters.len(), values.len(), "{filters:?}");
        if values.iter().any(|value| datum(value).is_null()) {
            return Vec::new();
        }
        let place = |name: &String| table.columns.iter().position(|one| one == name).unwrap();
        let of_key = |column: &usize| {
            let is_it = |filter: &(String, String)| filter.1 == "=" && place(&filter.0) == *column;
            filters.iter().position(is_it).map(|filter| number(&values[filter]))
        };
        let prefix: Vec<i64> = table.key.iter().map_while(of_key).collect();
        let passes = |row: &Row| {
            let mut both = filters.iter().zip(values);
            both.all(|((name, comparison), value)| compares(&row[place(name)], comparison, value))
        };
        table
            .rows
            .range(prefix.clone()..)
            .take_while(|(key, _)| key.starts_with(&prefix))
            .filter(|(_, row)| passes(row))
            .map(|(key, _)| key.clone())
            .collect()
    }

    /// All values of a column, in the order of the keys.
    pub(super) fn column(&self, table: &str, column: &str) -> Vec<Datum<'_>> {
        let table = &self.tables[table];
        let place = table.columns.iter().position(|one| one == column).unwrap();
        table.rows.values().map(|row| datum(&row[place])).collect()
    }
}

fn number(bytes: &[u8]) -> i64 {
    datum(bytes).exact().and_then(|decimal| decimal.rescaled(0)).map_or(i64::MIN, |d| d.mantissa)
}

fn order(left: &[u8], right: &[u8]) -> std::cmp::Ordering {
    match (datum(left), datum(right)) {
        (Datum::Text(left), Datum::Text(right)) => left.cmp(right),
        (left, right) => left.exact().partial_cmp(&right.exact()).unwrap(),
    }
}

fn appended(old: &[u8], value: &[u8]) -> Vec<u8> {
    let (Datum::Text(old), Datum::Text(value)) = (datum(old), datum(value)) else {
        panic!("only texts are appended to")
    };
    encoded(&Datum::Text(&format!("{old}{value}")))
}

fn added(old: &[u8], sign: i64, value: &[u8]) -> Vec<u8> {
    let sum: Option<Decimal> = datum(old)
        .exact()
        .zip(datum(value).exact())
        .and_then(|(old, value)| old.plus(value.times(sign).unwrap()));
    match sum {
        Some(Decimal { mantissa, scale: 0 }) => encoded(&Datum::Int(mantissa)),
        Some(decimal) => encoded(&Datum::Decimal(decimal)),
        None => encoded(&Datum::Null),
    }
}

fn taken_from(taken: &Taken, rows: &[Row]) -> Vec<u8> {
    let column = usize::from(taken.column);
    let Some(last) = rows.len().checked_sub(1) else { return encoded(&Datum::Null) };
    let row = match taken.pick {
        Pick::First => 0,
        Pick::Last => last,
        Pick::Middle => last / 2,
        Pick::Sum => {
            let zero = encoded(&Datum::Int(0));
            let sum = rows.iter().fold(zero, |sum, row| added(&sum, 1, &row[column]));
            return encoded(&taken.apply(datum(&sum)));
        }
    };
    encoded(&taken.apply(datum(&rows[row][column])))
}
