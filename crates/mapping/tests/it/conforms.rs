//! Stores with a mapping keep the contract of stores that take queries.

use std::sync::Arc;

use assay_mapping::{Class, Expected, Keys, Mapped, Physical, advise};
use assay_model::{Named, Seed};
use assay_sim::{SimulatedStore, presets};
use assay_sql::{Dialect, ForeignKeys, create};
use assay_store::Store;
use assay_store::blocking::BlockingThreads;
use assay_store::conformance::ledger::Ledger;
use assay_store::conformance::queries::{assert_queries_conform, catalogue};
use assay_store::memory::Memory;

/// Every schema that the advisor offers, and the base tables alone.
fn schemas(class: Class) -> Vec<Physical> {
    let catalogue = catalogue();
    let frequencies = vec![1.0; catalogue.queries.len()];
    let expected = Expected {
        frequencies: &frequencies,
        rows: &[],
        keys: Keys::Checked,
        keeps_relations: false,
    };
    let advice = advise(&catalogue, class, &expected).expect("its queries are answered");
    let others = advice.others.into_iter().map(|(_, physical)| physical);
    let plain = Physical::plain(&catalogue.schema, class);
    [plain, advice.best].into_iter().chain(others).collect()
}

#[test]
fn the_queries_of_the_suite_mean_what_their_text_says() {
    let suite = catalogue();
    let ddl = create(Dialect::Logical, &suite.schema, ForeignKeys::Declare);
    let named = |name: &str, text: &str| Named { name: name.into(), text: text.into() };
    let ddl = [named("schema", &ddl.join(";\n"))];
    let queries: Vec<Named> =
        suite.queries.iter().map(|query| named(&query.name, &query.text)).collect();
    assert_eq!(assay_sql::catalogue(&ddl, &queries).unwrap(), suite);
}

#[test]
fn memory_conforms_through_every_schema_offered() {
    for class in Class::ALL {
        for physical in schemas(class) {
            assert_queries_conform(&Mapped::new(Arc::new(Memory::new()), physical));
        }
    }
}

/// With two connections as with many: a step within a transaction waits for no other.
#[test]
fn transactions_of_requests_are_transactions_of_queries() {
    for class in Class::ALL {
        for physical in schemas(class) {
            for connections in [2, 8] {
                let ledger = Arc::new(Ledger::new(connections));
                assert_queries_conform(&Mapped::new(ledger, physical.clone()));
            }
        }
    }
}

#[test]
fn threads_do_not_matter() {
    for physical in schemas(Class::KeyValue) {
        let mapped = Mapped::new(Arc::new(Memory::new()), physical);
        let mapped: Arc<dyn Store> = Arc::new(mapped);
        assert_queries_conform(&BlockingThreads::new(mapped, 2));
    }
}

/// In simulated time a response comes only when it is due, so every request of a query waits.
#[test]
fn a_store_of_simulated_time_conforms() {
    for physical in schemas(Class::KeyValue) {
        let slow = presets::find("hickup1000_max10000").unwrap();
        let sim = SimulatedStore::new(slow, Seed(1)).unwrap();
        assert_queries_conform(&Mapped::new(Arc::new(sim), physical));
    }
}
