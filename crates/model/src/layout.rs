//! Layout: the tables that a store must create.

/// The tables of a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The tables, at least one.
    pub tables: Vec<Table>,
    /// The records that a load will write, as a hint for sizing.
    pub records: u64,
}

/// One table of records with a key and named fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// The names of its fields; a field's number is its place here.
    pub fields: Vec<String>,
    /// Whether scans must go by the bytes of the key, also in a store that scans by an order of its
    /// own unless told to. Then a scan that returns fewer records than it may has come to the end:
    /// a store that meets a key whose record has just gone returns a record without fields for it.
    pub needs_key_order: bool,
}
