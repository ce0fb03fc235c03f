//! Schema of the suite: a bank with branches, accounts, one row of every type.

use assay_model::query::{
    Change, ColumnRef, Comparison, Delete, Direction, Filter, Insert, Join, Select, Term, Update,
};
use assay_model::schema::ForeignKey;
use assay_model::{Catalogue, Column, ColumnType, Datum, Query, Relation, Schema, Statement};

/// The queries, by their numbers.
pub(super) mod query_ids {
    /// Adds a branch: id, city.
    pub const ADD_BRANCH: u16 = 1;
    /// Adds an account: branch, number, owner, balance.
    pub const OPEN: u16 = 2;
    /// Reads owner, balance: branch, number.
    pub const ACCOUNT: u16 = 3;
    /// Reads numbers from one to below another, in order: branch, from, below, most.
    pub const RANGE: u16 = 4;
    /// Reads number, balance of the two richest accounts: branch.
    pub const RICHEST: u16 = 5;
    /// Reads branch, number: owner.
    pub const OF_OWNER: u16 = 6;
    /// Reads city, number of the accounts of a branch, in order: branch.
    pub const WITH_CITY: u16 = 7;
    /// Changes the owner: owner, branch, number.
    pub const RENAME: u16 = 8;
    /// Raises the balance: by, branch, number.
    pub const DEPOSIT: u16 = 9;
    /// Lowers the balance: by, branch, number.
    pub const WITHDRAW: u16 = 10;
    /// Removes an account: branch, number.
    pub const CLOSE: u16 = 11;
    /// Adds a row of all types: id, then one value of each.
    pub const ADD_KINDS: u16 = 12;
    /// Reads the values of all types: id.
    pub const KINDS: u16 = 13;
    /// Reads the balance to change it: branch, number.
    pub const BALANCE: u16 = 14;
    /// Sets the balance: balance, branch, number.
    pub const SET_BALANCE: u16 = 15;
}

const BRANCH: u16 = 0;
const ACCOUNT: u16 = 1;
const KINDS: u16 = 2;

const INTEGER: ColumnType = ColumnType::Integer { bits: 32 };
const LONG: ColumnType = ColumnType::Integer { bits: 64 };
const MONEY: ColumnType = ColumnType::Decimal { precision: 12, scale: 2 };

fn text(length: u32) -> ColumnType {
    ColumnType::Text { length: Some(length), is_padded: false }
}

fn column(name: &str, kind: ColumnType) -> Column {
    Column { name: name.into(), kind, is_nullable: false }
}

fn nullable(name: &str, kind: ColumnType) -> Column {
    Column { is_nullable: true, ..column(name, kind) }
}

fn schema() -> Schema {
    let branch = Relation {
        name: "branch".into(),
        columns: vec![column("id", INTEGER), column("city", text(20))],
        primary_key: vec![0],
        foreign_keys: vec![],
        indexes: vec![],
    };
    let account = Relation {
        name: "account".into(),
        columns: vec![
            column("branch", INTEGER),
            column("number", INTEGER),
            nullable("owner", text(20)),
            column("balance", MONEY),
        ],
        primary_key: vec![0, 1],
        foreign_keys: vec![ForeignKey { columns: vec![0], relation: BRANCH, referenced: vec![0] }],
        indexes: vec![vec![2]],
    };
    let kinds = Relation {
        name: "kinds".into(),
        columns: vec![
            column("id", LONG),
            nullable("small", ColumnType::Integer { bits: 16 }),
            nullable("whole", INTEGER),
            nullable("big", LONG),
            nullable("price", MONEY),
            nullable("ratio", ColumnType::Double),
            nullable("name", ColumnType::Text { length: None, is_padded: false }),
            nullable("code", ColumnType::Text { length: Some(4), is_padded: true }),
            nullable("photo", ColumnType::Bytes),
            nullable("at", ColumnType::Timestamp),
            nullable("good", ColumnType::Boolean),
        ],
        primary_key: vec![0],
        foreign_keys: vec![],
        indexes: vec![],
    };
    Schema { relations: vec![branch, account, kinds] }
}

fn of(column: u16) -> ColumnRef {
    ColumnRef { relation: 0, column }
}

/// `column = ?`, for arguments from `first` on.
fn equals(columns: &[u16], first: u16) -> Vec<Filter> {
    let filter = |(number, &column)| Filter {
        column: of(column),
        comparison: Comparison::Equal,
        term: Term::Parameter(number),
    };
    (first..).zip(columns).map(filter).collect()
}

fn select(relation: u16, output: &[u16], filters: Vec<Filter>) -> Select {
    Select {
        from: vec![relation],
        joins: vec![],
        output: output.iter().map(|&column| of(column)).collect(),
        filters,
        order: vec![],
        limit: None,
        locks: false,
    }
}

fn insert(relation: u16, columns: u16) -> Statement {
    Statement::Insert(Insert {
        relation,
        columns: (0..columns).collect(),
        terms: (0..columns).map(Term::Parameter).collect(),
    })
}

/// Changes one column of one account.
fn update(column: u16, change: Change) -> Statement {
    let filters = equals(&[0, 1], 1);
    Statement::Update(Update { relation: ACCOUNT, changes: vec![(column, change)], filters })
}

