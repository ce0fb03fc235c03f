//! One request in flight at a time, over a connection of the library's own pool.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use assay_driver_kit::task::{Context, JobCompletion, Library, Lost, RecordJob, completion};
use assay_model::{Fields, Kind, Reason};
use assay_store::answer::{encode_field, encode_row};
use assay_store::{OpenError, Request};
use mongodb::bson::raw::{CString, RawBinaryRef, cstr};
use mongodb::bson::spec::BinarySubtype;
use mongodb::bson::{Binary, Bson, Document, RawBsonRef, RawDocument, RawDocumentBuf, doc};
use mongodb::{Client, Collection};
use tokio::runtime::Handle;

use super::connector::Connector;
use super::failure::{Failure, RequestKind, failure};
use super::options::Keys;

/// The field that holds a document's key.
pub(super) const ID: &str = "_id";

/// A table's collection.
pub(super) struct Table {
    pub(super) name: String,
    /// The names of the fields of its documents.
    pub(super) fields: Vec<CString>,
    /// Whether its keys are bytes that are scanned in their order: their digits are the text then,
    /// for binary sorts by its length first.
    pub(super) needs_key_order: bool,
}

impl Table {
    fn field(&self, number: u16) -> Result<&CString, Failure> {
        self.fields.get(usize::from(number)).ok_or(Failure::refused(Reason::Malformed))
    }

    /// What a read or scan wants of each document; `None` if all of it.
    fn projection(&self, fields: Fields) -> Result<Option<Document>, Failure> {
        let expected = match fields {
            Fields::All => return Ok(None),
            Fields::One(number) => std::slice::from_ref(self.field(number)?),
            Fields::Named => &self.fields[..],
        };
        let named = expected.iter().map(|name| (name.as_str().to_owned(), Bson::Int32(1)));
        Ok(Some(named.chain([(ID.to_owned(), Bson::Int32(0))]).collect()))
    }
}

/// The library, as a pool of connections needs it.
pub(super) struct MongoDb {
    connector: Arc<Connector>,
    tables: Arc<[Table]>,
    held: RefCell<Option<Rc<Held>>>,
}

/// The library's client of a worker, with its pool of connections.
struct Held {
    /// There until it is dropped.
    client: Option<Client>,
    collections: Vec<Collection<RawDocumentBuf>>,
    runtime: Handle,
}

/// The library says goodbye to the server from a task of its own, which wants a runtime.
impl Drop for Held {
    fn drop(&mut self) {
        let _entered = self.runtime.enter();
        self.collections.clear();
        self.client = None;
    }
}

/// The right to have one request in flight.
pub(super) struct Link {
    held: Rc<Held>,
}

impl MongoDb {
    pub(super) fn new(connector: Arc<Connector>, tables: Arc<[Table]>) -> MongoDb {
        MongoDb { connector, tables, held: RefCell::default() }
    }

    fn held(&self) -> Result<Rc<Held>, OpenError> {
        let mut held = self.held.borrow_mut();
        if let Some(held) = &*held {
            return Ok(held.clone());
        }
        let client = self.connector.client()?;
        let database = client.database(&self.connector.options.database);
        let collections = self.tables.iter().map(|table| database.collection(&table.name));
        let collections = collections.collect();
        let made = Held { client: Some(client), collections, runtime: Handle::current() };
        Ok(held.insert(Rc::new(made)).clone())
    }
}

impl Library for MongoDb {
    type Connection = Link;
    type Job = RecordJob;

    async fn connect(&self) -> Result<Link, OpenError> {
        let held = self.held()?;
        if let Some(client) = &held.client {
            self.connector.reach(client).await?;
        }
        Ok(Link { held })
    }

