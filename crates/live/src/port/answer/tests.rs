//! Requests with their answers.

use std::sync::Arc;

use assay_run::{Closed, Control, Load, Think};

use super::*;
use crate::port::StatusPages;
use crate::port::run_status::{RunStatus, Subject};
use crate::rate_control::RateControl;

/// A desk about a closed load.
fn board() -> StatusBoard {
    let load = Load::Closed(Closed { sessions: 1, think: Think::No, target_rate: None });
    let rate_control = RateControl::new(Arc::new(Control::new()), &load);
    let subject = Subject {
        verb: "run",
        workload: "ycsb-c".to_owned(),
        store: "null:".to_owned(),
        model: "closed",
        text: "no think time".to_owned(),
        ..Subject::default()
    };
    let board = StatusBoard::default();
    *board.pages() = StatusPages {
        observed: RunStatus::beginning(subject),
        rate_control: Some(Arc::new(rate_control)),
    };
    board
}

fn request<'a>(method: &'a Method, path: &'a str, body: &'a [u8]) -> HttpRequest<'a> {
    HttpRequest { method, path, query: "", host: "", has_origin: false, body }
}

fn send(method: Method, path: &str, body: &str) -> (u16, String) {
    let requested = request(&method, path, body.as_bytes());
    let answer = answer(&requested, &board());
    (answer.status.as_u16(), answer.body)
}

#[test]
fn rates_are_read_as_text_or_json() {
    for (body, expected) in [
        ("20k/s", 20e3),
        (" 1250\n", 1250.0),
        ("{\"rate\": 20000}", 20e3),
        ("{\"rate\": 0.5}", 0.5),
        ("{\"rate\": \"20k/s\"}", 20e3),
    ] {
        assert_eq!(rate(body.as_bytes()), Ok(expected), "{body}");
    }
}

#[test]
fn what_is_no_rate_is_refused_with_a_reason() {
    for (body, why) in [
        ("", "is no rate"),
        ("fast", "is no rate"),
        ("0", "must be above 0"),
        ("-5/s", "must be above 0"),
        ("{\"rate\": 0}", "must be above 0"),
        ("{\"rate\": 1e300}", "beyond"),
        ("{\"rate\": null}", "another shape"),
        ("{\"rate\": 5, \"for\": 3}", "another shape"),
        ("{\"speed\": 5}", "another shape"),
        ("{\"rate\": ", "EOF"),
    ] {
        let (status, text) = send(Method::POST, "/rate", body);
        assert_eq!(status, 400, "{body}: {text}");
        assert!(text.contains(why), "{body}: {text}");
    }
    assert!(rate(&[0xFF]).is_err());
}

#[test]
fn a_closed_load_has_no_rate_to_change() {
    let (status, text) = send(Method::POST, "/rate", "5/s");
    assert_eq!(status, 409);
    assert!(text.contains("the load is closed"), "{text}");
}

#[test]
fn a_stop_drains() {
    let board = board();
    let requested = request(&Method::POST, "/stop", b"");
    assert_eq!(answer(&requested, &board).status, StatusCode::OK);
    assert!(board.rate_control().unwrap().is_ending());
}

#[test]
fn web_pages_cannot_control_a_run() {
    let board = board();
    for path in ["/stop", "/rate"] {
        let requested = HttpRequest { has_origin: true, ..request(&Method::POST, path, b"1/s") };
        assert_eq!(answer(&requested, &board).status, StatusCode::FORBIDDEN, "{path}");
    }
    assert!(!board.rate_control().unwrap().is_ending());
}

#[test]
fn without_a_run_there_is_nothing_to_control() {
    let board = StatusBoard::default();
    for path in ["/stop", "/rate"] {
        let requested = request(&Method::POST, path, b"1/s");
        assert_eq!(answer(&requested, &board).status, StatusCode::CONFLICT, "{path}");
    }
    let requested = request(&Method::GET, "/", b"");
    assert!(answer(&requested, &board).body.contains("\"preparing\""));
}

#[test]
fn unknown_paths_and_methods_list_the_known_ones() {
    assert_eq!(send(Method::GET, "/rates", "").0, 404);
    assert_eq!(send(Method::POST, "/metrics", "").0, 405);
    assert_eq!(send(Method::GET, "/stop", "").0, 405);
    assert_eq!(send(Method::DELETE, "/", "").0, 405);
}

#[test]
fn the_status_is_json() {
    let (status, text) = send(Method::GET, "/", "");
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(status, 200);
    assert_eq!(value["workload"], "ycsb-c");
    assert_eq!(value["state"], "preparing");
    assert_eq!(value["last_interval"], Value::Null);
}
