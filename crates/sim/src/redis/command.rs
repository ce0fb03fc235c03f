//! Commands of the simulated server.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use assay_model::{Kind, Nanos, Reason};

use super::sorted::{End, Place, Sorted};
use super::{Conversation, Keyspace, LIMITS};
use crate::rows;
use crate::world::{SimAnswer, SimEffect, SimRequest};
use assay_store::answer::{Rows, encode_field, encode_row};
use assay_store::resp::{Protocol, write};

/// The name of the only field of a string.
const STRING: &[u8] = b"";

const WRONG_TYPE: &str = "WRONGTYPE Operation against a key holding the wrong kind of value";
const NO_INTEGER: &str = "ERR value is not an integer or out of range";
const NO_FLOAT: &str = "ERR min or max is not a float";
const SYNTAX: &str = "ERR syntax error";

/// Bytes that a reply may have: those of the longest string, with some for what is around it.
///
/// A short command can name a long string many times over.
const MOST_REPLY: usize = LIMITS.string + (64 << 10);

const TOO_LONG: &str = "ERR the reply would be longer than the 64 MiB that one may have here";

/// Fields that one command may name, so that other clients do not wait long for it.
const MOST_FIELDS: usize = 10_000;

const TOO_MANY: &str = "ERR a command here names at most 10000 fields: use several commands";

/// One command on its way.
struct Turn<'a> {
    now: Nanos,
    /// When the reply is due, whether it is an error or not: every request takes its time.
    due: Nanos,
    session: u32,
    protocol: Protocol,
    words: &'a [&'a [u8]],
    out: &'a mut Vec<u8>,
}

impl Turn<'_> {
    /// Waits for an answer; tells what it was.
    fn wait_for(&mut self, given: SimAnswer) -> Result<SimEffect, String> {
        self.due = self.due.max(given.due);
        given.result.map_err(refusal)
    }

    /// Appends a string, or that there is none.
    fn put(&mut self, text: Option<&[u8]>) -> Done {
        let length = text.map_or(0, <[u8]>::len);
        if self.out.len().saturating_add(length) > MOST_REPLY {
            return Err(TOO_LONG.into());
        }
        match text {
            Some(text) => write::bulk(text, self.out),
            None => write::null(self.protocol, self.out),
        }
        Ok(())
    }

    /// Appends the members at these places.
    fn put_members(&mut self, places: &[Place]) -> Done {
        write::array(places.len(), self.out);
        places.iter().try_for_each(|place| self.put(Some(&place.member)))
    }
}

/// Nothing, the reply being written, or the line that says what is wrong.
type Done = Result<(), String>;

/// A row, if there is one, or the line that says what is wrong.
type Lookup = Result<Option<Arc<[u8]>>, String>;

impl Conversation {
    /// Does what `words` say and appends the reply; tells when it is due.
    pub(super) fn obey(
        &mut self,
        now: Nanos,
        words: &[&[u8]],
        keyspace: &mut Keyspace,
        out: &mut Vec<u8>,
    ) -> Nanos {
        let begin = out.len();
        let name = words[0].to_ascii_uppercase();
        let (done, due) = match self.manage(&name, words, keyspace, out) {
            Some(done) => (done, now),
            None => {
                let (session, protocol) = (self.session, self.protocol);
                let mut turn = Turn { now, due: now, session, protocol, words, out };
                let done = keyspace.request(&name, &mut turn);
                (done, turn.due)
            }
        };
        if let Err(error) = done {
            out.truncate(begin);
            // A long reply that came to nothing must not be held until the error is due.
            out.shrink_to_fit();
            // A line of the client's words must not become two.
            write::error(&error.replace(['\r', '\n'], " "), out);
        }
        due
    }

