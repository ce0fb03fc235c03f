//! The messages of etcd's gRPC interface that we need, written by hand so that no `protoc` is.
//!
//! Names, numbers and types of the fields are those of `api/etcdserverpb/rpc.proto` and
//! `api/mvccpb/kv.proto` in etcd 3.6; fields that we neither send nor look at are left out, which
//! protobuf allows. Where the interface has a choice of one among several, there is an optional
//! field for each that we use: on the wire that is the same.

use bytes::Bytes;
use prost::Message;

/// Paths of the methods: package, service, method.
pub(super) mod method {
    pub(crate) const RANGE: &str = "/etcdserverpb.KV/Range";
    pub(crate) const PUT: &str = "/etcdserverpb.KV/Put";
    pub(crate) const DELETE_RANGE: &str = "/etcdserverpb.KV/DeleteRange";
    pub(crate) const TXN: &str = "/etcdserverpb.KV/Txn";
    pub(crate) const STATUS: &str = "/etcdserverpb.Maintenance/Status";
    pub(crate) const MEMBER_LIST: &str = "/etcdserverpb.Cluster/MemberList";
    pub(crate) const AUTHENTICATE: &str = "/etcdserverpb.Auth/Authenticate";
}

/// What stands at the head of every answer.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ResponseHeader {
    /// The cluster that answers.
    #[prost(uint64, tag = "1")]
    pub(super) cluster_id: u64,
    /// The member that answers.
    #[prost(uint64, tag = "2")]
    pub(super) member_id: u64,
    /// The store's revision when it answered.
    #[prost(int64, tag = "3")]
    pub(super) revision: i64,
}

/// A key with its value and its versions.
#[derive(Clone, PartialEq, Message)]
pub(super) struct KeyValue {
    #[prost(bytes = "bytes", tag = "1")]
    pub(super) key: Bytes,
    /// The store's revision that changed it last.
    #[prost(int64, tag = "3")]
    pub(super) mod_revision: i64,
    #[prost(bytes = "bytes", tag = "5")]
    pub(super) value: Bytes,
}

