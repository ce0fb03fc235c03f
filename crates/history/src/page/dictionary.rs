//! The first few distinct values of a column, by the order in which they came.

/// Values beyond which packed differences are smaller than codes for what we write.
const ENTRIES_MAX: usize = 256;
/// Slots of the table, four for each entry, so that a search ends soon.
const SLOTS: usize = 4 * ENTRIES_MAX;
const FREE: u16 = u16::MAX;

/// Gives each distinct value a code of eight bits until there are too many.
pub(super) struct Dictionary {
    entries: Vec<u64>,
    slots: Box<[u16; SLOTS]>,
    full: bool,
}

impl Default for Dictionary {
    fn default() -> Dictionary {
        Dictionary { entries: Vec::new(), slots: Box::new([FREE; SLOTS]), full: false }
    }
}

impl Dictionary {
    /// Replaces what `into` holds by the codes of `values`.
    ///
    /// Gives false, for this page and every later one, if there are too many distinct values; the
    /// dictionary then stays what it was before this page.
    pub(super) fn code(&mut self, values: &[u64], into: &mut Vec<u8>) -> bool {
        if self.full {
            return false;
        }
        into.clear();
        into.resize(values.len(), 0);
        let before = self.entries.len();
        for (code, &value) in into.iter_mut().zip(values) {
            // Most values sit in their first slot, so this branch is foreseen even where the
            // values themselves are random.
            let first = self.slots[slot_of(value)];
            let known = self.entries.get(usize::from(first)) == Some(&value);
            let found = if known { Some(first as u8) } else { self.find_or_add(value) };
            let Some(found) = found else {
                self.entries.truncate(before);
                self.full = true;
                return false;
            };
            *code = found;
        }
        true
    }

    fn find_or_add(&mut self, value: u64) -> Option<u8> {
        let mut slot = slot_of(value);
        loop {
            match self.slots[slot] {
                FREE if self.entries.len() == ENTRIES_MAX => return None,
                FREE => {
                    let code = self.entries.len() as u8;
                    self.slots[slot] = u16::from(code);
                    self.entries.push(value);
                    return Some(code);
                }
                code if self.entries[usize::from(code)] == value => return Some(code as u8),
                _ => slot = (slot + 1) % SLOTS,
            }
        }
    }

    /// The distinct values; a value's code is its place.
    pub(super) fn entries(&self) -> &[u64] {
        &self.entries
    }

    /// Whether a page did not fit.
    pub(super) fn is_full(&self) -> bool {
        self.full
    }

    /// The bits that a code takes.
    pub(super) fn width(&self) -> u32 {
        usize::BITS - self.entries.len().saturating_sub(1).leading_zeros()
    }
}

/// Fibonacci hashing: the top bits of the product depend on all bits of the value.
fn slot_of(value: u64) -> usize {
    (value.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - SLOTS.ilog2())) as usize
}
