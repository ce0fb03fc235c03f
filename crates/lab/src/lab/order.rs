//! Order of a cluster, compared with what a recipe can start.

use assay_model::closest;

use crate::card::{Card, GivenOptions, NUMBER, Scaling};
use crate::error::LabError;
use crate::network::Network;
use crate::proxy::Now;
use crate::recipe::Recipe;

/// A requested cluster.
#[derive(Clone)]
pub struct Order {
    /// The store.
    pub recipe: &'static dyn Recipe,
    /// How many nodes; by default the recipe's usual number.
    pub nodes: Option<usize>,
    /// Which version; by default the recipe's usual one.
    pub version: Option<String>,
    /// Where nodes live.
    pub network: Network,
    /// The options that were given.
    pub options: GivenOptions,
    /// How large a disk each node has for itself, in MiB; by default they have none.
    pub disk_mib: Option<u64>,
    /// The time for a proxy between clients and nodes, if there shall be one.
    pub proxy: Option<Now>,
    /// The same for one between nodes.
    pub peer_proxy: Option<Now>,
    /// The time, for disks that are made slow.
    pub now: Option<Now>,
}

impl Order {
    /// The usual cluster of a recipe.
    pub fn of(recipe: &'static dyn Recipe) -> Order {
        Order {
            recipe,
            nodes: None,
            version: None,
            network: Network::default(),
            options: GivenOptions::default(),
            disk_mib: None,
            proxy: None,
            peer_proxy: None,
            now: None,
        }
    }

    /// With so many nodes.
    pub fn nodes(mut self, nodes: usize) -> Order {
        self.nodes = Some(nodes);
        self
    }

    /// With a value of an option.
    pub fn choose(mut self, name: &str, value: &str) -> Order {
        self.options.0.insert(name.to_owned(), value.to_owned());
        self
    }

    /// How many nodes of which version it is about.
    ///
    /// # Errors
    /// If the store, whose card this is, cannot be had so.
    pub fn check(&self, card: &Card) -> Result<(usize, String), LabError> {
        let nodes = self.nodes.unwrap_or(card.nodes.usual);
        check_count(card, nodes)?;
        let usual = card.versions[0].name;
        let version = self.version.as_deref().unwrap_or(usual);
        if !card.versions.iter().any(|known| known.name == version) {
            let all: Vec<String> = card
                .versions
                .iter()
                .map(|version| format!("{} ({})", version.name, version.source))
                .collect();
            let all = all.join(", ");
            return wrong(format!("{} is not to be had in version {version}: {all}", card.name));
        }
        for (name, value) in &self.options.0 {
            check_option(card, name, value)?;
        }
        if self.proxy.is_some() && self.recipe.card().is_discovered {
            return wrong(format!(
                "clients of {} find its nodes by themselves, so they would go around --proxy; \
                 partitions need --network namespaces",
                card.name
            ));
        }
        self.check_peer_proxy(card)?;
        Ok((nodes, version.to_owned()))
    }

    fn check_peer_proxy(&self, card: &Card) -> Result<(), LabError> {
        if self.peer_proxy.is_none() {
            return Ok(());
        }
        if self.network == Network::Namespaces {
            return wrong(
                "--proxy-peers listens on loopback addresses, which nodes with --network \
                 namespaces do not reach; their links are cut by `partition`"
                    .to_owned(),
            );
        }
        if self.recipe.card().peer_ports.is_empty() {
            return wrong(format!(
                "nodes of {} cannot reach each other through --proxy-peers (docs/lab.md says whose \
                 can); with root, --network namespaces lets partitions cut their links",
                card.name
            ));
        }
        Ok(())
    }
}

fn check_option(card: &Card, name: &str, value: &str) -> Result<(), LabError> {
    let names = || card.options.iter().map(|option| option.name);
    let Some(option) = card.options.iter().find(|option| option.name == name) else {
        let hint = match closest(name, names()) {
            Some(near) => format!("did you mean {near}?"),
            None if card.options.is_empty() => "it has none".into(),
            None => format!("it has {}", names().collect::<Vec<_>>().join(", ")),
        };
        return wrong(format!("{} has no option {name:?}; {hint}", card.name));
    };
    let is_fit = match option.values {
        [] => true,
        [NUMBER] => value.parse::<u64>().is_ok(),
        values => values.contains(&value),
    };
    if is_fit {
        return Ok(());
    }
    if option.values == [NUMBER] {
        return wrong(format!("option {name} of {} is a whole number, not {value:?}", card.name));
    }
    let values = option.values.join(" or ");
    wrong(format!("option {name} of {} is {values}, not {value:?}", card.name))
}

fn check_count(card: &Card, nodes: usize) -> Result<(), LabError> {
    let allowed = &card.nodes.allowed;
    if allowed.contains(&nodes) {
        return Ok(());
    }
    let range = match allowed.start() == allowed.end() {
        true => allowed.start().to_string(),
        false => format!("{} to {}", allowed.start(), allowed.end()),
    };
    wrong(format!("{} can have {range} nodes here, not {nodes}", card.name))
}

/// Whether `now` nodes can become `expected`.
///
/// # Errors
/// If the store cannot have so many, or cannot change while it runs.
pub fn check_scale(card: &Card, now: usize, expected: usize) -> Result<(), LabError> {
    check_count(card, expected)?;
    if now == expected || card.scaling == Scaling::Online {
        return Ok(());
    }
    wrong(format!(
        "{} stays at the {now} nodes that it was started with; end it, start it with {expected}",
        card.name
    ))
}

fn wrong<T>(reason: String) -> Result<T, LabError> {
    Err(LabError::Order(reason))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipes;

    #[test]
    fn an_option_of_a_number_is_a_number() {
        let order = Order::of(recipes::find("postgres").unwrap());
        let card = order.recipe.card();
        assert!(order.clone().choose("apply-delay", "200").check(&card).is_ok());
        for wrong in ["soon", "200ms", "-1", ""] {
            let refused = order.clone().choose("apply-delay", wrong).check(&card).unwrap_err();
            let expected =
                format!("option apply-delay of postgres is a whole number, not {wrong:?}");
            assert_eq!(refused.to_string(), expected);
        }
    }
}
