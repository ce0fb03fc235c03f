//! Texts that are damaged, huge or malicious.

use std::io::{self, Read};

use super::*;

/// The error of a text, as a user sees it.
fn error(text: impl AsRef<[u8]>) -> String {
    match read_foreign_history(text.as_ref(), None, &mut |_| {}) {
        Ok(history) => panic!("the text was read: {history:?}"),
        Err(error) => error.to_string(),
    }
}

/// What is wrong with a text.
fn problem(text: impl AsRef<[u8]>) -> String {
    let result = read_foreign_history(text.as_ref(), None, &mut |_| {});
    result.expect_err("the text is wrong").problem.to_string()
}

const WRITE: &str = "{:process 0 :type :invoke :f :write :value 1 :time 1}\n";

// tidy: allow columns: messages are one line each
#[test]
fn errors_name_the_line_and_what_to_do() {
    let second = |line: &str| error(format!("{WRITE}{line}"));
    let errors = [
        second("{:process 1 :type :ok :f :write :value 1 :time 2}"),
        second("{:process 1 :type :info :f :write :value 1 :time 2}"),
        second("{:process 0 :type :invoke :f :write :value 2 :time 2}"),
        second("{:process 0 :type :ok :f :read :value 2 :time 2}"),
        second("{:process 0 :type :okay :f :write :value 1 :time 2}"),
        second("{:process 0 :f :write :value 1 :time 2}"),
        second("{:type :ok :f :write :value 1 :time 2}"),
        second("{:process 1 :type :invoke :f :dequeue :value nil :time 2}"),
        second("{:process 1 :type :invoke :f :cas :value 4 :time 2}"),
        second("{:process 1 :type :invoke :f :txn :value [[:inc x 1]] :time 2}"),
        second("{:process 1 :type :invoke :f :txn :value [[:r x]] :time 2}"),
        second("{:process 9223372036854775808 :type :invoke :f :read :time 2}"),
        second("{:process 1 :type :invoke :f :read :time 2.5}"),
        second("{:process :p1 :type :invoke :f :read :time 2}"),
        second("{:process 1 :type :invoke :f :add :value 1 :time 2}"),
        second("{:process 1 :type :invoke :f :transfer :value {:from 1 :to 2} :time 2}"),
        second("17"),
        second("{:process 0 :type :ok :f"),
        second("{:process 0 :type :ok}}"),
        error("{:process 0 :type :invoke :index 3}\n{:process 0 :type :ok :index 3}"),
        error(
            "{:process 0 :type :invoke :value [[:w x 1]]}\n{:process 0 :type :ok :value [[:append x 1]]}",
        ),
    ];
    expect![[r#"
        line 2, byte 54: completion of process 1 without an invocation; the lines are out of order or the file's beginning is missing: sort by index
        line 2, byte 54: completion of process 1 without an invocation; the lines are out of order or the file's beginning is missing: sort by index
        line 2, byte 54: process 0 invokes while its invocation of line 1 has no completion; give each client a process of its own, and a crashed one an :info
        line 2, byte 54: completion of process 0 is not of the operation it invoked in line 1
        line 2, byte 54: unknown type :okay; it must be invoke, ok, fail or info
        line 2, byte 54: operation without a type; every operation needs it
        line 2, byte 54: operation without a process; every operation needs it
        line 2, byte 54: unknown operation :dequeue; txn, read, write, cas, add and transfer can be judged: remove operations that do not touch the records
        line 2, byte 54: a pair of an old and a new value is expected here, found 4
        line 2, byte 54: unknown operation :inc; txn, read, write, cas, add and transfer can be judged: remove operations that do not touch the records
        line 2, byte 54: a step [f key value] is expected here, found [:r x]
        line 2, byte 54: a process, a 64-bit integer or a name, is expected here, found 9223372036854775808
        line 2, byte 54: a time in nanoseconds is expected here, found 2.5
        line 2, byte 54: process :p1 is not an integer, as those of clients are; number the clients
        line 2, byte 54: key register is of another kind in lines above; use different keys for what is written, appended to, and added to
        line 2, byte 54: a transfer {:from account, :to account, :amount integer} is expected here, found {:from 1, :to 2}
        line 2, byte 54: an operation, as a map, is expected here, found 17
        line 2, byte 54: the text ends too early: the file is cut short; copy it again
        line 2, byte 76: '}' is not expected here; the text is damaged or of another format
        line 2, byte 36: index 3 after index 3; the lines are out of order, or two histories are in one file: sort by index, or number anew
        line 2, byte 45: key x is of another kind in lines above; use different keys for what is written, appended to, and added to"#]]
    .assert_eq(&errors.join("\n"));
}

// tidy: allow columns: messages are one line each
#[test]
fn errors_of_other_formats_name_the_line_too() {
    let errors = [
        error(""),
        error("  \n\n"),
        error("hello"),
        error("w(0,1,0,0)\nw(0,1,0"),
        error("w(0,1,0,0)\nx(0,1,0,0)"),
        error("w(0,1,0,0)\nw(0,99999999999999999999,0,0)"),
        error("w(0,1,0,0)\nw(0,2,1,0)"),
        error("[[{\"events\": [17], \"committed\": true}]]"),
        error("[[{\"events\": []}]]"),
        error("[[\n{\"events\": [], \"committed\": true}"),
        error("{\"Partitions\": [{\"History\": []}]}"),
        error("[{\"Input\": {\"Op\": 0},\n \"Call\": 5, \"Return\": 4}]"),
        error("[{\"Input\": {\"Op\": 2, \"Key\": \"x\", \"Value\": \"y\"}, \"Call\": 5}]"),
        error("{\"type\": \"invoke\" \"process\": 0}"),
        error("{\"type\": nil}"),
        error("[{\"type\": \"invoke\", \"process\": 0}\n{\"type\": \"ok\"}]"),
        error("{\"type\": \"inv\\q\"}"),
    ];
    expect![[r#"
        line 1, byte 0: neither a Jepsen or Elle history (EDN, JSON), nor AWDIT's text, dbcop's JSON or porcupine's operations; name the format if it is one of them
        line 1, byte 0: neither a Jepsen or Elle history (EDN, JSON), nor AWDIT's text, dbcop's JSON or porcupine's operations; name the format if it is one of them
        line 1, byte 0: neither a Jepsen or Elle history (EDN, JSON), nor AWDIT's text, dbcop's JSON or porcupine's operations; name the format if it is one of them
        line 2, byte 18: the text ends too early: the file is cut short; copy it again
        line 2, byte 11: 'x' is not expected here; the text is damaged or of another format
        line 2, byte 15: a 64-bit integer is expected here, found 99999999999999999999
        line 2, byte 11: transaction 0 belongs to two sessions; number transactions over all of them
        line 1, byte 2: an event {"Read" or "Write": {"variable": …, "version": …}} is expected here, found 17
        line 1, byte 2: operation without "committed": true or false; every operation needs it
        line 2, byte 3: the text ends too early: the file is cut short; copy it again
        line 1, byte 0: porcupine's picture has descriptions instead of inputs and outputs; write the list of porcupine.Operation as JSON instead
        line 1, byte 1: operation ends at 4 before it starts at 5; the clock was set back
        line 1, byte 1: unknown operation 2; txn, read, write, cas, add and transfer can be judged: remove operations that do not touch the records
        line 1, byte 18: '"' is not expected here; the text is damaged or of another format
        line 1, byte 9: 'n' is not expected here; the text is damaged or of another format
        line 2, byte 34: '{' is not expected here; the text is damaged or of another format
        line 1, byte 15: 'q' is not expected here; the text is damaged or of another format"#]]
    .assert_eq(&errors.join("\n"));
}

#[test]
fn an_empty_history_and_one_of_unknown_outcomes_are_histories() {
    assert_eq!(read("[]").expect("no operation is wrong").transactions.transactions, []);
    assert_eq!(read("; nothing\n[ ]\n").map(|history| history.registers.operations), Ok(vec![]));
    check(
        "{:process 0 :type :invoke :f :read :time 1}\n{:process 0 :type :info :f :read :time 2}",
        expect![[r#"
            0 s0 1..2 unknown: r register ?
        "#]],
    );
}

#[test]
fn deep_nesting_is_an_error() {
    let deep = |open: &str| problem(open.repeat(10 * 1024 * 1024 / open.len()));
    let expected = "nested deeper than 64 levels; no history is";
    assert_eq!(deep("{:value ["), expected);
    assert_eq!(deep("#a "), expected);
    assert_eq!(deep("#_ "), expected);
    assert_eq!(problem(format!("{{\"type\": {}", "[".repeat(1 << 20))), expected);
}

#[test]
fn ten_megabytes_on_one_line_are_read() {
    let padding = "x".repeat(10 * 1024);
    let pair = format!(
        "{{:process 0 :type :invoke :f :read :value nil :time 1}}\
         {{:process 0 :type :ok :f :read :value nil :time 1 :padding \"{padding}\"}}"
    );
    let history = read(&format!("[{}]", pair.repeat(1024))).expect("a long line is a line");
    assert_eq!(history.registers.operations.len(), 1024);
}

/// The error of a text that never ends.
fn error_of_endless(beginning: &str, rest: u8) -> String {
    let input = beginning.as_bytes().chain(io::repeat(rest));
    read_foreign_history(input, None, &mut |_| {}).expect_err("it never ends").problem.to_string()
}

#[test]
fn an_endless_operation_is_an_error() {
    let expected = "one operation of more than 16777216 bytes; lists that long cannot be judged";
    assert_eq!(error_of_endless("{:type ", b'a'), expected);
    assert_eq!(error_of_endless("{:type \"", b'a'), expected);
    assert_eq!(error_of_endless("{\"type\": ", b'1'), expected);
    assert_eq!(error_of_endless("{:type #", b'a'), expected);
    assert_eq!(
        error_of_endless("w(", b'1'),
        "a 64-bit integer is expected here, found 111111111111111111111111"
    );
    let many = format!("\"{}\" ", "a".repeat(1024 * 1024)).repeat(17);
    assert_eq!(problem(format!("{{:value [{many}]}}")), expected);
}

#[test]
fn invalid_utf_8_is_an_error() {
    let expected = "invalid UTF-8; histories are UTF-8 texts: convert the file";
    assert_eq!(problem(b"{:type :inv\xffoke}"), expected);
    assert_eq!(problem(b"{\"type\": \"\xc3\"}"), expected);
    assert!(error(b"{\"type\": \xff}").starts_with("line 1, byte "));
    assert!(error(b"\xff\xfe{\x00").starts_with("line 1, byte "));
}

// tidy: allow columns: warnings are one line each
#[test]
fn numbers_beyond_64_bits_are_names() {
    check(
        "{:process 0 :type :invoke :f :txn :value [[:w 36893488147419103232 -1e400]] :time 1}
         {:process 0 :type :ok :f :txn :value [[:w 36893488147419103232 -1e400]]
          :time 9223372036854775807}
         {:process 0 :type :invoke :f :txn :value [[:r 5N nil]] :time -9223372036854775808}
         {:process 0 :type :ok :f :txn :value [[:r 5 nil]] :time 9223372036854775807}",
        expect![[r#"
            0 s0 1..9223372036854775807 done: w 36893488147419103232 -1e400
            2 s0 9223372036854775808..9223372036854775809 done: r 5 absent
            times before the one of the line above; the order of lines was used: 1, the first in line 4
        "#]],
    );
}

/// A reader that gives one byte at a time and fails in the end.
struct Trickle<'a> {
    rest: &'a [u8],
    fails: bool,
}

impl Read for Trickle<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let Some((first, rest)) = self.rest.split_first() else {
            return if self.fails { Err(io::Error::other("disk is gone")) } else { Ok(0) };
        };
        into[0] = *first;
        self.rest = rest;
        Ok(1)
    }
}

#[test]
fn a_trickle_is_read_as_a_file_and_its_failure_is_told() {
    let text = "w(0,1,0,0)\nr(0,1,1,1)";
    let trickle = |fails| {
        let input = Trickle { rest: text.as_bytes(), fails };
        read_foreign_history(input, None, &mut |_| {})
    };
    assert_eq!(trickle(false), read(text));
    let failure = trickle(true).expect_err("the reader fails").to_string();
    assert_eq!(failure, "line 1, byte 0: disk is gone; read the file again");
}

#[test]
fn progress_is_told_in_bytes() {
    let text = "w(0,1,0,0)\n".repeat(20_000);
    let mut told = Vec::new();
    read_foreign_history(text.as_bytes(), None, &mut |bytes| told.push(bytes))
        .expect("the text is a history");
    assert!(told.is_sorted() && told.len() > 3, "{told:?}");
    assert_eq!(told.last(), Some(&(text.len() as u64)));
}

// tidy: allow columns: one history per line
#[test]
fn no_prefix_and_no_changed_byte_makes_the_reader_panic() {
    let texts = [
        "[#jepsen.history.Op{:index 0, :type :invoke, :process 0, :value [[:append 1 \"a\\u00e9\"]]}]",
        "{\"type\":\"invoke\",\"process\":0,\"value\":[[\"r\",\"x\\n\",null]],\"time\":1.5}",
        "[[{\"events\": [{\"Write\": {\"variable\": 0, \"version\": 1}}], \"committed\": true}]]",
        "[{\"ClientId\":0,\"Input\":{\"Op\":1,\"Value\":\"a\"},\"Call\":1,\"Return\":5}]",
        "w(0,1,0,0)\nr(0,1,1,-1)",
    ];
    let mut read_well = 0;
    for text in texts {
        for position in 0..text.len() {
            let mut changed = text.as_bytes().to_vec();
            for byte in [0, b'[', b'{', b'"', b'\\', b'#', b'9', b':', b')', 0xff] {
                changed[position] = byte;
                let result = read_foreign_history(&*changed, None, &mut |_| {});
                read_well += u32::from(result.is_ok());
            }
            let prefix = read_foreign_history(&text.as_bytes()[..position], None, &mut |_| {});
            read_well += u32::from(prefix.is_ok());
        }
    }
    assert!(read_well > 0);
}
