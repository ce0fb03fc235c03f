//! Records for tests, drawn from seeds.

use assay_model::{Ends, Kind, Nanos, Outcome, Phase, Reason, Record, Seed, Verified, version};

/// Records whose every field takes extreme and ordinary values.
pub fn wild(seed: u64, count: u64) -> Vec<Record> {
    (0..count).map(|index| wild_record(seed, index)).collect()
}

fn wild_record(seed: u64, index: u64) -> Record {
    let mut draws = Seed(seed).draws(1, index);
    let mut long = || match draws.below(4) {
        0 => draws.below(3),
        1 => u64::MAX - draws.below(3),
        2 => draws.below(1 << 40),
        _ => draws.bits(),
    };
    let codes = long();
    let code = |shift: u32, choices: usize| ((codes >> shift) % choices as u64) as u8;
    Record {
        index: long(),
        process: long(),
        key: long(),
        intended: Nanos(long()),
        started: Nanos(long()),
        ended: Nanos(long()),
        version_written: long(),
        version_read: long(),
        session: long() as u32,
        bytes: long() as u32,
        rows: long() as u32,
        verify_ns: long() as u32,
        statement: long() as u16,
        requests: long() as u16,
        transaction: long() as u16,
        transaction_type: long() as u16,
        node: long() as u8,
        ends: Ends::of(codes & 1 == 1, codes & 2 == 2),
        kind: Kind::from_code(code(3, Kind::ALL.len())).unwrap(),
        phase: Phase::from_code(code(7, Phase::ALL.len())).unwrap(),
        outcome: Outcome::from_code(code(11, Outcome::ALL.len())).unwrap(),
        found: codes >> 20 & 1 == 1,
        reason: Reason::from_code(code(23, Reason::ALL.len())).unwrap(),
        verified: Verified::from_code(code(31, Verified::ALL.len())).unwrap(),
    }
}

/// Records like those of YCSB A in open loop, from operation `start` on.
pub fn ycsb_a(start: u64, count: u64, keys: u64) -> Vec<Record> {
    let mut intended = start * 1000;
    (start..start + count)
        .map(|index| {
            let mut draws = Seed(11).draws(2, index);
            intended += (-1000.0 * (1.0 - draws.unit()).ln()) as u64;
            let started = intended + 300 + draws.below(400);
            let writes = draws.below(2) == 1;
            let key = draws.below(keys);
            Record {
                index,
                process: index,
                key,
                intended: Nanos(intended),
                started: Nanos(started),
                ended: Nanos(started + 20_000 + draws.below(5_000)),
                version_written: if writes { version::written(index) } else { version::NONE },
                version_read: if writes { version::NONE } else { version::loaded(key) },
                session: (index % 16) as u32,
                bytes: if writes { 100 } else { 1000 },
                rows: u32::from(!writes),
                ends: Ends::Both,
                kind: if writes { Kind::Update } else { Kind::Read },
                phase: Phase::Measure,
                found: true,
                ..Record::BLANK
            }
        })
        .collect()
}

/// An empty directory of this test's own, below the build directory.
#[cfg(test)]
pub fn tempdir(name: &str) -> std::path::PathBuf {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/history-tests");
    let dir = root.join(name);
    if dir.exists() {
        std::fs::remove_dir_all(&dir).unwrap();
    }
    std::fs::create_dir_all(&dir).unwrap();
    dir.canonicalize().unwrap()
}
