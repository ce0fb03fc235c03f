//! The suite is tested on stores with one known fault each: it must find exactly that.

use std::time::Duration;

use assay_model::{Nanos, Reason, Setting};

use super::ledger::{Flaw, Ledger};
use super::*;
use crate::answer::{Answer, Answers, Reply, Rows};
use crate::capabilities::Capabilities;
use crate::memory::Memory;
use crate::request::{Request, Ticket, Values};
use crate::seam::Client;

/// What is wrong with an otherwise healthy memory store.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    AnswersTwice,
    NeverAnswers,
    ForgetsInserts,
    FindsEverything,
    LosesOtherFields,
    IgnoresLimit,
    ClearsNothing,
    ShowsUpdatesOfMissing,
    CutsAtZero,
    RefusesUpdates,
    RefusesMuch,
    KeepsWhatItRefuses,
    TellsOneVersion,
}

struct Faulty {
    memory: Memory,
    fault: Fault,
}

struct FaultyClient {
    inner: Box<dyn Client>,
    fault: Fault,
}

impl Store for Faulty {
    fn capabilities(&self) -> Capabilities {
        self.memory.capabilities()
    }

    fn prepare(&self, layout: &Layout) -> Result<(), OpenError> {
        self.memory.prepare(layout)
    }

    fn open(&self, worker: usize) -> Result<Box<dyn Client>, OpenError> {
        Ok(Box::new(FaultyClient { inner: self.memory.open(worker)?, fault: self.fault }))
    }

    fn tells_versions(&self) -> bool {
        self.fault == Fault::TellsOneVersion
    }

    fn settings(&self) -> Result<Vec<Setting>, OpenError> {
        self.memory.settings()
    }

    fn clear(&self) -> Result<(), OpenError> {
        if self.fault == Fault::ClearsNothing { Ok(()) } else { self.memory.clear() }
    }
}

fn is_large(requested: &Request<'_>) -> bool {
    requested.values.iter().any(|(_, value)| value.len() > 100_000)
}

/// Hears no answer.
struct Deaf;

impl Answers for Deaf {
    fn answer(&mut self, _ticket: Ticket, _answer: Answer<'_>) {}
}

impl Client for FaultyClient {
    fn start(
        &mut self,
        now: Nanos,
        ticket: Ticket,
        requested: &Request<'_>,
        answers: &mut dyn Answers,
    ) {
        let mut request = *requested;
        let mut spans = Vec::new();
        let mut bytes = Vec::new();
        match (self.fault, requested.kind) {
            (Fault::NeverAnswers, _) => return,
            (Fault::ForgetsInserts, Kind::Insert)
            | (Fault::ShowsUpdatesOfMissing, Kind::Update) => {
                return answers.answer(ticket, Answer::Done(Reply::WRITTEN));
            }
            (Fault::RefusesUpdates, Kind::Update) => {
                return answers.answer(ticket, Answer::Refused(Reason::Unsupported));
            }
            (Fault::RefusesMuch, Kind::Insert) if is_large(requested) => {
                return answers.answer(ticket, Answer::Refused(Reason::Full));
            }
            (Fault::KeepsWhatItRefuses, Kind::Insert) if is_large(requested) => {
                self.inner.start(now, ticket, &request, &mut Deaf);
                return answers.answer(ticket, Answer::Refused(Reason::Full));
            }
            (Fault::FindsEverything, Kind::Read) => {
                let found = Reply { found: true, rows: Rows::NONE };
                answers.answer(ticket, Answer::Done(found));
                return;
            }
            (Fault::TellsOneVersion, _) => answers.version(ticket, 7),
            (Fault::LosesOtherFields, Kind::Update) => request.kind = Kind::Insert,
            (Fault::IgnoresLimit, Kind::Scan) => request.limit = 1_000,
            (Fault::CutsAtZero, Kind::Insert) => {
                for (field, value) in requested.values.iter() {
                    let text = value.split(|&byte| byte == 0).next().unwrap();
                    spans.push((field, bytes.len() as u32..(bytes.len() + text.len()) as u32));
                    bytes.extend_from_slice(text);
                }
                request.values = Values::new(&spans, &bytes);
            }
            _ => {}
        }
        self.inner.start(now, ticket, &request, answers);
        if self.fault == Fault::AnswersTwice {
            answers.answer(ticket, Answer::Done(Reply::MISSING));
        }
    }

    fn poll(&mut self, now: Nanos, answers: &mut dyn Answers) {
        self.inner.poll(now, answers);
    }

    /// Nothing ever comes from elsewhere, so waiting would only take time.
    fn wait(&mut self, _timeout: Duration) {}
}

/// The rules that a store with `fault` is found to break.
fn broken(fault: Fault) -> Vec<&'static str> {
    let store = Faulty { memory: Memory::new(), fault };
    check(&store).iter().map(|finding| finding.rule).collect()
}

