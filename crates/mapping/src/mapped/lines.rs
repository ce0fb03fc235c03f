//! Rows on their way: each a line of slots that point into one buffer of encoded values.

use assay_model::Datum;

/// Where an encoded value is within the buffer; [`NOWHERE`] if it is not known.
pub(super) type Slot = (u32, u32);

pub(super) const NOWHERE: Slot = (u32::MAX, 0);

/// Rows of the same width.
#[derive(Debug, Default)]
pub(super) struct Lines {
    slots: Vec<Slot>,
    width: usize,
}

impl Lines {
    /// Makes it empty, for rows of `width` slots.
    pub(super) fn begin(&mut self, width: usize) {
        self.slots.clear();
        self.width = width;
    }

    pub(super) fn count(&self) -> usize {
        self.slots.len().checked_div(self.width).unwrap_or(0)
    }

    pub(super) fn line(&self, number: usize) -> &[Slot] {
        &self.slots[number * self.width..(number + 1) * self.width]
    }

    pub(super) fn line_mut(&mut self, number: usize) -> &mut [Slot] {
        &mut self.slots[number * self.width..(number + 1) * self.width]
    }

    /// Appends a row that begins with `line`; the rest of it is unknown.
    pub(super) fn push(&mut self, line: &[Slot]) -> &mut [Slot] {
        let begin = self.slots.len();
        self.slots.extend_from_slice(&line[..line.len().min(self.width)]);
        self.slots.resize(begin + self.width, NOWHERE);
        &mut self.slots[begin..]
    }

    /// Removes the last row.
    pub(super) fn pop(&mut self) {
        self.slots.truncate(self.slots.len() - self.width);
    }

    /// Keeps the first `count` rows.
    pub(super) fn truncate(&mut self, count: usize) {
        self.slots.truncate(count * self.width);
    }

    /// Puts the rows into the order that `numbers` says.
    pub(super) fn arrange(&mut self, numbers: &[usize]) {
        let arranged = numbers.iter().flat_map(|number| self.line(*number)).copied().collect();
        self.slots = arranged;
    }
}

/// The bytes of an encoded value; none if it is not known.
pub(super) fn bytes(buffer: &[u8], slot: Slot) -> Option<&[u8]> {
    (slot != NOWHERE).then(|| &buffer[slot.0 as usize..slot.1 as usize])
}

/// The value at `slot`; no value if it is not known.
pub(super) fn datum(buffer: &[u8], slot: Slot) -> Datum<'_> {
    let decoded = bytes(buffer, slot).and_then(Datum::decode);
    decoded.map_or(Datum::Null, |(datum, _)| datum)
}

/// Appends a value and tells where it is.
pub(super) fn keep(datum: &Datum<'_>, buffer: &mut Vec<u8>) -> Slot {
    let begin = buffer.len() as u32;
    datum.encode(buffer);
    (begin, buffer.len() as u32)
}
