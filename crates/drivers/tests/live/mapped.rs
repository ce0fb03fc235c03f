//! Logical queries on a store of records, by way of a mapping.

use std::sync::Arc;

use assay_mapping::{Class, Expected, Keys, Mapped, Physical, advise};
use assay_store::Store;
use assay_store::conformance::queries::{assert_queries_conform, catalogue};

/// Checks the rules about queries with rows as the schema has them, then as the advisor would keep
/// them; `open` gives a store without records for each.
pub fn queries_conform(open: impl Fn(usize) -> Arc<dyn Store>) {
    let catalogue = catalogue();
    let frequencies = vec![1.0; catalogue.queries.len()];
    let expected = Expected {
        frequencies: &frequencies,
        rows: &[],
        keys: Keys::Checked,
        keeps_relations: false,
    };
    let advised = advise(&catalogue, Class::KeyValue, &expected);
    let best = advised.expect("a schema can be advised").best;
    let plain = Physical::plain(&catalogue.schema, Class::KeyValue);
    for (number, physical) in [plain, best].into_iter().enumerate() {
        assert_queries_conform(&Mapped::new(open(number), physical));
    }
}
