//! Processes that are drawn before they are issued.

use std::ops::Range;

use assay_model::{Filled, Operation, OperationEncoder, Source, SourceError, version};

use crate::worker::{Scratch, version_of};

/// With so many bytes of keys and values nothing more is drawn: half of a small first cache.
const BYTES_MAX: usize = 16 << 10;

/// Processes in the order of their numbers, drawn and not yet issued.
///
/// A process that is never issued leaves no trace: drawing changes nothing but these buffers, which
/// are used again.
#[derive(Default)]
pub(super) struct Ahead {
    places: Vec<Drawn>,
    /// The places of those that wait to be issued.
    waiting: Range<usize>,
    /// What the source gave instead of the process with this number.
    end: Option<(u64, Result<Filled, SourceError>)>,
}

/// A process of one operation, with what can be known of that before it is issued.
pub(super) struct Drawn {
    pub operations: Vec<Operation>,
    pub scratch: Scratch,
    /// The version that it writes, or [`version::NONE`].
    pub version: u64,
    pub fingerprint: u128,
    process: u64,
}

impl Ahead {
    /// Whether nothing is known of the processes to come.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.end.is_none()
    }

    /// Draws `processes`, or the first of them if they have many bytes.
    ///
    /// To be called if it is empty: what was drawn before is forgotten.
    pub fn draw(
        &mut self,
        processes: Range<u64>,
        source: &mut dyn Source,
        encoder: &dyn OperationEncoder,
        fields: usize,
    ) {
        self.waiting = 0..0;
        let mut bytes = 0;
        for process in processes {
            let place = self.waiting.end;
            if place == self.places.len() {
                self.places.push(Drawn::new());
            }
            let drawn = &mut self.places[place];
            match source.fill(process, &mut drawn.operations) {
                Ok(Filled::Process) => drawn.prepare(process, encoder, fields),
                end => {
                    self.end = Some((process, end));
                    return;
                }
            }
            self.waiting.end += 1;
            bytes += drawn.scratch.bytes();
            if bytes >= BYTES_MAX {
                return;
            }
        }
    }

    /// The process `process`, the next one, if it is drawn.
    #[inline]
    pub fn next(&mut self, process: u64) -> Option<&mut Drawn> {
        let drawn = self.places[self.waiting.clone()].first_mut()?;
        assert_eq!(drawn.process, process, "processes are issued in the order of their numbers");
        self.waiting.start += 1;
        Some(drawn)
    }

    /// What the source gave for `process`, the next one; `None` if nothing is drawn.
    pub fn take(
        &mut self,
        process: u64,
        into: &mut Vec<Operation>,
    ) -> Option<Result<Filled, SourceError>> {
        let Some(drawn) = self.next(process) else {
            return self.end.take_if(|(at, _)| *at == process).map(|(_, end)| end);
        };
        std::mem::swap(into, &mut drawn.operations);
        Some(Ok(Filled::Process))
    }
}

impl Drawn {
    fn new() -> Drawn {
        Drawn {
            operations: Vec::new(),
            scratch: Scratch::default(),
            version: version::NONE,
            fingerprint: 0,
            process: 0,
        }
    }

    /// Does the work that need not wait until the operation is issued.
    #[inline]
    fn prepare(&mut self, process: u64, encoder: &dyn OperationEncoder, fields: usize) {
        let operation = &self.operations[0];
        self.scratch.encoder(operation, encoder, fields);
        self.fingerprint = operation.fingerprint();
        self.version = version_of(operation, encoder, &[]);
        self.process = process;
    }
}
