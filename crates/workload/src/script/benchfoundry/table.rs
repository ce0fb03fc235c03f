//! The nine tables with their rows.

use assay_model::script::ProcessBuilder;
use assay_model::{Argument, Datum, Decimal, Draws, Named, Seed};

use super::name::Name;
use super::query::Query;
use super::spec::BenchfoundrySpec;
use crate::plan::streams;
use crate::script::program::{int, text};
use crate::script::text::{LETTERS, random};

/// Where the streams of this workload begin.
pub(super) const STREAMS: u64 = streams::SCRIPTS + 0x300;

/// 2026-01-01 00:00:00 UTC in seconds; dates have no time of day, as in the generator's.
const DAYS_FROM: u64 = 1_767_225_600;
const DAY: u64 = 86_400;

/// What a column without a key's meaning holds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Content {
    /// So many capital letters.
    Letters(u64),
    /// A whole number below this.
    Below(u64),
    /// An amount below 10,000.00.
    Money,
    /// A share below 1.
    Share,
    /// A day of the year 2026.
    Day,
}

/// One table.
pub(super) struct Table {
    pub key: &'static str,
    /// Columns that hold keys of other tables.
    pub foreign: &'static [(&'static str, Name)],
    pub content: &'static [(&'static str, Content)],
    /// Rows for each unit of scale.
    pub rows: u64,
}

impl Name {
    pub(super) fn table(self) -> &'static Table {
        &TABLES[self as usize]
    }

    /// All columns: the key, what points to other tables, the rest.
    pub(super) fn columns(self) -> impl Iterator<Item = &'static str> {
        let Table { key, foreign, content, .. } = self.table();
        let foreign = foreign.iter().map(|(name, _)| *name);
        std::iter::once(*key).chain(foreign).chain(content.iter().map(|(name, _)| *name))
    }

    /// `CREATE TABLE`.
    pub(super) fn ddl(self) -> Named {
        let (name, table) = (self.name(), self.table());
        let mut text = format!("CREATE TABLE {name} (\n  {} BIGINT NOT NULL,\n", table.key);
        for (column, _) in table.foreign {
            text += &format!("  {column} BIGINT NOT NULL,\n");
        }
        for (column, content) in table.content {
            text += &format!("  {column} {} NOT NULL,\n", content.sql());
        }
        text += &format!("  PRIMARY KEY ({})\n)", table.key);
        Named { name: name.to_owned(), text }
    }
}

use Content::{Below, Day, Letters, Money, Share};

/// In the order of their names.
pub(super) const TABLES: [Table; Name::ALL.len()] = [
    Table {
        key: "w_id",
        foreign: &[],
        content: &[
            ("w_name", Letters(10)),
            ("w_street_1", Letters(20)),
            ("w_street_2", Letters(20)),
            ("w_city", Letters(20)),
            ("w_state", Letters(2)),
            ("w_zip", Letters(9)),
            ("w_tax", Share),
            ("w_ytd", Money),
        ],
        rows: 1,
    },
    Table {
        key: "d_id",
        foreign: &[("d_w_id", Name::Warehouse)],
        content: &[
            ("d_name", Letters(10)),
            ("d_street_1", Letters(20)),
            ("d_street_2", Letters(20)),
            ("d_city", Letters(20)),
            ("d_state", Letters(2)),
            ("d_zip", Letters(9)),
            ("d_tax", Share),
            ("d_ytd", Money),
            ("d_next_o_id", Below(10_000)),
        ],
        rows: 10,
    },
    Table {
        key: "c_id",
        foreign: &[("c_d_id", Name::District), ("c_w_id", Name::Warehouse)],
        content: &[
            ("c_first", Letters(16)),
            ("c_middle", Letters(2)),
            ("c_last", Letters(16)),
            ("c_street_1", Letters(20)),
            ("c_street_2", Letters(20)),
            ("c_city", Letters(20)),
            ("c_state", Letters(2)),
            ("c_zip", Letters(9)),
            ("c_phone", Letters(16)),
            ("c_since", Day),
            ("c_credit", Letters(2)),
            ("c_credit_lim", Money),
            ("c_discount", Share),
            ("c_balance", Money),
            ("c_ytd_payment", Below(10_000)),
            ("c_delivery_cnt", Below(10_000)),
            ("c_data", Letters(500)),
        ],
        rows: 300,
    },
    Table {
        key: "o_id",
        foreign: &[],
        content: &[
            ("o_d_id", Below(10)),
            ("o_w_id", Below(1)),
            ("o_c_id", Below(300)),
            ("o_entry_d", Day),
            ("o_carrier_id", Below(100)),
            ("o_ol_cnt", Below(100)),
            ("o_all_local", Below(2)),
        ],
        rows: 300,
    },
    Table {
        key: "no_id",
        foreign: &[("no_d_id", Name::District), ("no_w_id", Name::Warehouse)],
        content: &[("no_date", Letters(8))],
        rows: 300,
    },
    Table {
        key: "i_id",
        foreign: &[],
        content: &[("i_name", Letters(24)), ("i_price", Money), ("i_data", Letters(50))],
        rows: 1_000,
    },
    Table {
        key: "s_id",
        foreign: &[("s_i_id", Name::Item), ("s_w_id", Name::Warehouse)],
        content: &[
            ("s_quantity", Below(10_000)),
            ("s_dist_01", Letters(24)),
            ("s_dist_02", Letters(24)),
            ("s_dist_03", Letters(24)),
            ("s_dist_04", Letters(24)),
            ("s_dist_05", Letters(24)),
            ("s_dist_06", Letters(24)),
            ("s_dist_07", Letters(24)),
            ("s_dist_08", Letters(24)),
            ("s_dist_09", Letters(24)),
            ("s_dist_10", Letters(24)),
            ("s_ytd", Below(10_000)),
            ("s_order_cnt", Below(10_000)),
            ("s_remote_cnt", Below(10_000)),
            ("s_data", Letters(50)),
        ],
        rows: 1_000,
    },
    Table {
        key: "ol_number",
        foreign: &[
            ("ol_o_id", Name::Orders),
            ("ol_d_id", Name::District),
            ("ol_w_id", Name::Warehouse),
            ("ol_i_id", Name::Item),
        ],
        content: &[
            ("ol_supply_w_id", Below(1)),
            ("ol_delivery_d", Day),
            ("ol_quantity", Below(100)),
            ("ol_amount", Money),
            ("ol_dist_info", Letters(24)),
        ],
        rows: 1_000,
    },
    Table {
        key: "h_id",
        foreign: &[],
        content: &[("h_date", Day), ("h_amount", Money), ("h_data", Letters(24))],
        rows: 300,
    },
];

