//! The logical schema that queries refer to: relations with typed columns, their keys.

/// The relations of a workload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schema {
    /// The relations; one's number is its place here.
    pub relations: Vec<Relation>,
}

/// One relation, as `CREATE TABLE` declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relation {
    /// Its name, as written.
    pub name: String,
    /// Its columns; one's number is its place here.
    pub columns: Vec<Column>,
    /// The columns of the primary key in the order of the key, at least one.
    pub primary_key: Vec<u16>,
    /// Where it points to other relations.
    pub foreign_keys: Vec<ForeignKey>,
    /// Columns, in order, that further indexes are wanted on; each list is one index.
    pub indexes: Vec<Vec<u16>>,
}

/// One column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name, as written.
    pub name: String,
    /// What it holds.
    pub kind: ColumnType,
    /// Whether it may hold no value.
    pub is_nullable: bool,
}

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ColumnType {
    /// Whole numbers of 16, 32 or 64 bits.
    Integer {
        /// 16, 32 or 64.
        bits: u8,
    },
    /// Exact decimal numbers.
    Decimal {
        /// All digits, at most 18.
        precision: u8,
        /// Those behind the point.
        scale: u8,
    },
    /// Binary floating-point numbers of 64 bits.
    Double,
    /// Text.
    Text {
        /// The most characters, if there is a bound.
        length: Option<u32>,
        /// Whether it was declared as `CHAR`, which pads with blanks.
        is_padded: bool,
    },
    /// Bytes.
    Bytes,
    /// Moments without a time zone.
    Timestamp,
    /// Truth values.
    Boolean,
}

/// Columns that hold the key of a row of another relation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignKey {
    /// The columns here.
    pub columns: Vec<u16>,
    /// The number of the other relation.
    pub relation: u16,
    /// The columns there, in the same order.
    pub referenced: Vec<u16>,
}

impl Schema {
    /// The number of the relation with this name; letters' case does not matter.
    pub fn find(&self, name: &str) -> Option<u16> {
        let place = self.relations.iter().position(|one| one.name.eq_ignore_ascii_case(name))?;
        u16::try_from(place).ok()
    }

    /// The relation with this number.
    ///
    /// # Panics
    /// If there is none; numbers come from this schema.
    pub fn relation(&self, number: u16) -> &Relation {
        &self.relations[usize::from(number)]
    }
}

impl Relation {
    /// The number of the column with this name; letters' case does not matter.
    pub fn find(&self, name: &str) -> Option<u16> {
        let place = self.columns.iter().position(|one| one.name.eq_ignore_ascii_case(name))?;
        u16::try_from(place).ok()
    }

    /// The column with this number.
    ///
    /// # Panics
    /// If there is none; numbers come from this relation.
    pub fn column(&self, number: u16) -> &Column {
        &self.columns[usize::from(number)]
    }
}