    async fn perform(
        &self,
        link: &mut Link,
        job: &mut RecordJob,
        rows: &mut Vec<u8>,
    ) -> JobCompletion {
        let request = job.request.request();
        let ended = match self.talk(&link.held, &request) {
            Ok(talk) => match request.kind {
                Kind::Read => talk.read(rows).await,
                Kind::Insert => talk.insert().await,
                Kind::Update => talk.update().await,
                Kind::Delete => talk.delete().await,
                Kind::Scan => talk.scan(rows).await,
                Kind::Commit | Kind::Rollback => Err(Failure::refused(Reason::Unsupported)),
            },
            Err(failure) => Err(failure),
        };
        completion(ended, Context::Alone)
    }

    async fn undo(&self, _link: &mut Link) -> Result<(), Lost> {
        Ok(())
    }
}

/// One request with everything that it needs.
struct RequestContext<'a> {
    collection: &'a Collection<RawDocumentBuf>,
    table: &'a Table,
    request: &'a Request<'a>,
    keys: Keys,
}

impl MongoDb {
    fn talk<'a>(
        &'a self,
        held: &'a Held,
        request: &'a Request<'a>,
    ) -> Result<RequestContext<'a>, Failure> {
        let place = usize::from(request.table);
        let known = self.tables.get(place).zip(held.collections.get(place));
        let (table, collection) = known.ok_or(Failure::refused(Reason::Malformed))?;
        Ok(RequestContext { collection, table, request, keys: self.connector.options.keys })
    }
}

impl RequestContext<'_> {
    /// The key as the server keeps it.
    fn id(&self) -> Result<Bson, Failure> {
        let key = self.request.key;
        match self.keys {
            _ if self.table.needs_key_order => Ok(Bson::String(digits(key))),
            Keys::Bytes => Ok(owned(key)),
            Keys::Text => match str::from_utf8(key) {
                Ok(key) => Ok(Bson::String(key.to_owned())),
                Err(_) => Err(Failure::refused(Reason::Malformed)),
            },
        }
    }

    async fn read(&self, rows: &mut Vec<u8>) -> Result<bool, Failure> {
        let mut find = self.collection.find_one(doc! { ID: self.id()? });
        if let Some(projection) = self.table.projection(self.request.fields)? {
            find = find.projection(projection);
        }
        let found = find.await.map_err(|error| failure(&error, RequestKind::Read))?;
        let Some(document) = found else { return Ok(false) };
        encode(&document, rows).map(|()| true)
    }

    async fn insert(&self) -> Result<bool, Failure> {
        let mut document = RawDocumentBuf::new();
        match self.id()? {
            Bson::String(id) => document.append(cstr!("_id"), RawBsonRef::String(&id)),
            _ => document.append(cstr!("_id"), binary(self.request.key)),
        }
        for (number, value) in self.request.values.iter() {
            document.append(self.table.field(number)?, binary(value));
        }
        let inserted = self.collection.insert_one(document).await;
        inserted.map(|_| true).map_err(|error| failure(&error, RequestKind::Write))
    }

    async fn update(&self) -> Result<bool, Failure> {
        let mut set = Document::new();
        for (number, value) in self.request.values.iter() {
            set.insert(self.table.field(number)?.as_str(), owned(value));
        }
        if set.is_empty() {
            return Err(Failure::refused(Reason::Malformed));
        }
        let filter = doc! { ID: self.id()? };
        let updated = self.collection.update_one(filter, doc! { "$set": set }).await;
        let updated = updated.map_err(|error| failure(&error, RequestKind::Write))?;
        Ok(updated.matched_count > 0)
    }

    async fn delete(&self) -> Result<bool, Failure> {
        let deleted = self.collection.delete_one(doc! { ID: self.id()? }).await;
        let deleted = deleted.map_err(|error| failure(&error, RequestKind::Write))?;
        Ok(deleted.deleted_count > 0)
    }

    async fn scan(&self, rows: &mut Vec<u8>) -> Result<bool, Failure> {
        // To the server no limit at all would be meant by zero.
        if self.request.limit == 0 {
            return Ok(false);
        }
        let failed = |error| failure(&error, RequestKind::Read);
        let filter = doc! { ID: { "$gte": self.id()? } };
        let find = self.collection.find(filter).sort(doc! { ID: 1 });
        // One more than the limit, so that the server knows that there will be no other batch.
        let mut find = find
            .limit(i64::from(self.request.limit))
            .batch_size(self.request.limit.saturating_add(1));
        if let Some(projection) = self.table.projection(self.request.fields)? {
            find = find.projection(projection);
        }
        let mut cursor = find.await.map_err(failed)?;
        while cursor.advance().await.map_err(failed)? {
            encode(cursor.current(), rows)?;
        }
        Ok(!rows.is_empty())
    }
}

