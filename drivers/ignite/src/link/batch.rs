//! Several requests for records as one request to the cluster: `getAll` or `putAll`.
//!
//! It goes to the node that owns the first key, which forwards to the owners of the others: one
//! request of ours, as a thin client in Java makes of it. Keys are sent in their order, for nodes
//! lock them one after another, and two batches in different orders could wait for each other for
//! ever.

use std::collections::HashMap;

use assay_driver_kit::task::{BatchOutcome, Completion, Gathering, RecordJob};
use assay_model::{Kind, Reason};
use assay_store::{OwnedRequest, Request};

use super::{Fault, Turn};
use crate::failure::Stage;
use crate::object::{Draft, Object};
use crate::options::{Insert, Options};
use crate::plan::Table;
use crate::wire::{Garbled, Reader, Value, operation, put_length, put_text};

/// What is gathered. There is no `putAll` that keeps what is there.
pub(crate) fn gathering(options: &Options) -> Gathering {
    let kinds: &[Kind] = match options.insert {
        Insert::Put => &[Kind::Read, Kind::Insert],
        Insert::PutIfAbsent => &[Kind::Read],
    };
    Gathering { most: options.batch, kinds }
}

impl Turn<'_> {
    /// Carries out a batch. An invalid part is refused, and the others are sent without it.
    pub(super) async fn perform_batch(
        &mut self,
        job: &mut RecordJob,
        rows: &mut Vec<u8>,
    ) -> Result<bool, Fault> {
        let plan = std::sync::Arc::clone(&self.links.plan);
        let table = plan.tables.get(usize::from(job.table())).ok_or(Reason::Malformed)?;
        let requests: Vec<Request<'_>> = job.batch.iter().map(OwnedRequest::request).collect();
        let is_insert = requests.iter().all(|request| request.kind == Kind::Insert);
        job.outcomes = match is_insert {
            true => self.put_all(table, &requests).await?,
            false => self.get_batch(table, &requests, rows).await?,
        };
        Ok(true)
    }

    /// Writes all records for which that makes sense.
    async fn put_all(
        &mut self,
        table: &Table,
        requests: &[Request<'_>],
    ) -> Result<Vec<BatchOutcome>, Fault> {
        let content = self.links.cluster.options.content;
        let draft = |request: &Request<'_>| {
            text(request.key)?;
            let mut draft = Draft::empty(table.of_type, &table.numbers);
            draft.set(&request.values, content, &table.numbers)?;
            let mut record = Vec::new();
            draft.write(&mut record);
            Ok(record)
        };
        let drafts: Vec<Result<Vec<u8>, Reason>> = requests.iter().map(draft).collect();
        let mut records: Vec<(&[u8], &[u8])> = (requests.iter().zip(&drafts))
            .filter_map(|(request, draft)| Some((request.key, &draft.as_ref().ok()?[..])))
            .collect();
        records.sort_unstable();
        self.stage = Stage::Writes;
        if let Some((first, _)) = records.first() {
            let write = |out: &mut Vec<u8>| {
                put_length(records.len(), out);
                for (key, record) in &records {
                    put_text(key, out);
                    out.extend_from_slice(record);
                }
            };
            self.send(table, first, operation::PUT_ALL, write).await?;
        }
        let ending = |draft: &Result<Vec<u8>, Reason>| match draft {
            Ok(_) => Completion::Done { found: true },
            Err(reason) => Completion::Refused(*reason),
        };
        Ok(drafts.iter().map(|draft| BatchOutcome { ending: ending(draft), rows_end: 0 }).collect())
    }

    /// Reads all records whose keys may be there.
    async fn get_batch(
        &mut self,
        table: &Table,
        requests: &[Request<'_>],
        rows: &mut Vec<u8>,
    ) -> Result<Vec<BatchOutcome>, Fault> {
        let mut keys: Vec<&[u8]> = requests.iter().map(|request| request.key).collect();
        keys.retain(|key| text(key).is_ok());
        keys.sort_unstable();
        let mut records = HashMap::new();
        if let Some(first) = keys.first() {
            let write = |out: &mut Vec<u8>| {
                put_length(keys.len(), out);
                keys.iter().for_each(|key| put_text(key, out));
            };
            records = entries(self.send(table, first, operation::GET_ALL, write).await?)?;
        }
        let mut outcomes = Vec::with_capacity(requests.len());
        for request in requests {
            let begin = rows.len();
            let handed = self.hand_out(table, request, records.get(request.key), rows).await;
            let ended = handed.map_err(|fault| fault.ending(self.stage));
            outcomes.push(BatchOutcome::of(ended, begin, rows));
        }
        Ok(outcomes)
    }

    /// What a read of a batch gets of its record.
    async fn hand_out(
        &mut self,
        table: &Table,
        request: &Request<'_>,
        record: Option<&Option<Vec<u8>>>,
        rows: &mut Vec<u8>,
    ) -> Result<bool, Fault> {
        text(request.key)?;
        let Some(record) = record else { return Ok(false) };
        let record = record.as_ref().ok_or(Reason::WrongType)?;
        self.meet(table, request.key, record).await?;
        let types = self.links.cluster.types.borrow();
        Object::parse(record)?.encode(request.fields, &table.fields, &types, rows)?;
        Ok(true)
    }
}

/// Keys are texts, as in YCSB's binding.
fn text(key: &[u8]) -> Result<(), Reason> {
    std::str::from_utf8(key).map(drop).map_err(|_| Reason::Malformed)
}

/// The records that were found, by their keys; nothing in place of what is no record.
pub(crate) fn entries(reported: &[u8]) -> Result<HashMap<Vec<u8>, Option<Vec<u8>>>, Garbled> {
    let mut reported = Reader::new(reported);
    let mut entries = HashMap::new();
    for _ in 0..reported.length()? {
        let Value::Text(key) = reported.value()? else { return Err(Garbled) };
        let record = match reported.value()? {
            // Some versions tell what is missing.
            Value::Null => continue,
            Value::Object(record) => Some(record.to_vec()),
            _ => None,
        };
        entries.insert(key.to_vec(), record);
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::code;

    #[test]
    fn records_are_found_by_their_keys() {
        let mut object = vec![0; 24];
        (object[0], object[12]) = (code::OBJECT, 24);
        let mut reported = Vec::new();
        put_length(3, &mut reported);
        put_text(b"a", &mut reported);
        reported.extend(&object);
        put_text(b"b", &mut reported);
        put_text(b"no record", &mut reported);
        put_text(b"c", &mut reported);
        reported.push(code::NULL);
        let entries = entries(&reported).unwrap();
        assert_eq!(entries.len(), 2);
        assert_eq!(entries[&b"a"[..]], Some(object));
        assert_eq!(entries[&b"b"[..]], None);
    }

    #[test]
    fn entries_that_are_cut_or_have_other_keys_are_garbled() {
        let mut reported = Vec::new();
        put_length(1, &mut reported);
        assert_eq!(entries(&reported), Err(Garbled));
        reported.extend([code::BOOL, 1, code::NULL]);
        assert_eq!(entries(&reported), Err(Garbled));
    }
}
