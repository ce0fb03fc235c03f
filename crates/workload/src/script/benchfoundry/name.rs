//! Names of BenchFoundry's tables.

/// The tables, by their places in [`TABLES`](super::table::TABLES).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(super) enum Name {
    Warehouse,
    District,
    Customer,
    Orders,
    NewOrder,
    Item,
    Stock,
    OrderLine,
    History,
}