fn binary(bytes: &[u8]) -> RawBsonRef<'_> {
    RawBsonRef::Binary(RawBinaryRef { subtype: BinarySubtype::Generic, bytes })
}

fn owned(bytes: &[u8]) -> Bson {
    Bson::Binary(Binary { subtype: BinarySubtype::Generic, bytes: bytes.to_vec() })
}

/// Bytes as hexadecimal digits, which sort as the bytes do.
fn digits(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(|digit| char::from_digit(digit.into(), 16).expect("half a byte is a digit"))
        .collect()
}

/// Appends a document's fields, without its key.
fn encode(document: &RawDocument, rows: &mut Vec<u8>) -> Result<(), Failure> {
    let begin = rows.len();
    encode_row(0, rows);
    let mut fields = 0_u16;
    for element in document {
        let (name, value) = element.map_err(|_| Failure::refused(Reason::Garbled))?;
        if name.as_str() == ID {
            continue;
        }
        let bytes = match value {
            RawBsonRef::Binary(binary) => binary.bytes,
            RawBsonRef::String(text) => text.as_bytes(),
            _ => return Err(Failure::refused(Reason::WrongType)),
        };
        encode_field(name.as_str().as_bytes(), bytes, rows);
        fields = fields.checked_add(1).ok_or(Failure::refused(Reason::Malformed))?;
    }
    rows[begin..begin + size_of::<u16>()].copy_from_slice(&fields.to_le_bytes());
    Ok(())
}

#[cfg(test)]
mod tests {
    use assay_store::Rows;
    use mongodb::bson::rawdoc;

    use super::*;

    fn display(document: &RawDocument) -> Result<Vec<String>, Failure> {
        let mut rows = Vec::new();
        encode(document, &mut rows)?;
        let mut texts = Vec::new();
        Rows::Encoded(&rows).each(|field| {
            let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
            texts.push(format!("{}={}", text(field.name), text(field.value)));
        });
        Ok(texts)
    }

    #[test]
    fn a_document_is_its_fields_without_the_key() {
        let mut document = rawdoc! { "_id": "user1" };
        document.append(cstr!("field0"), binary(b"a"));
        document.append(cstr!("field1"), RawBsonRef::String("b"));
        assert_eq!(display(&document), Ok(vec!["field0=a".into(), "field1=b".into()]));
    }

    #[test]
    fn what_is_no_value_of_ours_is_reported() {
        let document = rawdoc! { "_id": "user1", "field0": 7 };
        assert_eq!(display(&document), Err(Failure::refused(Reason::WrongType)));
    }

    #[test]
    fn digits_sort_as_the_bytes_do() {
        assert_eq!(digits(&[0, 0x7F, 0xFF]), "007fff");
        assert!(digits(&[1]) < digits(&[1, 0]) && digits(&[1, 255]) < digits(&[2]));
    }

    #[test]
    fn a_projection_names_what_is_wanted() {
        let names = ["a", "b"].map(|name| CString::try_from(name.to_owned()).unwrap());
        let table = Table { name: "t".into(), fields: names.to_vec(), needs_key_order: false };
        assert_eq!(table.projection(Fields::All), Ok(None));
        let one = Some(doc! { "b": 1, "_id": 0 });
        assert_eq!(table.projection(Fields::One(1)), Ok(one));
        let named = Some(doc! { "a": 1, "b": 1, "_id": 0 });
        assert_eq!(table.projection(Fields::Named), Ok(named));
        let unknown = table.projection(Fields::One(2));
        assert_eq!(unknown, Err(Failure::refused(Reason::Malformed)));
    }
}
