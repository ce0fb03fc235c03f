//! Schemas, queries, sequences of operations, all drawn from a seed.

use std::sync::Arc;

use assay_model::query::{Change, Insert, Term, Update};
use assay_model::{Catalogue, ColumnType, Datum, Decimal, Draws, Named, Seed, Statement};

/// A schema with queries, and the calls in their order.
#[derive(Clone)]
pub struct Case {
    pub seed: u64,
    pub catalogue: Arc<Catalogue>,
    pub ddl: Vec<Named>,
    pub operations: Vec<Operation>,
}

/// One query of the catalogue with its arguments.
#[derive(Clone)]
pub struct Operation {
    /// The query's place in the catalogue.
    pub query: usize,
    /// The arguments, encoded one after another.
    pub arguments: Vec<u8>,
}

/// The most operations of a case.
const OPERATIONS: u64 = 70;

struct Random {
    draws: Draws,
}

struct Column {
    name: String,
    kind: &'static str,
    is_nullable: bool,
}

struct Relation {
    name: String,
    columns: Vec<Column>,
    key: Vec<usize>,
    /// The parent, with the pairs (column here, column there).
    parent: Option<(usize, Vec<(usize, usize)>)>,
}

const KINDS: [&str; 9] = [
    "INT",
    "SMALLINT",
    "BIGINT",
    "DECIMAL(6,2)",
    "DOUBLE",
    "VARCHAR(4)",
    "TIMESTAMP",
    "BOOLEAN",
    "BLOB",
];

/// The case of a seed.
pub fn case(seed: u64) -> Case {
    let mut random = Random { draws: Seed(seed).draws(3, 0) };
    let mut relations = Vec::new();
    for number in 0..random.pick(&[1, 2, 2, 3, 3]) {
        let relation = random.relation(number, &relations);
        relations.push(relation);
    }
    let named = |name: String, text: String| Named { name, text };
    let ddl: Vec<Named> =
        relations.iter().map(|one| named(one.name.clone(), declaration(one))).collect();
    let mut texts = Vec::new();
    for relation in &relations {
        texts.push(random.insert(relation, false));
        texts.push(random.insert(relation, true));
        texts.push(random.delete(relation));
        texts.extend(random.update(relation));
        texts.extend(random.update(relation));
    }
    for _ in 0..8 {
        texts.push(random.select(&relations));
    }
    let queries: Vec<Named> = texts
        .into_iter()
        .enumerate()
        .map(|(number, text)| named(format!("q{number}"), text))
        .collect();
    let catalogue =
        assay_sql::catalogue(&ddl, &queries).unwrap_or_else(|why| panic!("seed {seed}: {why}"));
    let operations = random.operations(&catalogue);
    Case { seed, catalogue: Arc::new(catalogue), ddl, operations }
}

