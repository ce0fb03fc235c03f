//! `CREATE TABLE`, `CREATE INDEX`, read into a schema.

use std::collections::BTreeSet;

use assay_model::schema::ForeignKey;
use assay_model::{Column, ColumnType, Named, Relation, Schema};
use sqlparser::ast::{
    BinaryLength, CharacterLength, ColumnDef, ColumnOption, CreateTable, DataType, ExactNumberInfo,
    Expr, ForeignKeyConstraint, Ident, IndexColumn, ReferentialAction, Statement, TableConstraint,
    TimezoneInfo, Value,
};

use super::bare::{self, IndexParts};
use super::error::ParseError;
use super::text::{Text, begin, meant};

/// The most relations, and the most columns of one: statements number both with 16 bits.
const COUNT_MAX: usize = 4_096;

/// A schema with what only its author's text says.
pub(super) struct Declared {
    pub schema: Schema,
    /// Columns with a default that is a value: an insert must not leave them out.
    pub defaults: BTreeSet<(u16, u16)>,
}

/// A foreign key whose other relation may be declared later.
struct Pointer {
    text: usize,
    relation: usize,
    columns: Vec<u16>,
    target: Ident,
    referenced: Vec<Ident>,
}

struct Builder {
    declared: Declared,
    pointers: Vec<Pointer>,
    indexes: Vec<(usize, IndexParts)>,
}

/// Reads all texts; relations are numbered in the order of the texts.
pub(super) fn read(schema: &[Named]) -> Result<Declared, ParseError> {
    let declared = Declared { schema: Schema::default(), defaults: BTreeSet::new() };
    let mut builder = Builder { declared, pointers: Vec::new(), indexes: Vec::new() };
    let mut texts = Vec::with_capacity(schema.len());
    for (number, named) in schema.iter().enumerate() {
        let text = Text::read(format!("schema {}", named.name), &named.text)?;
        for statement in text.statements()? {
            match statement {
                Statement::CreateTable(table) => builder.table(&text, number, table)?,
                Statement::CreateIndex(index) => {
                    let parts = bare::index(index);
                    let parts = parts.ok_or_else(|| text.clause("CREATE INDEX", &["ON"]))?;
                    builder.indexes.push((number, parts));
                }
                _ => return Err(no_declaration(&text)),
            }
        }
        texts.push(text);
    }
    builder.point(&texts)?;
    builder.index(&texts)?;
    Ok(builder.declared)
}

fn no_declaration(text: &Text) -> ParseError {
    let reason = "a schema is CREATE TABLE or CREATE INDEX: leave other statements out".into();
    ParseError::Wrong { place: text.start(), reason }
}

impl Builder {
    fn table(&mut self, text: &Text, number: usize, table: CreateTable) -> Result<(), ParseError> {
        let Some(table) = bare::table(table) else {
            return Err(text.clause("CREATE TABLE", &["OR", "ON", "WITH", "USING", "UNIQUE"]));
        };
        let name = text.plain(&table.name)?;
        if self.declared.schema.find(&name.value).is_some() {
            let reason = format!("relation {} is declared twice: leave one out", name.value);
            return Err(text.wrong(name.span.start, reason));
        }
        let count = self.declared.schema.relations.len();
        if count == COUNT_MAX || table.columns.len() > COUNT_MAX {
            let reason = format!("there are more than {COUNT_MAX} relations, or columns of one");
            return Err(text.wrong(name.span.start, reason));
        }
        self.declared.schema.relations.push(Relation {
            name: name.value.clone(),
            columns: Vec::new(),
            primary_key: Vec::new(),
            foreign_keys: Vec::new(),
            indexes: Vec::new(),
        });
        for column in &table.columns {
            self.column(text, number, column)?;
        }
        for constraint in &table.constraints {
            self.constraint(text, number, name, constraint)?;
        }
        self.close(text, name)
    }

    fn relation(&mut self) -> &mut Relation {
        self.declared.schema.relations.last_mut().expect("a relation is being declared")
    }

    /// What holds for the relation as a whole, once all of its columns are known.
    fn close(&mut self, text: &Text, name: &Ident) -> Result<(), ParseError> {
        let relation = self.relation();
        if relation.primary_key.is_empty() {
            let first = relation.columns.first().map_or("id", |column| column.name.as_str());
            let reason = format!(
                "relation {} has no primary key, so no store could find its rows: write PRIMARY \
                 KEY ({first}), or the columns that tell its rows apart",
                name.value
            );
            return Err(text.wrong(name.span.start, reason));
        }
        for number in relation.primary_key.clone() {
            relation.columns[usize::from(number)].is_nullable = false;
        }
        Ok(())
    }

