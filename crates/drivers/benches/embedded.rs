//! Cost of the seam for a store in this process: the same calls bare, then through a client.
//!
//! Prints `bench <name> <size> <value> <unit>`, where size is the number of records of ten fields
//! of 100 bytes. A ratio above 0.9 is the bar of the design. Keys are drawn uniformly, which is
//! harder on caches than YCSB's zipfian; rounds of the two sides alternate, and medians are shown.
//!
//! `cargo bench -p assay-drivers --bench embedded [-- SIZE…]` for the bars;
//! `… --features redb -- compare` for the table that chose the default store.

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use assay_drivers::registry;
use assay_model::{Fields, Kind, Layout, Nanos, Seed, Table};
use assay_store::blocking::BlockingThreads;
use assay_store::memory::Memory;
use assay_store::null::Null;
use assay_store::{Answer, Answers, Client, Request, Store, Ticket, Values, row};

const FIELDS: u16 = 10;
const VALUE_BYTES: u32 = 100;
const ROUNDS: usize = 9;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    if words.iter().any(|word| word == "compare") {
        return compare();
    }
    let mut sizes: Vec<u64> = words.iter().filter_map(|word| word.parse().ok()).collect();
    if sizes.is_empty() {
        sizes = vec![10_000, 100_000, 1_000_000];
    }
    for size in sizes {
        null(size);
        memory(size);
        blocking_threads(size);
        #[cfg(feature = "fjall")]
        fjall_bare_and_through_the_seam(size);
    }
}

fn print(name: &str, size: u64, value: f64, unit: &str) {
    println!("bench {name} {size} {value:.3} {unit}");
}

/// The bytes that every operation writes, as values for the seam and as a row for the bare loop.
struct Content {
    names: Vec<String>,
    spans: Vec<(u16, std::ops::Range<u32>)>,
    bytes: Vec<u8>,
    row: Vec<u8>,
}

impl Content {
    fn new() -> Content {
        let names: Vec<String> = (0..FIELDS).map(|field| format!("field{field}")).collect();
        let mut draws = Seed(1).draws(1, 1);
        let bytes: Vec<u8> =
            (0..u32::from(FIELDS) * VALUE_BYTES).map(|_| b' ' + draws.below(95) as u8).collect();
        let spans: Vec<_> = (0..FIELDS)
            .map(|field| {
                let begin = u32::from(field) * VALUE_BYTES;
                (field, begin..begin + VALUE_BYTES)
            })
            .collect();
        let mut row = Vec::new();
        row::make(&Values::new(&spans, &bytes), &names, &mut row).expect("ten fields have names");
        Content { names, spans, bytes, row }
    }

    fn layout(&self, records: u64) -> Layout {
        let table =
            Table { name: "usertable".into(), fields: self.names.clone(), needs_key_order: false };
        Layout { tables: vec![table], records }
    }

    fn all(&self) -> Values<'_> {
        Values::new(&self.spans, &self.bytes)
    }

    fn one(&self, field: usize) -> Values<'_> {
        Values::new(&self.spans[field..=field], &self.bytes)
    }
}

fn key(number: u64, into: &mut Vec<u8>) {
    use std::io::Write;
    into.clear();
    write!(into, "user{}", assay_model::seed::mix(number)).expect("a vector takes everything");
}

/// Counts answers, and looks at one byte of the first field so that a read is a read.
#[derive(Default)]
struct Sink {
    found: u64,
    missing: u64,
    bytes: u64,
}

impl Answers for Sink {
    fn answer(&mut self, _ticket: Ticket, answer: Answer<'_>) {
        let Answer::Done(reply) = answer else { panic!("{answer:?}") };
        if reply.found {
            self.found += 1
        } else {
            self.missing += 1
        }
        let assay_store::Rows::Encoded(bytes) = reply.rows else { return };
        self.bytes += u64::from(bytes.last().copied().unwrap_or_default());
    }
}

fn send(client: &mut dyn Client, sink: &mut Sink, kind: Kind, key: &[u8], values: Values<'_>) {
    let ticket = Ticket(sink.found + sink.missing);
    let (fields, limit) = (Fields::All, 1);
    let request = Request { fields, limit, values, ..Request::new(kind, key) };
    client.start(Nanos::ZERO, ticket, &request, sink);
}

fn load(store: &dyn Store, content: &Content, records: u64) -> f64 {
    store.prepare(&content.layout(records)).expect("the store is prepared");
    let mut client = store.open(0).expect("the store is opened");
    let mut sink = Sink::default();
    let mut text = Vec::new();
    rate(records, |number| {
        key(number, &mut text);
        send(&mut *client, &mut sink, Kind::Insert, &text, content.all());
    })
}