#[test]
fn a_healthy_store_breaks_no_rule() {
    assert_eq!(broken(Fault::None), Vec::<&str>::new());
}

#[test]
fn each_fault_is_found_by_the_rule_about_it() {
    for (fault, rule) in [
        (Fault::AnswersTwice, "every started ticket is answered exactly once"),
        (Fault::NeverAnswers, "every started ticket is answered exactly once"),
        (Fault::ForgetsInserts, "an inserted record is read back whole"),
        (Fault::FindsEverything, "a missing record is done with found = false"),
        (Fault::LosesOtherFields, "an update keeps the fields that it does not name"),
        (Fault::IgnoresLimit, "a scan returns no more than its limit"),
        (Fault::ClearsNothing, "clearing removes every record"),
        (Fault::ShowsUpdatesOfMissing, "an update of a missing record does what its answer says"),
        (Fault::CutsAtZero, "a value of any bytes comes back unchanged"),
        (Fault::RefusesUpdates, "every declared kind is answered"),
        (Fault::TellsOneVersion, "a version that is told is of the last write, and grows"),
    ] {
        assert!(broken(fault).contains(&rule), "{rule}: only {:?}", broken(fault));
    }
}

/// The rules that transactions with `flaw` are found to break.
fn broken_with(flaw: Flaw) -> Vec<&'static str> {
    let store = Ledger::new(4).with(flaw);
    check(&store).iter().map(|finding| finding.rule).collect()
}

#[test]
fn a_ledger_breaks_no_rule_and_is_checked_for_transactions() {
    assert_eq!(broken_with(Flaw::None), Vec::<&str>::new());
    let held = |store: &dyn Store| {
        let is_held = |ruling: &Ruling| ruling.verdict == Verdict::Held;
        let names = |ruling: &Ruling| ruling.rule.contains("transaction");
        survey(store).iter().filter(|ruling| is_held(ruling) && names(ruling)).count()
    };
    assert_eq!(held(&Ledger::new(4)), 10);
    assert_eq!(held(&Memory::new()), 0);
}

#[test]
fn each_flaw_of_transactions_is_found_by_the_rule_about_it() {
    for (flaw, rule) in [
        (Flaw::ForgetsCommits, "writes of a transaction of requests are there after the commit"),
        (Flaw::KeepsRollbacks, "writes of a transaction of requests are gone after the rollback"),
        (Flaw::ReadsPast, "a read within a transaction sees what it wrote itself"),
        (Flaw::ScansPast, "a scan within a transaction sees what it wrote itself"),
        (Flaw::KeepsWhatIsLeft, "an abandoned transaction is rolled back"),
        (Flaw::OutlivesFailures, "a failed request rolls its transaction back"),
        (Flaw::CarriesOn, "a new transaction is independent of an unfinished one"),
        (Flaw::CommitsNothing, "a commit without a transaction is refused"),
        (Flaw::ShowsDrafts, "writes of a transaction are invisible until it is committed"),
        (Flaw::KeepsWhatIsAbandoned, "an abandoned request rolls its transaction back"),
        (Flaw::LosesUpdates, "of two that read a record before they write it, one commits at most"),
    ] {
        let broken = broken_with(flaw);
        assert!(broken.contains(&rule), "{rule}: only {broken:?}");
    }
}

#[test]
fn a_finding_says_what_was_sent_what_came_what_should_have_come() {
    let store = Faulty { memory: Memory::new(), fault: Fault::LosesOtherFields };
    let finding = check(&store)
        .into_iter()
        .find(|finding| finding.rule == "an update keeps the fields that it does not name")
        .unwrap();
    assert_eq!(
        finding.to_string(),
        "an update keeps the fields that it does not name; but read of \"k\" gave done, \
         found = true, 1 rows [ \"field1\"=\"BB\" ] instead of done, found = true, 1 rows \
         [ \"field0\"=\"a\" \"field1\"=\"BB\" \"field2\"=\"ccc\" ]"
    );
}

#[test]
fn a_mark_is_found_where_it_was_left_alone() {
    let memory = Memory::new();
    leave_mark(&memory).unwrap();
    find_mark(&memory).unwrap();
    assert!(find_mark(&Memory::new()).is_err());
}

#[test]
fn a_declared_limit_is_no_violation() {
    let verdict = |fault| {
        let store = Faulty { memory: Memory::new(), fault };
        let large = "a value of one MiB comes back unchanged";
        survey(&store).into_iter().find(|ruling| ruling.rule == large).map(|found| found.verdict)
    };
    assert_eq!(verdict(Fault::None), Some(Verdict::Held));
    let refused = verdict(Fault::RefusesMuch);
    assert!(matches!(refused, Some(Verdict::Refused(_))), "{refused:?}");
    let Some(Verdict::Violated(instead)) = verdict(Fault::KeepsWhatItRefuses) else {
        panic!("what is refused must not be there");
    };
    assert!(instead.contains("gave refused (full), and left done, found = true"), "{instead}");
}
