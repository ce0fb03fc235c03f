//! Names of a store's nodes, numbered as clients meet them.

use std::sync::{Mutex, PoisonError};

use assay_model::NODES_MAX;

/// Numbers the nodes of a store whose clients find them one by one; shared by all clients.
///
/// A client looks a number up when it connects, not for each request.
#[derive(Debug, Default)]
pub struct NodeNames(Mutex<Vec<String>>);

impl NodeNames {
    /// These nodes, in this order.
    pub fn of(names: Vec<String>) -> NodeNames {
        NodeNames(Mutex::new(names))
    }

    /// The number of the node called `name`, its place plus one; it is added if it is new. 0 if
    /// there are more nodes than records can tell apart.
    pub fn number(&self, name: &str) -> u8 {
        let mut names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = names.iter().position(|other| other == name);
        let place = known.unwrap_or(names.len());
        if known.is_none() && place < NODES_MAX {
            names.push(name.to_owned());
        }
        number_of(place)
    }

    /// All names, by number.
    pub fn all(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The number of the node at `place`, from 0; 0 if records cannot tell it from others.
pub fn number_of(place: usize) -> u8 {
    u8::try_from(place + 1).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_keeps_its_number() {
        let names = NodeNames::of(vec!["a:1".to_owned()]);
        assert_eq!(["b:1", "a:1", "b:1"].map(|name| names.number(name)), [2, 1, 2]);
        assert_eq!(names.all(), ["a:1", "b:1"]);
    }

    #[test]
    fn nodes_beyond_what_records_can_tell_apart_have_no_number() {
        let names = NodeNames::default();
        let numbers: Vec<u8> = (0..257).map(|n| names.number(&n.to_string())).collect();
        assert_eq!((numbers[254], numbers[255], numbers[256]), (255, 0, 0));
        assert_eq!(names.all().len(), 255);
    }
}