impl Content {
    fn sql(self) -> String {
        match self {
            Letters(length) => format!("VARCHAR({length})"),
            Below(_) => "INTEGER".to_owned(),
            Money => "DECIMAL(12, 2)".to_owned(),
            Share => "DECIMAL(4, 4)".to_owned(),
            Day => "TIMESTAMP".to_owned(),
        }
    }

    fn draw(self, draws: &mut Draws) -> Cell {
        let decimal = |mantissa: u64, scale| {
            Cell::Other(Datum::Decimal(Decimal { mantissa: mantissa as i64, scale }))
        };
        match self {
            Letters(length) => Cell::Text(random(LETTERS, length, length, draws)),
            Below(bound) => Cell::Other(Datum::Int(draws.below(bound) as i64)),
            Money => decimal(draws.below(1_000_000), 2),
            Share => decimal(draws.below(10_000), 4),
            Day => {
                let seconds = DAYS_FROM + draws.below(365) * DAY;
                Cell::Other(Datum::Timestamp(seconds as i64 * 1_000_000))
            }
        }
    }
}

/// A drawn value.
enum Cell {
    Text(String),
    Other(Datum<'static>),
}

impl Cell {
    fn argument(&self) -> Argument<'_> {
        match self {
            Cell::Text(letters) => text(letters),
            Cell::Other(datum) => Argument::Given(*datum),
        }
    }
}

/// The rows of a load.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    scale: u64,
    seed: Seed,
}

impl Rows {
    pub(super) fn new(spec: &BenchfoundrySpec, seed: Seed) -> Rows {
        Rows { scale: spec.dataset.scale, seed: Seed(spec.dataset.seed.unwrap_or(seed.0)) }
    }

    /// How many rows a table has; their keys count up from 0.
    pub(super) fn of(&self, name: Name) -> u64 {
        name.table().rows * self.scale
    }

    /// How many rows there are.
    pub(super) fn count(&self) -> u64 {
        TABLES.iter().map(|table| table.rows).sum::<u64>() * self.scale
    }

    /// What the row with this key points to.
    pub(super) fn foreign(&self, name: Name, key: u64) -> Vec<u64> {
        self.draw_foreign(name, &mut self.seed.draws(STREAMS + name as u64, key))
    }

    /// Keys of the other tables, each drawn uniformly.
    pub(super) fn draw_foreign(&self, name: Name, draws: &mut Draws) -> Vec<u64> {
        name.table().foreign.iter().map(|(_, other)| draws.below(self.of(*other))).collect()
    }

    /// Adds the insert of a row that the load writes.
    pub(super) fn add(&self, name: Name, key: u64, into: &mut ProcessBuilder<'_>) {
        let draws = &mut self.seed.draws(STREAMS + name as u64, key);
        let foreign = self.draw_foreign(name, draws);
        insert(name, key, &foreign, draws, into);
    }
}

/// Adds the insert of a row with this key, its content drawn.
pub(super) fn insert(
    name: Name,
    key: u64,
    foreign: &[u64],
    draws: &mut Draws,
    into: &mut ProcessBuilder<'_>,
) {
    let content = content(name, draws);
    let mut row = vec![int(key)];
    row.extend(foreign.iter().map(|other| int(*other)));
    row.extend(content.iter().map(Cell::argument));
    into.issue(Query::Insert(name).issue(), key, &row);
}

/// Adds an update of all that a customer holds, by the customer's key alone.
pub(super) fn update_customer(key: u64, draws: &mut Draws, into: &mut ProcessBuilder<'_>) {
    let content = content(Name::Customer, draws);
    let mut arguments: Vec<Argument<'_>> = content.iter().map(Cell::argument).collect();
    arguments.push(int(key));
    into.issue(Query::CustomerUpdate.issue(), key, &arguments);
}

fn content(name: Name, draws: &mut Draws) -> Vec<Cell> {
    name.table().content.iter().map(|(_, content)| content.draw(draws)).collect()
}
