//! `assay mapping explain`, as its users see it.

use crate::place::Place;

#[test]
fn tpcc_is_explained_for_each_class() {
    let place = Place::new();
    let relational = place.fine("mapping explain tpcc --class relational");
    relational.shows("tpcc on a relational store: 9 tables, 42 queries").shows("1 statement stock");
    place
        .fine("mapping explain tpcc --class key-value")
        .shows("tpcc on a key-value store")
        .shows("shown here")
        .shows("UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = ? AND d_id = ?")
        .shows("1 get district (d_w_id = ?1, d_id = ?2)")
        .shows("1 update district (d_w_id, d_id)");
    place
        .fine("mapping explain tpcc --class column --format md")
        .shows("# tpcc on a column store")
        .shows("### warehouse.tax")
        .shows("* 1 × get `warehouse (w_id = ?1)`");
}

#[test]
fn the_best_option_costs_least_and_beats_the_base_tables() {
    let place = Place::new();
    let json = place.json("mapping explain tpcc --class key-value");
    let options = json["options"].as_array().unwrap();
    let cost = |place: usize| options[place]["cost"].as_f64().unwrap();
    assert!(options.len() > 1 && (1..options.len()).all(|at| cost(at - 1) <= cost(at)));
    assert!((json["cost"].as_f64().unwrap() / cost(0) - 1.0).abs() < 1e-9, "{json}");
    let tables = json["tables"].as_array().unwrap();
    assert!(tables.iter().any(|table| table["role"] != "base"), "{tables:?}");
    let queries = json["queries"].as_array().unwrap();
    let item = queries.iter().find(|query| query["name"] == "item.read").unwrap();
    assert_eq!(item["requests"][0]["verb"], "get");
    assert_eq!(item["requests"][0]["key"][0], "i_id = ?1");
}

#[test]
fn a_chosen_option_is_saved_edited_and_given_back() {
    let place = Place::new();
    place.fine("mapping explain tpcc --class key-value --option 2 --save chosen.toml");
    let chosen = place.read("chosen.toml");
    let explain = "mapping explain tpcc --class key-value --mapping";
    place.fine(&format!("{explain} chosen.toml")).shows("chosen.toml: ");
    place.write("edited.toml", chosen.replace("keys = \"checked\"", "keys = \"trusted\""));
    let trusted = "An INSERT does not look if its key is free.";
    place.fine(&format!("{explain} edited.toml")).shows(trusted);
    place.write("broken.toml", chosen.replace("warehouse.w_tax", "warehouse.w_taxes"));
    place.refuses(&format!("{explain} broken.toml"), "warehouse.w_taxes");
}

#[test]
fn impossible_numbers_in_a_mapping_file_are_refused() {
    let place = Place::new();
    place.fine("mapping explain tpcc --class key-value --save kv.toml");
    let saved = place.read("kv.toml");
    let line = |begin: &str| saved.lines().find(|line| line.starts_with(begin)).unwrap();
    let rows = line("item = ");
    let column = line("columns = [").split('"').nth(1).unwrap();
    for (from, to, said) in [
        (rows, "item = nan", "wrong.toml: the physical schema cannot be read: rows.item is NaN"),
        (rows, "item = inf", "rows.item is inf: give how many rows it has"),
        (rows, "item = -1.0", "rows.item is -1"),
        (rows, "item = 1e300", "rows.item is 1000000"),
        (rows, "items = 1.0", "rows names \"items\", which the schema does not have; did you mean"),
        ("partition = 1", "partition = 99", "partition = 99, but its key has"),
        ("columns = [", &format!("columns = [\"{column}\", "), "twice: leave one out"),
    ] {
        place.write("wrong.toml", saved.replacen(from, to, 1));
        place.refuses("mapping explain tpcc --class key-value --mapping wrong.toml", said);
    }
}

#[test]
fn what_cannot_be_explained_says_what_to_do() {
    let place = Place::new();
    place.fine("mapping explain tpcc --class key-value --save kv.toml");
    for (words, reason) in [
        ("ycsb-a --class column", "only queries need a mapping"),
        ("tpcc --class document", "document"),
        ("tpcc --class key-value --option 99", "there is no option 99, only 1 to"),
        ("tpcc --class relational --save x.toml", "leave it out"),
        ("tpcc --class key-value --mapping gone.toml", "gone.toml"),
        ("tpcc --class column --mapping kv.toml", "give --class key-value"),
    ] {
        place.refuses(&format!("mapping explain {words}"), reason);
    }
}
