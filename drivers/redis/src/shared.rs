//! Shared state of a worker's connections with one server.

use std::sync::Arc;

use assay_store::resp::Protocol;

use super::codec::Codec;
use super::connector::{Connector, Target};

/// What all connections of a worker with one server share.
pub(super) struct Shared {
    pub(super) connector: Arc<Connector>,
    pub(super) codec: Arc<Codec>,
    pub(super) target: Target,
    pub(super) protocol: Protocol,
    /// Those that know where the server is; none if it stays where it is.
    pub(super) sentinels: Vec<Target>,
    /// Whether redirections are reported instead of being refused.
    pub(super) tells_redirects: bool,
}
