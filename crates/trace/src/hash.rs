//! The hash of a trace: the proof that two plans issue the same operations.
//!
//! The sum of the fingerprints of all operations modulo 2^128 does not depend on who adds them up
//! in which order, so workers, agents or parts of a split trace each bring their share. Sealing
//! mixes the sum with the facts of the header without which the numbers mean something else.

use std::fmt;
use std::str::FromStr;

use assay_model::operation::fingerprint_with;
use assay_model::seed::mix;
use assay_model::{Arguments, Operation};

use crate::header::Header;

/// The running sum of a trace, or of a worker's share in it.
///
/// The sum of the parts is the sum of the whole:
///
/// ```
/// use assay_trace::TraceHash;
///
/// let mut workers = TraceHash::from_sum(5);
/// workers.merge(TraceHash::from_sum(7));
/// assert_eq!(workers, TraceHash::from_sum(12));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TraceHash {
    sum: u128,
}

impl TraceHash {
    /// The sum of no operations.
    pub const fn new() -> TraceHash {
        TraceHash { sum: 0 }
    }

    /// A sum that was formed elsewhere from [`Operation::fingerprint`], modulo 2^128.
    pub const fn from_sum(sum: u128) -> TraceHash {
        TraceHash { sum }
    }

    /// Adds one operation.
    #[inline]
    pub fn add(&mut self, operation: &Operation) {
        self.sum = self.sum.wrapping_add(operation.fingerprint());
    }

    /// Adds the operation at `place` of its process, with its arguments.
    #[inline]
    pub fn add_with(&mut self, operation: &Operation, arguments: &Arguments, place: usize) {
        self.sum = self.sum.wrapping_add(fingerprint_with(operation, arguments, place));
    }

    /// Adds the share of another worker, agent or part.
    pub fn merge(&mut self, other: TraceHash) {
        self.sum = self.sum.wrapping_add(other.sum);
    }

    /// The sum itself.
    pub const fn sum(self) -> u128 {
        self.sum
    }

    /// Seals the sum with the facts of `header` that give the numbers their meaning.
    ///
    /// Those are width, table names, field names, the names of transaction types, and the texts of
    /// a script's schema with its queries. Spec, seed, phase, versions and names of queries stay
    /// out: two plans with the same operations have the same hash, wherever they came from.
    pub fn seal(self, header: &Header) -> Digest {
        Digest::of(self.sum.wrapping_add(facts(header)))
    }
}

impl Digest {
    /// Mixes a sum that contains the facts of a header.
    fn of(sum: u128) -> Digest {
        let (mut high, mut low) = ((sum >> 64) as u64, sum as u64);
        // A Feistel network of three rounds is a bijection: under the same facts, different sums
        // have different digests.
        low ^= mix(high ^ 1);
        high ^= mix(low ^ 2);
        low ^= mix(high ^ 3);
        Digest(u128::from(high) << 64 | u128::from(low))
    }

    /// The sum that was mixed.
    fn sum(self) -> u128 {
        let (mut high, mut low) = ((self.0 >> 64) as u64, self.0 as u64);
        low ^= mix(high ^ 3);
        high ^= mix(low ^ 2);
        low ^= mix(high ^ 1);
        u128::from(high) << 64 | u128::from(low)
    }

    /// The digest of the whole, from the sum and the digest of each share; none if there is no
    /// share, or if the shares were sealed with different facts, so that they are of different
    /// plans.
    pub fn merged(shares: &[(TraceHash, Digest)]) -> Option<Digest> {
        let facts = |(hash, digest): &(TraceHash, Digest)| digest.sum().wrapping_sub(hash.sum);
        let own = shares.first().map(facts)?;
        let mut whole = TraceHash::new();
        for share in shares {
            if facts(share) != own {
                return None;
            }
            whole.merge(share.0);
        }
        Some(Digest::of(whole.sum.wrapping_add(own)))
    }
}

/// A sealed hash; shown as 32 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Digest(pub u128);

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Digest, DigestError> {
        parse_hex(text).map(Digest).ok_or_else(|| DigestError { text: text.to_owned() })
    }
}

/// The text is no digest.
#[derive(Debug, thiserror::Error)]
#[error("{text:?} is no trace hash: a hash has 32 hexadecimal digits")]
pub struct DigestError {
    text: String,
}

