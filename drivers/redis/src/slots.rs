//! The slots of a Redis Cluster, as its specification defines them.

use assay_store::resp::Value;

/// How many there are.
pub(super) const SLOTS: usize = 16384;

/// The slot of a key: CRC-16 of what stands between the first brace and the next closing one, if
/// there is anything, else of the whole key, modulo the number of slots.
///
/// Source: "Redis cluster specification", sections "Key distribution model" and "Hash tags".
#[inline]
pub(super) fn slot(key: &[u8]) -> u16 {
    let tag = key.iter().position(|&byte| byte == b'{').and_then(|open| {
        let rest = &key[open + 1..];
        let close = rest.iter().position(|&byte| byte == b'}')?;
        (close > 0).then(|| &rest[..close])
    });
    crc16(tag.unwrap_or(key)) % SLOTS as u16
}

/// CRC-16 of XMODEM: polynomial 0x1021, beginning with 0.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, &byte| {
        let place = (crc >> 8) as u8 ^ byte;
        crc << 8 ^ TABLE[usize::from(place)]
    })
}

const TABLE: [u16; 256] = table();

const fn table() -> [u16; 256] {
    let mut table = [0; 256];
    let mut place = 0;
    while place < 256 {
        let mut crc = (place as u16) << 8;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 0x8000 != 0 { crc << 1 ^ 0x1021 } else { crc << 1 };
            bit += 1;
        }
        table[place] = crc;
        place += 1;
    }
    table
}

/// Which master has which slots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Map {
    /// First and last slot with the place of the master.
    pub(super) ranges: Vec<(u16, u16, usize)>,
    /// Host and port of each.
    pub(super) masters: Vec<(String, u16)>,
}

impl Map {
    /// Parses the response of the node `requested` to CLUSTER SLOTS; `None` if it is invalid.
    pub(super) fn read(value: &Value, requested: &str) -> Option<Map> {
        let Value::Array(entries) = value else { return None };
        let mut map = Map::default();
        for entry in entries {
            let Value::Array(entry) = entry else { return None };
            let [Value::Integer(first), Value::Integer(last), master, ..] = &entry[..] else {
                return None;
            };
            let master = address(master, requested)?;
            let known = map.masters.iter().position(|other| *other == master);
            let place = known.unwrap_or(map.masters.len());
            if place == map.masters.len() {
                map.masters.push(master);
            }
            let (first, last) = (u16::try_from(*first).ok()?, u16::try_from(*last).ok()?);
            if first > last || usize::from(last) >= SLOTS {
                return None;
            }
            map.ranges.push((first, last, place));
        }
        Some(map)
    }

    /// The master of a slot.
    pub(super) fn master_of(&self, slot: u16) -> Option<usize> {
        let range = self.ranges.iter().find(|(first, last, _)| (*first..=*last).contains(&slot));
        range.map(|(_, _, place)| *place)
    }

    /// How many slots have no node.
    pub(super) fn missing(&self) -> usize {
        let covered = |(first, last, _): &(u16, u16, usize)| usize::from(last - first) + 1;
        SLOTS.saturating_sub(self.ranges.iter().map(covered).sum())
    }
}

/// Host and port of a node; one without a host is the node that was asked.
fn address(node: &Value, requested: &str) -> Option<(String, u16)> {
    let Value::Array(node) = node else { return None };
    let [host, Value::Integer(port), ..] = &node[..] else { return None };
    let host = match host.text() {
        Some(b"" | b"?") | None => requested.to_owned(),
        Some(host) => String::from_utf8_lossy(host).into_owned(),
    };
    Some((host, u16::try_from(*port).ok()?))
}

/// Where else a command has to go, from a node that did not execute it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Redirect {
    /// The slot that it is about.
    pub(super) slot: u16,
    /// The node; without a host it is the one that was asked.
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) kind: RedirectKind,
}

/// For how long a redirection holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RedirectKind {
    /// MOVED: from now on.
    Moved,
    /// ASK: for this command, which has to follow ASKING.
    Ask,
}

