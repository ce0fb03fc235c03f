//! Client of a placement driver (PD), which knows the location of all data.
//!
//! The client library asks one as well, but does not expose the response. Messages are
//! written by hand: names, numbers and types of the fields are those of `pdpb.proto` and
//! `metapb.proto` in kvproto; fields that we neither send nor read are left out, which protobuf
//! allows.

use std::error::Error as StdError;
use std::fmt;
use std::marker::PhantomData;

use prost::Message;
use tikv_client::{Error, SecurityManager};
use tonic_of_tikv::client::Grpc;
use tonic_of_tikv::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic_of_tikv::codegen::http::uri::PathAndQuery;
use tonic_of_tikv::transport::Channel;
use tonic_of_tikv::{Code, Request, Status};

#[derive(Clone, PartialEq, Message)]
struct RequestHeader {
    #[prost(uint64, tag = "1")]
    cluster_id: u64,
}

/// What stands at the head of every answer.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ResponseHeader {
    #[prost(uint64, tag = "1")]
    pub(super) cluster_id: u64,
    #[prost(message, optional, tag = "2")]
    error: Option<Complaint>,
}

#[derive(Clone, PartialEq, Message)]
struct Complaint {
    #[prost(int32, tag = "1")]
    kind: i32,
    #[prost(string, tag = "2")]
    message: String,
}

/// A request that says nothing but which cluster it is for.
#[derive(Clone, PartialEq, Message)]
struct PlainRequest {
    #[prost(message, optional, tag = "1")]
    header: Option<RequestHeader>,
}

/// A placement driver, as its cluster knows it.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Member {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(uint64, tag = "2")]
    pub(super) member_id: u64,
    #[prost(string, repeated, tag = "4")]
    pub(super) client_urls: Vec<String>,
    #[prost(string, tag = "7")]
    pub(super) binary_version: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Members {
    #[prost(message, optional, tag = "1")]
    pub(super) header: Option<ResponseHeader>,
    #[prost(message, repeated, tag = "2")]
    pub(super) members: Vec<Member>,
    #[prost(message, optional, tag = "3")]
    pub(super) leader: Option<Member>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Label {
    #[prost(string, tag = "1")]
    pub(super) key: String,
    #[prost(string, tag = "2")]
    pub(super) value: String,
}

/// A TiKV server, or another one that takes part.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Node {
    #[prost(uint64, tag = "1")]
    pub(super) id: u64,
    #[prost(string, tag = "2")]
    pub(super) address: String,
    /// 0 is up, 1 is being moved out, 2 is gone.
    #[prost(int32, tag = "3")]
    pub(super) state: i32,
    #[prost(message, repeated, tag = "4")]
    pub(super) labels: Vec<Label>,
    #[prost(string, tag = "5")]
    pub(super) version: String,
}

impl Node {
    /// The value of its label `key`.
    pub(super) fn label(&self, key: &str) -> Option<&str> {
        let found = self.labels.iter().find(|label| label.key == key);
        found.map(|label| label.value.as_str())
    }

    /// Whether it keeps rows: TiFlash keeps columns.
    fn is_tikv(&self) -> bool {
        self.label("engine").is_none_or(|engine| !engine.starts_with("tiflash"))
    }
}

#[derive(Clone, PartialEq, Message)]
struct AllStoresRequest {
    #[prost(message, optional, tag = "1")]
    header: Option<RequestHeader>,
    #[prost(bool, tag = "2")]
    exclude_tombstone_stores: bool,
}

#[derive(Clone, PartialEq, Message)]
struct AllStores {
    #[prost(message, optional, tag = "1")]
    header: Option<ResponseHeader>,
    #[prost(message, repeated, tag = "2")]
    stores: Vec<Node>,
}

#[derive(Clone, PartialEq, Message)]
struct StoreRequest {
    #[prost(message, optional, tag = "1")]
    header: Option<RequestHeader>,
    #[prost(uint64, tag = "2")]
    store_id: u64,
}

/// How much a server has.
#[derive(Clone, PartialEq, Message)]
struct Stats {
    #[prost(uint32, tag = "4")]
    region_count: u32,
}

#[derive(Clone, PartialEq, Message)]
struct OneStore {
    #[prost(message, optional, tag = "1")]
    header: Option<ResponseHeader>,
    #[prost(message, optional, tag = "3")]
    stats: Option<Stats>,
}

