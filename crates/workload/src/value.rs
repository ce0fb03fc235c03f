//! The bytes of the values that are written.

pub(crate) mod header;
pub(crate) mod integrity;
pub(crate) mod pool;
