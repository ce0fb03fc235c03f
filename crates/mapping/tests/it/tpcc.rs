//! TPC-C's queries are within the subset.

use assay_model::{Kind, Named, Seed};
use assay_sql::{Dialect, catalogue, query_text};
use assay_workload::PlanPhase;
use assay_workload::script::tpcc::TpccSpec;
use assay_workload::script::{ScriptPlan, ScriptSpec};

fn plan() -> ScriptPlan {
    let spec = ScriptSpec::Tpcc(TpccSpec::default());
    ScriptPlan::new(&spec, Seed(1), PlanPhase::Run).unwrap()
}

#[test]
fn every_query_of_tpcc_is_read() {
    let plan = plan();
    let catalogue = catalogue(&plan.schema, &plan.queries).unwrap();
    assert_eq!(catalogue.schema.relations.len(), 9);
    assert_eq!(catalogue.queries.len(), plan.queries.len());
    let orders = catalogue.schema.find("orders").unwrap();
    assert_eq!(catalogue.schema.relation(orders).indexes, [vec![0, 1, 3, 2]]);
    let kinds: Vec<Kind> = catalogue.queries.iter().map(|one| one.statement.kind()).collect();
    assert!(kinds.contains(&Kind::Scan) && kinds.contains(&Kind::Delete));
}

#[test]
fn the_one_form_of_every_query_of_tpcc_means_the_same() {
    let plan = plan();
    let first = catalogue(&plan.schema, &plan.queries).unwrap();
    let forms: Vec<Named> = first
        .queries
        .iter()
        .map(|query| Named {
            name: query.name.clone(),
            text: query_text(Dialect::Logical, &first.schema, &query.statement).text,
        })
        .collect();
    let second = catalogue(&plan.schema, &forms).unwrap();
    for (one, other) in first.queries.iter().zip(&second.queries) {
        assert_eq!(one.statement, other.statement, "{}", one.name);
    }
}
