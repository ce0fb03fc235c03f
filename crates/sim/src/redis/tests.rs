//! Conversations, as a client would have them.

use super::*;
use crate::presets;
use assay_store::resp::Value;

struct TestSession {
    keyspace: Keyspace,
    conversation: Conversation,
    now: Nanos,
}

impl TestSession {
    fn with(query: &str) -> TestSession {
        let mut config = Config::default();
        config.set_all(query).unwrap();
        let keyspace = Keyspace::new(config, Seed(1)).unwrap();
        TestSession { keyspace, conversation: Conversation::new(7), now: Nanos::ZERO }
    }

    fn say(&mut self, text: &str) -> ParsedCommand {
        let words: Vec<&[u8]> = text.split(' ').map(str::as_bytes).collect();
        let mut bytes = Vec::new();
        assay_store::resp::write::command(&words, &mut bytes);
        let received =
            self.conversation.hear(self.now, &bytes, &mut self.keyspace).unwrap().unwrap();
        assert_eq!(received.length, bytes.len());
        received
    }

    /// The reply to `text`, on one line.
    fn hear(&mut self, text: &str) -> String {
        let received = self.say(text);
        let mut parser = Parser::new(Limits::REPLY);
        assert_eq!(
            parser.parse(&received.reply),
            Ok(Some(received.reply.len())),
            "one whole reply"
        );
        display(&Value::new(&received.reply, parser.tokens()))
    }
}

fn display(value: &Value) -> String {
    let all = |values: &[Value]| values.iter().map(display).collect::<Vec<String>>().join(" ");
    match value {
        Value::Text(text) => String::from_utf8_lossy(text).into_owned(),
        Value::Error(error) => format!("error {error}"),
        Value::Integer(number) => number.to_string(),
        Value::Null => "null".into(),
        Value::Array(values) => format!("[{}]", all(values)),
        Value::Map(pairs) => {
            let pair =
                |(name, value): &(Value, Value)| format!("{}={}", display(name), display(value));
            format!("{{{}}}", pairs.iter().map(pair).collect::<Vec<String>>().join(" "))
        }
        other => format!("{other:?}"),
    }
}

fn check(conversation: &[(&str, &str)]) {
    let mut talk = TestSession::with("");
    for (said, received) in conversation {
        assert_eq!(talk.hear(said), *received, "{said}");
    }
}

#[test]
fn strings_are_kept() {
    check(&[
        ("GET k", "null"),
        ("SET k v", "OK"),
        ("get k", "v"),
        ("MSET a 1 b 2", "OK"),
        ("MGET a b c", "[1 2 null]"),
        ("EXISTS a c k", "2"),
        ("DEL a c", "1"),
        ("DBSIZE", "2"),
        ("TYPE k", "string"),
        ("FLUSHDB", "OK"),
        ("DBSIZE", "0"),
        ("SET k v EX 5", "error ERR syntax error"),
    ]);
}

#[test]
fn hashes_are_kept() {
    check(&[
        ("HSET h f 1 g 2", "2"),
        ("HSET h g 3 i 4", "1"),
        ("HGETALL h", "[f 1 g 3 i 4]"),
        ("HMSET h f 9", "OK"),
        ("HGET h f", "9"),
        ("HGET h nothing", "null"),
        ("HMGET h i nothing f", "[4 null 9]"),
        ("HGETALL missing", "[]"),
        ("HMGET missing f", "[null]"),
        ("HSET twice f 1 f 2", "1"),
        ("HGETALL twice", "[f 2]"),
        (
            "HELLO 3",
            "{server=sim version=7.0.0 mode=standalone role=master proto=3 id=7 modules=[]}",
        ),
        ("HGETALL h", "{f=9 g=3 i=4}"),
        ("TYPE h", "hash"),
    ]);
}

