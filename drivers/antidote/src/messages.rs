//! AntidoteDB's messages as far as they are used, with the numbers of `antidote.proto`.
//!
//! Written by hand after `apps/antidote_pb_codec/proto/antidote.proto` of AntidoteDB (proto2), so
//! that nobody needs `protoc`. A frame is its length (u32, big-endian, of what follows), the code
//! of its message (u8), and the message.

use prost::Message;

/// The codes that stand before a message.
pub(super) mod code {
    pub(crate) const ERROR: u8 = 0;
    pub(crate) const OPERATION_RESPONSE: u8 = 111;
    pub(crate) const READ_OBJECTS: u8 = 116;
    pub(crate) const UPDATE_OBJECTS: u8 = 118;
    pub(crate) const START: u8 = 119;
    pub(crate) const ABORT: u8 = 120;
    pub(crate) const COMMIT: u8 = 121;
    pub(crate) const STATIC_UPDATE: u8 = 122;
    pub(crate) const STATIC_READ: u8 = 123;
    pub(crate) const START_RESPONSE: u8 = 124;
    pub(crate) const READ_RESPONSE: u8 = 126;
    pub(crate) const COMMIT_RESPONSE: u8 = 127;
    pub(crate) const STATIC_READ_RESPONSE: u8 = 128;
}

/// A register whose last write wins.
pub(super) const REGISTER: i32 = 5;
/// A map whose entries stay: what a record is.
pub(super) const GROW_ONLY_MAP: i32 = 8;

/// A request with the code before it, and the answer that it gets.
pub(super) trait Question: Message {
    /// The code of the request.
    const CODE: u8;
    /// The code of its answer.
    const ANSWER: u8;
    /// Its answer.
    type Answer: Message + Default;
}

macro_rules! questions {
    ($($question:ident $code:ident => $answer:ident $answer_code:ident,)*) => {
        $(impl Question for $question {
            const CODE: u8 = code::$code;
            const ANSWER: u8 = code::$answer_code;
            type Answer = $answer;
        })*
    };
}

questions! {
    StartTransaction START => StartResponse START_RESPONSE,
    ReadObjects READ_OBJECTS => ReadResponse READ_RESPONSE,
    UpdateObjects UPDATE_OBJECTS => OperationResponse OPERATION_RESPONSE,
    CommitTransaction COMMIT => CommitResponse COMMIT_RESPONSE,
    AbortTransaction ABORT => OperationResponse OPERATION_RESPONSE,
    StaticUpdate STATIC_UPDATE => CommitResponse COMMIT_RESPONSE,
    StaticRead STATIC_READ => StaticReadResponse STATIC_READ_RESPONSE,
}

/// Stands in place of any answer.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ErrorResponse {
    #[prost(bytes = "vec", required, tag = "1")]
    pub(super) text: Vec<u8>,
    #[prost(uint32, required, tag = "2")]
    pub(super) code: u32,
}

/// Opens a transaction, or is the head of one in a single request.
#[derive(Clone, PartialEq, Message)]
pub(super) struct StartTransaction {
    /// The clock of an earlier commit, which the snapshot includes.
    #[prost(bytes = "vec", optional, tag = "1")]
    pub(super) clock: Option<Vec<u8>>,
    #[prost(message, optional, tag = "2")]
    pub(super) properties: Option<TransactionProperties>,
}

impl StartTransaction {
    /// One whose snapshot includes `clock`, or any.
    pub(super) fn after(clock: Option<Vec<u8>>) -> StartTransaction {
        StartTransaction { clock, properties: Some(TransactionProperties {}) }
    }
}

/// Locks and modes; nothing is asked for here.
#[derive(Clone, PartialEq, Message)]
pub(super) struct TransactionProperties {}

#[derive(Clone, PartialEq, Message)]
pub(super) struct StartResponse {
    #[prost(bool, required, tag = "1")]
    pub(super) success: bool,
    /// Opaque: handed back as it came.
    #[prost(bytes = "vec", optional, tag = "2")]
    pub(super) descriptor: Option<Vec<u8>>,
    #[prost(uint32, optional, tag = "3")]
    pub(super) error: Option<u32>,
}

