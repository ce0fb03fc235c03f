//! Time to find one reply in a buffer, printed as `bench <name> <size> <value> <unit>`.

use std::hint::black_box;
use std::time::Instant;

use assay_store::resp::{Limits, Parser, Protocol, write};

/// Replies per buffer: as many as one read of a busy connection brings.
const REPLIES: usize = 256;
const ROUNDS: usize = 400;
const RUNS: usize = 9;

fn main() {
    for bytes in [10, 100, 1000] {
        let value = vec![b'v'; bytes];
        let nanos = measure(|out| write::bulk(&value, out));
        println!("bench resp.parse.get {bytes} {nanos:.1} ns");
    }
    for fields in [1, 10, 100] {
        let nanos = measure(|out| hash(Protocol::Resp3, fields, out));
        println!("bench resp.parse.hgetall {fields} {nanos:.1} ns");
    }
    let nanos = measure(|out| hash(Protocol::Resp2, 10, out));
    println!("bench resp.parse.hgetall-resp2 10 {nanos:.1} ns");
    for bytes in [10, 100, 1000] {
        println!("bench resp.write.hset {bytes} {:.1} ns", measure_writing(bytes));
    }
}

fn hash(protocol: Protocol, fields: usize, out: &mut Vec<u8>) {
    write::map(protocol, fields, out);
    for field in 0..fields {
        write::bulk(format!("field{field}").as_bytes(), out);
        write::bulk(&[b'v'; 100], out);
    }
}

/// The median over [`RUNS`] of the nanoseconds per reply.
fn measure(reply: impl Fn(&mut Vec<u8>)) -> f64 {
    let mut bytes = Vec::new();
    for _ in 0..REPLIES {
        reply(&mut bytes);
    }
    let mut parser = Parser::new(Limits::REPLY);
    median(|| {
        let start = Instant::now();
        for _ in 0..ROUNDS {
            parse_all(&mut parser, black_box(&bytes));
        }
        start.elapsed().as_nanos() as f64 / (ROUNDS * REPLIES) as f64
    })
}

fn parse_all(parser: &mut Parser, mut bytes: &[u8]) {
    let mut replies = 0;
    while let Some(length) = parser.parse(bytes).expect("the writer writes frames") {
        black_box(parser.tokens());
        bytes = &bytes[length..];
        replies += 1;
    }
    assert_eq!(replies, REPLIES);
}

fn measure_writing(bytes: usize) -> f64 {
    let value = vec![b'v'; bytes];
    let mut out = Vec::new();
    median(|| {
        let start = Instant::now();
        for _ in 0..ROUNDS {
            out.clear();
            for _ in 0..REPLIES {
                let words: [&[u8]; 4] = [b"HSET", b"user6284781860667377211", b"field0", &value];
                write::command(black_box(&words), &mut out);
            }
            black_box(&out);
        }
        start.elapsed().as_nanos() as f64 / (ROUNDS * REPLIES) as f64
    })
}

fn median(mut run: impl FnMut() -> f64) -> f64 {
    let mut runs: Vec<f64> = (0..RUNS).map(|_| run()).collect();
    runs.sort_by(f64::total_cmp);
    runs[RUNS / 2]
}
