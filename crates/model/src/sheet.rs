//! A table of figures by columns, which files and reports of studies are made of.

/// One column; every column of a table has as many values.
#[derive(Clone, Debug, PartialEq)]
pub struct SheetColumn {
    /// Its name.
    pub name: &'static str,
    /// Its values in order of the rows.
    pub values: SheetValues,
}

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum SheetValues {
    /// Words; empty where there is nothing to say.
    Text(Vec<String>),
    /// Whole numbers.
    Count(Vec<Option<u64>>),
    /// Numbers; times are in nanoseconds.
    Number(Vec<Option<f64>>),
}