/// Operations per second of `count` calls of `operation`.
fn rate(count: u64, mut operation: impl FnMut(u64)) -> f64 {
    let begin = Instant::now();
    for number in 0..count {
        operation(number);
    }
    count as f64 / begin.elapsed().as_secs_f64()
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

/// The median rate of `kind` on `store` with uniform keys, one client.
fn through_the_seam(store: &dyn Store, content: &Content, size: u64, kind: Kind) -> f64 {
    let mut client = store.open(0).expect("the store is opened");
    let mut sink = Sink::default();
    let mut text = Vec::new();
    let rates = (0..ROUNDS).map(|round| {
        let mut draws = Seed(2).draws(round as u64, 0);
        rate(400_000, |_| {
            key(draws.below(size), &mut text);
            let values = if kind == Kind::Read { Values::NONE } else { content.one(3) };
            send(&mut *client, &mut sink, kind, &text, values);
        })
    });
    let rate = median(rates.collect());
    assert_eq!(sink.missing, 0);
    black_box(sink.bytes);
    rate
}

fn null(size: u64) {
    let null = Null::new();
    let mut client = null.open(0).expect("null opens");
    let client = black_box(&mut *client);
    let mut sink = Sink::default();
    let request = Request::new(Kind::Read, b"k");
    let rates = (0..ROUNDS).map(|_| {
        rate(20_000_000, |number| {
            client.start(Nanos(number), Ticket(number), black_box(&request), &mut sink);
        })
    });
    print("null-request", size, 1e9 / median(rates.collect()), "ns");
    black_box(sink.found);
}

fn memory(size: u64) {
    let content = Content::new();
    let memory = Memory::new();
    print("memory-insert", size, load(&memory, &content, size) / 1e6, "M/s");
    for (name, kind) in [("memory-read", Kind::Read), ("memory-update", Kind::Update)] {
        let rate = through_the_seam(&memory, &content, size, kind);
        print(name, size, rate / 1e6, "M/s");
    }
}

/// What it costs to have another thread make the call: one request at a time, there and back.
fn blocking_threads(size: u64) {
    let content = Content::new();
    let store = BlockingThreads::new(std::sync::Arc::new(Memory::new()), 1);
    let records = size.min(10_000);
    store.prepare(&content.layout(records)).expect("the store is prepared");
    let mut client = store.open(0).expect("the store is opened");
    let mut sink = Sink::default();
    let mut text = Vec::new();
    let rate = rate(records, |number| {
        key(number, &mut text);
        send(&mut *client, &mut sink, Kind::Insert, &text, content.all());
        while sink.found <= number {
            client.wait(Duration::from_secs(1));
            client.poll(Nanos::ZERO, &mut sink);
        }
    });
    print("blocking-threads-round-trip", size, 1e6 / rate, "us");
}

fn open(url: &str) -> std::sync::Arc<dyn Store> {
    let options = registry::Options {
        clock: || 0,
        seed: assay_model::Seed(1),
        surroundings: registry::Surroundings::NONE,
    };
    registry::open(url, &options).expect("the store opens")
}

/// Reads, then overwrites of whole records: bare, then through a client, in turns. Both sides begin
/// with the same files: trees that grew apart differ by more than what the seam costs.
#[cfg(feature = "fjall")]
fn fjall_bare_and_through_the_seam(size: u64) {
    let content = Content::new();
    let place = tempfile::tempdir().expect("a directory can be made");
    let [ours, bare] = ["seam", "bare"].map(|name| place.path().join(name));
    let url = format!("fjall:{}", ours.display());
    let store = open(&url);
    print("fjall-insert", size, load(&*store, &content, size) / 1e3, "k/s");
    store.flush().expect("the store flushes");
    drop(store);
    copy(&ours, &bare);
    let store = open(&url);
    store.prepare(&content.layout(size)).expect("the store is prepared");
    let opened = fjall::Database::builder(bare).cache_size(256 << 20).open();
    let database = opened.expect("fjall opens");
    let keyspace = database
        .keyspace("usertable", fjall::KeyspaceCreateOptions::default)
        .expect("the keyspace is there");
    let mut client = store.open(0).expect("the store is opened");
    let bare = |kind, key: &[u8]| {
        if kind == Kind::Read {
            let row = keyspace.get(key).expect("fjall reads").expect("it is there");
            black_box(row.last());
        } else {
            keyspace.insert(key, &content.row).expect("fjall writes");
        }
    };
    let mut sink = Sink::default();
    let mut seam = |kind, key: &[u8]| {
        let values = if kind == Kind::Read { Values::NONE } else { content.all() };
        send(&mut *client, &mut sink, kind, key, values);
    };
    for (name, kind, count) in [("get", Kind::Read, 600_000), ("put", Kind::Insert, 300_000)] {
        let ([bare, seam], ratio) = in_turns(
            count,
            size,
            [&mut |key: &[u8]| bare(kind, key), &mut |key: &[u8]| seam(kind, key)],
        );
        print(&format!("fjall-{name}-bare"), size, bare / 1e3, "k/s");
        print(&format!("fjall-{name}-seam"), size, seam / 1e3, "k/s");
        print(&format!("fjall-{name}-ratio"), size, ratio, "of bare");
    }
    assert_eq!(sink.missing, 0);
}

/// Copies a directory with everything below.
#[cfg(feature = "fjall")]
fn copy(from: &Path, to: &Path) {
    if !from.is_dir() {
        std::fs::copy(from, to).expect("a file can be copied");
        return;
    }
    std::fs::create_dir(to).expect("a directory can be made");
    for entry in std::fs::read_dir(from).expect("the directory can be read") {
        let name = entry.expect("an entry").file_name();
        copy(&from.join(&name), &to.join(&name));
    }
}

#[cfg(feature = "fjall")]
type Side<'a> = &'a mut dyn FnMut(&[u8]);

/// The rates of two sides that take turns of a few hundred operations each, so that whatever else
/// the machine does falls on both; each side accesses the same keys. With them the rate of the
/// second to that of the first, the median of all turns: what a thread of the store's own does
/// now and then, for longer than a turn, meets one side only.
#[cfg(feature = "fjall")]
fn in_turns(count: u64, size: u64, sides: [Side<'_>; 2]) -> ([f64; 2], f64) {
    const TURN: u64 = 500;
    let mut spent = [0.0; 2];
    let mut ratios = Vec::new();
    let mut text = Vec::new();
    for turn in 0..count / TURN {
        let mut lasted = [0.0; 2];
        // Who goes first alternates too: the second finds the processor's caches filled.
        for place in [turn as usize % 2, (turn as usize + 1) % 2] {
            let mut draws = Seed(3).draws(turn, 0);
            let begin = Instant::now();
            for _ in 0..TURN {
                key(draws.below(size), &mut text);
                sides[place](&text);
            }
            lasted[place] = begin.elapsed().as_secs_f64();
            spent[place] += lasted[place];
        }
        ratios.push(lasted[0] / lasted[1]);
    }
    (spent.map(|spent| count as f64 / spent), median(ratios))
}

/// Load, YCSB A (half updates of one field), C (reads), for each store, durability, thread count.
fn compare() {
    const RECORDS: u64 = 100_000;
    for scheme in ["fjall", "redb"] {
        let durabilities = if scheme == "fjall" { ["process", "fsync"] } else { ["none", "fsync"] };
        for durability in durabilities {
            let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
            let path = place.path().join("store");
            let store = open(&format!("{scheme}:{}?durability={durability}", path.display()));
            let content = Content::new();
            let name = |what: &str| format!("{scheme}-{durability}-{what}");
            let records = if durability == "fsync" { RECORDS / 20 } else { RECORDS };
            print(&name("load"), records, load(&*store, &content, records), "ops/s");
            let flushing = Instant::now();
            store.flush().expect("the store flushes");
            print(&name("flush"), records, flushing.elapsed().as_secs_f64() * 1e3, "ms");
            for threads in [1, 4] {
                for (letter, updates) in [("a", 50), ("c", 0)] {
                    let (rate, p50, p99) = mixed(&*store, &content, records, threads, updates);
                    let what = name(&format!("{letter}-{threads}-threads"));
                    print(&what, records, rate, "ops/s");
                    print(&format!("{what}-p50"), records, p50, "us");
                    print(&format!("{what}-p99"), records, p99, "us");
                }
            }
            print(&name("disk"), records, disk_bytes(&path) as f64 / 1e6, "MB");
        }
    }
}

/// For three seconds, `threads` clients; gives operations per second, median and 99th percentile.
fn mixed(
    store: &dyn Store,
    content: &Content,
    records: u64,
    threads: usize,
    updates: u64,
) -> (f64, f64, f64) {
    let begin = Instant::now();
    let worker = |thread: usize| {
        let mut client = store.open(thread).expect("the store is opened");
        let mut sink = Sink::default();
        let mut text = Vec::new();
        let mut times = Vec::new();
        let mut draws = Seed(4).draws(thread as u64, 0);
        while begin.elapsed() < Duration::from_secs(3) {
            key(draws.below(records), &mut text);
            let is_update = draws.below(100) < updates;
            let kind = if is_update { Kind::Update } else { Kind::Read };
            let values = if is_update { content.one(5) } else { Values::NONE };
            let start = Instant::now();
            send(&mut *client, &mut sink, kind, &text, values);
            times.push(start.elapsed().as_nanos() as u64);
        }
        assert_eq!(sink.missing, 0);
        times
    };
    let mut times = Vec::new();
    std::thread::scope(|scope| {
        let workers: Vec<_> =
            (0..threads).map(|thread| scope.spawn(move || worker(thread))).collect();
        for worker in workers {
            times.extend(worker.join().expect("a worker ends"));
        }
    });
    let rate = times.len() as f64 / begin.elapsed().as_secs_f64();
    times.sort_unstable();
    let at = |share: f64| times[(times.len() as f64 * share) as usize] as f64 / 1e3;
    (rate, at(0.5), at(0.99))
}

fn disk_bytes(path: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let metadata = std::fs::metadata(path).expect("the store is there");
    let below: u64 = if metadata.is_dir() {
        let entries = std::fs::read_dir(path).expect("the directory can be read");
        entries.map(|entry| disk_bytes(&entry.expect("an entry").path())).sum()
    } else {
        0
    };
    metadata.blocks() * 512 + below
}