impl Redirect {
    /// Reads `MOVED 3999 host:port` or `ASK …`; `None` if the error is another one.
    pub(super) fn parse(error: &[u8]) -> Option<Redirect> {
        let text = std::str::from_utf8(error).ok()?;
        let mut words = text.split(' ');
        let kind = match words.next()? {
            "MOVED" => RedirectKind::Moved,
            "ASK" => RedirectKind::Ask,
            _ => return None,
        };
        let slot = words.next()?.parse().ok().filter(|slot| usize::from(*slot) < SLOTS)?;
        let (host, port) = words.next()?.rsplit_once(':')?;
        Some(Redirect { slot, host: host.to_owned(), port: port.parse().ok()?, kind })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_those_that_redis_tells() {
        // What CLUSTER KEYSLOT of Redis 7.0.15 prints.
        for (key, expected) in [
            ("", 0),
            ("123456789", 12739),
            ("foo", 12182),
            ("foo{}{bar}", 8363),
            ("foo{{bar}}zap", 4015),
            ("{user1000}.following", 3443),
            ("{user1000}.followers", 3443),
            ("_indices", 6052),
        ] {
            assert_eq!(slot(key.as_bytes()), expected, "{key}");
        }
    }

    fn node(host: &str, port: i64) -> Value {
        Value::Array(vec![Value::Text(host.into()), Value::Integer(port)])
    }

    fn entry(first: i64, last: i64, nodes: &[Value]) -> Value {
        let range = [Value::Integer(first), Value::Integer(last)];
        Value::Array(range.into_iter().chain(nodes.iter().cloned()).collect())
    }

    #[test]
    fn a_map_says_who_has_which_slots() {
        let reported = Value::Array(vec![
            entry(0, 99, &[node("a", 1), node("b", 2)]),
            entry(100, 16382, &[node("", 3), node("b", 2)]),
            entry(16383, 16383, &[node("a", 1)]),
        ]);
        let map = Map::read(&reported, "asked").unwrap();
        assert_eq!(map.masters, [("a".to_owned(), 1), ("asked".to_owned(), 3)]);
        assert_eq!([0, 99, 100, 16383].map(|slot| map.master_of(slot).unwrap()), [0, 0, 1, 0]);
        assert_eq!(map.missing(), 0);
    }

    #[test]
    fn a_map_with_holes_tells_them() {
        let map = Map::read(&Value::Array(vec![entry(0, 9, &[node("a", 1)])]), "a").unwrap();
        assert_eq!((map.missing(), map.master_of(10)), (16374, None));
        assert_eq!(Map::read(&Value::Array(Vec::new()), "a").unwrap().missing(), SLOTS);
    }

    #[test]
    fn maps_that_are_invalid_are_none() {
        for wrong in [
            Value::Null,
            Value::Array(vec![Value::Null]),
            Value::Array(vec![entry(9, 0, &[node("a", 1)])]),
            Value::Array(vec![entry(0, 16384, &[node("a", 1)])]),
            Value::Array(vec![entry(0, 1, &[])]),
            Value::Array(vec![entry(0, 1, &[node("a", 70_000)])]),
        ] {
            assert_eq!(Map::read(&wrong, "a"), None, "{wrong:?}");
        }
    }

    #[test]
    fn redirections_name_a_node() {
        let read = |text: &str| {
            let redirect = Redirect::parse(text.as_bytes())?;
            Some((redirect.kind, redirect.slot, redirect.host, redirect.port))
        };
        let host = || "127.0.0.1".to_owned();
        assert_eq!(
            read("MOVED 3999 127.0.0.1:6381"),
            Some((RedirectKind::Moved, 3999, host(), 6381))
        );
        assert_eq!(read("ASK 1 127.0.0.1:6381"), Some((RedirectKind::Ask, 1, host(), 6381)));
        assert_eq!(
            read("MOVED 3999 :6381"),
            Some((RedirectKind::Moved, 3999, String::new(), 6381))
        );
        assert_eq!(read("MOVED 3 ::1:7"), Some((RedirectKind::Moved, 3, "::1".into(), 7)));
        for other in ["MOVED", "MOVED x a:1", "MOVED 16384 a:1", "MOVED 1 a", "TRYAGAIN x", "ASK 1"]
        {
            assert_eq!(read(other), None, "{other}");
        }
    }
}
