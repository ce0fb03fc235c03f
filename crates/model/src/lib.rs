//! The words that every other crate speaks: plain data without files, clocks or tasks.
//!
//! The ladder is process → transaction → operation → request. A [`Source`] gives
//! the operations of a process by number, an [`OperationEncoder`] turns an operation's
//! numbers into bytes, and a [`Record`] says what became of one operation.

mod named_enum;

pub mod nanos;
pub mod percent;
pub mod properties;
pub mod quantity;
pub mod seed;
pub mod suggest;

pub mod arguments;
pub mod datum;
pub mod operation;
pub mod query;
pub mod schema;
pub mod script;
pub mod source;
pub mod version;

pub mod observed;
pub mod outcome;
pub mod record;

pub mod action_event;
pub mod clock_band;
pub mod event;
pub mod layout;
pub mod settings;
pub mod sheet;

pub use action_event::{ACTION_MARK, ActionEvent, ActionStage};
pub use arguments::{Argument, Arguments, Parameters, Pick, Taken, Wrap};
pub use clock_band::{ClockBand, Probe, band_at, bands};
pub use datum::{Datum, Decimal};
pub use event::{Event, EventKind};
pub use layout::{Layout, Table};
pub use nanos::Nanos;
pub use observed::{ObservedValue, QueryRole};
pub use operation::{Fields, Kind, Operation};
pub use outcome::{Outcome, Reason, Verified};
pub use percent::percent_encoded;
pub use query::{Catalogue, Named, Query, Statement};
pub use record::{Ends, NODES_MAX, Phase, Record};
pub use schema::{Column, ColumnType, Relation, Schema};
pub use seed::{Draws, Seed, Stream};
pub use settings::Setting;
pub use sheet::{SheetColumn, SheetValues};
pub use source::{Filled, OperationEncoder, Source, SourceError};
pub use suggest::closest;
