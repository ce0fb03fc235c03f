//! The truth log as CSV.

use std::fmt::Write as _;

use crate::redis::Keyspace;
use assay_model::Nanos;
use assay_store::truth::Truth;

const HEAD: &str = "at_ns,answered_at_ns,session,kind,key,node,faults,version,versions_behind,\
                    staleness_ns,read_after_write_ns\n";

/// One line per request, in their order. What is never answered has no time of answer.
pub fn table(keyspace: &Keyspace) -> String {
    let nodes = &keyspace.world().config().nodes;
    let mut text = HEAD.to_owned();
    for truth in keyspace.world().log().entries() {
        let node = nodes.get(usize::from(truth.node)).map_or("", |node| &node.name);
        line(truth, node, &mut text);
    }
    text
}

fn line(truth: &Truth, node: &str, text: &mut String) {
    let answered = match truth.answered_at {
        Nanos::NEVER => String::new(),
        at => at.0.to_string(),
    };
    let read_after_write = truth.read_after_write.map_or(String::new(), |lag| lag.0.to_string());
    let Truth { at, session, kind, version, versions_behind, staleness, .. } = truth;
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "{},{answered},{session},{},{},{},{},{version},{versions_behind},{},{read_after_write}",
        at.0,
        kind.name(),
        quoted(&String::from_utf8_lossy(&truth.key)),
        quoted(node),
        truth.faults,
        staleness.0,
    );
}

/// A cell as RFC 4180 has it.
fn quoted(cell: &str) -> String {
    match cell.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use assay_model::Kind;
    use assay_store::truth::Fault;

    use super::*;

    #[test]
    fn a_line_has_what_really_happened() {
        let truth = Truth {
            at: Nanos(5),
            answered_at: Nanos::NEVER,
            session: 3,
            kind: Kind::Read,
            key: b"a,\"b\""[..].into(),
            node: 1,
            faults: Fault::Stale.into(),
            version: 7,
            versions_behind: 2,
            staleness: Nanos(4),
            read_after_write: None,
        };
        let mut text = String::new();
        line(&truth, "secondary1", &mut text);
        assert_eq!(text, "5,,3,read,\"a,\"\"b\"\"\",secondary1,stale,7,2,4,\n");
        assert_eq!(HEAD.split(',').count(), 11);
    }
}
