//! Decision about the relations of a schema, given the existing ones.

use assay_model::Schema;
use assay_store::Existing;

/// What a store has to set up before queries are executed on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Todo {
    /// All is as it must be.
    Nothing,
    /// Make every relation.
    Make,
    /// Drop what is there, then make every relation.
    Replace,
}

/// Decides by the names of the columns that each relation has in the store, none if it is not
/// there. `place` is what the store keeps them in, for the error: "database" or "path".
pub fn decide(
    schema: &Schema,
    columns: &[Vec<String>],
    existing: Existing,
    place: &str,
) -> Result<Todo, String> {
    let all = || schema.relations.iter().zip(columns);
    let names = |is_there: bool| -> Vec<&str> {
        let chosen = all().filter(|(_, columns)| columns.is_empty() != is_there);
        chosen.map(|(relation, _)| relation.name.as_str()).collect()
    };
    match existing {
        Existing::Replace => Ok(Todo::Replace),
        Existing::Refuse if names(true).is_empty() => Ok(Todo::Make),
        Existing::Refuse => Err(format!(
            "it has these tables already: {}; have them replaced, or name another {place}",
            names(true).join(", ")
        )),
        Existing::Use if names(false).is_empty() => {
            let lacks = all().find_map(|(relation, columns)| {
                let is_here = |name: &str| has(columns, name);
                let column = relation.columns.iter().find(|column| !is_here(&column.name))?;
                Some((&relation.name, &column.name))
            });
            lacks.map_or(Ok(Todo::Nothing), |(table, column)| {
                Err(format!(
                    "its table {table} has no column {column}, so it was made for something \
                     else; have it replaced, or name another {place}"
                ))
            })
        }
        Existing::Use => {
            Err(format!("it lacks these tables: {}; load them first", names(false).join(", ")))
        }
    }
}

/// Whether a column of that name is among `columns`; letters' case does not matter.
pub fn has(columns: &[String], name: &str) -> bool {
    columns.iter().any(|other| other.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use assay_store::conformance::queries::catalogue;

    use super::*;

    /// The bank of the suite, where only these relations are there, one of them without a column.
    fn decided(there: &[&str], lacks: &str, existing: Existing) -> Result<Todo, String> {
        let schema = catalogue().schema;
        let columns = |relation: &assay_model::Relation| -> Vec<String> {
            let all = relation.columns.iter().map(|column| column.name.to_uppercase());
            let is_there = there.contains(&relation.name.as_str());
            all.filter(|name| is_there && *name != lacks).collect()
        };
        let columns: Vec<Vec<String>> = schema.relations.iter().map(columns).collect();
        decide(&schema, &columns, existing, "database")
    }

    const ALL: [&str; 3] = ["branch", "account", "kinds"];

    #[test]
    fn an_empty_place_takes_new_relations() {
        assert_eq!(decided(&[], "", Existing::Refuse), Ok(Todo::Make));
        assert_eq!(decided(&[], "", Existing::Replace), Ok(Todo::Replace));
        let reported = "it lacks these tables: branch, account, kinds; load them first";
        assert_eq!(decided(&[], "", Existing::Use), Err(reported.into()));
    }

    #[test]
    fn what_is_there_is_named() {
        let reported = "it has these tables already: account; have them replaced, or name another \
                    database";
        assert_eq!(decided(&["account"], "", Existing::Refuse), Err(reported.into()));
        assert_eq!(decided(&["account"], "", Existing::Replace), Ok(Todo::Replace));
        let reported = "it lacks these tables: branch, kinds; load them first";
        assert_eq!(decided(&["account"], "", Existing::Use), Err(reported.into()));
    }

    #[test]
    fn what_is_used_has_every_column() {
        assert_eq!(decided(&ALL, "", Existing::Use), Ok(Todo::Nothing));
        let reported = "its table account has no column balance, so it was made for something \
                        else; \
                    have it replaced, or name another database";
        assert_eq!(decided(&ALL, "BALANCE", Existing::Use), Err(reported.into()));
    }
}
