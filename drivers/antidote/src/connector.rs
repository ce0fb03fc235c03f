//! Makes connections to the nodes, or says in words why none can be made.

use assay_driver_kit::StoreErrors;
use assay_driver_kit::unavailable::unconnected;
use assay_store::OpenError;

use super::messages::{BoundObject, GROW_ONLY_MAP, StartTransaction, StaticRead};
use super::options::Options;
use super::socket::{Socket, Trouble};

/// The key of the map of our own notes.
pub(super) const NOTES: &str = "_assay";

/// The map of our own notes: the note, and how often each table was cleared.
pub(super) fn notes(options: &Options) -> BoundObject {
    let (key, bucket) = (NOTES.into(), options.bucket.clone().into_bytes());
    BoundObject { key, kind: GROW_ONLY_MAP, bucket }
}

/// Connects to one node and reads there, for its port is open before it is ready.
pub(super) async fn dial(options: &Options, place: usize) -> Result<Socket, OpenError> {
    let timeout = options.connect_timeout;
    let greeted = tokio::time::timeout(timeout, greet(options, place)).await;
    greeted
        .unwrap_or_else(|_| {
            let millis = timeout.as_millis();
            Err(format!("no answer came within {millis} ms; is it an AntidoteDB, and does it run?"))
        })
        .map_err(|reason| unreachable(options, place, &reason))
}

/// Connects to the first node that answers.
pub(super) async fn dial_any(options: &Options) -> Result<Socket, OpenError> {
    let mut reasons = Vec::new();
    for place in 0..options.address.hosts.len() {
        match dial(options, place).await {
            Ok(socket) => return Ok(socket),
            Err(OpenError::Unreachable { reason, .. }) => reasons.push(reason),
            Err(other) => return Err(other),
        }
    }
    Err(options.unreachable(reasons.join("; ")))
}

async fn greet(options: &Options, place: usize) -> Result<Socket, String> {
    let (host, port) = &options.address.hosts[place];
    let mut socket = Socket::connect(host, *port).await.map_err(|error| unconnected(&error))?;
    let transaction = StartTransaction::after(None);
    let question = StaticRead { transaction, objects: vec![notes(options)] };
    match socket.send(&question).await {
        Ok(_) => Ok(socket),
        Err(Trouble::Said(text)) => Err(format!("it says: {text}; is it still starting?")),
        Err(Trouble::Lost(why)) => Err(format!(
            "it closed the connection upon a read ({why}); is it an AntidoteDB, or one that is \
             still starting?"
        )),
        Err(Trouble::Garbled(why)) => {
            Err(format!("what answers is no AntidoteDB ({why}); check host and port"))
        }
    }
}

fn unreachable(options: &Options, place: usize, reason: &str) -> OpenError {
    let reason = match options.address.hosts.len() {
        1 => reason.to_owned(),
        _ => format!("{}: {reason}", options.address.authority(place)),
    };
    options.unreachable(reason)
}

/// The error while the store was set up or inspected.
pub(super) fn failed(options: &Options, trouble: &Trouble) -> OpenError {
    match trouble {
        Trouble::Said(text) => options.failed(format!("it says: {text}")),
        Trouble::Lost(why) => options.unreachable(format!("the connection broke: {why}")),
        Trouble::Garbled(why) => options.failed(format!("its answer is invalid: {why}")),
    }
}
