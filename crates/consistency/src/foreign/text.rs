//! Bytes of a text, one by one with their line, however long the text is.

use std::io::{ErrorKind, Read};

use super::error::{ForeignError, ForeignProblem, TextPosition};

/// Bytes read at a time, and how often progress is told.
const CHUNK: usize = 64 * 1024;

/// A text that is read once, from its beginning to its end.
pub(super) struct Text<'a> {
    input: Box<dyn Read + 'a>,
    progress: &'a mut dyn FnMut(u64),
    chunk: Vec<u8>,
    at: usize,
    /// Bytes before the chunk.
    before: u64,
    line: u64,
}

impl<'a> Text<'a> {
    pub(super) fn new(
        input: impl Read + 'a,
        progress: &'a mut dyn FnMut(u64),
    ) -> Result<Text<'a>, ForeignError> {
        let input = Box::new(input);
        let mut text = Text { input, progress, chunk: Vec::new(), at: 0, before: 0, line: 1 };
        text.fill()?;
        if text.chunk.starts_with(b"\xef\xbb\xbf") {
            text.at = 3;
        }
        Ok(text)
    }

    /// The first bytes, from which the format shows; the whole first chunk, before anything else
    /// has been read.
    pub(super) fn beginning(&self) -> &[u8] {
        &self.chunk[self.at..]
    }

    /// Where the next byte is.
    pub(super) fn position(&self) -> TextPosition {
        TextPosition { line: self.line, byte: self.before + self.at as u64 }
    }

    /// The next byte, or nothing at the end.
    pub(super) fn peek(&mut self) -> Result<Option<u8>, ForeignError> {
        if self.at == self.chunk.len() {
            self.fill()?;
        }
        Ok(self.chunk.get(self.at).copied())
    }

    /// Goes past the byte that `peek` has returned.
    pub(super) fn advance(&mut self) {
        self.line += u64::from(self.chunk[self.at] == b'\n');
        self.at += 1;
    }

    /// Takes the next byte, or nothing at the end.
    pub(super) fn next(&mut self) -> Result<Option<u8>, ForeignError> {
        let byte = self.peek()?;
        if byte.is_some() {
            self.advance();
        }
        Ok(byte)
    }

    /// Takes bytes into `token` as long as they are of a kind that holds no line's end, and the
    /// token is not longer than `limit`.
    pub(super) fn take_while(
        &mut self,
        token: &mut Vec<u8>,
        limit: u64,
        belongs: impl Fn(u8) -> bool,
    ) -> Result<(), ForeignError> {
        while self.peek()?.is_some() && token.len() as u64 <= limit {
            let rest = &self.chunk[self.at..];
            let length = rest.iter().position(|byte| !belongs(*byte)).unwrap_or(rest.len());
            token.extend_from_slice(&rest[..length]);
            let whole = length < rest.len();
            self.at += length;
            if whole {
                return Ok(());
            }
        }
        Ok(())
    }

    /// An error at the next byte.
    pub(super) fn error(&self, problem: ForeignProblem) -> ForeignError {
        ForeignError { position: self.position(), problem }
    }

    /// Reads the next chunk, whole unless the text ends.
    fn fill(&mut self) -> Result<(), ForeignError> {
        self.before += self.chunk.len() as u64;
        self.at = 0;
        self.chunk.resize(CHUNK, 0);
        let mut length = 0;
        while length < CHUNK {
            match self.input.read(&mut self.chunk[length..]) {
                Ok(0) => break,
                Ok(count) => length += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    self.chunk.clear();
                    return Err(self.error(ForeignProblem::Unreadable(error.to_string())));
                }
            }
        }
        self.chunk.truncate(length);
        (self.progress)(self.before + length as u64);
        Ok(())
    }
}