fn declaration(relation: &Relation) -> String {
    let columns = relation.columns.iter().map(|column| {
        let null = if column.is_nullable { "" } else { " NOT NULL" };
        format!("{} {}{null}", column.name, column.kind)
    });
    let key: Vec<&str> =
        relation.key.iter().map(|column| relation.columns[*column].name.as_str()).collect();
    let mut parts: Vec<String> = columns.collect();
    parts.push(format!("PRIMARY KEY ({})", key.join(", ")));
    if let Some((parent, pairs)) = &relation.parent {
        let here: Vec<&str> =
            pairs.iter().map(|(here, _)| relation.columns[*here].name.as_str()).collect();
        parts.push(format!("FOREIGN KEY ({}) REFERENCES r{parent}", here.join(", ")));
    }
    format!("CREATE TABLE {} ({})", relation.name, parts.join(", "))
}

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.draws.below(bound as u64) as usize
    }

    fn happens(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of them, more often one of the first two.
    fn often<T: Copy>(&mut self, from: &[T]) -> T {
        let few = if self.happens(60) { from.len().min(2) } else { from.len() };
        self.pick(&from[..few])
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    fn relation(&mut self, number: usize, earlier: &[Relation]) -> Relation {
        let mut columns: Vec<Column> = Vec::new();
        let mut key = Vec::new();
        let mut parent = None;
        if number > 0 && self.happens(80) {
            let other = self.below(earlier.len());
            let in_key = self.happens(50);
            let is_nullable = !in_key && self.happens(40);
            let mut pairs = Vec::new();
            for there in &earlier[other].key {
                let place = columns.len();
                let kind = earlier[other].columns[*there].kind;
                columns.push(Column { name: format!("f{number}_{place}"), kind, is_nullable });
                pairs.push((place, *there));
                key.extend(in_key.then_some(place));
            }
            parent = Some((other, pairs));
        }
        for _ in 0..1 + self.below(2) {
            key.push(columns.len());
            let name = format!("k{number}_{}", columns.len());
            columns.push(Column { name, kind: self.pick(&KINDS), is_nullable: false });
        }
        for _ in 0..self.below(4) {
            let name = format!("c{number}_{}", columns.len());
            let is_nullable = self.happens(50);
            columns.push(Column { name, kind: self.pick(&KINDS), is_nullable });
        }
        if self.happens(30) {
            key.reverse();
        }
        Relation { name: format!("r{number}"), columns, key, parent }
    }

    /// `?`, or a value of the type.
    fn term(&mut self, kind: &str) -> String {
        if self.happens(85) {
            return "?".into();
        }
        let mut bytes = Vec::new();
        self.value(parsed(kind)).encode(&mut bytes);
        Datum::decode(&bytes).expect("it was encoded").0.to_string()
    }

    fn insert(&mut self, relation: &Relation, leaves_out: bool) -> String {
        let columns: Vec<&Column> = relation
            .columns
            .iter()
            .filter(|column| !(leaves_out && column.is_nullable && self.happens(70)))
            .collect();
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        let terms: Vec<&str> = columns.iter().map(|_| "?").collect();
        let (names, terms) = (names.join(", "), terms.join(", "));
        format!("INSERT INTO {} ({names}) VALUES ({terms})", relation.name)
    }

    fn update(&mut self, relation: &Relation) -> Option<String> {
        let free: Vec<usize> =
            (0..relation.columns.len()).filter(|column| !relation.key.contains(column)).collect();
        if free.is_empty() {
            return None;
        }
        let mut changed = vec![self.pick(&free)];
        let second = self.pick(&free);
        if !changed.contains(&second) {
            changed.push(second);
        }
        let changes: Vec<String> = changed
            .iter()
            .map(|column| {
                let Column { name, kind, .. } = &relation.columns[*column];
                let term = self.term(kind);
                let is_number = !["VARCHAR(4)", "TIMESTAMP", "BOOLEAN", "BLOB"].contains(kind);
                match self.below(4) {
                    0 if is_number => format!("{name} = {name} + {term}"),
                    1 if is_number => format!("{name} = {name} - {term}"),
                    _ => format!("{name} = {term}"),
                }
            })
            .collect();
        let filters = self.filters(&[relation]);
        Some(format!("UPDATE {} SET {}{filters}", relation.name, changes.join(", ")))
    }

    fn delete(&mut self, relation: &Relation) -> String {
        let filters = self.filters(&[relation]);
        format!("DELETE FROM {}{filters}", relation.name)
    }

    fn select(&mut self, relations: &[Relation]) -> String {
        let last = relations.len() - 1;
        let mut from = vec![if self.happens(50) { last } else { self.below(last + 1) }];
        let mut joins = Vec::new();
        while let Some((parent, pairs)) = &relations[from[0]].parent {
            if !self.happens(70) {
                break;
            }
            let child = &relations[from[0]];
            joins.extend(pairs.iter().map(|(here, there)| {
                let (here, there) = (&child.columns[*here], &relations[*parent].columns[*there]);
                match self.happens(50) {
                    true => format!("{} = {}", here.name, there.name),
                    false => format!("{} = {}", there.name, here.name),
                }
            }));
            from.insert(0, *parent);
        }
        if self.happens(50) {
            from.reverse();
        }
        let members: Vec<&Relation> = from.iter().map(|number| &relations[*number]).collect();
        let all: Vec<&Column> = members.iter().flat_map(|one| &one.columns).collect();
        let output = match self.below(3) {
            0 => "*".to_string(),
            _ => {
                let count = 1 + self.below(3);
                let columns: Vec<&str> =
                    (0..count).map(|_| self.pick(&all).name.as_str()).collect();
                columns.join(", ")
            }
        };
        let names: Vec<&str> = members.iter().map(|one| one.name.as_str()).collect();
        let mut filters = self.filters(&members);
        for join in joins {
            let word = if filters.is_empty() { "WHERE" } else { "AND" };
            filters = format!("{filters} {word} {join}");
        }
        let order = self.order(&all);
        let locks = if self.happens(10) { " FOR UPDATE" } else { "" };
        format!("SELECT {output} FROM {}{filters}{order}{locks}", names.join(", "))
    }

    fn order(&mut self, all: &[&Column]) -> String {
        if self.happens(40) {
            return String::new();
        }
        let mut columns = Vec::new();
        for _ in 0..1 + self.below(3) {
            let direction = self.pick(&["", " DESC", " ASC"]);
            columns.push(format!("{}{direction}", self.pick(all).name));
        }
        let limit = self.pick(&["", "", " LIMIT ?", " LIMIT 2"]);
        format!(" ORDER BY {}{limit}", columns.join(", "))
    }

    /// A condition: nothing, a whole key, the beginning of one with a range, or whatever.
    fn filters(&mut self, members: &[&Relation]) -> String {
        let owner = self.pick(members);
        let all: Vec<&Column> = members.iter().flat_map(|one| &one.columns).collect();
        let key: Vec<&Column> = owner.key.iter().map(|column| &owner.columns[*column]).collect();
        let (mut equal, mut ranged): (Vec<&Column>, Option<&Column>) = (Vec::new(), None);
        match self.below(10) {
            0 => {}
            1..=3 => equal = key,
            4..=5 => {
                let count = self.below(key.len());
                equal = key[..count].to_vec();
                ranged = Some(key[count]);
            }
            6 => equal = key[..self.below(key.len() + 1)].to_vec(),
            _ => {
                equal = (0..1 + self.below(2)).map(|_| self.pick(&all)).collect();
                ranged = self.happens(40).then(|| self.pick(&all));
            }
        }
        let mut parts: Vec<String> =
            equal.iter().map(|one| format!("{} = {}", one.name, self.term(one.kind))).collect();
        if let Some(Column { name, kind, .. }) = ranged {
            let (low, high) = (self.term(kind), self.term(kind));
            parts.push(match self.below(5) {
                0 => format!("{name} BETWEEN {low} AND {high}"),
                1 => format!("{name} > {low} AND {high} >= {name}"),
                2 => format!("{name} < {high}"),
                3 => format!("{name} >= {low}"),
                _ => format!("{name} <= {high}"),
            });
        }
        if parts.is_empty() { String::new() } else { format!(" WHERE {}", parts.join(" AND ")) }
    }

    fn operations(&mut self, catalogue: &Catalogue) -> Vec<Operation> {
        let inserts: Vec<usize> = (0..catalogue.queries.len())
            .filter(|place| matches!(catalogue.queries[*place].statement, Statement::Insert(_)))
            .collect();
        let others: Vec<usize> =
            (0..catalogue.queries.len()).filter(|place| !inserts.contains(place)).collect();
        let count = 20 + self.below(OPERATIONS as usize - 20);
        (0..count)
            .map(|number| {
                // Rows first, so that something can be found.
                let percent = if number < count / 3 { 85 } else { 30 };
                let from = if self.happens(percent) { &inserts } else { &others };
                let query = self.pick(from);
                Operation { query, arguments: self.arguments(catalogue, query) }
            })
            .collect()
    }

    fn arguments(&mut self, catalogue: &Catalogue, query: usize) -> Vec<u8> {
        let query = &catalogue.queries[query];
        let mut encoded = Vec::new();
        for (number, kind) in query.parameters.iter().enumerate() {
            let datum = match null_percent(catalogue, &query.statement, number as u16) {
                None => Datum::Int(self.below(4) as i64),
                Some(percent) if self.happens(percent) => Datum::Null,
                Some(_) => self.value(*kind),
            };
            datum.encode(&mut encoded);
        }
        encoded
    }

    /// A value of few, so that equal ones meet.
    fn value(&mut self, kind: ColumnType) -> Datum<'static> {
        match kind {
            ColumnType::Integer { bits: 16 } => Datum::Int(self.often(&[-300, -1, 0, 1, 2, 3])),
            ColumnType::Integer { .. } => {
                Datum::Int(self.often(&[-70_000, -256, -1, 0, 1, 2, 255, 256]))
            }
            ColumnType::Decimal { scale, .. } => {
                let mantissa = self.often(&[-250, -101, -1, 0, 1, 50, 100, 12_345]);
                Datum::Decimal(Decimal { mantissa, scale })
            }
            ColumnType::Double => Datum::Double(self.often(&[-1.5, -0.25, 0.0, 0.5, 2.0, 1e10])),
            ColumnType::Text { .. } => {
                Datum::Text(self.often(&["", "a", "ab", "b", "B", "ä", "a b", "a'"]))
            }
            ColumnType::Bytes => {
                Datum::Bytes(self.often(&[&[][..], &[0], &[0, 0xFF], &[0xFF], &[0, 0], &[1]]))
            }
            ColumnType::Timestamp => {
                Datum::Timestamp(self.often(&[-1_000_000, 0, 1, 86_400_000_000]))
            }
            ColumnType::Boolean => Datum::Bool(self.often(&[false, true])),
        }
    }
}

