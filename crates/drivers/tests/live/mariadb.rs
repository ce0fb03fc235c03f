//! The MariaDB driver against real servers.

mod faults;
mod galera;
mod opening;
mod server;

use assay_store::conformance::queries::assert_queries_conform;

use crate::rows::test_rows;
use crate::stores::{
    ANY_BYTES, LONG_KEYS, ONE_MIB, REPLACED_BY_ONE_MIB, assert_conforms_but_for, store,
};
use server::Server;

test_rows! { ordeal, Server::start(&[]);
    it_conforms(&["?columns=bytes&connections=3"]);
}

#[test]
fn mariadb_conforms_but_for_what_is_no_text() {
    let server = Server::start(&[]);
    let expected = [ANY_BYTES, ONE_MIB, REPLACED_BY_ONE_MIB, LONG_KEYS];
    assert_conforms_but_for(&server.url("?connections=2"), &expected);
}

#[test]
fn queries_to_mariadb_conform_at_every_isolation() {
    let server = Server::start(&["--innodb-lock-wait-timeout=1"]);
    for level in ["read-committed", "repeatable-read", "serializable"] {
        let url = server.url(&format!("?connections=3&isolation={level}"));
        assert_queries_conform(&*store(&url));
    }
}
