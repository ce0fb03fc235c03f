//! Tests of files of predictions with the settings of this program.

use std::path::Path;

use assay_study::anomalies::file::{AnomalyFile, is_of_anomalies};

use crate::command::study::program::command_line;

const SMALL: &str = "[[cell]]\nname = \"c\"\nstore = \"S\"\nup = \"galera:3\"\nworkload = \
                     \"ycsb-a\"\nviolates = [\"linearizable\"]\nsource = \"J\"\n";

fn read(text: &str) -> Result<AnomalyFile, String> {
    AnomalyFile::parse(text, Path::new("a.toml"), &command_line())
        .map_err(|error| error.to_string())
}

#[test]
fn a_cell_is_a_command() {
    let text = "seed = 7\n[run]\nclosed = 6\nduration = \"5s\"\n".to_owned()
        + SMALL
        + "url-options = \"host=any\"\noption = { sync-wait = \"1\" }\n\
           set = [\"dataset.fields=1\"]\nrun = { duration = \"9s\", force = true }\n";
    let file = read(&text).expect("it is valid");
    let cell = &file.cells[0];
    let words = cell.words(&file.run, file.seed, Path::new("/d"), &command_line()).join(" ");
    assert_eq!(
        words,
        "bench ycsb-a --up galera:3 --option sync-wait=1 --url-options host=any --set \
         dataset.fields=1 --closed 6 --duration 9s --force --seed 7"
    );
    assert_eq!((file.name_of(Path::new("x/a.toml")).as_str(), cell.tries), ("a", 1));
    assert!(is_of_anomalies(&text) && !is_of_anomalies("[[store]]\n"));
}

#[test]
fn a_store_with_a_url_has_a_directory_of_each_run() {
    let text = SMALL.replace("up = \"galera:3\"", "url = \"sqlite:{dir}/db\"");
    let words = read(&text).expect("valid").cells[0].words(
        &toml::Table::new(),
        1,
        "/d".as_ref(),
        &command_line(),
    );
    assert!(words.contains(&"sqlite:/d/db".to_owned()), "{words:?}");
}

#[test]
fn actions_are_the_fault_unless_words_say_it_better() {
    let actions = "run = { at = \"5s: kill node 1\" }\n";
    assert_eq!(
        read(&format!("{SMALL}{actions}")).expect("valid").cells[0].fault(&command_line()),
        "5s: kill node 1"
    );
    let named = format!("{SMALL}{actions}fault = \"crash\"\n");
    assert_eq!(read(&named).expect("valid").cells[0].fault(&command_line()), "crash");
}

#[test]
fn what_is_invalid_says_why() {
    for (text, part) in [
        ("title = \"x\"\ncell = []\n".to_owned(), "no cell"),
        (format!("titel = \"x\"\n{SMALL}"), "unknown key \"titel\"; did you mean"),
        (SMALL.replace("linearizable", "linearisable"), "did you mean \"linearizable\"?"),
        (SMALL.replace("[\"linearizable\"]", "[]"), "it predicts nothing"),
        (format!("{SMALL}keeps = [\"linearizable\"]\n"), "both violated and kept"),
        (format!("{SMALL}url = \"memory:\"\n"), "say either up"),
        (format!("{SMALL}tries = 0\n"), "runs nothing"),
        (format!("{SMALL}run = {{ durration = \"1s\" }}\n"), "did you mean duration?"),
        (format!("{SMALL}run = {{ seed = 1 }}\n"), "seed is no setting here"),
        (format!("{SMALL}{SMALL}"), "two cells c"),
        (SMALL.replace("\"c\"", "\"../c\""), "small letters"),
    ] {
        let reported = read(&text).expect_err(&text);
        assert!(reported.contains(part), "{text}: {reported}");
    }
}