    fn column(&mut self, text: &Text, number: usize, column: &ColumnDef) -> Result<(), ParseError> {
        let location = column.name.span.start;
        let kind = kind(text, column)?;
        let relation = self.relation();
        if relation.find(&column.name.value).is_some() {
            let reason = format!("column {} is declared twice: leave one out", column.name.value);
            return Err(text.wrong(location, reason));
        }
        let place = relation.columns.len() as u16;
        let name = column.name.value.clone();
        relation.columns.push(Column { name, kind, is_nullable: true });
        for option in &column.options {
            self.option(text, number, place, location, &option.option)?;
        }
        Ok(())
    }

    fn option(
        &mut self,
        text: &Text,
        number: usize,
        place: u16,
        location: sqlparser::tokenizer::Location,
        option: &ColumnOption,
    ) -> Result<(), ParseError> {
        match option {
            ColumnOption::Null | ColumnOption::Comment(_) | ColumnOption::CharacterSet(_) => {}
            ColumnOption::NotNull => {
                self.relation().columns[usize::from(place)].is_nullable = false;
            }
            ColumnOption::PrimaryKey(_) => self.key(text, location, vec![place])?,
            ColumnOption::ForeignKey(key) => self.foreign(text, number, vec![place], key)?,
            ColumnOption::Default(Expr::Value(value)) if value.value == Value::Null => {}
            ColumnOption::Default(_) => {
                let relation = self.declared.schema.relations.len() as u16 - 1;
                self.declared.defaults.insert((relation, place));
            }
            ColumnOption::DialectSpecific(_) => {
                let advice = "leave it out and give the value in each INSERT";
                return Err(text.outside(location, option.to_string(), advice));
            }
            ColumnOption::Unique(_) => {
                let advice = "leave it out: most stores could not guarantee it";
                return Err(text.outside(location, "UNIQUE", advice));
            }
            other => {
                let advice = "leave it out: most stores could not guarantee it";
                return Err(text.outside(location, other.to_string(), advice));
            }
        }
        Ok(())
    }

    fn constraint(
        &mut self,
        text: &Text,
        number: usize,
        name: &Ident,
        constraint: &TableConstraint,
    ) -> Result<(), ParseError> {
        match constraint {
            TableConstraint::PrimaryKey(key) => {
                let columns = self.index_columns(text, name, &key.columns)?;
                self.key(text, name.span.start, columns)
            }
            TableConstraint::ForeignKey(key) => {
                let columns = self.columns(text, &key.columns)?;
                self.foreign(text, number, columns, key)
            }
            TableConstraint::Index(index) => {
                let columns = self.index_columns(text, name, &index.columns)?;
                self.relation().indexes.push(columns);
                Ok(())
            }
            other => {
                let advice = "leave it out: most stores could not guarantee it";
                Err(text.outside(name.span.start, other.to_string(), advice))
            }
        }
    }

    fn key(
        &mut self,
        text: &Text,
        location: sqlparser::tokenizer::Location,
        columns: Vec<u16>,
    ) -> Result<(), ParseError> {
        let relation = self.relation();
        if !relation.primary_key.is_empty() {
            let reason = format!("relation {} has two primary keys: leave one out", relation.name);
            return Err(text.wrong(location, reason));
        }
        relation.primary_key = columns;
        Ok(())
    }

    fn foreign(
        &mut self,
        text: &Text,
        number: usize,
        columns: Vec<u16>,
        key: &ForeignKeyConstraint,
    ) -> Result<(), ParseError> {
        let target = text.plain(&key.foreign_table)?;
        let harmless = [None, Some(ReferentialAction::NoAction), Some(ReferentialAction::Restrict)];
        for (event, action) in [("DELETE", &key.on_delete), ("UPDATE", &key.on_update)] {
            if let Some(action) = action.as_ref().filter(|_| !harmless.contains(action)) {
                let advice = "leave it out and write the further changes as queries";
                let clause = format!("ON {event} {action}");
                return Err(text.outside(target.span.start, clause, advice));
            }
        }
        self.pointers.push(Pointer {
            text: number,
            relation: self.declared.schema.relations.len() - 1,
            columns,
            target: target.clone(),
            referenced: key.referred_columns.clone(),
        });
        Ok(())
    }

    fn columns(&mut self, text: &Text, names: &[Ident]) -> Result<Vec<u16>, ParseError> {
        find_all(text, self.relation(), names.iter())
    }

