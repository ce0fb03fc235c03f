//! Tests of the advisor's recommendation for TPC-C.

use assay_mapping::explain::explain;
use assay_mapping::{Advice, Class, Expected, Keys, Physical, Role, advise};
use assay_model::{Catalogue, Seed};
use assay_workload::PlanPhase;
use assay_workload::script::tpcc::TpccSpec;
use assay_workload::script::{ScriptPlan, ScriptSpec};

fn tpcc() -> Catalogue {
    let spec = ScriptSpec::Tpcc(TpccSpec::default());
    let plan = ScriptPlan::new(&spec, Seed(1), PlanPhase::Run).expect("TPC-C is within the subset");
    assay_sql::catalogue(&plan.schema, &plan.queries).expect("TPC-C is within the subset")
}

/// How often each query is executed in 100 transactions of the standard mix.
fn frequencies(catalogue: &Catalogue) -> Vec<f64> {
    let often = |name: &str| match name {
        "warehouse.tax"
        | "district.next_order"
        | "district.read"
        | "customer.discount"
        | "orders.insert"
        | "new_order.insert" => 45.0,
        "item.read" | "stock.read" | "stock.update" | "order_line.insert" => 450.0,
        "warehouse.paid" | "warehouse.address" | "district.paid" | "district.address"
        | "history.insert" => 43.0,
        "customer.by_name" => 0.6 * 47.0,
        "customer.read" => 39.0,
        "customer.paid" => 39.0,
        "customer.bad_read" | "customer.bad_paid" => 4.0,
        "customer.balance" => 2.0,
        "orders.last" | "order_line.read" => 4.0,
        "new_order.oldest"
        | "new_order.delete"
        | "orders.customer"
        | "orders.carrier"
        | "order_line.delivered"
        | "order_line.amounts"
        | "customer.delivered" => 40.0,
        "stock.recent" => 4.0,
        _ => 0.0,
    };
    catalogue.queries.iter().map(|query| often(&query.name)).collect()
}

fn rows(catalogue: &Catalogue) -> Vec<f64> {
    let rows = |name: &str| match name {
        "warehouse" => 1.0,
        "district" => 10.0,
        "customer" | "history" | "orders" => 30_000.0,
        "new_order" => 9_000.0,
        "order_line" => 300_000.0,
        "item" | "stock" => 100_000.0,
        other => panic!("{other} is no relation of TPC-C"),
    };
    catalogue.schema.relations.iter().map(|relation| rows(&relation.name)).collect()
}

fn advice(class: Class, frequencies: &[f64]) -> Advice {
    let catalogue = tpcc();
    let rows = rows(&catalogue);
    let expected =
        Expected { frequencies, rows: &rows, keys: Keys::Trusted, keeps_relations: false };
    advise(&catalogue, class, &expected).expect("TPC-C is within the subset")
}

/// The requests of a query as `verb table ×count`, where counts are rounded.
fn requests(physical: &Physical, query: &str) -> String {
    let explained = explain(&tpcc(), physical).expect("TPC-C is within the subset");
    let query = explained
        .queries
        .into_iter()
        .find(|one| one.name == query)
        .expect("TPC-C is within the subset");
    let requests = query.requests.iter().map(|request| {
        let (verb, table) = (request.verb.name(), &request.table);
        format!("{verb} {table} x{:.0}", request.expected)
    });
    requests.collect::<Vec<_>>().join(", ")
}

