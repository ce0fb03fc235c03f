//! Explanation of a physical schema: the requests that answer each query, with their counts.

use assay_model::query::{Comparison, Direction, Term};
use assay_model::{Catalogue, Datum, Query, Schema, Statement, named_enum};
use assay_sql::{Dialect, query_text};

use crate::key_value::Compiled;
use crate::key_value::program::{
    Action, Condition, Copy, Program, Reading, Rows, Source, Step, Writing,
};
use crate::physical::view::View;
use crate::physical::{Class, FitError, Keys, Physical, Role};

/// A physical schema in words and numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The kind of store that it is for.
    pub class: Class,
    /// Whether an INSERT checks its key.
    pub keys: Keys,
    /// The stored tables, entries of indexes included.
    pub tables: Vec<ExplainedTable>,
    /// The queries in the order of the catalogue.
    pub queries: Vec<ExplainedQuery>,
}

/// One stored table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExplainedTable {
    /// Its name.
    pub name: String,
    /// What it is there for.
    pub role: Role,
    /// The columns of its key, most significant first, ` desc` behind those that fall.
    pub key: Vec<String>,
    /// How many columns of the key choose the partition in a column store; 0 for entries.
    pub partition: u16,
    /// The columns besides.
    pub columns: Vec<String>,
}

/// What answers one query.
#[derive(Clone, Debug, PartialEq)]
pub struct ExplainedQuery {
    /// The query's name.
    pub name: String,
    /// The query in its one form.
    pub sql: String,
    /// The requests in order.
    pub requests: Vec<ExplainedRequest>,
    /// The expected cost, in gets.
    pub cost: f64,
    /// How many rows it is expected to return or to write.
    pub rows: f64,
    /// How the rows that came back are sorted here; empty if they come in order.
    pub sorted: Vec<String>,
}

impl ExplainedQuery {
    /// How many requests it is expected to take.
    pub fn expected(&self) -> f64 {
        self.requests.iter().map(|request| request.expected).sum()
    }
}

/// One kind of request that a query takes.
#[derive(Clone, Debug, PartialEq)]
pub struct ExplainedRequest {
    /// The access.
    pub verb: RequestKind,
    /// The table's name.
    pub table: String,
    /// What the key is, column by column: `d_w_id = ?1`, `d_id > ?2`.
    pub key: Vec<String>,
    /// What is checked of the rows that come back.
    pub sifted: Vec<String>,
    /// How often it is expected for one query.
    pub expected: f64,
}

named_enum! {
    /// What a request does with a store of records.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum RequestKind {
        /// One record by its key.
        Get => "get",
        /// Records by the order of keys.
        Scan => "scan",
        /// A new record.
        Insert => "insert",
        /// New values for some fields of a record.
        Update => "update",
        /// A record to be removed.
        Delete => "delete",
    }
}

/// What `physical` does for the queries of `catalogue`.
///
/// # Errors
/// If the two do not fit together.
pub fn explain(catalogue: &Catalogue, physical: &Physical) -> Result<Explanation, FitError> {
    let compiled = Compiled::new(catalogue, physical)?;
    let schema = &catalogue.schema;
    let tables = compiled.tables.iter().enumerate().map(|(place, (name, view))| ExplainedTable {
        name: name.clone(),
        role: view.role,
        key: view
            .key
            .iter()
            .map(|(attribute, direction)| {
                let column = column_name(schema, view, attribute.relation, attribute.column);
                match direction {
                    Direction::Ascending => column,
                    Direction::Descending => format!("{column} desc"),
                }
            })
            .collect(),
        partition: physical.tables.get(place).map_or(0, |table| table.partition),
        columns: view
            .columns
            .iter()
            .map(|one| column_name(schema, view, one.relation, one.column))
            .collect(),
    });
    let queries = catalogue.queries.iter().zip(&compiled.queries).map(|(query, costed)| {
        let explainer = Explainer { schema, tables: &compiled.tables };
        let (requests, sorted) = explainer.program(query, &costed.program);
        ExplainedQuery {
            name: query.name.clone(),
            sql: query_text(Dialect::Logical, schema, &query.statement).text,
            requests,
            cost: costed.cost,
            rows: costed.rows,
            sorted,
        }
    });
    Ok(Explanation {
        class: physical.class,
        keys: physical.keys,
        tables: tables.collect(),
        queries: queries.collect(),
    })
}

