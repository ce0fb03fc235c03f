//! Files as their readers meet them, good or bad.

use super::*;
use crate::imported::oracle::tests::record;

/// The requests of one good line.
#[track_caller]
pub(crate) fn parsed(mut parser: impl Parse, line: impl AsRef<[u8]>) -> Vec<ImportedRequest> {
    let mut requests = Vec::new();
    parser.parse(line.as_ref(), &mut requests).unwrap_or_else(|fault| panic!("{fault:?}"));
    requests
}

/// What is wrong with a bad line.
#[track_caller]
pub(crate) fn bad(mut parser: impl Parse, line: impl AsRef<[u8]>) -> String {
    match parser.parse(line.as_ref(), &mut Vec::new()) {
        Err(Fault::Bad(reason)) => reason,
        other => panic!("{:?}: {other:?}", String::from_utf8_lossy(line.as_ref())),
    }
}

/// The name under which a line is passed over.
#[track_caller]
pub(crate) fn passed_over(mut parser: impl Parse, line: &str) -> String {
    match parser.parse(line.as_bytes(), &mut Vec::new()) {
        Err(Fault::PassedOver(name)) => name,
        other => panic!("{line}: {other:?}"),
    }
}

/// The times in seconds, until an error if there is one.
fn read(format: Format, tolerated: u64, bytes: &[u8]) -> (Vec<u64>, Option<String>, ReadTotals) {
    let from = Box::new(io::Cursor::new(bytes.to_vec()));
    let mut requests = match Requests::open(from, format, tolerated) {
        Ok(requests) => requests,
        Err(error) => return (Vec::new(), Some(error.to_string()), ReadTotals::default()),
    };
    let mut times = Vec::new();
    for request in requests.by_ref() {
        match request {
            Ok(request) => times.push(request.at.0 / 1_000_000_000),
            Err(error) => return (times, Some(error.to_string()), requests.totals()),
        }
    }
    assert!(requests.next().is_none(), "an end is an end");
    (times, None, requests.totals())
}

fn error(format: Format, tolerated: u64, text: &str) -> String {
    read(format, tolerated, text.as_bytes()).1.expect("it is bad")
}

const GOOD: &str = "10,a,1,5,1,get,0\n10,b,1,5,1,set,9\n12,a,1,5,1,get,0\n";

#[test]
fn lines_become_requests_with_any_line_end() {
    for text in [GOOD.to_owned(), GOOD.replace('\n', "\r\n"), GOOD.trim_end().to_owned()] {
        let (times, error, totals) = read(Format::Twitter, 0, text.as_bytes());
        assert_eq!((times, error), (vec![10, 10, 12], None));
        assert_eq!((totals.lines, totals.requests, totals.bad), (3, 3, 0));
    }
}

#[test]
fn a_bad_line_is_named_with_what_is_expected() {
    let text = format!("{GOOD}13,a,1,5,get,0\n");
    assert_eq!(
        error(Format::Twitter, 0, &text),
        "line 4: it has 6 values instead of 7; twitter expects timestamp,key,key size,value size,\
         client,operation,TTL, such as 1583990400,nz:u:eeW511W3dcH3de3d15ec,22,304,127,get,0; \
         --skip-bad N passes over up to N such lines"
    );
}

#[test]
fn bad_lines_are_counted_up_to_the_limit() {
    let text = format!("{GOOD}bad\n13,a,1,5,1,get,0\nworse\n");
    let (times, error, totals) = read(Format::Twitter, 2, text.as_bytes());
    assert_eq!((times, error), (vec![10, 10, 12, 13], None));
    let first = Bad { place: Place::Line(4), reason: "it has 1 values instead of 7".to_owned() };
    assert_eq!((totals.bad, totals.first_bad), (2, Some(first)));
    let (times, error, _) = read(Format::Twitter, 1, text.as_bytes());
    assert_eq!(times, [10, 10, 12, 13]);
    let error = error.unwrap();
    assert!(error.starts_with("line 6: it has 1 values"), "{error}");
    assert!(error.ends_with("(the one bad line that --skip-bad allows came before)"), "{error}");
}

