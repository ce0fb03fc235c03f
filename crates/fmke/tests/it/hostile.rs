//! Callers that want to do harm.

use std::thread;
use std::time::{Duration, Instant};

use assay_fmke::{AnswerStyle, ServerLimits};
use assay_model::Reason;
use assay_workload::script::fmke::FmkeLayout;

use crate::http::Caller;
use crate::served::{Same, Served, StoreScript};

const PATIENT: &str = r#"{"id":1,"name":"Ann","address":"R1"}"#;

fn serve(limits: ServerLimits) -> Served {
    Served::memory(FmkeLayout::Normalised, AnswerStyle::Corrected, limits)
}

/// The server still works.
#[track_caller]
fn assert_serves(served: &Served) {
    assert_eq!(served.caller().call("GET", "/facilities/1", "").status(), 200);
}

#[test]
fn garbage_gets_no_more_than_an_error() {
    let served = serve(ServerLimits::default());
    for bytes in [
        &b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[..],
        b"GET / HTTP/9.9\r\n\r\n",
        b"nonsense\r\n\r\n",
        b"\0\0\0\0\0\0\0\0\r\n\r\n",
        b"POST /patients HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n",
        b"POST /patients HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
    ] {
        let mut caller = served.caller();
        caller.send(bytes).unwrap();
        assert!(caller.is_closed(), "{bytes:?}");
    }
    let mut caller = served.caller();
    let headers: String = (0..200).map(|number| format!("h{number}: x\r\n")).collect();
    caller.send(format!("GET / HTTP/1.1\r\n{headers}\r\n").as_bytes()).unwrap();
    assert_eq!(caller.response().unwrap().status(), 431);
    assert_serves(&served);
}

#[test]
fn a_body_of_a_gigabyte_is_refused_before_it_is_read() {
    let served = serve(ServerLimits::default());
    let mut caller = served.caller();
    let head = b"POST /patients HTTP/1.1\r\nhost: x\r\ncontent-length: 1073741824\r\n\r\n";
    caller.send(head).unwrap();
    let refused = caller.response().unwrap();
    assert_eq!(refused.status(), 413);
    assert!(caller.is_closed());
    // The same without saying how long it is.
    let mut caller = served.caller();
    let head = b"POST /patients HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n";
    caller.send(head).unwrap();
    let chunk = [&b"4000\r\n"[..], &[b' '; 0x4000], b"\r\n"].concat();
    let sent = (0..65_536).take_while(|_| caller.send(&chunk).is_ok()).count();
    assert!(sent < 6_000, "{sent} chunks of 16 KiB were taken");
    // Who sends all of it before looking reads the answer, too.
    let mut caller = served.caller();
    caller.send(head).unwrap();
    caller.send(&[&chunk.repeat(500)[..], b"0\r\n\r\n"].concat()).unwrap();
    assert_eq!(caller.response().unwrap().status(), 413);
    assert_serves(&served);
}

#[test]
fn slow_callers_are_let_go() {
    let limits = ServerLimits {
        body_timeout: Duration::from_millis(100),
        head_timeout: Duration::from_millis(200),
        ..ServerLimits::default()
    };
    let served = serve(limits);
    let mut caller = served.caller();
    caller.send(b"POST /patients HTTP/1.1\r\nhost: x\r\ncontent-length: 40\r\n\r\n{").unwrap();
    assert_eq!(caller.response().unwrap().status(), 408);
    assert!(caller.is_closed());
    // Nor does one hold its place that goes on with a body that was refused.
    let mut caller = served.caller();
    let head = b"POST /patients HTTP/1.1\r\nhost: x\r\ncontent-length: 70000\r\n\r\n";
    caller.send(head).unwrap();
    assert_eq!(caller.response().unwrap().status(), 413);
    let pause = || thread::sleep(Duration::from_millis(20));
    let sent = (0..10_000).take_while(|_| caller.send(b" ").inspect(|()| pause()).is_ok()).count();
    assert!(sent < 1_000, "{sent} bytes were taken, one every 20 ms");
    let mut caller = served.caller();
    caller.send(b"GET /patients/1 HT").unwrap();
    assert!(caller.is_closed());
    assert_serves(&served);
}

