//! Pages about many runs, for a server: their list, and what a served page has beyond its file.

use std::fmt::Write as _;

use maud::{Markup, html};

use crate::document::{HEAD, MAIN, page, plain};
use crate::units::rate;

/// The list of runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunsPage {
    /// Our version.
    pub version: &'static str,
    /// The directory that they are in.
    pub dir: String,
    /// The runs, the newest first.
    pub runs: Vec<ListedRun>,
    /// How many older ones are not listed.
    pub older: usize,
}

/// A run in the list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListedRun {
    /// Its name: its directory's path within that of the list.
    pub name: String,
    /// When it began.
    pub started: String,
    /// The workload's name.
    pub workload: String,
    /// The store's URL without secrets.
    pub store: String,
    /// The load in words.
    pub load: String,
    /// How far it came, in a word.
    pub state: String,
    /// The hallmark's verdict; empty if it has none.
    pub hallmark: String,
    /// Operations done per second, where that is known.
    pub done_per_s: Option<f64>,
    /// Whether it goes on.
    pub is_running: bool,
    /// Whether it fills a store, and measures only that.
    pub is_load: bool,
}

impl ListedRun {
    /// One whose files cannot be read.
    pub fn unreadable(name: &str, why: String) -> ListedRun {
        ListedRun { name: name.to_owned(), state: why, ..ListedRun::default() }
    }
}

/// The list as a page; two of its runs are chosen for a comparison without any script.
pub fn runs_html(listed: &RunsPage) -> String {
    let body = html! {
        header {
            p.brand { "Assay " span { (plain(listed.version)) } } "\n"
            h1 { "Runs" } "\n"
            p.sub { (plain(&listed.dir)) }
        }
        @if listed.runs.is_empty() {
            section {
                p { "There are no runs here yet: " code { "assay bench ycsb-a" } " makes one." }
            }
        } @else {
            section #runs {
                (list(listed))
                @if listed.older > 0 {
                    p.note { a href="/?all" { (listed.older) " older ones" } }
                }
            }
        }
    };
    page("Runs", body, Vec::new())
}

const TITLES: [&str; 9] =
    ["base", "new", "run", "workload", "store", "load", "done/s", "hallmark", "state"];

fn list(listed: &RunsPage) -> Markup {
    let finished = || listed.runs.iter().filter(|run| !run.is_running && !run.is_load);
    let name = |place: usize| finished().nth(place).map(|run| run.name.as_str());
    let (new, base) = (name(0), name(1));
    html! {
        form action="/compare" {
            p.lead {
                "Choose a base and a new run to compare them; the newest two are chosen. "
                button.go { "Compare" }
            }
            div.scroll tabindex="0" role="group" aria-label="Runs" {
                table.dense.runs {
                    thead {
                        tr {
                            @for title in TITLES {
                                th scope="col" class=[(title == "done/s").then_some("n")] {
                                    (title)
                                }
                            }
                        }
                    }
                    tbody { @for run in &listed.runs { "\n" (row(run, (base, new))) } }
                }
            }
        }
    }
}

fn row(run: &ListedRun, (base, new): (Option<&str>, Option<&str>)) -> Markup {
    let choice = |column: &str, chosen: Option<&str>| {
        let is_chosen = chosen == Some(run.name.as_str());
        let label = format!("{} as {column}", run.name);
        html! {
            td {
                @if !run.is_running {
                    input type="radio" name=(column) value=(plain(&run.name)) checked[is_chosen]
                        aria-label=(plain(&label));
                }
            }
        }
    };
    let tone = match run.hallmark.as_str() {
        "" => None,
        "valid" => Some("fine"),
        "valid with remarks" => Some("caution"),
        _ => Some("alarm"),
    };
    let done = run.done_per_s.map_or(String::new(), |done| rate(done).replace("/s", ""));
    let load_of = if run.is_load { "load of " } else { "" };
    html! {
        tr {
            (choice("base", base)) (choice("new", new))
            th scope="row" {
                a href={ "/run/" (in_path(&run.name)) } { (plain(&run.name)) }
                small { (plain(&run.started)) }
            }
            td { (load_of) (plain(&run.workload)) }
            td { (plain(&run.store)) }
            td { (plain(&run.load)) }
            td.n { (done) }
            td { span class=[tone] { (plain(&run.hallmark)) } }
            td { (plain(&run.state)) }
        }
    }
}

/// A name as the path of an address.
fn in_path(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'/' => {
                out.push(char::from(byte));
            }
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

/// A page that says why there is none.
pub fn error_html(why: &str) -> String {
    let body = html! {
        header { p.brand { "Assay" } "\n" h1 { "There is nothing to show" } }
        section { p { (plain(why)) } }
    };
    served(page("Error", body, Vec::new()), None, true)
}

/// A page as a server gives it: with the way back to the list, if wanted, and loaded again after
/// `refresh` seconds, if it is about something that goes on.
pub fn served(mut page: String, refresh: Option<u64>, has_way_back: bool) -> String {
    if has_way_back && let Some(place) = page.find(MAIN) {
        let link = "<p class=\"back\"><a href=\"/\">All runs</a></p>\n";
        page.insert_str(place + MAIN.len(), link);
    }
    if let (Some(seconds), Some(place)) = (refresh, page.find(HEAD)) {
        let again = format!("<meta http-equiv=\"refresh\" content=\"{seconds}\">\n");
        page.insert_str(place + HEAD.len(), &again);
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(name: &str, is_running: bool) -> ListedRun {
        ListedRun { name: name.to_owned(), is_running, ..ListedRun::default() }
    }

    #[test]
    fn the_newest_two_that_have_ended_are_chosen() {
        let runs = vec![run("d", true), run("c <x>", false), run("b", false), run("a", false)];
        let page = runs_html(&RunsPage { runs, older: 7, ..RunsPage::default() });
        let checked: Vec<&str> =
            page.split("<input").filter(|one| one.contains(" checked")).collect();
        assert_eq!(checked.len(), 2, "{checked:?}");
        assert!(checked[0].contains("name=\"new\" value=\"c &lt;x&gt;\""), "{checked:?}");
        assert!(checked[1].contains("name=\"base\" value=\"b\""), "{checked:?}");
        assert!(page.contains("href=\"/run/c%20%3Cx%3E\""), "{page}");
        assert!(page.contains("7 older ones"), "{page}");
        assert!(!page.contains("d as base"), "a run that goes on is not compared");
    }

    #[test]
    fn a_served_page_leads_back_and_comes_again() {
        let file = page("t", html! { "body" }, Vec::new());
        let page = served(file.clone(), Some(3), true);
        assert!(page.contains("<main>\n<p class=\"back\"><a href=\"/\">"), "{page}");
        assert!(page.contains("http-equiv=\"refresh\" content=\"3\""), "{page}");
        assert_eq!(served(file.clone(), None, false), file);
        assert!(error_html("<b>").contains("&lt;b&gt;"));
    }
}
