//! A physical schema: the tables in which a store without queries keeps a logical schema.

pub(crate) mod view;

use std::collections::BTreeMap;

use assay_model::query::Direction;
use assay_model::{Schema, closest, named_enum};
use serde::{Deserialize, Serialize};

use view::{Attribute, View};

/// No relation has more rows than this; a double still counts them exactly.
const ROWS_MAX: f64 = 9_007_199_254_740_992.0;

named_enum! {
    /// Which kind of store a schema is meant for.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Class {
        /// Rows of named columns under a compound key, one secondary index for each table.
        Column => "column",
        /// Values under keys; an index is an additional entry.
        KeyValue => "key-value",
    }
}

impl Class {
    /// The class with this name.
    pub fn from_name(name: &str) -> Option<Class> {
        Class::ALL.into_iter().find(|class| class.name() == name)
    }
}

named_enum! {
    /// What a table is there for.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Role {
        /// A relation as it is, under its primary key: what everything else can be rebuilt from.
        #[serde(rename = "base")]
        BaseTable => "base",
        /// A relation under the key that a query uses.
        Query => "query",
        /// The rows of a join, computed when they are written.
        Join => "join",
        /// From the columns of a filter to primary keys.
        Lookup => "lookup",
        /// The entries of a secondary index; made from a table's `index`, never written in a file.
        Entries => "entries",
    }
}

/// Whether an INSERT looks first if its key is free.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Keys {
    /// It does, and is refused if not, as SQL says: one request more.
    #[default]
    Checked,
    /// It does not: a key that is inserted twice leaves stale copies.
    Trusted,
}

/// The tables that a logical schema is kept in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Physical {
    /// The kind of store it was made for.
    pub class: Class,
    /// Whether an INSERT checks its key.
    #[serde(default)]
    pub keys: Keys,
    /// How many rows each relation is expected to have; the choice of requests depends on that.
    #[serde(default)]
    pub rows: BTreeMap<String, f64>,
    /// The tables; every relation that is written or read has one of the role `base`.
    #[serde(rename = "table", default)]
    pub tables: Vec<PhysicalTable>,
}

/// One table of a [`Physical`] schema.
///
/// Columns are written `relation.column`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PhysicalTable {
    /// Its name, unique.
    pub name: String,
    /// What it is there for.
    pub role: Role,
    /// The relations whose rows it holds, joined if there are several.
    pub relations: Vec<String>,
    /// What is equal in a row of several relations: `a.x = b.y`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub joins: Vec<String>,
    /// The key, most significant column first; ` desc` behind a column turns its order around.
    /// Missing columns of primary keys are added at its end.
    pub key: Vec<String>,
    /// How many columns of the key choose the partition in a column store; the others order the
    /// rows within it.
    pub partition: u16,
    /// The columns besides the key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<String>,
    /// A column that rows can be found by too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<String>,
    /// The queries that it answers, by name; for readers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub serves: Vec<String>,
}

/// The physical schema does not fit the logical one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FitError {
    /// A table names what the schema does not have.
    #[error("table {table:?} names {name:?}, which the schema does not have{hint}")]
    Unknown {
        /// The table.
        table: String,
        /// What it names.
        name: String,
        /// What was meant, if that can be guessed.
        hint: String,
    },
    /// A table cannot be as it is written.
    #[error("table {table:?} cannot be: {reason}")]
    Table {
        /// The table.
        table: String,
        /// What is wrong, and what to do.
        reason: String,
    },
    /// A relation has no base table, or two.
    #[error(
        "relation {relation:?} has {count} tables of the role base; it needs exactly one, with \
         every column"
    )]
    Relation {
        /// The relation.
        relation: String,
        /// How many there are.
        count: usize,
    },
    /// A query cannot be answered from the tables.
    #[error("query {query:?} cannot be answered from these tables: {reason}")]
    Query {
        /// The query's name.
        query: String,
        /// The missing part.
        reason: String,
    },
    /// The file is no physical schema.
    #[error("the physical schema cannot be read: {0}")]
    Format(String),
}