#[test]
fn sorted_sets_are_kept() {
    check(&[
        ("ZADD z 3 c 1 a 2 b", "3"),
        ("ZADD z 5 a", "0"),
        ("ZRANGE z 0 -1", "[b c a]"),
        ("ZRANGEBYSCORE z (2 +inf LIMIT 0 1", "[c]"),
        ("ZCARD z", "3"),
        ("ZSCORE z a", "5"),
        ("ZREM z a nothing", "1"),
        ("ZREMRANGEBYRANK z 0 0", "1"),
        ("ZRANGE z 0 -1", "[c]"),
        ("TYPE z", "zset"),
        ("ZREM z c", "1"),
        ("EXISTS z", "0"),
    ]);
}

#[test]
fn what_is_not_understood_is_said_as_redis_says_it() {
    let wrong_type = "error WRONGTYPE Operation against a key holding the wrong kind of value";
    check(&[
        (
            "LPUSH l 1 2 3 4",
            "error ERR unknown command 'LPUSH', with args beginning with: 'l' '1' '2'",
        ),
        ("GET", "error ERR wrong number of arguments for 'get' command"),
        ("HSET h f", "error ERR wrong number of arguments for 'hset' command"),
        ("SET k v", "OK"),
        ("HGETALL k", wrong_type),
        ("HSET k f v", wrong_type),
        ("ZADD k 1 m", wrong_type),
        ("HSET h f v", "1"),
        ("GET h", wrong_type),
        ("ZADD z 1 m", "1"),
        ("GET z", wrong_type),
        ("ZRANGE z 0 x", "error ERR value is not an integer or out of range"),
        ("ZRANGEBYSCORE z 0 x", "error ERR min or max is not a float"),
        ("SELECT 1", "error ERR DB index is out of range"),
        ("CLIENT KILL", "error ERR unknown subcommand 'KILL' of CLIENT"),
        ("HELLO 4", "error NOPROTO unsupported protocol version"),
    ]);
}

#[test]
fn clients_are_greeted() {
    check(&[
        ("PING", "PONG"),
        ("PING hello", "hello"),
        ("ECHO hello", "hello"),
        ("AUTH secret", "OK"),
        ("SELECT 0", "OK"),
        ("CLIENT SETNAME me", "OK"),
        ("CLIENT GETNAME", "me"),
        ("CONFIG GET save", "[save ]"),
        ("CONFIG GET maxmemory", "[]"),
        ("COMMAND DOCS", "[]"),
        ("COMMAND", "[]"),
    ]);
    let mut talk = TestSession::with("");
    assert!(talk.hear("INFO").contains("cluster_enabled:0"));
    talk.hear("QUIT");
    assert!(talk.conversation.is_over());
}

#[test]
fn inline_commands_and_partial_commands_are_parsed() {
    let mut talk = TestSession::with("");
    let mut hear = |bytes: &[u8]| talk.conversation.hear(Nanos::ZERO, bytes, &mut talk.keyspace);
    assert_eq!(hear(b"PI"), Ok(None));
    let received = hear(b"PING\r\nPING\r\n").unwrap().unwrap();
    assert_eq!((received.length, &received.reply[..]), (6, &b"+PONG\r\n"[..]));
    assert_eq!(hear(b"*1\r\n$4\r\nPI"), Ok(None));
    assert_eq!(hear(b"*1\r\n$4\r\nPING\r\n").unwrap().unwrap().reply, b"+PONG\r\n");
    assert_eq!(
        hear(b"\r\n").unwrap().unwrap(),
        ParsedCommand { length: 2, reply: vec![], due: Nanos::ZERO }
    );
    assert!(hear(b"*x\r\n").is_err());
}

#[test]
fn replies_are_due_when_the_model_says_in_the_order_of_the_commands() {
    let mut talk = TestSession::with("nodes=1&latency=5ms&max=1000");
    let due = [1, 2, 3].map(|_| talk.say("GET k").due);
    assert_eq!(due, [6, 7, 8].map(Nanos::from_millis), "latency, then 1/1000 s for each");
    assert_eq!(talk.say("PING").due, Nanos::from_millis(8), "no reply overtakes another");
    talk.now = Nanos::from_millis(20);
    assert_eq!(talk.say("PING").due, Nanos::from_millis(20));
}

