//! Tests of the parser on bytes however they arrive, those of the writer among them.

use super::*;

/// The first frame of `bytes` as a tree and its length.
fn parse(bytes: &[u8]) -> Result<Option<(Value, usize)>, ParseError> {
    let mut parser = Parser::new(Limits::REPLY);
    let length = parser.parse(bytes)?;
    Ok(length.map(|length| (Value::new(&bytes[..length], parser.tokens()), length)))
}

/// Parses `bytes` at once, then fed byte by byte; both must give `expected`.
fn check(bytes: &str, expected: Value) {
    let bytes = bytes.as_bytes();
    assert_eq!(parse(bytes), Ok(Some((expected.clone(), bytes.len()))), "at once");
    let mut parser = Parser::new(Limits::REPLY);
    for end in 0..bytes.len() {
        assert_eq!(parser.parse(&bytes[..end]), Ok(None), "whole after {end} bytes already");
    }
    assert_eq!(parser.parse(bytes), Ok(Some(bytes.len())), "byte by byte");
    assert_eq!(Value::new(bytes, parser.tokens()), expected, "byte by byte");
}

fn refused(bytes: &[u8], expected: ParseError) {
    assert_eq!(parse(bytes), Err(expected), "{:?}", String::from_utf8_lossy(bytes));
}

fn text(text: &str) -> Value {
    Value::Text(text.as_bytes().to_vec())
}

#[test]
fn strings_of_every_spelling_are_text() {
    check("$5\r\nhello\r\n", text("hello"));
    check("$0\r\n\r\n", text(""));
    check("$2\r\n\r\n\r\n", text("\r\n"));
    check("+OK\r\n", text("OK"));
    check("+\r\n", text(""));
    check("=9\r\ntxt:hello\r\n", text("hello"));
    check("=4\r\nmkd:\r\n", text(""));
}

#[test]
fn errors_keep_their_words() {
    check("-ERR unknown command\r\n", Value::Error("ERR unknown command".into()));
    check("!7\r\nSYNTAX \r\n", Value::Error("SYNTAX ".into()));
}

#[test]
fn numbers_reach_the_ends_of_their_range() {
    check(":0\r\n", Value::Integer(0));
    check(":+7\r\n", Value::Integer(7));
    check(":-9223372036854775808\r\n", Value::Integer(i64::MIN));
    check(":9223372036854775807\r\n", Value::Integer(i64::MAX));
    refused(b":9223372036854775808\r\n", ParseError::Spelling);
    check(",1.5\r\n", Value::Double(1.5));
    check(",1e-3\r\n", Value::Double(0.001));
    check(",inf\r\n", Value::Double(f64::INFINITY));
    check(",-inf\r\n", Value::Double(f64::NEG_INFINITY));
    assert!(matches!(parse(b",nan\r\n"), Ok(Some((Value::Double(n), 6))) if n.is_nan()));
    check("(-123456789012345678901\r\n", Value::BigNumber("-123456789012345678901".into()));
}

#[test]
fn truths_with_nulls_of_both_versions() {
    check("#t\r\n", Value::Boolean(true));
    check("#f\r\n", Value::Boolean(false));
    check("_\r\n", Value::Null);
    check("$-1\r\n", Value::Null);
    check("*-1\r\n", Value::Null);
}

#[test]
fn aggregates_nest() {
    check("*0\r\n", Value::Array(vec![]));
    check("%0\r\n", Value::Map(vec![]));
    check(
        "*3\r\n:1\r\n*2\r\n$1\r\na\r\n*0\r\n_\r\n",
        Value::Array(vec![
            Value::Integer(1),
            Value::Array(vec![text("a"), Value::Array(vec![])]),
            Value::Null,
        ]),
    );
    check(
        "%2\r\n+a\r\n:1\r\n+b\r\n~1\r\n#t\r\n",
        Value::Map(vec![
            (text("a"), Value::Integer(1)),
            (text("b"), Value::Array(vec![Value::Boolean(true)])),
        ]),
    );
    check(
        ">2\r\n+invalidate\r\n*1\r\n$1\r\nk\r\n",
        Value::Push(vec![text("invalidate"), Value::Array(vec![text("k")])]),
    );
}

