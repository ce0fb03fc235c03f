//! JSON Schemas of what is printed for programs, derived from the types that are printed.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::shape::{IntervalLine, ResultObject};
use crate::{
    anomalies, compare, consistency, hallmark, mapping, matrix, precision, repeated, study, tune,
};

/// What derives a schema.
type DeriveSchema = fn() -> Value;

/// The objects that have a schema: a name for users, and the schema.
///
/// Every field that is printed is named, and required unless it is left out at times; later
/// versions of the same schema may add fields.
pub const SCHEMAS: [(&str, DeriveSchema); 12] = [
    ("result", || schema::<ResultObject>(super::SCHEMA)),
    ("interval", || schema::<IntervalLine>(super::INTERVAL_SCHEMA)),
    ("hallmark", || schema::<hallmark::HallmarkObject>(hallmark::SCHEMA)),
    ("consistency", || schema::<consistency::ConsistencyObject>(consistency::SCHEMA)),
    ("compare", || schema::<compare::ComparisonObject>(compare::SCHEMA)),
    ("repeat", || schema::<repeated::RepeatObject>(repeated::SCHEMA)),
    ("tune", || schema::<tune::TuneObject>(tune::SCHEMA)),
    ("mapping", || schema::<mapping::MappingObject>(mapping::SCHEMA)),
    ("study-result", || schema::<matrix::MatrixObject>(matrix::MATRIX_SCHEMA)),
    ("study-co-result", || schema::<study::StudyObject>(study::STUDY_SCHEMA)),
    ("study-benchfoundry-result", || {
        schema::<precision::PrecisionObject>(precision::PRECISION_SCHEMA)
    }),
    ("anomalies-result", || schema::<anomalies::AnomalyStudyObject>(anomalies::SCHEMA)),
];

/// The JSON Schema (draft 2020-12) of the object `name`; none if there is no such object.
pub fn schema_of(name: &str) -> Option<Value> {
    let (_, schema) = SCHEMAS.into_iter().find(|(known, _)| *known == name)?;
    Some(schema())
}

/// The schema of a whole document. Its `$id` is set here, as the same object may be part of
/// another, whose references it must not change.
fn schema<T: JsonSchema>(id: &str) -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.insert("$id".to_owned(), id.into());
    schema.to_value()
}