    /// Commands that are about the connection or the server: answered at once. `None` if it is
    /// none of them.
    fn manage(
        &mut self,
        name: &[u8],
        words: &[&[u8]],
        keyspace: &mut Keyspace,
        out: &mut Vec<u8>,
    ) -> Option<Result<(), String>> {
        let second = words.get(1).map(|word| word.to_ascii_uppercase()).unwrap_or_default();
        match name {
            b"PING" if words.len() == 1 => write::simple("PONG", out),
            b"PING" | b"ECHO" if words.len() == 2 => write::bulk(words[1], out),
            b"PING" | b"ECHO" => return Some(Err(wrong_number(name))),
            b"QUIT" => {
                self.is_over = true;
                write::simple("OK", out);
            }
            b"HELLO" => return Some(self.hello(words, out)),
            // There is no authentication, so any credentials are right.
            b"AUTH" => write::simple("OK", out),
            b"SELECT" if second == b"0" => write::simple("OK", out),
            b"SELECT" => return Some(Err("ERR DB index is out of range".into())),
            b"CLIENT" => match &second[..] {
                b"SETNAME" if words.len() == 3 => {
                    self.name = words[2].to_vec();
                    write::simple("OK", out);
                }
                b"GETNAME" => write::bulk(&self.name, out),
                b"ID" => write::integer(i64::from(self.session), out),
                b"SETINFO" | b"NO-EVICT" | b"NO-TOUCH" => write::simple("OK", out),
                _ => return Some(Err(unknown_subcommand(name, words))),
            },
            b"COMMAND" if second == b"COUNT" => write::integer(0, out),
            b"COMMAND" if second == b"DOCS" => write::map(self.protocol, 0, out),
            b"COMMAND" => write::array(0, out),
            b"CONFIG" if second == b"GET" => config(&words[2..], self.protocol, out),
            b"CONFIG" => return Some(Err(unknown_subcommand(name, words))),
            b"INFO" => write::verbatim(self.protocol, &keyspace.about(), out),
            b"DBSIZE" => {
                write::integer((keyspace.world.records() + keyspace.sets.len()) as i64, out);
            }
            b"FLUSHDB" | b"FLUSHALL" => {
                keyspace.world.clear();
                keyspace.sets.clear();
                write::simple("OK", out);
            }
            // SICK SETTLE is its name in earlier releases.
            b"SIM" | b"SICK" if second == b"QUIESCE" || second == b"SETTLE" => {
                keyspace.world.quiesce();
                write::simple("OK", out);
            }
            b"SIM" | b"SICK" => return Some(Err(unknown_subcommand(name, words))),
            _ => return None,
        }
        Some(Ok(()))
    }

    fn hello(&mut self, words: &[&[u8]], out: &mut Vec<u8>) -> Result<(), String> {
        match words.get(1) {
            None => {}
            Some(&b"2") => self.protocol = Protocol::Resp2,
            Some(&b"3") => self.protocol = Protocol::Resp3,
            Some(_) => return Err("NOPROTO unsupported protocol version".into()),
        }
        let version = if self.protocol == Protocol::Resp3 { 3 } else { 2 };
        write::map(self.protocol, 7, out);
        for (name, value) in
            [("server", "sim"), ("version", VERSION), ("mode", "standalone"), ("role", "master")]
        {
            write::bulk(name.as_bytes(), out);
            write::bulk(value.as_bytes(), out);
        }
        write::bulk(b"proto", out);
        write::integer(version, out);
        write::bulk(b"id", out);
        write::integer(i64::from(self.session), out);
        write::bulk(b"modules", out);
        write::array(0, out);
        Ok(())
    }
}

/// The version of Redis whose commands these are; clients decide by it what they may send.
const VERSION: &str = "7.0.0";

impl Keyspace {
    fn about(&self) -> String {
        let config = self.world.config();
        format!(
            "# Server\r\nredis_version:{VERSION}\r\nredis_mode:standalone\r\nsick_store:{}\r\n\
             # Replication\r\nrole:master\r\nconnected_slaves:{}\r\n\
             # Cluster\r\ncluster_enabled:0\r\n",
            config.name,
            config.nodes.len() - 1,
        )
    }

    fn request(&mut self, name: &[u8], turn: &mut Turn<'_>) -> Done {
        match name {
            b"GET" => self.get(turn),
            b"SET" => self.set(turn),
            b"MSET" => self.set_many(turn),
            b"MGET" => self.get_many(turn),
            b"DEL" | b"UNLINK" => self.delete(turn),
            b"EXISTS" => self.exists(turn),
            b"TYPE" => self.kind_of(turn),
            b"HSET" | b"HMSET" => self.set_fields(name == b"HMSET", turn),
            b"HGET" => self.get_field(turn),
            b"HMGET" => self.get_fields(turn),
            b"HGETALL" => self.get_all(turn),
            b"ZADD" => self.add_members(turn),
            b"ZREM" => self.remove_members(turn),
            b"ZCARD" => self.count_members(turn),
            b"ZSCORE" => self.get_score(turn),
            b"ZRANGE" => self.range(turn),
            b"ZRANGEBYSCORE" => self.range_by_score(turn),
            b"ZREMRANGEBYRANK" => self.remove_range(turn),
            _ => Err(unknown(turn.words)),
        }
    }

