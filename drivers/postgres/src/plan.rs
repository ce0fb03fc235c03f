//! The statements that a client repeats, ready to be prepared.

use std::sync::Arc;

use assay_model::{Catalogue, Fields, Kind, Query, Statement, Table};
use assay_sql::{Dialect, Records, SqlQuery, query_text};

/// Which statement of a [`Plan`] is meant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum StatementId {
    /// The query with this place in the catalogue.
    Query(u16),
    /// A read or scan of records.
    Fetch(Kind, u16, Fields),
    /// An insert or update of these fields of a record.
    Write(Kind, u16, Vec<u16>),
    /// The removal of a record.
    Remove(u16),
}

/// The statements: queries, records, or both.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    pub(super) tables: Arc<[Table]>,
    pub(super) queries: Arc<[SqlQuery]>,
    pub(super) catalogue: Option<Arc<Catalogue>>,
}

/// Tables with more fields than this have only those statements prepared that are used.
const MOST_PREPARED: u16 = 64;

impl Plan {
    /// The queries of `catalogue` in PostgreSQL's SQL, beside the records that were there.
    pub(super) fn with_queries(&self, catalogue: &Arc<Catalogue>) -> Plan {
        let write =
            |query: &Query| query_text(Dialect::Postgres, &catalogue.schema, &query.statement);
        Plan {
            queries: catalogue.queries.iter().map(write).collect(),
            catalogue: Some(catalogue.clone()),
            ..self.clone()
        }
    }

    /// These tables of records, beside the queries that were there.
    pub(super) fn with_tables(&self, tables: &[Table]) -> Plan {
        Plan { tables: tables.into(), ..self.clone() }
    }

    /// The text of a statement; `None` if there is nothing of that name.
    pub(super) fn text(&self, which: &StatementId) -> Option<String> {
        let records = |table: &u16| {
            self.tables.get(usize::from(*table)).map(|table| Records::new(Dialect::Postgres, table))
        };
        match which {
            StatementId::Query(place) => {
                self.queries.get(usize::from(*place)).map(|requested| requested.text.clone())
            }
            StatementId::Fetch(Kind::Scan, table, fields) => records(table)?.scan(*fields),
            StatementId::Fetch(_, table, fields) => records(table)?.read(*fields),
            StatementId::Write(Kind::Insert, table, fields) => records(table)?.insert(fields),
            StatementId::Write(_, table, fields) => records(table)?.update(fields),
            StatementId::Remove(table) => Some(records(table)?.delete()),
        }
    }

    /// Whether there is a query at `place`.
    pub(super) fn knows(&self, place: u16) -> bool {
        usize::from(place) < self.queries.len()
    }

    /// Whether the query at `place` gives rows back.
    pub(super) fn gives_rows(&self, place: u16) -> bool {
        self.catalogue.as_ref().is_some_and(|catalogue| {
            let query = catalogue.queries.get(usize::from(place));
            query.is_some_and(|query| matches!(query.statement, Statement::Select(_)))
        })
    }

    /// What is prepared when a connection is made.
    pub(super) fn all(&self) -> Vec<StatementId> {
        let mut all: Vec<StatementId> =
            (0..self.queries.len() as u16).map(StatementId::Query).collect();
        for (number, table) in (0..).zip(self.tables.iter()) {
            let fields: Vec<u16> = (0..table.fields.len() as u16).collect();
            all.push(StatementId::Remove(number));
            for kind in [Kind::Read, Kind::Scan] {
                all.push(StatementId::Fetch(kind, number, Fields::All));
            }
            for kind in [Kind::Insert, Kind::Update] {
                all.push(StatementId::Write(kind, number, fields.clone()));
            }
            for &field in fields.iter().filter(|_| fields.len() <= usize::from(MOST_PREPARED)) {
                all.push(StatementId::Fetch(Kind::Read, number, Fields::One(field)));
                all.push(StatementId::Fetch(Kind::Scan, number, Fields::One(field)));
                all.push(StatementId::Write(Kind::Update, number, vec![field]));
            }
        }
        all
    }
}
