//! Texts of programs in tests.

/// The words of `text` in lines of less than `width` bytes, so that they can be read in a test.
pub fn wrapped(text: &str, width: usize) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last_mut().expect("there is always a line");
        match last.len() {
            0 => last.push_str(word),
            length if length + word.len() < width => *last += &format!(" {word}"),
            _ => lines.push(word.to_owned()),
        }
    }
    lines.join("\n")
}
