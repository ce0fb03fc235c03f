//! The recipes that there are, one file each.

use assay_model::closest;

use crate::recipe::Recipe;

pub mod cassandra;
pub mod dynamodb_local;
pub mod etcd;
pub mod ferretdb;
pub mod galera;
pub mod ignite;
pub mod mariadb;
pub mod memcached;
pub mod nats;
pub mod postgres;
pub mod redis;
pub mod redis_cluster;
pub mod redis_sentinel;
pub mod tikv_standin;

/// Why the clock of a server in Go cannot be moved.
const GO_CLOCK: &str = "its server is a Go program, which libfaketime does not reach";

/// What a store calls its node `node`.
fn name(node: usize) -> String {
    format!("n{node}")
}

/// Every recipe, by name.
pub const ALL: &[&dyn Recipe] = &[
    &cassandra::Cassandra,
    &dynamodb_local::DynamoDbLocal,
    &etcd::Etcd,
    &ferretdb::FerretDb,
    &galera::Galera,
    &ignite::Ignite,
    &mariadb::MariaDb,
    &memcached::Memcached,
    &nats::Nats,
    &postgres::Postgres,
    &redis::Redis,
    &redis_cluster::RedisCluster,
    &redis_sentinel::RedisSentinel,
    &tikv_standin::TiKvStandIn,
];

/// The recipe with this name.
///
/// # Errors
/// If there is none: a sentence that names what there is.
pub fn find(name: &str) -> Result<&'static dyn Recipe, String> {
    let found = ALL.iter().find(|recipe| recipe.card().name == name);
    let names = || ALL.iter().map(|recipe| recipe.card().name);
    found.copied().ok_or_else(|| match closest(name, names()) {
        Some(near) => format!("the lab has no recipe for {name:?}; did you mean {near}?"),
        None => {
            let names: Vec<&str> = names().collect();
            format!("the lab has no recipe for {name:?}; it has {}", names.join(", "))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::card::{Need, Supply};

    #[test]
    fn what_a_recipe_installs_is_what_its_card_calls_a_package() {
        let packages = |name: &str| -> Vec<&str> {
            let needs = find(name).unwrap().card().needs;
            let package = |need: &Need| match need.supply {
                Supply::Package(package) => Some(package),
                Supply::ByHand(_) => None,
            };
            needs.iter().filter_map(package).collect()
        };
        assert_eq!(packages("postgres"), ["postgresql"]);
        assert_eq!(packages("etcd"), ["etcd-server", "etcd-client"]);
        // The lab does not install Java and Maven.
        assert_eq!(packages("cassandra"), Vec::<&str>::new());
    }
}