/// The column, with its relation where the table holds rows of several.
fn column_name(schema: &Schema, view: &View, relation: u16, column: u16) -> String {
    let declared = schema.relation(relation);
    let name = &declared.column(column).name;
    match view.relations.len() {
        1 => name.clone(),
        _ => format!("{}.{name}", declared.name),
    }
}

struct Explainer<'a> {
    schema: &'a Schema,
    tables: &'a [(String, View)],
}

impl Explainer<'_> {
    fn program(&self, query: &Query, program: &Program) -> (Vec<ExplainedRequest>, Vec<String>) {
        match (program, &query.statement) {
            (Program::Select(reading, selected), Statement::Select(select)) => {
                let names = self.slots(&select.from);
                let sorted = selected.sort.iter().map(|(slot, direction)| match direction {
                    Direction::Ascending => names[usize::from(*slot)].clone(),
                    Direction::Descending => format!("{} desc", names[usize::from(*slot)]),
                });
                (self.reading(reading, &names), sorted.collect())
            }
            (Program::Write(writing), statement) => {
                let relation = match statement {
                    Statement::Insert(insert) => insert.relation,
                    Statement::Update(update) => update.relation,
                    Statement::Delete(delete) => delete.relation,
                    // A program is made from its statement, so a select is no write.
                    Statement::Select(_) => return Default::default(),
                };
                (self.writing(writing, relation), Vec::new())
            }
            (Program::Select(..), _) => Default::default(),
        }
    }

    /// The names of the slots of a row: the columns of each relation, one after another.
    fn slots(&self, relations: &[u16]) -> Vec<String> {
        let several = relations.len() > 1;
        let of = |number: &u16| {
            let relation = self.schema.relation(*number);
            relation.columns.iter().map(move |column| match several {
                true => format!("{}.{}", relation.name, column.name),
                false => column.name.clone(),
            })
        };
        relations.iter().flat_map(of).collect()
    }

    fn writing(&self, writing: &Writing, relation: u16) -> Vec<ExplainedRequest> {
        // Old values, then new ones; which of the two a key is made of goes without saying.
        let own = self.slots(&[relation]);
        let both = [own.clone(), own.clone()].concat();
        let mut requests = Vec::new();
        match &writing.rows {
            Rows::New { columns, check } => {
                requests.extend(check.iter().map(|step| ExplainedRequest {
                    key: self.key_of_row(step.table, columns),
                    ..self.step(step, &both)
                }));
            }
            Rows::Keyed(_) => {}
            Rows::Found(reading) => requests.extend(self.reading(reading, &both)),
        }
        let given: &[(u16, Term)] = match &writing.rows {
            Rows::New { columns, .. } | Rows::Keyed(columns) => columns,
            Rows::Found(_) => &[],
        };
        for copy in &writing.copies {
            requests.extend(self.copy(copy, relation, &own, given));
        }
        requests
    }

    fn copy(
        &self,
        copy: &Copy,
        relation: u16,
        own: &[String],
        given: &[(u16, Term)],
    ) -> Vec<ExplainedRequest> {
        let (name, view) = &self.tables[usize::from(copy.table)];
        let others: Vec<u16> =
            view.relations.iter().copied().filter(|other| *other != relation).collect();
        let others: Vec<String> = others.iter().flat_map(|other| self.slots(&[*other])).collect();
        let slots = [own, own, &others].concat();
        let mut requests = self.reading(&copy.partners, &slots);
        let verb = match copy.action {
            Action::Put => RequestKind::Insert,
            Action::Patch => RequestKind::Update,
            Action::Remove => RequestKind::Delete,
        };
        requests.push(ExplainedRequest {
            verb,
            table: name.clone(),
            key: self.key_of_row(copy.table, given),
            sifted: Vec::new(),
            expected: copy.expected,
        });
        requests
    }

    /// The key of a row that is written: what it is given, else where it comes from.
    fn key_of_row(&self, table: u16, given: &[(u16, Term)]) -> Vec<String> {
        let view = &self.tables[usize::from(table)].1;
        let part = |relation: u16, column: u16| {
            let name = column_name(self.schema, view, relation, column);
            let term = given.iter().find(|(number, _)| *number == column);
            match term.filter(|_| view.relations.len() == 1) {
                Some((_, term)) => format!("{name} = {}", display(term)),
                None => name,
            }
        };
        view.key.iter().map(|(one, _)| part(one.relation, one.column)).collect()
    }

    fn reading(&self, reading: &Reading, slots: &[String]) -> Vec<ExplainedRequest> {
        reading.accesses.iter().map(|step| self.step(step, slots)).collect()
    }

    fn step(&self, step: &Step, slots: &[String]) -> ExplainedRequest {
        let (name, view) = &self.tables[usize::from(step.table)];
        let source = |source: &Source| match source {
            Source::Term(term) => display(term),
            Source::Slot(slot) => slots[usize::from(*slot)].clone(),
        };
        let columns: Vec<String> = view
            .key
            .iter()
            .map(|(one, _)| column_name(self.schema, view, one.relation, one.column))
            .collect();
        let equal = columns.iter().zip(&step.bound);
        let mut key: Vec<String> =
            equal.map(|(column, value)| assigned(column, &source(value))).collect();
        for (end, open, closed) in [(&step.lower, ">", ">="), (&step.upper, "<", "<=")] {
            if let (Some((value, with)), Some(column)) = (end, columns.get(step.bound.len())) {
                let sign = if *with { closed } else { open };
                key.push(format!("{column} {sign} {}", source(value)));
            }
        }
        // What the key sees to is checked again; only the other conditions are worth a word.
        let beyond = step.conditions.iter().filter(|condition| !is_of_key(step, condition));
        let sifted = beyond.map(|condition| {
            let slot = &slots[usize::from(condition.slot)];
            format!("{slot} {} {}", sign(condition.comparison), source(&condition.right))
        });
        ExplainedRequest {
            verb: if step.is_get { RequestKind::Get } else { RequestKind::Scan },
            table: name.clone(),
            key,
            sifted: sifted.collect(),
            expected: step.expected,
        }
    }
}

