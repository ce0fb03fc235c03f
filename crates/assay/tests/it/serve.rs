//! The pages of runs, as a browser asks for them.

use rustix::process::Signal;

use crate::http::{read, send};
use crate::place::{Place, Running, until_issuing, wait_until};

/// A server over the runs of a place, with its address.
fn serve(place: &Place) -> (Running, String) {
    let running = place.start("serve . --listen 127.0.0.1:0");
    wait_until("the server says where it is", || running.display().contains("http://"));
    let said = running.display();
    let (_, rest) = said.split_once("http://").expect("it says where it is");
    (running, rest.trim().trim_end_matches('/').to_owned())
}

/// What comes from `path`: the status, then the body.
fn get(address: &str, path: &str) -> (u16, String) {
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n");
    let answered = read(send(address.parse().expect("it is an address"), &request));
    (answered.status, answered.body)
}

#[test]
fn runs_are_listed_shown_and_compared() {
    let place = Place::new();
    for name in ["one", "two & more"] {
        let words = "bench ycsb-c -t memory: --records 100 --operations 500 -q";
        place.start_with(words, |command| command.args(["--run-dir", name])).wait().code(0);
    }
    place.fine("bench ycsb-c -t memory: --records 100 --operations 200 --repeat 2 --run-dir g -q");
    let (server, address) = serve(&place);
    let (status, list) = get(&address, "/");
    assert_eq!(status, 200, "{list}");
    for name in ["one", "two &amp; more", "g", "g/1", "g/2"] {
        assert!(list.contains(&format!(">{name}</a>")), "{name}: {list}");
    }
    let (status, report) = get(&address, "/run/two%20%26%20more");
    // It is the file, with the way back.
    let file = place.read("two & more/report.html");
    let way_back = "<p class=\"back\"><a href=\"/\">All runs</a></p>\n";
    assert_eq!((status, report.replace(way_back, "")), (200, file));
    let (status, compared) = get(&address, "/compare?base=one&new=two+%26+more");
    assert!(status == 200 && compared.contains("two &amp; more"), "{compared}");
    for path in ["/run/g", "/run/g/2"] {
        assert_eq!(get(&address, path).0, 200, "{path}");
    }
    let (status, same) = get(&address, "/compare?base=one&new=one");
    assert!(status == 422 && same.contains("never differs"), "{same}");
    assert_eq!(get(&address, "/run/g/3").0, 404);
    server.signal(Signal::TERM);
    server.wait().code(0);
}

#[test]
fn a_run_that_goes_on_is_followed_until_it_has_ended() {
    let place = Place::new();
    let words = "bench ycsb-c -t memory: --records 100 --rate 1k/s --duration 30s --run-dir b -q";
    let run = place.start(words);
    until_issuing(&place);
    let (server, address) = serve(&place);
    let (_, list) = get(&address, "/");
    assert!(list.contains("http-equiv=\"refresh\"") && list.contains("running"), "{list}");
    let (status, report) = get(&address, "/run/b");
    assert!(status == 200 && report.contains("http-equiv=\"refresh\""), "{report}");
    assert!(report.contains("the run goes on"), "{report}");
    run.signal(Signal::INT);
    run.wait().code(130);
    let (status, report) = get(&address, "/run/b");
    assert!(status == 200 && !report.contains("http-equiv=\"refresh\""), "{report}");
    server.signal(Signal::INT);
    server.wait();
}

#[test]
fn what_cannot_be_served_is_refused_with_what_to_do() {
    let place = Place::new();
    place.refuses("serve nowhere", "name the one that holds run directories");
    place.refuses("serve . --listen 0.0.0.0:0", "--listen-any");
    place.refuses("serve . --listen x", "--listen: ");
    place.fine("serve . --listen 0 --for 50ms").shows("http://127.0.0.1:");
}