#[derive(Clone, PartialEq, Message)]
struct Cluster {
    #[prost(uint32, tag = "2")]
    max_peer_count: u32,
}

#[derive(Clone, PartialEq, Message)]
struct ClusterConfig {
    #[prost(message, optional, tag = "1")]
    header: Option<ResponseHeader>,
    #[prost(message, optional, tag = "2")]
    cluster: Option<Cluster>,
}

#[derive(Clone, PartialEq, Message)]
struct RegionRequest {
    #[prost(message, optional, tag = "1")]
    header: Option<RequestHeader>,
    #[prost(bytes = "vec", tag = "2")]
    region_key: Vec<u8>,
}

/// The keys that are kept together.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Region {
    #[prost(bytes = "vec", tag = "2")]
    pub(super) start_key: Vec<u8>,
    /// The first key behind it; empty if there is none.
    #[prost(bytes = "vec", tag = "3")]
    pub(super) end_key: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
struct OneRegion {
    #[prost(message, optional, tag = "1")]
    header: Option<ResponseHeader>,
    #[prost(message, optional, tag = "2")]
    region: Option<Region>,
}

/// An answer with a head.
trait Headed {
    fn header(&self) -> Option<&ResponseHeader>;
}

macro_rules! headed {
    ($($answer:ty),*) => {
        $(impl Headed for $answer {
            fn header(&self) -> Option<&ResponseHeader> {
                self.header.as_ref()
            }
        })*
    };
}

headed!(Members, AllStores, OneStore, ClusterConfig, OneRegion);

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RequestError {
    /// No connection can be made.
    Unreachable(String),
    /// The connection ended, or carries something that is no gRPC.
    Broken(String),
    /// The response was an error of gRPC.
    Told(Code, String),
    /// A placement driver answered with an error of its own.
    Said(String),
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RequestError::Unreachable(why)
            | RequestError::Broken(why)
            | RequestError::Said(why) => f.write_str(why),
            RequestError::Told(code, message) => write!(f, "{message} ({code:?})"),
        }
    }
}

/// A handle on one placement driver; cheap to clone.
#[derive(Clone)]
pub(super) struct Driver {
    grpc: Grpc<Channel>,
    cluster_id: u64,
}

impl Driver {
    /// Connects to the one at `address`, which has not said anything yet.
    pub(super) async fn open(
        security: &SecurityManager,
        address: &str,
    ) -> Result<Driver, RequestError> {
        let grpc = security.connect(address, Grpc::new).await;
        let grpc = grpc.map_err(|error| match error {
            Error::Grpc(error) => RequestError::Unreachable(chain(&error)),
            other => RequestError::Unreachable(other.to_string()),
        })?;
        Ok(Driver { grpc, cluster_id: 0 })
    }

    /// Who drives the placement; later requests are for that cluster.
    pub(super) async fn members(&mut self) -> Result<Members, RequestError> {
        let members: Members = self.send("GetMembers", PlainRequest { header: None }).await?;
        self.cluster_id = members.header.as_ref().map_or(0, |header| header.cluster_id);
        Ok(members)
    }

    /// The cluster that it belongs to.
    pub(super) fn cluster_id(&self) -> u64 {
        self.cluster_id
    }

    /// The TiKV servers that are not gone for good.
    pub(super) async fn nodes(&self) -> Result<Vec<Node>, RequestError> {
        let request = AllStoresRequest { header: self.header(), exclude_tombstone_stores: true };
        let all: AllStores = self.send("GetAllStores", request).await?;
        Ok(all.stores.into_iter().filter(Node::is_tikv).collect())
    }

    /// How many regions a server has a copy of.
    pub(super) async fn regions_of(&self, store_id: u64) -> Result<Option<u32>, RequestError> {
        let request = StoreRequest { header: self.header(), store_id };
        let one: OneStore = self.send("GetStore", request).await?;
        Ok(one.stats.map(|stats| stats.region_count))
    }

    /// How many copies there are to be of each region.
    pub(super) async fn replicas(&self) -> Result<u32, RequestError> {
        let request = PlainRequest { header: self.header() };
        let config: ClusterConfig = self.send("GetClusterConfig", request).await?;
        Ok(config.cluster.map_or(0, |cluster| cluster.max_peer_count))
    }