    fn index_columns(
        &mut self,
        text: &Text,
        name: &Ident,
        columns: &[IndexColumn],
    ) -> Result<Vec<u16>, ParseError> {
        let names = index_names(text, name, columns)?;
        find_all(text, self.relation(), names.into_iter())
    }

    /// Connects foreign keys with their relations.
    fn point(&mut self, texts: &[Text]) -> Result<(), ParseError> {
        for pointer in std::mem::take(&mut self.pointers) {
            let text = &texts[pointer.text];
            let location = pointer.target.span.start;
            let target = find_relation(text, &self.declared.schema, &pointer.target)?;
            let relation = self.declared.schema.relation(target);
            let referenced = match pointer.referenced.as_slice() {
                [] => relation.primary_key.clone(),
                names => find_all(text, relation, names.iter())?,
            };
            let key: BTreeSet<u16> = relation.primary_key.iter().copied().collect();
            if key != referenced.iter().copied().collect() {
                let reason = format!(
                    "the foreign key points to columns that are not the primary key of {}: name \
                     the key's columns",
                    relation.name
                );
                return Err(text.wrong(location, reason));
            }
            if referenced.len() != pointer.columns.len() {
                let reason = format!(
                    "the foreign key has {} columns, the key of {} has {}",
                    pointer.columns.len(),
                    relation.name,
                    referenced.len()
                );
                return Err(text.wrong(location, reason));
            }
            let key = ForeignKey { columns: pointer.columns, relation: target, referenced };
            self.declared.schema.relations[pointer.relation].foreign_keys.push(key);
        }
        Ok(())
    }

    fn index(&mut self, texts: &[Text]) -> Result<(), ParseError> {
        for (number, index) in std::mem::take(&mut self.indexes) {
            let text = &texts[number];
            let name = text.plain(&index.table)?;
            let relation = find_relation(text, &self.declared.schema, name)?;
            let names = index_names(text, name, &index.columns)?;
            let columns =
                find_all(text, self.declared.schema.relation(relation), names.into_iter())?;
            self.declared.schema.relations[usize::from(relation)].indexes.push(columns);
        }
        Ok(())
    }
}

fn index_names<'a>(
    text: &Text,
    name: &Ident,
    columns: &'a [IndexColumn],
) -> Result<Vec<&'a Ident>, ParseError> {
    let plain = |column: &'a IndexColumn| match &column.column.expr {
        Expr::Identifier(ident) if column.operator_class.is_none() => Ok(ident),
        other => {
            let location = match begin(other) {
                location if location.line > 0 => location,
                _ => name.span.start,
            };
            Err(text.outside(location, format!("the key {other}"), "name columns only"))
        }
    };
    columns.iter().map(plain).collect()
}

/// The relation with this name, or an error that suggests another.
pub(super) fn find_relation(text: &Text, schema: &Schema, name: &Ident) -> Result<u16, ParseError> {
    schema.find(&name.value).ok_or_else(|| {
        let known = schema.relations.iter().map(|relation| relation.name.as_str());
        let meant = meant(&name.value, known);
        text.wrong(name.span.start, format!("there is no relation {}; {meant}", name.value))
    })
}

/// The column with this name, or an error that suggests another.
pub(super) fn find_column(
    text: &Text,
    relation: &Relation,
    name: &Ident,
) -> Result<u16, ParseError> {
    relation.find(&name.value).ok_or_else(|| {
        let known = relation.columns.iter().map(|column| column.name.as_str());
        let meant = meant(&name.value, known);
        let reason = format!("{} has no column {}; {meant}", relation.name, name.value);
        text.wrong(name.span.start, reason)
    })
}

/// Distinct columns by their names.
fn find_all<'a>(
    text: &Text,
    relation: &Relation,
    names: impl Iterator<Item = &'a Ident>,
) -> Result<Vec<u16>, ParseError> {
    let mut columns = Vec::new();
    for name in names {
        let column = find_column(text, relation, name)?;
        if columns.contains(&column) {
            let reason = format!("column {} is named twice: leave one out", name.value);
            return Err(text.wrong(name.span.start, reason));
        }
        columns.push(column);
    }
    Ok(columns)
}