impl Physical {
    /// Each relation as it is, under its primary key: the schema without an advisor.
    pub fn plain(schema: &Schema, class: Class) -> Physical {
        let tables = (0..).zip(&schema.relations).map(|(number, relation)| {
            let view = View::whole(schema, number);
            PhysicalTable::named(schema, &relation.name, &view, 1)
        });
        let tables = tables.collect();
        Physical { class, keys: Keys::default(), rows: BTreeMap::new(), tables }
    }

    /// Reads what [`Physical::to_toml`] has written.
    ///
    /// # Errors
    /// If it is something else, with the line.
    pub fn from_toml(text: &str) -> Result<Physical, FitError> {
        let physical: Physical =
            toml::from_str(text).map_err(|error| FitError::Format(error.to_string()))?;
        for (name, rows) in &physical.rows {
            if !(0.0..=ROWS_MAX).contains(rows) {
                let reason = format!("rows.{name} is {rows}: give how many rows it has, from 0 on");
                return Err(FitError::Format(reason));
            }
        }
        Ok(physical)
    }

    /// As TOML, to be kept, edited and given back.
    ///
    /// # Panics
    /// Never: every part of it has a place in TOML.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("names, numbers and lists of names have a place in TOML")
    }

    /// The tables in numbers, checked.
    pub(crate) fn views(&self, schema: &Schema) -> Result<Vec<View>, FitError> {
        let views: Result<Vec<View>, FitError> =
            self.tables.iter().map(|table| table.view(schema)).collect();
        let views = views?;
        for (place, table) in self.tables.iter().enumerate() {
            if self.tables[..place].iter().any(|other| other.name == table.name) {
                return Err(table.wrong("another table has this name; names are unique"));
            }
        }
        if let Some(name) = self.rows.keys().find(|name| schema.find(name).is_none()) {
            let relations = schema.relations.iter().map(|one| one.name.as_str());
            let hint = closest(name, relations).map(|near| format!("; did you mean {near:?}?"));
            let hint = hint.unwrap_or_default();
            let reason = format!("rows names {name:?}, which the schema does not have{hint}");
            return Err(FitError::Format(reason));
        }
        for (number, relation) in (0..).zip(&schema.relations) {
            let is_kept = |view: &&View| view.role == Role::BaseTable && view.relations == [number];
            let count = views.iter().filter(is_kept).count();
            let is_used = views.iter().any(|view| view.relations.contains(&number));
            let is_whole = views.iter().filter(is_kept).all(|view| {
                let columns = (0..).zip(&relation.columns);
                columns
                    .map(|(column, _)| column)
                    .all(|column| view.holds(Attribute { relation: number, column }))
            });
            if count > 1 || count == 0 && is_used || !is_whole {
                return Err(FitError::Relation { relation: relation.name.clone(), count });
            }
        }
        Ok(views)
    }

    /// The expected rows of each relation; 0 where nothing is said.
    pub(crate) fn expected_rows(&self, schema: &Schema) -> Vec<f64> {
        let of = |name: &str| {
            let known = self.rows.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
            known.map_or(0.0, |(_, rows)| *rows)
        };
        schema.relations.iter().map(|relation| of(&relation.name)).collect()
    }
}

impl PhysicalTable {
    /// `view` with names.
    pub(crate) fn named(schema: &Schema, name: &str, view: &View, partition: u16) -> PhysicalTable {
        let text = |attribute| attribute_name(schema, attribute);
        let key = view.key.iter().map(|&(attribute, direction)| match direction {
            Direction::Ascending => text(attribute),
            Direction::Descending => format!("{} desc", text(attribute)),
        });
        let joins =
            view.joins.iter().map(|&(one, other)| format!("{} = {}", text(one), text(other)));
        let relations = view.relations.iter();
        PhysicalTable {
            name: name.into(),
            role: view.role,
            relations: relations.map(|one| schema.relation(*one).name.clone()).collect(),
            joins: joins.collect(),
            key: key.collect(),
            partition,
            columns: view.columns.iter().map(|&column| text(column)).collect(),
            index: view.index.map(text),
            serves: Vec::new(),
        }
    }