/// Reads one key, or those from `key` up to `range_end`, exclusive.
///
/// There is no `sort_order`: keys come in the order of their bytes anyway, and a server that is
/// told to sort fetches the whole range before it looks at `limit`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct RangeRequest {
    #[prost(bytes = "bytes", tag = "1")]
    pub(super) key: Bytes,
    #[prost(bytes = "bytes", tag = "2")]
    pub(super) range_end: Bytes,
    /// The most keys to return; zero means all of them.
    #[prost(int64, tag = "3")]
    pub(super) limit: i64,
    /// As of which of the store's revisions; zero means the newest.
    #[prost(int64, tag = "4")]
    pub(super) revision: i64,
    /// Whether the member responds without a request to the others.
    #[prost(bool, tag = "7")]
    pub(super) serializable: bool,
    #[prost(bool, tag = "8")]
    pub(super) keys_only: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct RangeResponse {
    #[prost(message, optional, tag = "1")]
    pub(super) header: Option<ResponseHeader>,
    #[prost(message, repeated, tag = "2")]
    pub(super) kvs: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct PutRequest {
    #[prost(bytes = "bytes", tag = "1")]
    pub(super) key: Bytes,
    #[prost(bytes = "bytes", tag = "2")]
    pub(super) value: Bytes,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct PutResponse {
    #[prost(message, optional, tag = "1")]
    pub(super) header: Option<ResponseHeader>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct DeleteRangeRequest {
    #[prost(bytes = "bytes", tag = "1")]
    pub(super) key: Bytes,
    #[prost(bytes = "bytes", tag = "2")]
    pub(super) range_end: Bytes,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct DeleteRangeResponse {
    /// How many keys were there.
    #[prost(int64, tag = "2")]
    pub(super) deleted: i64,
}

/// One request within a transaction.
#[derive(Clone, PartialEq, Message)]
pub(super) struct RequestOp {
    #[prost(message, optional, tag = "1")]
    pub(super) request_range: Option<RangeRequest>,
    #[prost(message, optional, tag = "2")]
    pub(super) request_put: Option<PutRequest>,
    #[prost(message, optional, tag = "3")]
    pub(super) request_delete_range: Option<DeleteRangeRequest>,
}

impl RequestOp {
    /// Writes a key.
    pub(super) fn put(put: PutRequest) -> RequestOp {
        RequestOp { request_put: Some(put), ..RequestOp::default() }
    }
}

/// The answer to one request within a transaction.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ResponseOp {
    #[prost(message, optional, tag = "1")]
    pub(super) response_range: Option<RangeResponse>,
}

/// A condition of a transaction, on one key or on each in a range that is there.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Compare {
    /// 0 equal, 1 greater, 2 less, 3 not equal.
    #[prost(int32, tag = "1")]
    pub(super) result: i32,
    /// 0 version, 1 create revision, 2 modification revision.
    #[prost(int32, tag = "2")]
    pub(super) target: i32,
    #[prost(bytes = "bytes", tag = "3")]
    pub(super) key: Bytes,
    /// How often the key was written since it was created; zero if it is not there.
    #[prost(int64, optional, tag = "4")]
    pub(super) version: Option<i64>,
    #[prost(int64, optional, tag = "6")]
    pub(super) mod_revision: Option<i64>,
    /// The first key behind the range; empty for one key.
    #[prost(bytes = "bytes", tag = "64")]
    pub(super) range_end: Bytes,
}

impl Compare {
    /// The key is there.
    pub(super) fn is_there(key: Bytes) -> Compare {
        Compare { result: 1, target: 0, key, version: Some(0), ..Compare::default() }
    }

    /// The key has not been written since that revision; zero if it was not there.
    pub(super) fn is_unchanged(key: Bytes, revision: i64) -> Compare {
        Compare { result: 0, target: 2, key, mod_revision: Some(revision), ..Compare::default() }
    }

    /// No key from `begin` up to `end` was written after that revision. Nothing is said about keys
    /// that were removed since.
    pub(super) fn is_no_newer(begin: Bytes, end: Bytes, revision: i64) -> Compare {
        let mod_revision = Some(revision + 1);
        Compare { result: 2, target: 2, key: begin, version: None, mod_revision, range_end: end }
    }
}

/// Does `success` if every condition holds, else `failure`, at one moment.
#[derive(Clone, PartialEq, Message)]
pub(super) struct TxnRequest {
    #[prost(message, repeated, tag = "1")]
    pub(super) compare: Vec<Compare>,
    #[prost(message, repeated, tag = "2")]
    pub(super) success: Vec<RequestOp>,
    #[prost(message, repeated, tag = "3")]
    pub(super) failure: Vec<RequestOp>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TxnResponse {
    #[prost(message, optional, tag = "1")]
    pub(super) header: Option<ResponseHeader>,
    #[prost(bool, tag = "2")]
    pub(super) succeeded: bool,
    #[prost(message, repeated, tag = "3")]
    pub(super) responses: Vec<ResponseOp>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct StatusRequest {}

/// The status of one member. Field 8 and later exist since 3.4, 12 since 3.6.
#[derive(Clone, PartialEq, Message)]
pub(super) struct StatusResponse {
    #[prost(message, optional, tag = "1")]
    pub(super) header: Option<ResponseHeader>,
    #[prost(string, tag = "2")]
    pub(super) version: String,
    #[prost(int64, tag = "3")]
    pub(super) db_size: i64,
    /// The member that it takes for the leader; zero if it knows none.
    #[prost(uint64, tag = "4")]
    pub(super) leader: u64,
    #[prost(uint64, tag = "6")]
    pub(super) raft_term: u64,
    /// Alarms.
    #[prost(string, repeated, tag = "8")]
    pub(super) errors: Vec<String>,
    #[prost(int64, tag = "9")]
    pub(super) db_size_in_use: i64,
    #[prost(bool, tag = "10")]
    pub(super) is_learner: bool,
    #[prost(int64, tag = "12")]
    pub(super) db_size_quota: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct MemberListRequest {}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Member {
    #[prost(uint64, tag = "1")]
    pub(super) id: u64,
    /// Empty if it never started.
    #[prost(string, tag = "2")]
    pub(super) name: String,
    #[prost(string, repeated, tag = "4")]
    pub(super) client_urls: Vec<String>,
    #[prost(bool, tag = "5")]
    pub(super) is_learner: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct MemberListResponse {
    #[prost(message, repeated, tag = "2")]
    pub(super) members: Vec<Member>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct AuthenticateRequest {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(string, tag = "2")]
    pub(super) password: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct AuthenticateResponse {
    /// What later requests carry as metadata `token`.
    #[prost(string, tag = "2")]
    pub(super) token: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_lies_on_the_wire_as_the_interface_says() {
        let request = RangeRequest {
            key: Bytes::from_static(b"ab"),
            range_end: Bytes::from_static(b"c"),
            limit: 300,
            revision: 7,
            serializable: true,
            keys_only: false,
        };
        // Each field: its number times eight plus its type, then length or value.
        let expected = b"\x0a\x02ab\x12\x01c\x18\xac\x02\x20\x07\x38\x01";
        assert_eq!(request.encode_to_vec(), expected);
    }

    #[test]
    fn a_condition_on_revision_zero_is_sent() {
        let key = Bytes::from_static(b"k");
        assert_eq!(
            Compare::is_unchanged(key.clone(), 7).encode_to_vec(),
            b"\x10\x02\x1a\x01k\x30\x07"
        );
        // Zero is encoded explicitly, because an absent field would be no condition at all.
        assert_eq!(Compare::is_there(key).encode_to_vec(), b"\x08\x01\x1a\x01k\x20\x00");
    }

    #[test]
    fn a_condition_on_a_range_has_its_end() {
        let (begin, end) = (Bytes::from_static(b"k"), Bytes::from_static(b"l"));
        // Field 64, of type bytes, is 514: two bytes.
        let expected = b"\x08\x02\x10\x02\x1a\x01k\x30\x08\x82\x04\x01l";
        assert_eq!(Compare::is_no_newer(begin, end, 7).encode_to_vec(), expected);
    }

    #[test]
    fn fields_that_we_do_not_know_are_passed_over() {
        // Header, a key with all six fields, more, count.
        let bytes = b"\x0a\x02\x18\x05\x12\x0e\x0a\x01k\x10\x02\x18\x03\x20\x01\x2a\x01v\x30\x09\
                      \x18\x01\x20\x01";
        let kvs = RangeResponse::decode(&bytes[..]).unwrap().kvs;
        assert_eq!(
            (&kvs[0].key[..], kvs[0].mod_revision, &kvs[0].value[..]),
            (&b"k"[..], 3, &b"v"[..])
        );
    }
}