#[test]
fn refusals_are_errors_that_clients_know() {
    assert!(TestSession::with("refused=1").hear("GET k").starts_with("error BUSY"));
    assert!(TestSession::with("dirty=1").hear("SET k v").starts_with("error TRYAGAIN"));
    assert!(
        TestSession::with("down=primary:0..1s").hear("SET k v").starts_with("error MASTERDOWN")
    );
    assert_eq!(TestSession::with("silent=1").say("GET k").due, Nanos::NEVER);
}

#[test]
fn refusals_wait_like_answers() {
    let due = |query: &str, said: &str| TestSession::with(query).say(said).due;
    let late = Nanos::from_millis(200);
    assert_eq!(due("latency=200ms&refused=1", "GET k"), late);
    assert_eq!(due("latency=200ms&refused=1", "MGET a b"), late);
    assert_eq!(due("latency=200ms&dirty=1", "HSET k f v"), late);
    assert_eq!(due("latency=200ms&refused=1", "ZADD z 1 m"), late);
    assert_eq!(due("latency=200ms", "GET"), Nanos::ZERO, "no request was sent");
    assert_eq!(due("silent=1&dirty=1", "SET k v"), Nanos::NEVER);
}

#[test]
fn a_silent_refusal_is_never_answered() {
    let mut talk = TestSession::with("silent=1&dirty=1");
    for number in 0..40 {
        talk.conversation = Conversation::new(number);
        assert_eq!(talk.say("SET k v").due, Nanos::NEVER);
    }
}

#[test]
fn a_write_that_was_refused_leaves_the_sorted_set() {
    for said in ["SET z v", "MSET a 1 z 2"] {
        let mut talk = TestSession::with("dirty=1");
        talk.hear("ZADD z 1 m");
        assert!(talk.hear(said).starts_with("error TRYAGAIN"));
        assert_eq!(talk.hear("ZRANGE z 0 -1"), "[m]", "{said}");
    }
    let mut talk = TestSession::with("lost=1");
    talk.hear("ZADD z 1 m");
    assert_eq!(talk.hear("SET z v") + &talk.hear("ZCARD z"), "OK1", "it was never done");
    check(&[("ZADD z 1 m", "1"), ("SET z v", "OK"), ("GET z", "v"), ("TYPE z", "string")]);
}

#[test]
fn commands_about_any_key_wait_for_sorted_sets_too() {
    let mut talk = TestSession::with("latency=5ms");
    talk.say("ZADD z 1 m");
    for (at, said) in [(10, "EXISTS z"), (20, "DEL z")] {
        talk.now = Nanos::from_millis(at);
        assert_eq!(talk.say(said).due, Nanos::from_millis(at + 5), "{said}");
    }
    let mut talk = TestSession::with("refused=1:10s..20s");
    talk.hear("ZADD z 1 m");
    talk.now = Nanos::from_secs(15);
    assert!(talk.hear("DEL z").starts_with("error BUSY"));
    talk.now = Nanos::from_secs(25);
    assert_eq!(talk.hear("EXISTS z"), "1");
}

#[test]
fn a_reply_is_bounded_whatever_a_command_names() {
    let mut talk = TestSession::with("");
    let long = "x".repeat(1 << 20);
    talk.hear(&format!("SET k {long}"));
    talk.hear(&format!("HSET h f {long}"));
    talk.hear(&format!("ZADD z 1 {long}"));
    let many = |name: &str, word: &str, count| name.to_owned() + &format!(" {word}").repeat(count);
    for said in [many("MGET", "k", 65), many("HMGET h", "f", 65)] {
        let received = talk.say(&said);
        assert!(received.reply.starts_with(b"-ERR the reply would be longer"));
        assert!(received.reply.capacity() < 1 << 10, "what came to nothing is not kept");
    }
    assert!(talk.say(&many("MGET", "k", 63)).reply.len() > 63 << 20);
}