    /// Sends a request about one record to the core.
    fn send(
        &mut self,
        turn: &mut Turn<'_>,
        kind: Kind,
        key: &[u8],
        patch: &[u8],
    ) -> Result<SimEffect, String> {
        let (session, table) = (turn.session, self.tables[0]);
        let requested = SimRequest { session, kind, table, key, patch, limit: 1 };
        turn.wait_for(self.world.send(turn.now, &requested))
    }

    /// A read of a record.
    fn read(&mut self, turn: &mut Turn<'_>, key: &[u8]) -> Lookup {
        if self.sets.contains_key(key) {
            return Err(WRONG_TYPE.into());
        }
        match self.send(turn, Kind::Read, key, &[])? {
            SimEffect::Row(row) => Ok(Some(row)),
            _ => Ok(None),
        }
    }

    /// The newest version of a record, visible or not.
    fn current(&self, key: &[u8]) -> Option<Arc<[u8]>> {
        self.world.current(self.tables[0], key)
    }

    /// Waits like a request about a sorted set.
    fn pass(&mut self, turn: &mut Turn<'_>, key: &[u8]) -> Done {
        if self.current(key).is_some() {
            return Err(WRONG_TYPE.into());
        }
        self.wait(turn, key)
    }

    /// The same, whatever there is.
    fn wait(&mut self, turn: &mut Turn<'_>, key: &[u8]) -> Done {
        let (session, table) = (turn.session, self.tables[1]);
        let requested = SimRequest { session, kind: Kind::Read, table, key, patch: &[], limit: 1 };
        turn.wait_for(self.world.send(turn.now, &requested)).map(drop)
    }

    /// A record that is there to stay takes the place of a sorted set.
    fn replace_set(&mut self, key: &[u8]) {
        if self.sets.contains_key(key) && self.current(key).is_some() {
            self.drop_set(key);
        }
    }

    fn drop_set(&mut self, key: &[u8]) {
        if let Some(set) = self.sets.remove(key) {
            self.world.keep(0, key.len() + set.bytes());
        }
    }

    /// Changes a sorted set; one that becomes empty is none.
    fn change_set<T>(&mut self, key: &[u8], change: impl FnOnce(&mut Sorted) -> T) -> T {
        let before = self.sets.get(key).map_or(0, |set| key.len() + set.bytes());
        let set = self.sets.entry(key.to_vec()).or_default();
        let changed = change(set);
        self.world.keep(key.len() + set.bytes(), before);
        if set.len() == 0 {
            self.drop_set(key);
        }
        changed
    }

    fn get(&mut self, turn: &mut Turn<'_>) -> Done {
        let [_, key] = turn.words else { return Err(wrong_number(b"GET")) };
        let row = self.read(turn, key)?;
        let text = row.as_deref().map(|row| rows::get(row, STRING).ok_or(WRONG_TYPE));
        turn.put(text.transpose()?)
    }

    fn get_many(&mut self, turn: &mut Turn<'_>) -> Done {
        let [_, keys @ ..] = turn.words else { return Err(wrong_number(b"MGET")) };
        write::array(keys.len(), turn.out);
        for key in keys {
            let row = self.read(turn, key)?;
            turn.put(row.as_deref().and_then(|row| rows::get(row, STRING)))?;
        }
        Ok(())
    }

    fn set(&mut self, turn: &mut Turn<'_>) -> Done {
        // Options such as EX would be promises that nothing here keeps.
        let [_, key, value] = turn.words else {
            let is_longer = turn.words.len() > 3;
            return Err(if is_longer { SYNTAX.into() } else { wrong_number(b"SET") });
        };
        let patch = row(&[(STRING, value)]);
        self.send(turn, Kind::Insert, key, &patch)?;
        self.replace_set(key);
        write::simple("OK", turn.out);
        Ok(())
    }

