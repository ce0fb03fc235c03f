//! Queries of BenchFoundry's transactions.

use assay_model::script::QueryRef;
use assay_model::{Kind, Named};

use super::name::Name;

/// One query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Query {
    /// All columns of a row, by its key with everything that it points to.
    Read(Name),
    Insert(Name),
    CustomerUpdate,
    NewOrderDelete,
    OrderCarrier,
}

/// All of them, with how often each occurs in one transaction of each type, in the order of the
/// types' numbers; the place plus one is the statement.
pub(super) const QUERIES: [(Query, [f64; 4]); 19] = [
    (Query::Read(Name::Warehouse), [1.0, 0.0, 1.0, 0.0]),
    (Query::Read(Name::District), [1.0, 0.0, 1.0, 0.0]),
    (Query::Read(Name::Customer), [1.0, 1.0, 1.0, 0.0]),
    (Query::Read(Name::Orders), [0.0, 1.0, 0.0, 1.0]),
    (Query::Read(Name::NewOrder), [0.0, 0.0, 0.0, 1.0]),
    (Query::Read(Name::Item), [0.0, 0.0, 3.0, 0.0]),
    (Query::Read(Name::OrderLine), [0.0, 2.0, 0.0, 1.0]),
    (Query::Insert(Name::Warehouse), NEVER),
    (Query::Insert(Name::District), NEVER),
    (Query::Insert(Name::Customer), NEVER),
    (Query::Insert(Name::Orders), [0.0, 0.0, 1.0, 0.0]),
    (Query::Insert(Name::NewOrder), [0.0, 0.0, 1.0, 0.0]),
    (Query::Insert(Name::Item), NEVER),
    (Query::Insert(Name::Stock), NEVER),
    (Query::Insert(Name::OrderLine), [0.0, 0.0, 3.0, 0.0]),
    (Query::Insert(Name::History), [1.0, 0.0, 0.0, 0.0]),
    (Query::CustomerUpdate, [1.0, 0.0, 0.0, 1.0]),
    (Query::NewOrderDelete, [0.0, 0.0, 0.0, 1.0]),
    (Query::OrderCarrier, [0.0, 0.0, 0.0, 1.0]),
];

/// Queries that only the load has.
const NEVER: [f64; 4] = [0.0; 4];

impl Query {
    fn place(self) -> usize {
        QUERIES
            .iter()
            .position(|(one, _)| *one == self)
            .expect("every query that is issued is listed")
    }

    /// How a process names it.
    pub(super) fn issue(self) -> QueryRef {
        let kind = match self {
            Query::Read(_) => Kind::Read,
            Query::Insert(_) => Kind::Insert,
            Query::CustomerUpdate | Query::OrderCarrier => Kind::Update,
            Query::NewOrderDelete => Kind::Delete,
        };
        QueryRef { statement: self.place() as u16 + 1, kind }
    }

    /// Its name with its text.
    pub(super) fn named(self) -> Named {
        let (name, text) = match self {
            Query::Read(name) => (format!("{}.read", name.name()), read(name)),
            Query::Insert(name) => (format!("{}.insert", name.name()), insert(name)),
            Query::CustomerUpdate => ("customer.update".to_owned(), update_customer()),
            Query::NewOrderDelete => {
                ("new_order.delete".to_owned(), "DELETE FROM new_order WHERE no_id = ?".to_owned())
            }
            Query::OrderCarrier => (
                "orders.carrier".to_owned(),
                "UPDATE orders SET o_carrier_id = ? WHERE o_id = ?".to_owned(),
            ),
        };
        Named { name, text }
    }
}

fn joined<'a>(parts: impl Iterator<Item = &'a str>, each: &str, between: &str) -> String {
    parts.map(|part| format!("{part}{each}")).collect::<Vec<_>>().join(between)
}

fn read(name: Name) -> String {
    let table = name.table();
    let keys = std::iter::once(table.key).chain(table.foreign.iter().map(|(column, _)| *column));
    let (columns, filters) = (joined(name.columns(), "", ", "), joined(keys, " = ?", " AND "));
    format!("SELECT {columns} FROM {} WHERE {filters}", name.name())
}

fn insert(name: Name) -> String {
    let columns = joined(name.columns(), "", ", ");
    let places = joined(name.columns().map(|_| "?"), "", ", ");
    format!("INSERT INTO {} ({columns}) VALUES ({places})", name.name())
}

fn update_customer() -> String {
    let content = Name::Customer.table().content.iter().map(|(column, _)| *column);
    format!("UPDATE customer SET {} WHERE c_id = ?", joined(content, " = ?", ", "))
}