    fn view(&self, schema: &Schema) -> Result<View, FitError> {
        let relations: Result<Vec<u16>, FitError> = self
            .relations
            .iter()
            .map(|name| schema.find(name).ok_or_else(|| self.unknown(schema, name)))
            .collect();
        let relations = relations?;
        let is_twice = (1..relations.len()).any(|at| relations[..at].contains(&relations[at]));
        if relations.is_empty() || is_twice {
            return Err(self.wrong("it needs relations, each of them once"));
        }
        let attribute = |name: &str| self.attribute(schema, &relations, name);
        let mut joins = Vec::new();
        for join in &self.joins {
            let Some((left, right)) = join.split_once('=') else {
                return Err(self.wrong("a join is written \"a.x = b.y\""));
            };
            joins.push((attribute(left)?, attribute(right)?));
        }
        if joins.len() + 1 < relations.len() {
            return Err(self.wrong("every relation behind the first needs a join"));
        }
        let mut key = Vec::new();
        for column in &self.key {
            let (name, direction) = match column.trim().strip_suffix(" desc") {
                Some(name) => (name, Direction::Descending),
                None => (column.as_str(), Direction::Ascending),
            };
            key.push((attribute(name)?, direction));
        }
        let columns: Result<Vec<Attribute>, FitError> =
            self.columns.iter().map(|name| attribute(name)).collect();
        let columns = columns?;
        let mut named: Vec<Attribute> = key.iter().map(|(attribute, _)| *attribute).collect();
        named.extend(&columns);
        let index = self.index.as_deref().map(attribute).transpose()?;
        if self.role == Role::Entries {
            return Err(self.wrong("entries follow from a table's index; give that table an index"));
        }
        if (self.role == Role::BaseTable) && (relations.len() > 1) {
            return Err(self.wrong("a base table holds one relation; a join has the role join"));
        }
        let mut view = View::new(schema, self.role, &relations, joins, (key, columns));
        if view.index.is_none() {
            view.index = index;
        }
        if self.role == Role::BaseTable
            && view.key.len() != schema.relation(relations[0]).primary_key.len()
        {
            return Err(self.wrong("the key of a base table is the primary key, in any order"));
        }
        if usize::from(self.partition) > view.key.len() {
            let (partition, key) = (self.partition, view.key.len());
            let reason = format!("partition = {partition}, but its key has {key} columns");
            return Err(self.wrong(&reason));
        }
        if index.is_some_and(|index| !view.holds(index)) {
            return Err(self.wrong("it has an index on a column that it does not hold"));
        }
        if let Some(at) = (1..named.len()).find(|&at| named[..at].contains(&named[at])) {
            let name = attribute_name(schema, named[at]);
            return Err(self.wrong(&format!("it has {name} twice: leave one out")));
        }
        Ok(view)
    }

    fn attribute(
        &self,
        schema: &Schema,
        relations: &[u16],
        name: &str,
    ) -> Result<Attribute, FitError> {
        let name = name.trim();
        let parts = name.split_once('.');
        let found = parts.and_then(|(relation, column)| {
            let relation = schema.find(relation)?;
            let column = schema.relation(relation).find(column)?;
            relations.contains(&relation).then_some(Attribute { relation, column })
        });
        found.ok_or_else(|| self.unknown(schema, name))
    }

    fn unknown(&self, schema: &Schema, name: &str) -> FitError {
        let columns = schema.relations.iter().flat_map(|relation| {
            let columns = relation.columns.iter();
            columns.map(|column| format!("{}.{}", relation.name, column.name))
        });
        let known: Vec<String> =
            schema.relations.iter().map(|one| one.name.clone()).chain(columns).collect();
        let hint = closest(name, known.iter().map(String::as_str));
        FitError::Unknown {
            table: self.name.clone(),
            name: name.into(),
            hint: hint.map_or(String::new(), |hint| format!("; did you mean {hint:?}?")),
        }
    }

    fn wrong(&self, reason: &str) -> FitError {
        FitError::Table { table: self.name.clone(), reason: reason.into() }
    }
}

pub(crate) fn attribute_name(schema: &Schema, attribute: Attribute) -> String {
    let relation = schema.relation(attribute.relation);
    format!("{}.{}", relation.name, relation.column(attribute.column).name)
}
