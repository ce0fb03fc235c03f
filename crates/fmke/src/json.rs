//! The bodies of answers.

/// What stands before the result of an operation that succeeded.
const BEGIN: &[u8] = b"{\"success\":true,\"result\":";

/// The answer to a write that succeeded.
pub(crate) const OK: &[u8] = b"{\"success\":true,\"result\":\"ok\"}";
/// The answer to a body without any field.
pub(crate) const NO_FIELDS: &[u8] =
    b"{\"success\":false,\"result\":\"Missing request body or incomplete list of fields.\"}";
/// The answer to an identifier that is none.
pub(crate) const INVALID_ID: &[u8] = b"{\"success\":false,\"result\":\"invalid_id\"}";
/// The answer where nothing else can be said.
pub(crate) const FAILED: &[u8] =
    b"{\"success\":false,\"result\":\"Woops! This request failed. That's all we know!\"}";
/// The answer beyond the bound of requests that wait.
pub(crate) const OVERLOADED: &[u8] = b"{\"success\":false,\"result\":\"overloaded\"}";
/// The answer to a body that is too long.
pub(crate) const TOO_LARGE: &[u8] = b"{\"success\":false,\"result\":\"body_too_large\"}";
/// The answer to a body that does not come.
pub(crate) const TOO_SLOW: &[u8] = b"{\"success\":false,\"result\":\"body_too_slow\"}";

/// The answer of an operation that did not succeed, with the word for it.
pub(crate) fn refusal(word: &str) -> Vec<u8> {
    let mut body = b"{\"success\":false,\"result\":".to_vec();
    text(word, &mut body);
    body.push(b'}');
    body
}

/// The answer of an operation that succeeded, whose result `write` appends.
pub(crate) fn success(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut body = Vec::with_capacity(256);
    body.extend_from_slice(BEGIN);
    write(&mut body);
    body.push(b'}');
    body
}

/// Appends a text within quotes.
pub(crate) fn text(text: &str, into: &mut Vec<u8>) {
    let is_plain = |byte: u8| byte >= 0x20 && byte != b'"' && byte != b'\\';
    if text.bytes().all(is_plain) {
        into.push(b'"');
        into.extend_from_slice(text.as_bytes());
        into.push(b'"');
    } else if let Ok(escaped) = serde_json::to_vec(text) {
        into.extend_from_slice(&escaped);
    }
}

/// Appends a name with its colon; a comma before it unless it is the first of its object.
pub(crate) fn member(name: &str, into: &mut Vec<u8>) {
    if into.last() != Some(&b'{') {
        into.push(b',');
    }
    text(name, into);
    into.push(b':');
}

/// Appends an identifier.
pub(crate) fn id(id: i64, as_text: bool, into: &mut Vec<u8>) {
    use std::io::Write as _;
    // Writing to a vector cannot fail.
    let _ = match as_text {
        true => write!(into, "\"{id}\""),
        false => write!(into, "{id}"),
    };
}

/// Appends an array whose elements `write` appends.
pub(crate) fn array<T>(
    items: impl IntoIterator<Item = T>,
    into: &mut Vec<u8>,
    mut write: impl FnMut(T, &mut Vec<u8>),
) {
    into.push(b'[');
    for (place, item) in items.into_iter().enumerate() {
        if place > 0 {
            into.push(b',');
        }
        write(item, into);
    }
    into.push(b']');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_escaped() {
        let mut body = b"{".to_vec();
        member("a", &mut body);
        text("q\"b\\n\n\u{1}ä", &mut body);
        member("b", &mut body);
        array([1, 2], &mut body, |number, into| id(number, number == 2, into));
        body.push(b'}');
        let value: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(value["a"], "q\"b\\n\n\u{1}ä");
        assert_eq!(value["b"], serde_json::json!([1, "2"]));
    }

    #[test]
    fn refusals_are_whole_json() {
        assert_eq!(refusal("not_found"), b"{\"success\":false,\"result\":\"not_found\"}");
        for body in [OK, NO_FIELDS, INVALID_ID, FAILED, OVERLOADED, TOO_LARGE, TOO_SLOW] {
            serde_json::from_slice::<serde_json::Value>(body).unwrap();
        }
    }
}