/// What a column holds.
fn kind(text: &Text, column: &ColumnDef) -> Result<ColumnType, ParseError> {
    let location = column.name.span.start;
    if let Some(bits) = integer_bits(&column.data_type) {
        return Ok(ColumnType::Integer { bits });
    }
    if let Some(kind) = text_kind(&column.data_type) {
        return kind.map_err(|reason| text.wrong(location, reason));
    }
    match &column.data_type {
        DataType::Numeric(digits)
        | DataType::Decimal(digits)
        | DataType::Dec(digits)
        | DataType::DecimalUnsigned(digits)
        | DataType::DecUnsigned(digits) => {
            decimal(*digits).map_err(|reason| text.wrong(location, reason))
        }
        DataType::Float(_)
        | DataType::FloatUnsigned(_)
        | DataType::Float4
        | DataType::Float8
        | DataType::Float32
        | DataType::Float64
        | DataType::Real
        | DataType::RealUnsigned
        | DataType::Double(_)
        | DataType::DoubleUnsigned(_)
        | DataType::DoublePrecision
        | DataType::DoublePrecisionUnsigned => Ok(ColumnType::Double),
        DataType::Binary(_)
        | DataType::Varbinary(None | Some(BinaryLength::IntegerLength { .. }))
        | DataType::Blob(_)
        | DataType::TinyBlob
        | DataType::MediumBlob
        | DataType::LongBlob
        | DataType::Bytes(_)
        | DataType::Bytea => Ok(ColumnType::Bytes),
        DataType::Date
        | DataType::Datetime(_)
        | DataType::Timestamp(_, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => {
            Ok(ColumnType::Timestamp)
        }
        DataType::Bool | DataType::Boolean => Ok(ColumnType::Boolean),
        other => {
            let advice = "take a whole number, DECIMAL, DOUBLE, CHAR, VARCHAR, TEXT, BLOB, \
                          TIMESTAMP without a time zone or BOOLEAN";
            Err(text.outside(location, format!("the type {other}"), advice))
        }
    }
}

/// Bits of a whole number; unsigned ones take the next size, where there is one.
fn integer_bits(kind: &DataType) -> Option<u8> {
    Some(match kind {
        DataType::TinyInt(_)
        | DataType::TinyIntUnsigned(_)
        | DataType::SmallInt(_)
        | DataType::Int2(_)
        | DataType::Int16 => 16,
        DataType::SmallIntUnsigned(_)
        | DataType::Int2Unsigned(_)
        | DataType::MediumInt(_)
        | DataType::MediumIntUnsigned(_)
        | DataType::Int(_)
        | DataType::Int4(_)
        | DataType::Int32
        | DataType::Integer(_) => 32,
        DataType::IntUnsigned(_)
        | DataType::IntegerUnsigned(_)
        | DataType::Int4Unsigned(_)
        | DataType::BigInt(_)
        | DataType::BigIntUnsigned(_)
        | DataType::Int8(_)
        | DataType::Int8Unsigned(_)
        | DataType::Int64 => 64,
        _ => return None,
    })
}

fn text_kind(kind: &DataType) -> Option<Result<ColumnType, String>> {
    let unbounded = ColumnType::Text { length: None, is_padded: false };
    let bounded = |length: &Option<CharacterLength>, missing, is_padded| match length {
        Some(CharacterLength::IntegerLength { length, .. }) => match u32::try_from(*length) {
            Ok(length) if length > 0 => Ok(ColumnType::Text { length: Some(length), is_padded }),
            _ => Err(format!("a text of {length} characters: give it between 1 and 4294967295")),
        },
        Some(CharacterLength::Max) => Ok(unbounded),
        None => Ok(ColumnType::Text { length: missing, is_padded }),
    };
    Some(match kind {
        DataType::Character(length) | DataType::Char(length) => bounded(length, Some(1), true),
        DataType::Varchar(length)
        | DataType::CharVarying(length)
        | DataType::CharacterVarying(length)
        | DataType::Nvarchar(length) => bounded(length, None, false),
        DataType::Text
        | DataType::TinyText
        | DataType::MediumText
        | DataType::LongText
        | DataType::Clob(_)
        | DataType::String(None) => Ok(unbounded),
        _ => return None,
    })
}

fn decimal(digits: ExactNumberInfo) -> Result<ColumnType, String> {
    let (precision, scale) = match digits {
        ExactNumberInfo::PrecisionAndScale(precision, scale) => (precision, scale),
        ExactNumberInfo::Precision(precision) => (precision, 0),
        ExactNumberInfo::None => {
            return Err("say how many digits it has, for example DECIMAL(12,2)".into());
        }
    };
    match (u8::try_from(precision), u8::try_from(scale)) {
        (Ok(precision @ 1..=18), Ok(scale)) if scale <= precision => {
            Ok(ColumnType::Decimal { precision, scale })
        }
        _ => Err(format!(
            "DECIMAL({precision},{scale}): give it 1 to 18 digits, as many or fewer behind the \
             point"
        )),
    }
}