#[test]
fn attributes_are_read_past_wherever_they_stand() {
    check("|1\r\n+ttl\r\n:3600\r\n$1\r\nv\r\n", text("v"));
    check("|0\r\n+v\r\n", text("v"));
    check("|1\r\n+a\r\n|1\r\n+b\r\n:1\r\n:2\r\n+v\r\n", text("v"));
    check(
        "*2\r\n:1\r\n|1\r\n+ttl\r\n*1\r\n:9\r\n:2\r\n",
        Value::Array(vec![Value::Integer(1), Value::Integer(2)]),
    );
}

#[test]
fn frames_that_follow_one_another_come_one_by_one() {
    let bytes = b"+a\r\n*1\r\n:2\r\n$1\r\nc\r\n+cut";
    let mut parser = Parser::new(Limits::REPLY);
    let mut at = 0;
    let mut found = Vec::new();
    while let Some(length) = parser.parse(&bytes[at..]).expect("these are frames") {
        found.push(Value::new(&bytes[at..at + length], parser.tokens()));
        at += length;
    }
    assert_eq!(found, [text("a"), Value::Array(vec![Value::Integer(2)]), text("c")]);
    assert_eq!(&bytes[at..], b"+cut");
}

#[test]
fn a_misspelt_property_is_refused_at_once() {
    refused(b"HTTP/1.1 400 Bad Request\r\n", ParseError::Marker(b'H'));
    refused(b"$x", ParseError::Spelling);
    refused(b"$\r\n", ParseError::Spelling);
    refused(b"$1x", ParseError::Spelling);
    refused(b"$-2\r\n", ParseError::Spelling);
    refused(b"%-1\r\n", ParseError::Spelling);
    refused(b"|-1\r\n", ParseError::Spelling);
    refused(b"!-1\r\n", ParseError::Spelling);
    refused(b"$?\r\n", ParseError::Spelling);
    refused(b"$1\r\nabc", ParseError::Ending);
    refused(b"+a\nb", ParseError::Ending);
    refused(b"+a\rb", ParseError::Ending);
    refused(b"_x\r\n", ParseError::Spelling);
    refused(b"#x\r\n", ParseError::Spelling);
    refused(b",one\r\n", ParseError::Spelling);
    refused(b"(1.5\r\n", ParseError::Spelling);
    refused(b":\r\n", ParseError::Spelling);
    refused(b"=2\r\nab\r\n", ParseError::Spelling);
    refused(b"=5\r\nabcde\r\n", ParseError::Spelling);
}

#[test]
fn a_hostile_peer_meets_the_limits() {
    let limits = Limits { depth: 2, elements: 5, line: 8, string: 10, frame: 60 };
    let check = |bytes: &[u8], expected| {
        let found = Parser::new(limits).parse(bytes);
        assert_eq!(found, Err(expected), "{:?}", String::from_utf8_lossy(bytes));
    };
    check(b"*1\r\n*1\r\n*1\r\n", ParseError::Depth);
    check(b"*6\r\n", ParseError::Elements);
    check(b"*4294967295\r\n", ParseError::Elements);
    check(b"%4294967295\r\n", ParseError::Elements);
    check(b"*2\r\n*2\r\n:1\r\n:2\r\n*1\r\n:1\r\n", ParseError::Elements);
    check(b"$11\r\n", ParseError::Length);
    check(b"$99999999999999999999", ParseError::Length);
    check(b"$4294967296\r\n", ParseError::Length);
    check(b"+123456789", ParseError::Length);
    let long = b"*5\r\n$10\r\n0123456789\r\n$10\r\n0123456789\r\n$10\r\n0123456789\r\n$10\r\n01";
    check(long, ParseError::Length);
}

