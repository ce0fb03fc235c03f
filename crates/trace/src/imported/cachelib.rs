//! The key-value cache traces of Meta, as CacheLib's CacheBench replays them.
//!
//! The header names the columns, whose order differs from file to file. `op_count` repeats a
//! request within its second; files of 2022 have no `op_time`, thus an order only.

use assay_model::Nanos;

use super::cells::{display, size, time, whole};
use super::parse::{Fault, Parse};
use super::request::{ImportedRequest, TimestampPrecision, ValueSize, Verb, key_number};

/// The columns that are read, with whether a file must have them.
const COLUMNS: [(&str, bool); 7] = [
    ("op_time", false),
    ("key", true),
    ("key_size", false),
    ("op", true),
    ("op_count", false),
    ("size", true),
    ("cache_hits", false),
];

/// Lines in the order of a header.
pub(crate) struct CacheLib {
    /// The place of each of [`COLUMNS`] in a line.
    places: [Option<usize>; COLUMNS.len()],
    /// How many values a line has.
    width: usize,
}

impl CacheLib {
    /// Reads the header.
    pub(crate) fn new(header: &[u8]) -> Result<CacheLib, Fault> {
        let names: Vec<&[u8]> =
            header.split(|&byte| byte == b',').map(<[u8]>::trim_ascii).collect();
        let place = |expected: &str| names.iter().position(|name| *name == expected.as_bytes());
        if place("block_id").is_some() {
            let reason = "this is a trace of block storage, not of a key-value cache";
            return Err(Fault::Bad(reason.to_owned()));
        }
        let places = COLUMNS.map(|(name, _)| place(name));
        let missing =
            COLUMNS.iter().zip(&places).find(|((_, must), place)| *must && place.is_none());
        match missing {
            Some(((name, _), _)) => {
                Err(Fault::Bad(format!("the header {} has no column {name}", display(header))))
            }
            None => Ok(CacheLib { places, width: names.len() }),
        }
    }
}

impl Parse for CacheLib {
    fn timestamps(&self) -> TimestampPrecision {
        match self.places[0] {
            Some(_) => TimestampPrecision::Each(Nanos::from_secs(1)),
            None => TimestampPrecision::Absent,
        }
    }

    fn parse(&mut self, line: &[u8], into: &mut Vec<ImportedRequest>) -> Result<(), Fault> {
        let mut cells: [Option<&[u8]>; COLUMNS.len()] = [None; COLUMNS.len()];
        let mut width = 0;
        for (place, cell) in line.split(|&byte| byte == b',').enumerate() {
            width += 1;
            if let Some(column) = self.places.iter().position(|expected| *expected == Some(place)) {
                cells[column] = Some(cell);
            }
        }
        if width != self.width {
            let expected = self.width;
            return Err(Fault::Bad(format!("it has {width} values, its header {expected}")));
        }
        let [timestamp, key, key_size, op, count, bytes, hits] = cells;
        let at =
            timestamp.map_or(Ok(Nanos::ZERO), |cell| time("op_time", cell, Nanos::from_secs(1)))?;
        let key = key.unwrap_or_default();
        let length = key_size.map_or(Ok(key.len() as u64), |cell| whole("key_size", cell))?;
        let count = count.map_or(Ok(1), |cell| whole("op_count", cell))?;
        let count = u32::try_from(count)
            .map_err(|_| Fault::Bad(format!("op_count {count} is more than a second can hold")))?;
        let bytes = size("size", bytes.unwrap_or_default())?;
        let hits = hits.map_or(Ok(0), |cell| whole("cache_hits", cell))?;
        let verb = verb_of(op.unwrap_or_default())?;
        let value = match (verb, bytes) {
            (Verb::Get, 0) if hits == 0 => ValueSize::Absent,
            (Verb::Delete, 0) => ValueSize::Unknown,
            _ => ValueSize::Bytes(bytes),
        };
        if count > 0 {
            into.push(ImportedRequest { at, key: key_number(key, length), verb, value, count });
        }
        Ok(())
    }
}

fn verb_of(name: &[u8]) -> Result<Verb, Fault> {
    match name {
        b"GET" | b"GET_LEASE" => Ok(Verb::Get),
        b"SET" | b"SET_LEASE" => Ok(Verb::Set),
        b"DELETE" => Ok(Verb::Delete),
        other => Err(Fault::Bad(format!(
            "op {} is none of GET, GET_LEASE, SET, SET_LEASE, DELETE",
            display(other)
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::imported::requests::tests::{bad, parsed};

    const LATER: &str = "op_time,key,key_size,op,op_count,size,cache_hits,ttl,usecase,sub_usecase";

    fn under(header: &str) -> CacheLib {
        CacheLib::new(header.as_bytes()).unwrap()
    }

    fn refused(header: &str) -> String {
        match CacheLib::new(header.as_bytes()) {
            Err(Fault::Bad(reason)) => reason,
            _ => panic!("{header} was taken"),
        }
    }

    #[test]
    fn the_header_decides_the_order() {
        let expected = ImportedRequest {
            at: Nanos::from_secs(60),
            key: key_number(b"ab", 48),
            verb: Verb::Get,
            value: ValueSize::Bytes(87),
            count: 3,
        };
        assert_eq!(parsed(under(LATER), "60,ab,48,GET,3,87,3,0,7,8"), [expected]);
        let turned = "op,key_size,size,key,op_count,op_time";
        assert_eq!(parsed(under(turned), "GET,48,87,ab,3,60"), [expected]);
    }

    #[test]
    fn files_without_time_have_an_order_only() {
        let early = under("key,op,size,op_count,key_size");
        assert_eq!(early.timestamps(), TimestampPrecision::Absent);
        let [request] = parsed(early, "ab,SET,9,1,4")[..] else { panic!() };
        assert_eq!((request.at, request.verb), (Nanos::ZERO, Verb::Set));
        assert_eq!(under(LATER).timestamps(), TimestampPrecision::Each(Nanos::from_secs(1)));
    }

    #[test]
    fn a_read_without_a_record_is_a_miss() {
        let value = |line: &str| parsed(under(LATER), line)[0].value;
        assert_eq!(value("1,k,1,GET,1,0,0,0,7,8"), ValueSize::Absent);
        assert_eq!(value("1,k,1,GET_LEASE,2,0,2,0,7,8"), ValueSize::Bytes(0));
        assert_eq!(value("1,k,1,DELETE,1,0,0,0,7,8"), ValueSize::Unknown);
    }

    #[test]
    fn bad_lines_say_what_is_wrong() {
        assert_eq!(bad(under(LATER), "1,k,1,GET"), "it has 4 values, its header 10");
        assert!(bad(under("key,op,size"), "k,PUT,1").starts_with("op \"PUT\" is none of GET"));
        assert_eq!(bad(under("key,op,size"), "k,GET,x"), "size \"x\" is no whole number");
        assert!(bad(under("key,op,size,op_count"), "k,GET,1,5000000000").contains("5000000000"));
    }

    #[test]
    fn headers_of_something_else_are_reported() {
        assert!(refused("key,size").ends_with("has no column op"));
        assert!(refused("op_time,block_id,io_size").contains("block storage"));
    }
}