#[test]
fn a_time_that_goes_backwards_is_a_bad_line() {
    let text = format!("{GOOD}11,a,1,5,1,get,0\n13,a,1,5,1,get,0\n");
    let refused = error(Format::Twitter, 0, &text);
    assert!(
        refused.starts_with("line 4: its time is 1.00 s before that of the lines above"),
        "{refused}"
    );
    assert_eq!(read(Format::Twitter, 1, text.as_bytes()).0, [10, 10, 12, 13]);
}

#[test]
fn another_format_is_recognised_however_tolerant_one_is() {
    let header = "op_time,key,key_size,op,op_count,size\n1,a,1,GET,1,5\n";
    let refused = error(Format::Twitter, 100, header);
    let expected = "line 1: it has 6 values instead of 7, and this looks like CacheLib's";
    assert!(refused.starts_with(expected), "{refused}");
    let expected = "give `assay trace import twitter`";
    assert!(error(Format::CacheLib, 0, GOOD).ends_with(expected));
    assert!(error(Format::Oracle, 0, GOOD).ends_with(expected));
    assert!(error(Format::Monitor, 9, GOOD).ends_with(expected));
    let binary = [record(7, 1, 100, -1), record(8, 2, 100, -1)].concat();
    let refused = read(Format::Monitor, 0, &binary).1.unwrap();
    assert!(refused.ends_with("give `assay trace import oracle`"), "{refused}");
    assert!(error(Format::Twitter, 0, "PAR1xx").ends_with("`assay run` takes it as it is"));
}

#[test]
fn an_empty_file_is_an_error() {
    for format in Format::ALL {
        let refused = error(format, 5, "");
        let name = format.name();
        assert!(refused.starts_with(&format!("it is empty; {name} expects")), "{refused}");
    }
    assert!(error(Format::CacheLib, 0, "key,op,size\n").starts_with("it is empty"));
    assert!(error(Format::Twitter, 5, "\n\n").starts_with("it is empty"));
}

#[test]
fn a_binary_trace_that_is_cut_off_says_where() {
    let mut bytes = [record(7, 1, 100, -1), record(8, 2, 100, -1)].concat();
    assert_eq!(read(Format::Oracle, 0, &bytes).0, [7, 8]);
    bytes.extend([1, 2, 3]);
    let (times, error, _) = read(Format::Oracle, 0, &bytes);
    assert_eq!(times, [7, 8]);
    let error = error.unwrap();
    assert!(error.starts_with("record 3: the file ends 3 bytes into a record of 24"), "{error}");
    assert_eq!(read(Format::Oracle, 1, &bytes).1, None, "a cut is a bad record like others");
}

#[test]
fn unsupported_commands_are_counted_by_name() {
    let line = |words: &str| format!("1.0 [0 127.0.0.1:5] {words}\n");
    let text = ["\"PING\"", "\"GET\" \"a\"", "\"ping\"", "\"LPUSH\" \"a\" \"b\""].map(line);
    let (times, error, totals) = read(Format::Monitor, 0, text.concat().as_bytes());
    assert_eq!((times, error), (vec![1], None));
    let counted: Vec<(&str, u64)> =
        totals.passed_over.iter().map(|(name, count)| (name.as_str(), *count)).collect();
    assert_eq!(counted, [("LPUSH", 1), ("PING", 2)]);
}

#[test]
fn a_line_without_end_is_no_request() {
    let text = format!("1,{},1,1,1,get,0", "k".repeat(LONGEST_LINE as usize));
    assert!(error(Format::Twitter, 0, &text).contains("it is longer than"));
}

#[test]
fn a_header_of_kv_replay_is_passed_over() {
    let (times, error, totals) =
        read(Format::KvReplay, 0, b"op,key,timestamp,size\nREAD,a,2000,5\n");
    assert_eq!((times, error, totals.lines), (vec![2], None, 1));
}