#[test]
fn tpcc_gets_its_base_tables_with_a_way_to_names_and_to_last_orders() {
    let frequencies = frequencies(&tpcc());
    for class in Class::ALL {
        let advice = advice(class, &frequencies);
        let best = &advice.best;
        let roles = |role| best.tables.iter().filter(|table| table.role == role).count();
        assert_eq!((roles(Role::BaseTable), roles(Role::Join)), (9, 0));
        assert!(advice.cost < 0.8 * advice.plain_cost, "{} {}", advice.cost, advice.plain_cost);
        let check = |query, expected: &str| assert_eq!(requests(best, query), expected);
        check("warehouse.tax", "get warehouse x1");
        check("district.next_order", "get district x1, update district x1");
        // A column store writes without a read, so the program has to read first.
        let look = |table: &str| match class {
            Class::Column => format!("get {table} x1, "),
            Class::KeyValue => String::new(),
        };
        check("orders.carrier", &format!("{}update orders x1", look("orders")));
        check("new_order.oldest", "scan new_order x1");
        check("new_order.delete", &format!("{}delete new_order x1", look("new_order")));
        check("order_line.read", "scan order_line x1");
        check("order_line.delivered", "scan order_line x1, update order_line x10");
        check("customer.by_name", "scan customer_by_c_w_id_c_d_id_c_last_c_first x1");
        check("orders.last", "scan orders_find_o_w_id_o_d_id_o_c_id_o_id x1, get orders x1");
        // A stock is written ten times for each order, so its join is not computed beforehand.
        check("stock.recent", "scan order_line x3, get stock x200");
    }
}

#[test]
fn a_join_that_is_read_far_more_often_than_written_is_precomputed() {
    let catalogue = tpcc();
    let often = |name: &str| match name {
        "stock.recent" => 10_000.0,
        "order_line.insert" => 10.0,
        "stock.update" => 1.0,
        _ => 0.0,
    };
    let frequencies: Vec<f64> = catalogue.queries.iter().map(|query| often(&query.name)).collect();
    let best = advice(Class::KeyValue, &frequencies).best;
    let join = best.tables.iter().find(|table| table.role == Role::Join).unwrap();
    assert_eq!(join.relations, ["order_line", "stock"]);
    assert_eq!(requests(&best, "stock.recent"), format!("scan {} x3", join.name));
    // The lines of a stock that is updated are found by a lookup.
    let lookup = best.tables.iter().find(|table| table.role == Role::Lookup).unwrap();
    assert_eq!(lookup.key[..2], ["order_line.ol_w_id", "order_line.ol_i_id"]);
    let line = requests(&best, "order_line.insert");
    let line_and_join = format!("insert order_line x1, get stock x1, insert {} x1", join.name);
    assert_eq!(line, format!("{line_and_join}, insert {} x1", lookup.name));
    assert!(requests(&best, "stock.update").contains(&format!("update {}", join.name)));
}

#[test]
fn a_schema_comes_back_from_its_file() {
    let frequencies = frequencies(&tpcc());
    let best = advice(Class::Column, &frequencies).best;
    let again = Physical::from_toml(&best.to_toml()).expect("TPC-C is within the subset");
    assert_eq!(again, best);
    assert_eq!(explain(&tpcc(), &again), explain(&tpcc(), &best));
}

#[test]
fn a_file_that_does_not_fit_says_what_to_do() {
    let best = advice(Class::Column, &frequencies(&tpcc())).best;
    let edited = |edit: &dyn Fn(&mut Physical)| {
        let mut physical = best.clone();
        edit(&mut physical);
        explain(&tpcc(), &physical).unwrap_err().to_string()
    };
    let check = |edit: &dyn Fn(&mut Physical), expected: &str| {
        let reported = edited(edit);
        assert!(reported.contains(expected), "{reported}");
    };
    check(&|one| drop(one.tables.remove(0)), "add its base table");
    check(&|one| one.tables[1].key[0] = "district.d_idd".into(), "did you mean \"district.d_id\"");
    check(&|one| one.tables[1].name = "warehouse".into(), "names are unique");
    check(&|one| one.tables[1].key.push("district.d_tax".into()), "is the primary key");
    check(&|one| one.tables[1].role = Role::Entries, "give that table an index");
    let reported = Physical::from_toml("class = \"column\"\ntabel = 1").unwrap_err().to_string();
    assert!(reported.contains("unknown field `tabel`"), "{reported}");
}