#[test]
fn random_bytes_never_panic() {
    const PIECES: &[&[u8]] = &[
        b"$1\r\na\r\n",
        b"$0\r\n\r\n",
        b"$-1\r\n",
        b"*2\r\n",
        b"*0\r\n",
        b"*-1\r\n",
        b"%1\r\n",
        b"|1\r\n",
        b"|0\r\n",
        b"~1\r\n",
        b">1\r\n",
        b":-12\r\n",
        b"+ok\r\n",
        b"-no\r\n",
        b"_\r\n",
        b"#t\r\n",
        b",1e9\r\n",
        b"(99\r\n",
        b"=5\r\ntxt:a\r\n",
        b"!2\r\nno\r\n",
        b"$9",
        b"\r",
        b"x",
    ];
    let limits = Limits { depth: 4, elements: 20, line: 40, string: 60, frame: 200 };
    let mut frames = 0;
    for seed in 0..20_000_u64 {
        let draw = |place: u64| assay_model::seed::mix(seed << 8 | place) as usize;
        let bytes: Vec<u8> = match seed % 4 {
            0 => (0..80).map(|place| draw(place) as u8).collect(),
            _ => (0..40).flat_map(|place| PIECES[draw(place) % PIECES.len()]).copied().collect(),
        };
        frames += whole_frames_fed_in_pieces(&bytes, seed as usize % 7 + 1, limits);
    }
    assert!(frames > 50_000, "only {frames} frames: the test does not reach the parser's depths");
}

fn whole_frames_fed_in_pieces(bytes: &[u8], piece: usize, limits: Limits) -> usize {
    let mut parser = Parser::new(limits);
    let (mut at, mut end, mut frames) = (0, 0, 0);
    while end < bytes.len() {
        end = (end + piece).min(bytes.len());
        loop {
            match parser.parse(&bytes[at..end]) {
                Ok(Some(length)) => {
                    assert!(length > 0 && at + length <= end);
                    Value::new(&bytes[at..at + length], parser.tokens());
                    at += length;
                    frames += 1;
                }
                Ok(None) => break,
                Err(_) => return frames,
            }
        }
    }
    frames
}

fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    write(&mut out);
    String::from_utf8(out).expect("these tests write text")
}

#[test]
fn commands_are_arrays_of_strings() {
    let out = written(|out| write::command(&[b"HGET", b"user1", b"field0"], out));
    assert_eq!(out, "*3\r\n$4\r\nHGET\r\n$5\r\nuser1\r\n$6\r\nfield0\r\n");
    assert_eq!(written(|out| write::bulk_integer(-120, out)), "$4\r\n-120\r\n");
    assert_eq!(written(|out| write::bulk_integer(0, out)), "$1\r\n0\r\n");
    assert_eq!(
        written(|out| write::bulk_integer(i64::MIN, out)),
        "$20\r\n-9223372036854775808\r\n"
    );
}

#[test]
fn decimals_are_those_of_the_standard_library() {
    let mut numbers = vec![0, 1, 9, 10, 11, 99, 100, 101, 999, 1000, 12_345, u64::MAX];
    numbers.extend((0..64).map(|bit| (1_u64 << bit) - 1));
    for number in numbers {
        assert_eq!(written(|out| write::decimal(number, out)), number.to_string());
    }
}

#[test]
fn what_is_written_is_read_back_in_both_versions() {
    for protocol in [Protocol::Resp2, Protocol::Resp3] {
        let out = written(|out| {
            write::array(7, out);
            write::null(protocol, out);
            write::map(protocol, 1, out);
            write::simple("a", out);
            write::integer(-5, out);
            write::set(protocol, 1, out);
            write::bulk(b"x", out);
            write::error("ERR no", out);
            write::double(protocol, 0.5, out);
            write::boolean(protocol, true, out);
            write::verbatim(protocol, "v", out);
        });
        let pair = (text("a"), Value::Integer(-5));
        let is_new = protocol == Protocol::Resp3;
        let expected = vec![
            Value::Null,
            if is_new { Value::Map(vec![pair]) } else { Value::Array(vec![pair.0, pair.1]) },
            Value::Array(vec![text("x")]),
            Value::Error("ERR no".into()),
            if is_new { Value::Double(0.5) } else { text("0.5") },
            if is_new { Value::Boolean(true) } else { Value::Integer(1) },
            text("v"),
        ];
        check(&out, Value::Array(expected));
    }
    let out = written(|out| {
        write::push(1, out);
        write::double(Protocol::Resp3, f64::NEG_INFINITY, out);
    });
    check(&out, Value::Push(vec![Value::Double(f64::NEG_INFINITY)]));
}

#[test]
fn pairs_are_the_same_from_a_map_as_from_a_flat_array() {
    let map = Value::Map(vec![(text("a"), text("1"))]);
    let flat = Value::Array(vec![text("a"), text("1")]);
    assert_eq!(map.pairs(), flat.pairs());
    assert_eq!(map.pairs()[0].1.text(), Some(&b"1"[..]));
}