fn range() -> Statement {
    let bound =
        |comparison, number| Filter { column: of(1), comparison, term: Term::Parameter(number) };
    let mut filters = equals(&[0], 0);
    filters.push(bound(Comparison::GreaterOrEqual, 1));
    filters.push(bound(Comparison::Less, 2));
    Statement::Select(Select {
        order: vec![(of(1), Direction::Ascending)],
        limit: Some(Term::Parameter(3)),
        ..select(ACCOUNT, &[1], filters)
    })
}

fn richest() -> Statement {
    let mut two = Vec::new();
    Datum::Int(2).encode(&mut two);
    Statement::Select(Select {
        order: vec![(of(3), Direction::Descending), (of(1), Direction::Ascending)],
        limit: Some(Term::Literal(two)),
        ..select(ACCOUNT, &[1, 3], equals(&[0], 0))
    })
}

fn with_city() -> Statement {
    let account = |column| ColumnRef { relation: 1, column };
    Statement::Select(Select {
        from: vec![BRANCH, ACCOUNT],
        joins: vec![Join { left: of(0), right: account(0) }],
        output: vec![of(1), account(1)],
        order: vec![(account(1), Direction::Ascending)],
        ..select(BRANCH, &[], equals(&[0], 0))
    })
}

/// The names of the queries with what they are in SQL.
const QUERIES: [(&str, &str); 15] = [
    ("add branch", "INSERT INTO branch (id, city) VALUES (?, ?)"),
    ("open", "INSERT INTO account (branch, number, owner, balance) VALUES (?, ?, ?, ?)"),
    ("account", "SELECT owner, balance FROM account WHERE branch = ? AND number = ?"),
    (
        "range",
        "SELECT number FROM account WHERE branch = ? AND number >= ? AND number < ? \
             ORDER BY number LIMIT ?",
    ),
    (
        "richest",
        "SELECT number, balance FROM account WHERE branch = ? \
             ORDER BY balance DESC, number LIMIT 2",
    ),
    ("of owner", "SELECT branch, number FROM account WHERE owner = ?"),
    (
        "with city",
        "SELECT city, number FROM branch, account WHERE branch.id = account.branch \
             AND branch.id = ? ORDER BY number",
    ),
    ("rename", "UPDATE account SET owner = ? WHERE branch = ? AND number = ?"),
    ("deposit", "UPDATE account SET balance = balance + ? WHERE branch = ? AND number = ?"),
    ("withdraw", "UPDATE account SET balance = balance - ? WHERE branch = ? AND number = ?"),
    ("close", "DELETE FROM account WHERE branch = ? AND number = ?"),
    ("add kinds", "INSERT INTO kinds VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"),
    (
        "kinds",
        "SELECT small, whole, big, price, ratio, name, code, photo, at, good FROM kinds \
             WHERE id = ?",
    ),
    ("balance", "SELECT balance FROM account WHERE branch = ? AND number = ? FOR UPDATE"),
    ("set balance", "UPDATE account SET balance = ? WHERE branch = ? AND number = ?"),
];

/// The relations and queries of the suite.
pub fn catalogue() -> Catalogue {
    let by_key = || equals(&[0, 1], 0);
    let parameter = || Term::Parameter(0);
    let kinds = &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
    let schema = schema();
    let columns = &schema.relations[usize::from(KINDS)].columns;
    let types: Vec<ColumnType> = columns.iter().map(|column| column.kind).collect();
    let meant = [
        (vec![INTEGER, text(20)], insert(BRANCH, 2)),
        (vec![INTEGER, INTEGER, text(20), MONEY], insert(ACCOUNT, 4)),
        (vec![INTEGER; 2], Statement::Select(select(ACCOUNT, &[2, 3], by_key()))),
        (vec![INTEGER, INTEGER, INTEGER, LONG], range()),
        (vec![INTEGER], richest()),
        (vec![text(20)], Statement::Select(select(ACCOUNT, &[0, 1], equals(&[2], 0)))),
        (vec![INTEGER], with_city()),
        (vec![text(20), INTEGER, INTEGER], update(2, Change::Set(parameter()))),
        (vec![MONEY, INTEGER, INTEGER], update(3, Change::Add(parameter()))),
        (vec![MONEY, INTEGER, INTEGER], update(3, Change::Subtract(parameter()))),
        (vec![INTEGER; 2], Statement::Delete(Delete { relation: ACCOUNT, filters: by_key() })),
        (types, insert(KINDS, 11)),
        (vec![LONG], Statement::Select(select(KINDS, kinds, equals(&[0], 0)))),
        (
            vec![INTEGER; 2],
            Statement::Select(Select { locks: true, ..select(ACCOUNT, &[3], by_key()) }),
        ),
        (vec![MONEY, INTEGER, INTEGER], update(3, Change::Set(parameter()))),
    ];
    let queries = QUERIES.into_iter().zip(meant);
    let queries = queries.map(|((name, text), (parameters, statement))| Query {
        name: name.into(),
        text: text.into(),
        statement,
        parameters,
    });
    Catalogue { queries: queries.collect(), schema }
}