#[test]
fn many_fields_take_no_longer_than_their_number() {
    let mut talk = TestSession::with("");
    let fields = |count: usize, first: usize| {
        (first..first + count)
            .fold("HSET h".to_owned(), |said, field| said + &format!(" {field} v"))
    };
    for first in 0..3 {
        assert_eq!(talk.hear(&fields(MOST, first * MOST)), "10000");
    }
    assert_eq!(talk.hear(&fields(MOST, 0)), "0");
    let error = "error ERR a command here names at most 10000 fields: use several commands";
    assert_eq!(talk.hear(&fields(MOST + 1, 0)), error);
    assert_eq!(talk.hear(&("HMGET h".to_owned() + &" 1".repeat(MOST + 1))), error);
    assert_eq!(talk.hear("HMGET h 0 29999 30000"), "[v v null]");
}

#[test]
fn sorted_sets_count_among_the_bytes() {
    let mut talk = TestSession::with("bytes=5000");
    let full = "error OOM command not allowed: the simulated store may hold no more";
    let received: Vec<String> = (0..100).map(|n| talk.hear(&format!("ZADD z{n} {n} m"))).collect();
    assert_eq!((&received[0][..], &received[99][..]), ("1", full));
    assert_eq!(talk.hear("SET k v"), full);
    assert_eq!(talk.hear("ZREM z0 m") + &talk.hear("DEL z1 z2 z3 z4"), "14");
    assert_eq!(talk.hear("SET k v"), "OK");
    talk.hear("FLUSHALL");
    for number in 0..1_000 {
        assert_eq!(talk.hear(&format!("ZADD z {number} m")), if number == 0 { "1" } else { "0" });
    }
}

/// Fields that a command may name.
const MOST: usize = 10_000;

#[test]
fn a_simulated_store_is_healthy_until_it_quiesces() {
    let config = presets::find("hickup1000_max110").unwrap();
    let keyspace = Keyspace::to_be_loaded(config, Seed(1)).unwrap();
    let mut talk = TestSession { keyspace, conversation: Conversation::new(0), now: Nanos::ZERO };
    assert_eq!(talk.say("HSET h f 1").due, Nanos::ZERO);
    assert_eq!(talk.hear("SICK SETTLE"), "OK");
    assert!(talk.say("HGETALL h").due > Nanos::from_millis(9));
}

/// Whatever comes, the answer is a reply or a refusal to go on, never a panic.
#[test]
fn nothing_that_a_client_says_breaks_the_server() {
    let words = [
        "GET",
        "SET",
        "HSET",
        "HMSET",
        "HGETALL",
        "HMGET",
        "MSET",
        "MGET",
        "DEL",
        "ZADD",
        "ZRANGE",
        "ZRANGEBYSCORE",
        "ZREMRANGEBYRANK",
        "ZREM",
        "TYPE",
        "EXISTS",
        "CLIENT",
        "CONFIG",
        "HELLO",
        "COMMAND",
        "SICK",
        "k",
        "h",
        "z",
        "f",
        "1",
        "-1",
        "(5",
        "LIMIT",
        "GET\r\nX",
        "3",
        "nan",
        "-9223372036854775808",
        "9223372036854775807",
        "",
    ];
    for seed in 0..2_000 {
        let mut draws = Seed(seed).draws(96, 0);
        let mut talk = TestSession::with("torn=20%&duplicate=20%:for:1ms&silent=5%");
        for number in 0..12 {
            talk.now = Nanos::from_millis(number);
            let count = 1 + draws.below(7);
            let mut said = Vec::new();
            for _ in 0..count {
                said.push(words[draws.below(words.len() as u64) as usize]);
            }
            talk.hear(&said.join(" "));
            let mut noise: Vec<u8> = (0..draws.below(20)).map(|_| draws.below(256) as u8).collect();
            noise.insert(0, b'*');
            let mut other = Conversation::new(1);
            let _ = other.hear(talk.now, &noise, &mut talk.keyspace);
        }
    }
}