    /// The region that has a key, in the encoding that regions have.
    pub(super) async fn region(&self, region_key: Vec<u8>) -> Result<Option<Region>, RequestError> {
        let request = RegionRequest { header: self.header(), region_key };
        let one: OneRegion = self.send("GetRegion", request).await?;
        Ok(one.region)
    }

    fn header(&self) -> Option<RequestHeader> {
        Some(RequestHeader { cluster_id: self.cluster_id })
    }

    async fn send<Q, A>(&self, method: &str, question: Q) -> Result<A, RequestError>
    where
        Q: Message + 'static,
        A: Message + Headed + Default + 'static,
    {
        let mut grpc = self.grpc.clone();
        grpc.ready().await.map_err(|error| RequestError::Broken(chain(&error)))?;
        let path = PathAndQuery::try_from(format!("/pdpb.PD/{method}"));
        let path = path.map_err(|error| RequestError::Broken(error.to_string()))?;
        let reported =
            grpc.unary(Request::new(question), path, Protobuf::<Q, A>(PhantomData)).await;
        let answer = reported.map_err(|status| of_status(&status))?.into_inner();
        match answer.header().and_then(|header| header.error.as_ref()) {
            // Kind 0 is no error.
            Some(Complaint { kind, message }) if *kind != 0 => {
                Err(RequestError::Said(message.clone()))
            }
            _ => Ok(answer),
        }
    }
}

/// Tells what was said from what the connection did.
fn of_status(status: &Status) -> RequestError {
    match status.source() {
        Some(_) if is_unsent(status) => RequestError::Unreachable(status.message().into()),
        Some(source) => RequestError::Broken(chain(source)),
        None => RequestError::Told(status.code(), status.message().into()),
    }
}

/// Whether the request certainly did not leave: no connection could be made for it.
pub(super) fn is_unsent(status: &Status) -> bool {
    status.code() == Code::Unavailable && status.message().starts_with("error trying to connect")
}

/// An error with its causes in one line.
pub(super) fn chain(error: &(dyn StdError + 'static)) -> String {
    let mut reported = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !reported.contains(&text) {
            reported.push_str(": ");
            reported.push_str(&text);
        }
        cause = error.source();
    }
    reported
}

/// Lets the client library's older gRPC carry messages of the newer protobuf library.
struct Protobuf<Q, A>(PhantomData<(Q, A)>);

impl<Q: Message + 'static, A: Message + Default + 'static> Codec for Protobuf<Q, A> {
    type Encode = Q;
    type Decode = A;
    type Encoder = Protobuf<Q, A>;
    type Decoder = Protobuf<Q, A>;

    fn encoder(&mut self) -> Protobuf<Q, A> {
        Protobuf(PhantomData)
    }

    fn decoder(&mut self) -> Protobuf<Q, A> {
        Protobuf(PhantomData)
    }
}

impl<Q: Message, A> Encoder for Protobuf<Q, A> {
    type Item = Q;
    type Error = Status;

    fn encode(&mut self, item: Q, into: &mut EncodeBuf<'_>) -> Result<(), Status> {
        item.encode(into).map_err(|error| Status::internal(error.to_string()))
    }
}

impl<Q, A: Message + Default> Decoder for Protobuf<Q, A> {
    type Item = A;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<A>, Status> {
        A::decode(from).map(Some).map_err(|error| Status::internal(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_errors_are_distinguished_from_broken_connections() {
        let reported = of_status(&Status::unimplemented("unknown service pdpb.PD"));
        let expected = RequestError::Told(Code::Unimplemented, "unknown service pdpb.PD".into());
        assert_eq!(reported, expected);
        let broken = std::io::Error::from(std::io::ErrorKind::ConnectionReset);
        let reported = of_status(&Status::from_error(Box::new(broken)));
        assert!(matches!(reported, RequestError::Broken(_)), "{reported:?}");
    }

    #[test]
    fn tiflash_keeps_no_rows() {
        let node = |value: &str| Node {
            labels: vec![Label { key: "engine".into(), value: value.into() }],
            ..Node::default()
        };
        assert!(!node("tiflash").is_tikv() && !node("tiflash_compute").is_tikv());
        assert!(node("other").is_tikv() && Node::default().is_tikv());
    }
}