/// Whether a condition holds of every row that the key lets through.
fn is_of_key(step: &Step, condition: &Condition) -> bool {
    // A table's fields begin with its key.
    let key = |place: usize| step.takes.get(place).copied();
    let is_same = |end: &Option<(Source, bool)>, with: bool| {
        key(step.bound.len()) == Some(condition.slot)
            && end.as_ref() == Some(&(condition.right.clone(), with))
    };
    match condition.comparison {
        Comparison::Equal => (0..step.bound.len()).any(|place| match &condition.right {
            Source::Term(_) => {
                key(place) == Some(condition.slot) && step.bound[place] == condition.right
            }
            // Columns that are joined are bound to the same value.
            Source::Slot(other) => [condition.slot, *other].map(Some).contains(&key(place)),
        }),
        Comparison::Less => is_same(&step.upper, false),
        Comparison::LessOrEqual => is_same(&step.upper, true),
        Comparison::Greater => is_same(&step.lower, false),
        Comparison::GreaterOrEqual => is_same(&step.lower, true),
    }
}

/// `column = value`; the column alone if an earlier row has given its value.
fn assigned(column: &str, value: &str) -> String {
    if column == value { column.into() } else { format!("{column} = {value}") }
}

fn display(term: &Term) -> String {
    match term {
        Term::Parameter(number) => format!("?{}", number + 1),
        Term::Literal(bytes) => {
            Datum::decode(bytes).map_or_else(|| "NULL".into(), |(datum, _)| datum.to_string())
        }
    }
}

fn sign(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Equal => "=",
        Comparison::Less => "<",
        Comparison::LessOrEqual => "<=",
        Comparison::Greater => ">",
        Comparison::GreaterOrEqual => ">=",
    }
}