    fn set_many(&mut self, turn: &mut Turn<'_>) -> Done {
        let [_, pairs @ ..] = turn.words else { return Err(wrong_number(b"MSET")) };
        if pairs.is_empty() || pairs.len() % 2 != 0 {
            return Err(wrong_number(b"MSET"));
        }
        let patches: Vec<Vec<u8>> =
            pairs.chunks_exact(2).map(|pair| row(&[(STRING, pair[1])])).collect();
        let (session, table) = (turn.session, self.tables[0]);
        let parts: Vec<SimRequest<'_>> = pairs
            .chunks_exact(2)
            .zip(&patches)
            .map(|(pair, patch)| SimRequest {
                session,
                kind: Kind::Insert,
                table,
                key: pair[0],
                patch,
                limit: 1,
            })
            .collect();
        turn.wait_for(self.world.send_together(turn.now, &parts))?;
        for part in &parts {
            self.replace_set(part.key);
        }
        write::simple("OK", turn.out);
        Ok(())
    }

    fn delete(&mut self, turn: &mut Turn<'_>) -> Done {
        let [_, keys @ ..] = turn.words else { return Err(wrong_number(b"DEL")) };
        let mut count = 0;
        for key in keys {
            if self.sets.contains_key(*key) {
                self.wait(turn, key)?;
                self.drop_set(key);
                count += 1;
                continue;
            }
            count += i64::from(self.send(turn, Kind::Delete, key, &[])? == SimEffect::Written);
        }
        write::integer(count, turn.out);
        Ok(())
    }

    fn exists(&mut self, turn: &mut Turn<'_>) -> Done {
        let [_, keys @ ..] = turn.words else { return Err(wrong_number(b"EXISTS")) };
        let mut count = 0;
        for key in keys {
            if self.sets.contains_key(*key) {
                self.wait(turn, key)?;
                count += 1;
                continue;
            }
            count += i64::from(self.read(turn, key)?.is_some());
        }
        write::integer(count, turn.out);
        Ok(())
    }

    fn kind_of(&mut self, turn: &mut Turn<'_>) -> Done {
        let [_, key] = turn.words else { return Err(wrong_number(b"TYPE")) };
        let kind = match self.current(key) {
            _ if self.sets.contains_key(*key) => "zset",
            None => "none",
            Some(row) if rows::get(&row, STRING).is_some() => "string",
            Some(_) => "hash",
        };
        write::simple(kind, turn.out);
        Ok(())
    }

    fn set_fields(&mut self, is_many: bool, turn: &mut Turn<'_>) -> Done {
        let name: &[u8] = if is_many { b"HMSET" } else { b"HSET" };
        let [_, key, pairs @ ..] = turn.words else { return Err(wrong_number(name)) };
        if pairs.is_empty() || pairs.len() % 2 != 0 {
            return Err(wrong_number(name));
        }
        if pairs.len() / 2 > MOST_FIELDS {
            return Err(TOO_MANY.into());
        }
        let named = |pair: &[&[u8]]| pair[0] != STRING && pair[0].len() <= usize::from(u16::MAX);
        if !pairs.chunks_exact(2).all(named) {
            return Err("ERR a field here has a name, of up to 65535 bytes".into());
        }
        let current = self.current(key);
        let known = rows::by_name(current.as_deref().unwrap_or_default());
        if self.sets.contains_key(*key) || known.contains_key(STRING) {
            return Err(WRONG_TYPE.into());
        }
        let kept = last_of_each(pairs);
        let new = kept.iter().filter(|(field, _)| !known.contains_key(field)).count();
        if known.len() + new > usize::from(u16::MAX) {
            return Err("ERR a hash here has at most 65535 fields".into());
        }
        let kind = if current.is_some() { Kind::Update } else { Kind::Insert };
        self.send(turn, kind, key, &row(&kept))?;
        match is_many {
            true => write::simple("OK", turn.out),
            false => write::integer(new as i64, turn.out),
        }
        Ok(())
    }

    /// The row of a hash, or none.
    fn hash(&mut self, turn: &mut Turn<'_>, key: &[u8]) -> Lookup {
        let row = self.read(turn, key)?;
        match &row {
            Some(row) if rows::get(row, STRING).is_some() => Err(WRONG_TYPE.into()),
            _ => Ok(row),
        }
    }

