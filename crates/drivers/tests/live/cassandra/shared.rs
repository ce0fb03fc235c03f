//! The node that the tests share which break nothing.

use std::sync::OnceLock;

use assay_lab::{Order, recipes};
use scylla::client::session_builder::SessionBuilder;
use scylla::value::{CqlValue, Row};

use crate::lab::Shared;

/// An order of so many nodes, small enough for a machine that builds at the same time.
pub fn order(nodes: usize) -> Order {
    let recipe = recipes::find("cassandra").expect("there is a recipe");
    Order::of(recipe).nodes(nodes).choose("heap", "256m")
}

/// The URL of the shared node followed by `rest`.
pub fn shared(rest: &str) -> String {
    format!("{}{rest}", node())
}

fn node() -> &'static str {
    static URL: OnceLock<String> = OnceLock::new();
    static NODE: Shared = Shared::new("cassandra", || order(1));
    URL.get_or_init(|| match std::env::var("ASSAY_TEST_CASSANDRA_URL") {
        Ok(url) => url,
        Err(_) => NODE.url().to_owned(),
    })
}

/// Runs statements by another client than the driver's; the rows of the last one, values with
/// blanks between.
pub fn cql(statements: &[&str]) -> Vec<String> {
    cql_at(node(), statements)
}

/// The same with the cluster behind a URL without options.
pub fn cql_at(url: &str, statements: &[&str]) -> Vec<String> {
    let (login, hosts) = match url.split_once("://").expect("it is a URL").1.rsplit_once('@') {
        Some((login, hosts)) => (login.split_once(':'), hosts),
        None => (None, url.split_once("://").expect("it is a URL").1),
    };
    let mut builder = SessionBuilder::new().known_nodes(hosts.split(','));
    if let Some((user, password)) = login {
        builder = builder.user(user, password);
    }
    let rows = assay_driver_kit::task::block_on(async {
        let session = builder.build().await.expect("the cluster is there");
        let mut last = Vec::new();
        for statement in statements {
            let result = session.query_unpaged(*statement, ()).await;
            let result = result.unwrap_or_else(|error| panic!("{statement}: {error}"));
            let Ok(rows) = result.into_rows_result() else { continue };
            let rows = rows.rows::<Row>().expect("rows can be read");
            last = rows.map(|row| line(&row.expect("rows can be read"))).collect();
        }
        last
    });
    rows.expect("this machine has resources")
}

fn line(row: &Row) -> String {
    let values = row.columns.iter().map(|value| match value {
        Some(CqlValue::Text(text)) => text.clone(),
        Some(other) => format!("{other:?}"),
        None => "null".to_owned(),
    });
    values.collect::<Vec<_>>().join(" ")
}
