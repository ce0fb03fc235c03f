//! Names of BenchFoundry's tables.

use assay_model::named_enum;

named_enum! {
    /// The tables, by their places in [`TABLES`](super::table::TABLES). Names that SQL keeps for
    /// itself are written otherwise: ORDER, NEW-ORDER, ORDER-LINE.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[repr(usize)]
    pub(super) enum Name {
        Warehouse => "warehouse",
        District => "district",
        Customer => "customer",
        Orders => "orders",
        NewOrder => "new_order",
        Item => "item",
        Stock => "stock",
        OrderLine => "order_line",
        History => "history",
    }
}