/// The name of an object. A key must be used with one type only.
#[derive(Clone, PartialEq, Message)]
pub(super) struct BoundObject {
    #[prost(bytes = "vec", required, tag = "1")]
    pub(super) key: Vec<u8>,
    #[prost(int32, required, tag = "2")]
    pub(super) kind: i32,
    #[prost(bytes = "vec", required, tag = "3")]
    pub(super) bucket: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ReadObjects {
    #[prost(message, repeated, tag = "1")]
    pub(super) objects: Vec<BoundObject>,
    #[prost(bytes = "vec", required, tag = "2")]
    pub(super) descriptor: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ReadResponse {
    #[prost(bool, required, tag = "1")]
    pub(super) success: bool,
    #[prost(message, repeated, tag = "2")]
    pub(super) objects: Vec<ObjectValue>,
    #[prost(uint32, optional, tag = "3")]
    pub(super) error: Option<u32>,
}

/// The value of an object; of another type than ours nothing is set.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ObjectValue {
    #[prost(message, optional, tag = "3")]
    pub(super) register: Option<RegisterValue>,
    #[prost(message, optional, boxed, tag = "6")]
    pub(super) map: Option<Box<MapValue>>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct RegisterValue {
    #[prost(bytes = "vec", required, tag = "1")]
    pub(super) value: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct MapValue {
    #[prost(message, repeated, tag = "1")]
    pub(super) entries: Vec<MapEntry>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct MapEntry {
    #[prost(message, required, tag = "1")]
    pub(super) key: MapKey,
    #[prost(message, required, tag = "2")]
    pub(super) value: ObjectValue,
}

/// The name of an entry of a map.
#[derive(Clone, PartialEq, Message)]
pub(super) struct MapKey {
    #[prost(bytes = "vec", required, tag = "1")]
    pub(super) key: Vec<u8>,
    #[prost(int32, required, tag = "2")]
    pub(super) kind: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct UpdateObjects {
    #[prost(message, repeated, tag = "1")]
    pub(super) updates: Vec<ObjectUpdate>,
    #[prost(bytes = "vec", required, tag = "2")]
    pub(super) descriptor: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ObjectUpdate {
    #[prost(message, required, tag = "1")]
    pub(super) object: BoundObject,
    #[prost(message, required, tag = "2")]
    pub(super) operation: Operation,
}

/// What is done to an object, or to an entry of a map.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Operation {
    #[prost(message, optional, tag = "3")]
    pub(super) register: Option<RegisterValue>,
    #[prost(message, optional, boxed, tag = "5")]
    pub(super) map: Option<Box<MapUpdate>>,
}

impl Operation {
    /// Assigns to registers of a map, by the names of its entries.
    pub(super) fn assign<'a>(entries: impl IntoIterator<Item = (&'a str, Vec<u8>)>) -> Operation {
        let entry = |(name, value): (&str, Vec<u8>)| EntryUpdate {
            key: MapKey { key: name.into(), kind: REGISTER },
            operation: Operation { register: Some(RegisterValue { value }), map: None },
        };
        let entries = entries.into_iter().map(entry).collect();
        Operation { register: None, map: Some(Box::new(MapUpdate { entries })) }
    }
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct MapUpdate {
    #[prost(message, repeated, tag = "1")]
    pub(super) entries: Vec<EntryUpdate>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct EntryUpdate {
    #[prost(message, required, tag = "1")]
    pub(super) key: MapKey,
    #[prost(message, required, tag = "2")]
    pub(super) operation: Operation,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct OperationResponse {
    #[prost(bool, required, tag = "1")]
    pub(super) success: bool,
    #[prost(uint32, optional, tag = "2")]
    pub(super) error: Option<u32>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct CommitTransaction {
    #[prost(bytes = "vec", required, tag = "1")]
    pub(super) descriptor: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct AbortTransaction {
    #[prost(bytes = "vec", required, tag = "1")]
    pub(super) descriptor: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct CommitResponse {
    #[prost(bool, required, tag = "1")]
    pub(super) success: bool,
    /// Opaque: later snapshots include the commit if it is handed back.
    #[prost(bytes = "vec", optional, tag = "2")]
    pub(super) clock: Option<Vec<u8>>,
    #[prost(uint32, optional, tag = "3")]
    pub(super) error: Option<u32>,
}

/// A transaction that only writes, in one request.
#[derive(Clone, PartialEq, Message)]
pub(super) struct StaticUpdate {
    #[prost(message, required, tag = "1")]
    pub(super) transaction: StartTransaction,
    #[prost(message, repeated, tag = "2")]
    pub(super) updates: Vec<ObjectUpdate>,
}

/// A transaction that only reads, in one request.
#[derive(Clone, PartialEq, Message)]
pub(super) struct StaticRead {
    #[prost(message, required, tag = "1")]
    pub(super) transaction: StartTransaction,
    #[prost(message, repeated, tag = "2")]
    pub(super) objects: Vec<BoundObject>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct StaticReadResponse {
    #[prost(message, optional, tag = "1")]
    pub(super) read: Option<ReadResponse>,
    #[prost(message, optional, tag = "2")]
    pub(super) commit: Option<CommitResponse>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where recorded requests of clients are, with the answers of a live server.
    const FILE: &str = "ASSAY_ANTIDOTE_WIRE";

    fn hex(text: &str) -> Vec<u8> {
        let byte = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
        (0..text.len()).step_by(2).map(byte).collect()
    }

    fn again<M: Message + Default>(bytes: &[u8]) -> Vec<u8> {
        M::decode(bytes).unwrap().encode_to_vec()
    }

    /// A message of that code, read and written again; none of another code.
    fn read_and_written(code: u8, bytes: &[u8]) -> Option<Vec<u8>> {
        Some(match code {
            code::OPERATION_RESPONSE => again::<OperationResponse>(bytes),
            code::READ_OBJECTS => again::<ReadObjects>(bytes),
            code::UPDATE_OBJECTS => again::<UpdateObjects>(bytes),
            code::START => again::<StartTransaction>(bytes),
            code::ABORT => again::<AbortTransaction>(bytes),
            code::COMMIT => again::<CommitTransaction>(bytes),
            code::STATIC_UPDATE => again::<StaticUpdate>(bytes),
            code::STATIC_READ => again::<StaticRead>(bytes),
            code::START_RESPONSE => again::<StartResponse>(bytes),
            code::READ_RESPONSE => again::<ReadResponse>(bytes),
            code::COMMIT_RESPONSE => again::<CommitResponse>(bytes),
            code::STATIC_READ_RESPONSE => again::<StaticReadResponse>(bytes),
            _ => return None,
        })
    }

    #[test]
    fn a_record_is_written_as_other_clients_write_it() {
        let operation = Operation::assign([("a", b"xyz".to_vec())]);
        let object = BoundObject { key: b"k".to_vec(), kind: GROW_ONLY_MAP, bucket: b"b".to_vec() };
        let updates = vec![ObjectUpdate { object, operation }];
        let update = StaticUpdate { transaction: StartTransaction::after(None), updates };
        // Each field: its number times eight plus its type, then length or value.
        let expected = "0a021200 1220 0a08 0a016b 1008 1a0162 1214 2a12 0a10 0a05 0a0161 1005 \
                        1207 1a05 0a03 78797a";
        let expected = expected.replace(' ', "");
        assert_eq!(update.encode_to_vec(), hex(&expected));
    }

    #[test]
    fn recorded_messages_are_read_and_written_as_they_were() {
        let Some(path) = std::env::var_os(FILE) else {
            eprintln!("NOT RUN: no recording; name one by {FILE}=FILE");
            return;
        };
        let text = std::fs::read_to_string(path).unwrap();
        let (mut same, mut others) = (0, Vec::new());
        for line in text.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [_, ">" | "<", code, bytes] = words[..] else { continue };
            let bytes = hex(bytes);
            match read_and_written(code.parse().unwrap(), &bytes) {
                Some(again) if again == bytes => same += 1,
                Some(_) => others.push(line),
                None => panic!("{line}"),
            }
        }
        // Sets, counters, flags and the like are not among what a record is made of: those lines
        // write (118, 122) or show (128) one.
        let is_known = |line: &&&str| [" 118 ", " 122 ", " 128 "].iter().any(|c| line.contains(c));
        assert!(others.iter().all(|line| is_known(&line)), "{others:?}");
        assert!(same > 60 && others.len() < 12, "{same} are the same, others: {others:#?}");
    }
}
