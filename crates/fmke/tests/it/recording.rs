//! The recorded requests of a live server of FMKe, and its answers, byte by byte.

use std::path::PathBuf;

use assay_fmke::{AnswerStyle, ServerLimits};
use assay_workload::script::fmke::FmkeLayout;

use crate::served::Served;

/// Names the recording, which lies beside the checkout.
const VARIABLE: &str = "ASSAY_FMKE_RECORDING";

/// What follows is of another driver and layout: only some of its answers were kept.
const NEXT: &str = "# The same requests";

#[test]
fn a_recorded_server_is_answered_for_byte_by_byte() {
    let Some(path) = std::env::var_os(VARIABLE).map(PathBuf::from) else {
        println!("NOT RUN: {VARIABLE} names no recording");
        return;
    };
    let text = std::fs::read_to_string(path).unwrap();
    let text = text.split(NEXT).next().unwrap();
    let served =
        Served::memory(FmkeLayout::Normalised, AnswerStyle::Antidote, ServerLimits::default());
    let mut caller = served.caller();
    let mut lines = text.lines().filter(|line| !line.starts_with('#')).peekable();
    let mut requests = 0;
    while let Some(request) = lines.next() {
        if request.is_empty() {
            continue;
        }
        requests += 1;
        let mut expected: Vec<&str> = Vec::new();
        expected.extend(lines.by_ref().take_while(|line| !line.is_empty()));
        let has_body = !expected.contains(&"content-length: 0");
        let body = if has_body { lines.next().unwrap_or_default() } else { "" };
        let mut words = request.splitn(3, ' ');
        let mut word = || words.next().unwrap_or_default();
        let (method, path, sent) = (word(), word(), word());
        let answered = caller.call(method, path, sent);
        assert!(answered.is_dated, "{request}");
        let mut observed = vec![answered.line.clone()];
        observed.extend(answered.headers.iter().map(|(name, value)| format!("{name}: {value}")));
        if path == "/" {
            // It tells of other connections to another store.
            assert_eq!(answered.status(), 200);
            continue;
        }
        assert_eq!((observed, answered.body.as_str()), (owned(&expected), body), "{request}");
    }
    assert_eq!(requests, 44);
}

fn owned(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|line| (*line).to_owned()).collect()
}
