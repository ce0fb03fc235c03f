//! Requests to sites of few runs.

use super::*;

fn site(is_local: bool) -> (tempfile::TempDir, RunsSite) {
    let dir = tempfile::tempdir().expect("there is a temporary directory");
    let site = RunsSite::new(dir.path().to_owned(), is_local, || Nanos::ZERO);
    (dir, site)
}

fn send(site: &RunsSite, method: Method, host: &str, path: &str, query: &str) -> (u16, String) {
    let (has_origin, body) = (false, &b""[..]);
    let request = HttpRequest { method: &method, path, query, host, has_origin, body };
    let answer = site.respond(&request);
    (answer.status.as_u16(), answer.body)
}

#[test]
fn other_names_of_this_machine_are_refused_and_so_are_changes() {
    let (_dir, own) = site(true);
    for host in ["localhost:7417", "127.0.0.1", "[::1]:7417", "localhost"] {
        assert_eq!(send(&own, Method::GET, host, "/", "").0, 200, "{host}");
    }
    for host in ["evil.example", "evil.example:7417", "", "10.0.0.1:7417"] {
        assert_eq!(send(&own, Method::GET, host, "/", "").0, 403, "{host}");
    }
    assert_eq!(send(&own, Method::POST, "localhost", "/", "").0, 405);
    let (_dir, any) = site(false);
    assert_eq!(send(&any, Method::GET, "host.example", "/", "").0, 200);
}

#[test]
fn only_listed_runs_are_shown() {
    let (dir, site) = site(true);
    let outside = dir.path().parent().expect("it lies somewhere").join("run.toml");
    let get = |path: &str, query: &str| send(&site, Method::GET, "localhost", path, query);
    assert_eq!(get("/run/../etc", "").0, 404);
    assert_eq!(get("/run/%2e%2e/%2e%2e", "").0, 404);
    assert_eq!(get(&format!("/run/{}", outside.display()), "").0, 404);
    assert_eq!(get("/nothing", "").0, 404);
    let (status, page) = get("/compare", "base=a");
    assert!(status == 422 && page.contains("choose a run"), "{page}");
    let (status, page) = get("/compare", "base=a&new=%3Cb%3E");
    assert!(status == 404 && page.contains("no run a"), "{page}");
    assert!(get("/", "").1.contains("There are no runs here yet"));
}

#[test]
fn a_damaged_run_is_listed_with_what_is_wrong() {
    let (dir, site) = site(true);
    std::fs::create_dir(dir.path().join("x")).expect("the directory is ours");
    std::fs::write(dir.path().join("x/run.toml"), "format = [").expect("the directory is ours");
    let (status, page) = send(&site, Method::GET, "localhost", "/", "");
    assert!(status == 200 && page.contains(">x</a>"), "{page}");
    let (status, page) = send(&site, Method::GET, "localhost", "/run/x", "");
    assert!(status == 422 && page.contains("All runs"), "{page}");
}
