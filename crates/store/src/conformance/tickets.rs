//! Rules about tickets: every one answered once, whatever lies between.

use std::collections::HashMap;
use std::time::Duration;

use assay_model::{Kind, Reason};

use super::talk::{Got, TestRequest, TestSession};
use super::{Broken, Rule, always, ensure, expect, keeps, rule, whole};
use crate::request::Ticket;
use crate::seam::Store;

pub(super) const RULES: &[Rule] = &[
    rule(always, "every started ticket is answered exactly once", once_each),
    rule(always, "polling with nothing in flight delivers nothing", idle),
    rule(keeps, "sessions in one client do not get each other's answers", interleaved),
    rule(keeps, "abandoned tickets do not disturb the others", abandoned),
];

const MANY: u32 = 300;
const SESSIONS: u32 = 16;

fn once_each(store: &dyn Store) -> Result<(), Broken> {
    let mut talk = TestSession::open(store, 0)?;
    let mut open = Vec::new();
    for number in 0..MANY {
        let key = format!("k{}", number % 7);
        let test_request = if number % 3 == 0 {
            TestRequest::insert(key, &[b"a", b"b", b"c"])
        } else {
            TestRequest::read(key)
        };
        let ticket = talk.start(&test_request.in_session(number)).ok_or_else(never_ready)?;
        open.push(ticket);
    }
    for left in (0..MANY).rev() {
        let Some((ticket, got)) = talk.take() else {
            return Err(Broken::by(format!("{} tickets were never answered", left + 1)));
        };
        let place = open.iter().position(|&other| other == ticket);
        let place = place.ok_or_else(|| Broken::by(format!("{ticket:?} was answered twice")))?;
        open.swap_remove(place);
        // A store that keeps an existing record may refuse to insert it again.
        let is_right = matches!(got, Got::Done { .. } | Got::Refused(Reason::Exists));
        ensure(is_right, || format!("{ticket:?} gave {got}"))?;
    }
    idle_now(&mut talk)
}

/// Writes a whole record: as a new one the first time, later over what is there.
fn write(store: &dyn Store, key: String, values: &[&[u8]; 3], is_first: bool) -> TestRequest {
    if is_first || !store.capabilities().can(Kind::Update) {
        return TestRequest::insert(key, values);
    }
    let changes: Vec<(u16, &[u8])> = (0..).zip(*values).collect();
    TestRequest::update(key, &changes)
}

fn never_ready() -> Broken {
    Broken::by("the client was never ready for another request")
}

fn idle(store: &dyn Store) -> Result<(), Broken> {
    let mut talk = TestSession::open(store, 0)?;
    idle_now(&mut talk)?;
    let got = talk.send(&TestRequest::read("k"));
    ensure(matches!(got, Got::Done { .. }), || format!("a read after it gave {got}"))?;
    idle_now(&mut talk)
}

fn idle_now(talk: &mut TestSession) -> Result<(), Broken> {
    for _ in 0..20 {
        talk.wait(Duration::ZERO);
        let came = talk.poll();
        ensure(came == 0, || format!("{came} responses came although no request was sent"))?;
    }
    Ok(())
}

/// What a session wrote is what the same session reads, with all of them under way together.
fn interleaved(store: &dyn Store) -> Result<(), Broken> {
    let mut talk = TestSession::open(store, 0)?;
    let mut waiting: HashMap<Ticket, (u32, u32)> = HashMap::new();
    let step = |session: u32, step: u32| {
        let value = format!("session {session} step {}", step / 2);
        let key = format!("s{session}");
        let values: [&[u8]; 3] = [value.as_bytes(), b"b", b"c"];
        if step.is_multiple_of(2) {
            (write(store, key, &values, step == 0).in_session(session), Got::WRITTEN)
        } else {
            (TestRequest::read(key).in_session(session), whole(&values))
        }
    };
    const STEPS: u32 = 8;
    for session in 0..SESSIONS {
        let ticket = talk.start(&step(session, 0).0).ok_or_else(never_ready)?;
        waiting.insert(ticket, (session, 0));
    }
    while !waiting.is_empty() {
        let Some((ticket, got)) = talk.take() else {
            return Err(Broken::by(format!("{} tickets were never answered", waiting.len())));
        };
        let Some((session, place)) = waiting.remove(&ticket) else {
            return Err(Broken::by(format!("{ticket:?} was answered twice")));
        };
        let (test_request, expected) = step(session, place);
        ensure(got == expected, || format!("{test_request} gave {got} instead of {expected}"))?;
        if place + 1 < STEPS {
            let ticket = talk.start(&step(session, place + 1).0).ok_or_else(never_ready)?;
            waiting.insert(ticket, (session, place + 1));
        }
    }
    Ok(())
}

fn abandoned(store: &dyn Store) -> Result<(), Broken> {
    let mut talk = TestSession::open(store, 0)?;
    let mut given_up = HashMap::new();
    for number in 0..50 {
        // Another key: an abandoned write may take effect later than the requests after it.
        let test_request = TestRequest::insert("abandoned", &[b"a", b"b", b"c"]).in_session(1);
        let ticket = talk.start(&test_request).ok_or_else(never_ready)?;
        talk.abandon(ticket);
        given_up.insert(ticket, 0);
        let value = format!("kept {number}");
        let kept: [&[u8]; 3] = [value.as_bytes(), b"b", b"c"];
        let write = write(store, "k".into(), &kept, number == 0);
        write_then_read(&mut talk, write, &kept, &mut given_up)?;
    }
    expect(&mut talk, &TestRequest::read("k").in_session(1), whole(&[b"kept 49", b"b", b"c"]))
}

/// Writes and reads record `k` in the session of the abandoned writes, whose answers may come.
fn write_then_read(
    talk: &mut TestSession,
    write: TestRequest,
    values: &[&[u8]; 3],
    given_up: &mut HashMap<Ticket, u32>,
) -> Result<(), Broken> {
    let steps = [(write, Got::WRITTEN), (TestRequest::read("k"), whole(values))];
    for (test_request, expected) in steps {
        let ticket = talk.start(&test_request.in_session(1)).ok_or_else(never_ready)?;
        loop {
            let Some((answered, got)) = talk.take() else {
                return Err(Broken::by("a later request of the session was never answered"));
            };
            if answered == ticket {
                ensure(got == expected, || format!("it gave {got} instead of {expected}"))?;
                break;
            }
            let times = given_up.get_mut(&answered);
            let times =
                times.ok_or_else(|| Broken::by(format!("{answered:?} was answered twice")))?;
            *times += 1;
            ensure(*times == 1, || format!("abandoned {answered:?} was answered twice"))?;
        }
    }
    Ok(())
}
