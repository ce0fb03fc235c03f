//! Files in the format of Java's `java.util.Properties`.

use std::collections::BTreeMap;

use crate::spec::{Place, SpecError};

/// Keys with their values, each with the place it comes from. The last of equal keys wins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Properties {
    entries: BTreeMap<String, Property>,
}

/// The value of one property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Property {
    /// The value as text.
    pub value: String,
    /// Where it was given.
    pub place: Place,
}

impl Properties {
    /// Reads the bytes of a properties file named `file`.
    ///
    /// The format is that of `Properties.load`: ISO-8859-1; `#` or `!` begins a comment line; a
    /// line that ends with an odd number of `\` goes on in the next one without its leading blanks;
    /// the key ends at the first blank, `=` or `:` that has no `\` before it; `\t`, `\n`, `\r`,
    /// `\f` and `\uXXXX` are escapes, any other `\c` is `c`. Blanks after a value belong to it.
    ///
    /// # Errors
    /// If `\u` is not followed by four hexadecimal digits, as in Java.
    pub fn parse(bytes: &[u8], file: &str) -> Result<Properties, SpecError> {
        let mut properties = Properties::default();
        for (line, text) in logical_lines(bytes) {
            let place = Place::line(file, line);
            let (key, value) = split(&text);
            let unescaped = |text: &[char]| {
                unescape(text).map_err(|reason| SpecError::Syntax { place: place.clone(), reason })
            };
            let (key, value) = (unescaped(key)?, unescaped(value)?);
            properties.entries.insert(key, Property { value, place });
        }
        Ok(properties)
    }

    /// Sets one property, which comes from `origin`, for example `command line`.
    pub fn set(&mut self, key: &str, value: &str, origin: &str) {
        let property = Property { value: value.to_owned(), place: Place::file(origin) };
        self.entries.insert(key.to_owned(), property);
    }

    /// Takes over all of `later`, whose values win.
    pub fn extend(&mut self, later: Properties) {
        self.entries.extend(later.entries);
    }

    /// The property with this key.
    pub fn get(&self, key: &str) -> Option<&Property> {
        self.entries.get(key)
    }

    /// All properties in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Property)> {
        self.entries.iter().map(|(key, property)| (key.as_str(), property))
    }
}

fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\u{c}')
}

/// Lines with continuations joined, comments and blank lines gone, each with its first number.
fn logical_lines(bytes: &[u8]) -> Vec<(usize, Vec<char>)> {
    let text: String = bytes.iter().map(|&byte| char::from(byte)).collect();
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let mut lines: Vec<(usize, Vec<char>)> = Vec::new();
    let mut goes_on = false;
    for (number, line) in text.split('\n').enumerate() {
        let line: Vec<char> = line.chars().skip_while(|&character| is_blank(character)).collect();
        if !goes_on && (line.is_empty() || matches!(line[0], '#' | '!')) {
            continue;
        }
        let slashes = line.iter().rev().take_while(|&&character| character == '\\').count();
        let continues = slashes % 2 == 1;
        let kept = &line[..line.len() - usize::from(continues)];
        match lines.last_mut().filter(|_| goes_on) {
            Some((_, whole)) => whole.extend_from_slice(kept),
            None => lines.push((number + 1, kept.to_vec())),
        }
        goes_on = continues;
    }
    lines
}

/// Key with value, still with escapes.
fn split(line: &[char]) -> (&[char], &[char]) {
    let mut end = 0;
    while end < line.len() && !is_blank(line[end]) && !matches!(line[end], '=' | ':') {
        end += if line[end] == '\\' { 2 } else { 1 };
    }
    let end = end.min(line.len());
    let skip_blanks = |mut place: usize| {
        while place < line.len() && is_blank(line[place]) {
            place += 1;
        }
        place
    };
    let mut start = skip_blanks(end);
    if start < line.len() && matches!(line[start], '=' | ':') {
        start = skip_blanks(start + 1);
    }
    (&line[..end], &line[start..])
}

fn unescape(text: &[char]) -> Result<String, String> {
    let mut units: Vec<u16> = Vec::with_capacity(text.len());
    let mut rest = text.iter().copied();
    while let Some(character) = rest.next() {
        let unit = match character {
            '\\' => match rest.next() {
                Some('t') => u16::from(b'\t'),
                Some('n') => u16::from(b'\n'),
                Some('r') => u16::from(b'\r'),
                Some('f') => 0xC,
                Some('u') => code_unit(&mut rest)?,
                Some(other) => other as u16,
                None => continue,
            },
            // ISO-8859-1 has nothing beyond 255.
            other => other as u16,
        };
        units.push(unit);
    }
    Ok(String::from_utf16_lossy(&units))
}

fn code_unit(rest: &mut impl Iterator<Item = char>) -> Result<u16, String> {
    let digits: String = rest.take(4).collect();
    let is_hex = digits.len() == 4 && digits.chars().all(|digit| digit.is_ascii_hexdigit());
    let wrong = || format!("\\u must be followed by four hexadecimal digits, found {digits:?}");
    if !is_hex {
        return Err(wrong());
    }
    u16::from_str_radix(&digits, 16).map_err(|_| wrong())
}