pub(crate) fn parse_hex(text: &str) -> Option<u128> {
    let is_hex = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_hex { u128::from_str_radix(text, 16).ok() } else { None }
}

/// FNV-1a with 128 bits (Fowler, Noll, Vo; RFC 9923) over the facts, each text led by its length.
///
/// The lengths keep apart what concatenation would confuse: fields `ab`, `c` are not `a`, `bc`.
fn facts(header: &Header) -> u128 {
    let mut state = Fnv(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d);
    state.number(header.width);
    state.number(header.layout.tables.len() as u64);
    for table in &header.layout.tables {
        state.text(&table.name);
        state.number(table.fields.len() as u64);
        for field in &table.fields {
            state.text(field);
        }
    }
    state.number(header.transaction_types.len() as u64);
    for name in &header.transaction_types {
        state.text(name);
    }
    // A trace without statements keeps the hash that it had before there were any.
    if let Some(script) = &header.script {
        for texts in [&script.ddl, &script.queries] {
            state.number(texts.len() as u64);
            texts.iter().for_each(|named| state.text(&named.text));
        }
    }
    state.0
}

/// A hash of one text.
pub(crate) fn fingerprint_of_text(text: &str) -> u128 {
    let mut state = Fnv(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d);
    state.text(text);
    state.0
}

struct Fnv(u128);

impl Fnv {
    fn bytes(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 ^= u128::from(byte);
            self.0 = self.0.wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
    }

    fn number(&mut self, number: u64) {
        self.bytes(&number.to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.bytes(text.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_byte_hash_is_fnv_1a_with_128_bits() {
        let hash = |text: &str| {
            let mut state = Fnv(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d);
            state.bytes(text.as_bytes());
            format!("{:032x}", state.0)
        };
        assert_eq!(hash(""), "6c62272e07bb014262b821756295c58d");
        assert_eq!(hash("a"), "d228cb696f1a8caf78912b704e4a8964");
        assert_eq!(hash("foobar"), "343e1662793c64bf6f0d3597ba446f18");
    }

    #[test]
    fn names_cannot_flow_into_each_other() {
        let with = |fields: &[&str]| {
            let mut header = Header::example();
            header.layout.tables[0].fields = fields.iter().map(|&f| f.to_owned()).collect();
            TraceHash::from_sum(1).seal(&header)
        };
        assert_ne!(with(&["ab", "c"]), with(&["a", "bc"]));
        assert_ne!(with(&["ab", "c"]), with(&["abc"]));
    }

    #[test]
    fn digests_of_shares_merge_to_that_of_the_whole() {
        let header = Header::example();
        let shares = [3, u128::MAX - 1, 1 << 90].map(|sum| {
            let hash = TraceHash::from_sum(sum);
            (hash, hash.seal(&header))
        });
        let whole = shares.iter().fold(TraceHash::new(), |mut whole, (hash, _)| {
            whole.merge(*hash);
            whole
        });
        assert_eq!(Digest::merged(&shares), Some(whole.seal(&header)));
        let mut other = Header::example();
        other.width += 1;
        let foreign = (TraceHash::from_sum(3), TraceHash::from_sum(3).seal(&other));
        assert_eq!(Digest::merged(&[shares[0], foreign]), None);
        assert_eq!(Digest::merged(&[]), None);
    }

    #[test]
    fn spec_and_seed_do_not_enter_the_hash() {
        let header = Header::example();
        let other = Header {
            spec: "another".to_owned(),
            seed: assay_model::Seed(99),
            generator: "assay 9.9".to_owned(),
            ..header.clone()
        };
        let sum = TraceHash::from_sum(77);
        assert_eq!(sum.seal(&header), sum.seal(&other));
        assert_ne!(sum.seal(&header), sum.seal(&Header { width: 3, ..header.clone() }));
    }

    #[test]
    fn a_digest_reads_back_what_it_shows() {
        let digest = Digest(0xabc);
        assert_eq!(digest.to_string(), "00000000000000000000000000000abc");
        assert_eq!(digest.to_string().parse::<Digest>().unwrap(), digest);
        for wrong in ["", "abc", "+0000000000000000000000000000abc", &"g".repeat(32)] {
            assert!(wrong.parse::<Digest>().is_err(), "{wrong}");
        }
    }
}
