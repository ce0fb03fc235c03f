//! The PostgreSQL driver against real servers.

mod faults;
mod flood;
mod opening;
mod server;
mod standby;

use assay_store::conformance::queries::assert_queries_conform;

use crate::rows::test_rows;
use crate::stores::{
    ANY_BYTES, LONG_KEYS, ONE_MIB, REPLACED_BY_ONE_MIB, assert_conforms_but_for, store,
};
use server::Server;

test_rows! { ordeal, Server::start(&[]);
    it_conforms(&["?columns=bytes&connections=3"]);
    flushed_writes_survive_kill_9("");
}

#[test]
fn postgres_conforms_but_for_what_is_no_text() {
    let server = Server::start(&[]);
    let odd_keys = ("keys with spaces, line ends or zeros are keys like others", "malformed");
    let expected = [ANY_BYTES, ONE_MIB, REPLACED_BY_ONE_MIB, LONG_KEYS, odd_keys];
    assert_conforms_but_for(&server.url("?connections=2"), &expected);
}

#[test]
fn postgres_takes_queries_at_every_level() {
    let server = Server::start(&["deadlock_timeout=100ms"]);
    for level in ["read-committed", "repeatable-read", "serializable"] {
        assert_queries_conform(&*store(&server.url(&format!("?connections=4&isolation={level}"))));
    }
}
