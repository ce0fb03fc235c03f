//! Campaign against adya: histories judged before and after they went through us, and damaged ones.
//!
//! `cargo run --release --example differential_foreign -- HISTORIES DAMAGED`

use adya::sim::Isolation;
use adya::{History, Opts, Workload};
use assay_consistency::foreign::{ElleFormat, read_foreign_history, write_transactions};
use assay_model::{Draws, Seed};

const LEVELS: [Isolation; 5] = [
    Isolation::Serializable,
    Isolation::SnapshotIsolation,
    Isolation::ReadCommitted,
    Isolation::ReadUncommitted,
    Isolation::LostUpdate,
];

fn main() {
    let mut arguments = std::env::args().skip(1).map(|count| count.parse().expect("a count"));
    let histories = arguments.next().unwrap_or(1_000);
    let damaged = arguments.next().unwrap_or(10_000);
    let (mut differ, mut anomalous) = (0, 0);
    for seed in 0..histories {
        let (text, workload) = simulated(seed, 40);
        let before = judge(&text, workload);
        anomalous += u32::from(!before.1.is_empty());
        let history = read_foreign_history(text.as_bytes(), None, &mut |_| {}).expect("readable");
        for format in [ElleFormat::Edn, ElleFormat::JsonLines] {
            let mut out = Vec::new();
            write_transactions(&history.transactions, &[], format, &mut out)
                .expect("a vector takes it");
            let after = judge(&String::from_utf8(out).expect("UTF-8"), workload);
            if after != before {
                println!("seed {seed}, {format:?}: {before:?} became {after:?}");
                differ += 1;
            }
        }
    }
    println!("{histories} histories, {anomalous} with anomalies: {differ} verdicts differ");
    let readable = (0..damaged).filter(|seed| survives_damage(*seed)).count();
    println!("{damaged} damaged texts, {readable} still readable, no panic");
}

fn simulated(seed: u64, txns: usize) -> (String, Workload) {
    let (kind, workload) = if seed.is_multiple_of(2) {
        (adya::r#gen::Kind::ListAppend, Workload::ListAppend)
    } else {
        (adya::r#gen::Kind::RwRegister, Workload::RwRegister)
    };
    let text = adya::sim::run(&adya::sim::SimOpts {
        isolation: LEVELS[seed as usize % LEVELS.len()],
        txns,
        info_rate: 0.1,
        seed,
        r#gen: adya::r#gen::GenOpts { kind, ..adya::r#gen::GenOpts::default() },
        ..adya::sim::SimOpts::default()
    });
    (text, workload)
}

fn judge(text: &str, workload: Workload) -> (adya::Valid, Vec<String>) {
    let options = Opts { sequential_keys: true, ..Opts::default() };
    let history = History::parse(text).expect("adya reads it");
    let mut report = adya::check(&history, workload, &options);
    // Of equally long lists that contradict each other, adya takes the one whose elements it met
    // last for the order of versions: which cycles that makes depends on how elements are called.
    if report.anomaly_types.iter().any(|name| name == "incompatible-order") {
        report.anomaly_types.retain(|name| !name.starts_with('G') && name != "lost-update");
    }
    (report.valid, report.anomaly_types)
}

/// Whether a history with a few changed, lost, repeated or cut bytes can still be read.
fn survives_damage(seed: u64) -> bool {
    let mut draws = Seed(seed).draws(7, 0);
    let (json, _) = simulated(seed % 64, 6);
    let mut text = match seed % 4 {
        0 => json.into_bytes(),
        1 => b"w(0,1,0,0)\nw(1,2,0,0)\nr(0,1,1,1)\nr(1,0,1,-1)\n".to_vec(),
        2 => {
            br#"[[{"events":[{"Write":{"variable":0,"version":1}},["r",1,null]],"committed":true}],
             [{"success":false,"events":[{"write":true,"variable":4,"value":1,"success":true}]}]]"#
                .to_vec()
        }
        _ => br#"[{"ClientId":0,"Input":{"Op":1,"Key":"x","Value":"a"},"Call":1,"Return":5},
             {"ClientId":1,"Input":{"Op":2,"Arg1":1,"Arg2":2},"Call":6,"Output":{"Ok":false}}]"#
            .to_vec(),
    };
    if seed.is_multiple_of(8) {
        let history = read_foreign_history(&*text, None, &mut |_| {}).expect("readable");
        text.clear();
        write_transactions(&history.transactions, &[], ElleFormat::Edn, &mut text)
            .expect("a vector takes it");
    }
    for _ in 0..1 + draws.below(4) {
        damage(&mut text, &mut draws);
    }
    read_foreign_history(&*text, None, &mut |_| {}).is_ok()
}

fn damage(text: &mut Vec<u8>, draws: &mut Draws) {
    const BYTES: &[u8] = b"[](){}\"\\#_;:,-+.09wrnN \n\xff\x00";
    if text.is_empty() {
        return;
    }
    let at = draws.below(text.len() as u64) as usize;
    let byte = BYTES[draws.below(BYTES.len() as u64) as usize];
    match draws.below(5) {
        0 => text[at] = byte,
        1 => text.insert(at, byte),
        2 => text.truncate(at),
        3 => drop(text.drain(at..(at + 1 + draws.below(20) as usize).min(text.len()))),
        _ => {
            let again = text[at..(at + 1 + draws.below(80) as usize).min(text.len())].to_vec();
            text.extend(again);
        }
    }
}
