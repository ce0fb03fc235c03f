//! Files in the format of Java's `java.util.Properties`, which YCSB's bindings are given.

/// One property, where it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Property {
    /// The number of its first line, from 1.
    pub line: usize,
    /// Its name.
    pub key: String,
    /// Its value.
    pub value: String,
}

/// A line that Java would not take either.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct Malformed {
    /// The number of its first line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub reason: String,
}

/// The properties in the bytes of a file, in its order; of equal keys Java keeps the last.
///
/// The format is that of `Properties.load`: ISO-8859-1; `#` or `!` begins a comment line; a
/// line that ends with an odd number of `\` goes on in the next one without its leading blanks;
/// the key ends at the first blank, `=` or `:` that has no `\` before it; `\t`, `\n`, `\r`,
/// `\f` and `\uXXXX` are escapes, any other `\c` is `c`. Blanks after a value belong to it.
///
/// # Errors
/// If `\u` is not followed by four hexadecimal digits, as in Java.
pub fn parse(bytes: &[u8]) -> Result<Vec<Property>, Malformed> {
    let one = |(line, text): (usize, Vec<char>)| {
        let (key, value) = split(&text);
        let plain = |text: &[char]| unescape(text).map_err(|reason| Malformed { line, reason });
        Ok(Property { line, key: plain(key)?, value: plain(value)? })
    };
    logical_lines(bytes).into_iter().map(one).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(text: &str) -> Vec<(usize, String)> {
        let parsed = parse(text.as_bytes()).unwrap();
        let pair = |one: Property| (one.line, format!("{}|{}", one.key, one.value));
        parsed.into_iter().map(pair).collect()
    }

    #[test]
    fn lines_are_read_as_java_does() {
        for (text, line, pair) in [
            (" a.b = c=d", 1, "a.b|c=d"),
            ("a: b", 1, "a|b"),
            ("a b", 1, "a|b"),
            ("alone", 1, "alone|"),
            ("# x=y\n\n! z\na=1", 4, "a|1"),
            ("hosts=one,\\\n   two", 1, "hosts|one,two"),
            ("a=1\\\\\nb=2", 1, "a|1\\"),
            ("a\\=b=\\u0041\\tc ", 1, "a=b|A\tc "),
        ] {
            assert_eq!(pairs(text)[0], (line, pair.to_owned()), "{text:?}");
        }
        assert!(pairs("# a=b\n\n").is_empty());
    }

    #[test]
    fn half_escapes_are_reported_with_their_line() {
        let reported = parse(b"a=1\nb=\\u00g0").unwrap_err().to_string();
        assert!(reported.starts_with("line 2: \\u must be followed by four"), "{reported}");
    }
}