    fn get_field(&mut self, turn: &mut Turn<'_>) -> Done {
        let [_, key, field] = turn.words else { return Err(wrong_number(b"HGET")) };
        let row = self.hash(turn, key)?;
        turn.put(row.as_deref().and_then(|row| rows::get(row, field)))
    }

    fn get_fields(&mut self, turn: &mut Turn<'_>) -> Done {
        let [_, key, fields @ ..] = turn.words else { return Err(wrong_number(b"HMGET")) };
        if fields.is_empty() {
            return Err(wrong_number(b"HMGET"));
        }
        if fields.len() > MOST_FIELDS {
            return Err(TOO_MANY.into());
        }
        let row = self.hash(turn, key)?;
        let values = rows::by_name(row.as_deref().unwrap_or_default());
        write::array(fields.len(), turn.out);
        fields.iter().try_for_each(|field| turn.put(values.get(field).copied()))
    }

    fn get_all(&mut self, turn: &mut Turn<'_>) -> Done {
        let [_, key] = turn.words else { return Err(wrong_number(b"HGETALL")) };
        let row = self.hash(turn, key)?;
        let row = row.as_deref().unwrap_or_default();
        write::map(turn.protocol, usize::from(rows::fields(row)), turn.out);
        let mut done = Ok(());
        Rows::Encoded(row).each(|field| {
            if done.is_ok() {
                done = turn.put(Some(field.name)).and_then(|()| turn.put(Some(field.value)));
            }
        });
        done
    }

    fn add_members(&mut self, turn: &mut Turn<'_>) -> Done {
        let [_, key, pairs @ ..] = turn.words else { return Err(wrong_number(b"ZADD")) };
        if pairs.is_empty() {
            return Err(wrong_number(b"ZADD"));
        }
        if pairs.len() % 2 != 0 {
            return Err(SYNTAX.into());
        }
        let mut members = Vec::new();
        for pair in pairs.chunks_exact(2) {
            let End { score, is_open: false } = End::parse(pair[0]).ok_or(NO_FLOAT)? else {
                return Err("ERR value is not a valid float".into());
            };
            members.push((score, pair[1]));
        }
        self.pass(turn, key)?;
        if self.world.is_full() {
            return Err(refusal(Reason::Full));
        }
        let new = self.change_set(key, |set| {
            members.into_iter().filter(|(score, member)| set.put(*score, member)).count()
        });
        write::integer(new as i64, turn.out);
        Ok(())
    }

    fn remove_members(&mut self, turn: &mut Turn<'_>) -> Done {
        let [_, key, members @ ..] = turn.words else { return Err(wrong_number(b"ZREM")) };
        if members.is_empty() {
            return Err(wrong_number(b"ZREM"));
        }
        self.pass(turn, key)?;
        let count =
            self.change_set(key, |set| members.iter().filter(|member| set.remove(member)).count());
        write::integer(count as i64, turn.out);
        Ok(())
    }

    fn count_members(&mut self, turn: &mut Turn<'_>) -> Done {
        let [_, key] = turn.words else { return Err(wrong_number(b"ZCARD")) };
        self.pass(turn, key)?;
        write::integer(self.sets.get(*key).map_or(0, Sorted::len) as i64, turn.out);
        Ok(())
    }

    fn get_score(&mut self, turn: &mut Turn<'_>) -> Done {
        let [_, key, member] = turn.words else { return Err(wrong_number(b"ZSCORE")) };
        self.pass(turn, key)?;
        match self.sets.get(*key).and_then(|set| set.score(member)) {
            Some(score) => write::double(turn.protocol, score, turn.out),
            None => write::null(turn.protocol, turn.out),
        }
        Ok(())
    }

    fn range(&mut self, turn: &mut Turn<'_>) -> Done {
        let [_, key, start, stop] = turn.words else {
            let is_longer = turn.words.len() > 4;
            return Err(if is_longer { SYNTAX.into() } else { wrong_number(b"ZRANGE") });
        };
        let (start, stop) = (integer(start)?, integer(stop)?);
        self.pass(turn, key)?;
        let places = self.sets.get(*key).map(|set| set.by_rank(start, stop)).unwrap_or_default();
        turn.put_members(&places)
    }