#[test]
fn a_thousand_connections_are_served_and_more_than_allowed_wait() {
    let served = serve(ServerLimits { connections: 1000, ..ServerLimits::default() });
    let mut callers: Vec<Caller> = (0..1000).map(|_| served.caller()).collect();
    for caller in &mut callers {
        caller.request("GET", "/patients/1", "").unwrap();
    }
    for caller in &mut callers {
        assert_eq!(caller.response().unwrap().status(), 200);
    }
    // One more is answered as soon as another one leaves.
    let mut more = served.caller();
    more.request("GET", "/patients/1", "").unwrap();
    drop(callers.pop());
    assert_eq!(more.response().unwrap().status(), 200);
}

#[test]
fn what_a_caller_began_comes_to_its_end_without_it() {
    let service = Duration::from_millis(300);
    let slow = StoreScript { after: service, answer: Same::Nothing, at_once: 64 };
    let served = slow.serve(ServerLimits { in_flight: 1, ..ServerLimits::default() });
    let begun = Instant::now();
    let mut caller = served.caller();
    caller.request("GET", "/facilities/1", "").unwrap();
    thread::sleep(service / 3);
    drop(caller);
    // The only place is taken until the first request has ended.
    assert_eq!(served.caller().call("GET", "/facilities/1", "").status(), 200);
    assert!(begun.elapsed() >= 2 * service, "{:?}", begun.elapsed());
}

#[test]
fn requests_sent_ahead_are_answered_in_order() {
    let served = serve(ServerLimits::default());
    let mut caller = served.caller();
    caller.request("POST", "/patients", PATIENT).unwrap();
    for _ in 0..20 {
        caller.request("GET", "/patients/1", "").unwrap();
        caller.request("GET", "/nothing", "").unwrap();
    }
    assert_eq!(caller.response().unwrap().status(), 200);
    for _ in 0..20 {
        assert!(caller.response().unwrap().body.contains("Ann"));
        assert_eq!(caller.response().unwrap().status(), 404);
    }
}

#[test]
fn failures_of_the_store_are_told_apart() {
    let told = |answer| StoreScript { after: Duration::ZERO, answer, at_once: 64 };
    for (answer, status, word) in [
        (Same::Refused(Reason::Conflict), 200, "aborted"),
        (Same::Refused(Reason::Exists), 200, "patient_id_taken"),
        (Same::Refused(Reason::Unreachable), 503, "unreachable"),
        (Same::Refused(Reason::Full), 503, "full"),
        (Same::Unknown, 500, "Woops! This request failed. That's all we know!"),
    ] {
        let served = told(answer).serve(ServerLimits::default());
        let response = served.caller().call("POST", "/patients", PATIENT);
        let body = format!("{{\"success\":false,\"result\":\"{word}\"}}");
        assert_eq!((response.status(), response.body), (status, body));
    }
}

#[test]
fn a_stopping_server_ends_what_it_has_begun() {
    let slow =
        StoreScript { after: Duration::from_millis(300), answer: Same::Nothing, at_once: 64 };
    let served = slow.serve(ServerLimits::default());
    let mut idle = served.caller();
    assert_eq!(idle.call("GET", "/patients/1", "").status(), 200);
    let mut caller = served.caller();
    caller.request("GET", "/patients/1", "").unwrap();
    thread::sleep(Duration::from_millis(100));
    let address = served.address();
    assert!(served.server.stop());
    assert_eq!(caller.response().unwrap().status(), 200);
    assert!(caller.is_closed() && idle.is_closed());
    assert!(std::net::TcpStream::connect(address).is_err());
}