fn parsed(kind: &str) -> ColumnType {
    match kind {
        "INT" => ColumnType::Integer { bits: 32 },
        "SMALLINT" => ColumnType::Integer { bits: 16 },
        "BIGINT" => ColumnType::Integer { bits: 64 },
        "DECIMAL(6,2)" => ColumnType::Decimal { precision: 6, scale: 2 },
        "DOUBLE" => ColumnType::Double,
        "VARCHAR(4)" => ColumnType::Text { length: Some(4), is_padded: false },
        "TIMESTAMP" => ColumnType::Timestamp,
        "BOOLEAN" => ColumnType::Boolean,
        "BLOB" => ColumnType::Bytes,
        other => panic!("no column is {other}"),
    }
}

/// How often an argument has no value; `None` for a number of rows, which always has.
///
/// Keys always have values: SQLite numbers rows by itself whose key is one whole number without a
/// value. So do columns of an UPDATE that must: whether a value that no row would take is refused
/// depends on the store.
fn null_percent(catalogue: &Catalogue, statement: &Statement, number: u16) -> Option<usize> {
    let parameter = Term::Parameter(number);
    let is_nullable =
        |relation, column| catalogue.schema.relation(relation).column(column).is_nullable;
    match statement {
        Statement::Select(select) if select.limit.as_ref() == Some(&parameter) => None,
        Statement::Insert(Insert { relation, columns, terms }) => {
            let place = terms.iter().position(|term| *term == parameter);
            let column = columns[place.expect("each argument is a value")];
            let is_key = catalogue.schema.relation(*relation).primary_key.contains(&column);
            Some(match is_nullable(*relation, column) {
                true => 20,
                false if is_key => 0,
                false => 1,
            })
        }
        Statement::Update(Update { relation, changes, .. }) => {
            let changed = changes.iter().find(|(_, change)| match change {
                Change::Set(term)
                | Change::Add(term)
                | Change::Subtract(term)
                | Change::Append(term) => *term == parameter,
            });
            Some(match changed {
                Some((column, _)) if is_nullable(*relation, *column) => 20,
                Some(_) => 0,
                None => 3,
            })
        }
        _ => Some(3),
    }
}