    fn range_by_score(&mut self, turn: &mut Turn<'_>) -> Done {
        let [_, key, min, max, rest @ ..] = turn.words else {
            return Err(wrong_number(b"ZRANGEBYSCORE"));
        };
        let (min, max) = (End::parse(min).ok_or(NO_FLOAT)?, End::parse(max).ok_or(NO_FLOAT)?);
        let (skip, count) = match rest {
            [] => (0, usize::MAX),
            [limit, skip, count] if limit.eq_ignore_ascii_case(b"LIMIT") => {
                let count = integer(count)?;
                let count = if count < 0 { usize::MAX } else { count as usize };
                (integer(skip)?.max(0) as usize, count)
            }
            _ => return Err(SYNTAX.into()),
        };
        self.pass(turn, key)?;
        let set = self.sets.get(*key);
        let places = set.map(|set| set.by_score(min, max, skip, count)).unwrap_or_default();
        turn.put_members(&places)
    }

    fn remove_range(&mut self, turn: &mut Turn<'_>) -> Done {
        let [_, key, start, stop] = turn.words else {
            return Err(wrong_number(b"ZREMRANGEBYRANK"));
        };
        let (start, stop) = (integer(start)?, integer(stop)?);
        self.pass(turn, key)?;
        let count = self.change_set(key, |set| {
            let places = set.by_rank(start, stop);
            places.iter().filter(|place| set.remove(&place.member)).count()
        });
        write::integer(count as i64, turn.out);
        Ok(())
    }
}

/// A row of these fields, of which there are fewer than 65,536.
fn row(fields: &[(&[u8], &[u8])]) -> Vec<u8> {
    let mut row = Vec::new();
    encode_row(fields.len() as u16, &mut row);
    for (name, value) in fields {
        encode_field(name, value, &mut row);
    }
    row
}

/// Names with values, each name once with the last of its values.
fn last_of_each<'a>(pairs: &[&'a [u8]]) -> Vec<(&'a [u8], &'a [u8])> {
    let values: BTreeMap<&[u8], &[u8]> =
        pairs.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
    let mut observed = BTreeSet::new();
    let first = pairs.chunks_exact(2).filter(|pair| observed.insert(pair[0]));
    first.map(|pair| (pair[0], values[pair[0]])).collect()
}

/// The settings that CONFIG GET returns: no data is ever on disk.
fn config(patterns: &[&[u8]], protocol: Protocol, out: &mut Vec<u8>) {
    let known = [("save", ""), ("appendonly", "no")];
    let is_requested =
        |name: &str| patterns.iter().any(|pattern| pattern.eq_ignore_ascii_case(name.as_bytes()));
    let reported: Vec<(&str, &str)> =
        known.into_iter().filter(|(name, _)| is_requested(name)).collect();
    write::map(protocol, reported.len(), out);
    for (name, value) in reported {
        write::bulk(name.as_bytes(), out);
        write::bulk(value.as_bytes(), out);
    }
}

fn integer(text: &[u8]) -> Result<i64, String> {
    let number = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
    number.ok_or_else(|| NO_INTEGER.into())
}

/// The error that stands for a refusal, in words that clients of Redis know.
fn refusal(reason: Reason) -> String {
    match reason {
        Reason::Unreachable => "MASTERDOWN the node that should answer is down",
        Reason::Conflict => "TRYAGAIN the write was refused",
        Reason::Full => "OOM command not allowed: the simulated store may hold no more",
        Reason::Exists => "BUSYKEY Target key name already exists.",
        Reason::StoreError => "ERR no such key",
        _ => "BUSY the simulated store refuses this request",
    }
    .into()
}

fn lossy(word: &[u8]) -> String {
    String::from_utf8_lossy(&word[..word.len().min(128)]).into_owned()
}

fn wrong_number(name: &[u8]) -> String {
    format!("ERR wrong number of arguments for '{}' command", lossy(name).to_lowercase())
}

fn unknown_subcommand(name: &[u8], words: &[&[u8]]) -> String {
    let given = words.get(1).map_or(String::new(), |word| lossy(word));
    format!("ERR unknown subcommand '{given}' of {}", lossy(name))
}

fn unknown(words: &[&[u8]]) -> String {
    let first: Vec<String> =
        words[1..].iter().take(3).map(|word| format!("'{}'", lossy(word))).collect();
    format!(
        "ERR unknown command '{}', with args beginning with: {}",
        lossy(words[0]),
        first.join(" ")
    )
}
