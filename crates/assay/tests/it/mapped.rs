//! Logical queries through the mapping, on stores that are really there.

use std::sync::Arc;

use assay_drivers::registry;
use assay_mapping::{Class, Expected, Keys, Mapped, Physical, advise};
use assay_model::Seed;
use assay_store::Store;
use assay_store::conformance::queries::{assert_queries_conform, catalogue};

use crate::redis_server::Server;

/// The base tables alone, then every schema that the advisor offers.
pub fn schemas(class: Class) -> Vec<Physical> {
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

pub fn open(url: &str) -> Arc<dyn Store> {
    let options = registry::Options {
        clock: || 0,
        seed: Seed(1),
        surroundings: registry::Surroundings::NONE,
    };
    registry::open(url, &options).expect("it is there")
}

#[test]
fn redis_takes_queries_through_a_mapping() {
    let server = Server::start(&[]);
    let inner = open(&server.url(""));
    for class in Class::ALL {
        for physical in schemas(class) {
            assert_queries_conform(&Mapped::new(Arc::clone(&inner), physical));
            let left = server.cli("--scan --pattern *");
            assert_eq!(left, "", "everything is cleared away");
        }
    }
}

#[test]
fn the_embedded_store_takes_queries_through_a_mapping() {
    let folder = tempfile::TempDir::new().unwrap();
    for (number, physical) in schemas(Class::KeyValue).into_iter().enumerate() {
        let inner = open(&format!("fjall:{}", folder.path().join(number.to_string()).display()));
        assert_queries_conform(&Mapped::new(inner, physical));
    }
}
