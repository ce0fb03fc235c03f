//! `assay mapping`: how queries are executed on a store without a query language.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use assay_mapping::explain::{Explanation, explain};
use assay_mapping::{Class, Expected, Keys, Physical};
use assay_model::{Catalogue, Seed, Statement};
use assay_report::mapping::{self as report, Choice, MappedQuery, Mapping, Requested, Stored};
use assay_sql::{Dialect, query_text};
use assay_workload::PlanPhase;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, ValueHint};

use crate::atomic_file;
use crate::exit::{Exit, as_usage, usage};
use crate::mapped;
use crate::options::Options;
use crate::run_plan::changes;
use crate::show::put;
use crate::workload::{Changes, Workload};

/// What can be typed besides changes of the spec.
#[derive(Args, Debug)]
#[command(about = "The tables of a mapping, and the requests of each query")]
struct ExplainArgs {
    /// A workload of queries, as for `assay run`
    #[arg(value_name = "SPEC", value_hint = ValueHint::FilePath)]
    spec: String,
    /// The kind of store: relational, column or key-value
    #[arg(long, value_name = "CLASS", value_parser = ["relational", "column", "key-value"])]
    class: String,
    /// Explain this physical schema instead of the advisor's
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[arg(conflicts_with_all = ["option", "trust_keys"])]
    mapping: Option<String>,
    /// Which of the advisor's options; default: 1, the cheapest
    #[arg(long, value_name = "N")]
    option: Option<String>,
    /// INSERTs do not check whether the key is free: one request less
    #[arg(long)]
    trust_keys: bool,
    /// Write the physical schema, for `--mapping FILE` of other verbs
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    save: Option<PathBuf>,
    /// text, json or md [default: text]
    #[arg(long, value_name = "FORMAT", value_parser = ["text", "json", "md"])]
    #[arg(hide_possible_values = true)]
    format: Option<String>,
    /// Write the explanation there instead of standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,
}

/// The command with its arguments.
pub fn command(spec_changes: [Arg; 3]) -> Command {
    Command::new("mapping")
        .about("How queries are executed on a store without a query language")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(ExplainArgs::augment_args(Command::new("explain").args(spec_changes)))
}

/// `assay mapping …`.
pub fn dispatch(matches: &ArgMatches) -> Result<Exit> {
    match matches.subcommand() {
        Some(("explain", matches)) => explain_mapping(matches),
        _ => Ok(Exit::Usage),
    }
}

/// The queries, without any randomness: a mapping depends on queries and sizes only.
struct Subject {
    name: String,
    catalogue: Catalogue,
    frequencies: Vec<f64>,
    /// The rows of each relation after the load, where they are known.
    rows: Vec<f64>,
    /// Whether each relation is one table.
    keeps_relations: bool,
    /// What the frequencies are per.
    per: &'static str,
}

fn explain_mapping(matches: &ArgMatches) -> Result<Exit> {
    let arguments = ExplainArgs::from_arg_matches(matches)?;
    let subject = subject(&arguments.spec, &changes(matches, &Options::default())?)?;
    let mapping = match Class::from_name(&arguments.class) {
        Some(class) => physical_mapping(&arguments, &subject, class)?,
        None => relational(&arguments, subject)?,
    };
    let displayed = match arguments.format.as_deref() {
        Some("json") => report::json(&mapping),
        Some("md") => report::markdown(&mapping),
        _ => report::text(&mapping),
    };
    put(&displayed, arguments.output.as_deref())?;
    Ok(Exit::Fine)
}

fn subject(spec: &str, changes: &Changes) -> Result<Subject> {
    let workload = Workload::read(spec, changes)?;
    let compiled = workload.plan(Seed(0), PlanPhase::Run)?;
    let Some(catalogue) = compiled.catalogue() else {
        return Err(usage(format!(
            "{spec} accesses records by key, which every store supports: only queries need a \
             mapping"
        )));
    };
    let per = if workload.trace.is_some() { "query" } else { "transaction" };
    Ok(Subject {
        name: workload.name.clone(),
        frequencies: compiled.frequencies(),
        rows: compiled.relation_rows(),
        keeps_relations: compiled.keeps_relations(),
        catalogue: Catalogue::clone(catalogue),
        per,
    })
}

/// A store that takes SQL gets each query as it is.
fn relational(arguments: &ExplainArgs, subject: Subject) -> Result<Mapping> {
    for (flag, is_given) in [
        ("mapping", arguments.mapping.is_some()),
        ("save", arguments.save.is_some()),
        ("option", arguments.option.is_some()),
    ] {
        if is_given {
            return Err(usage(format!(
                "--{flag}: a relational store keeps the relations as they are, nothing is chosen; \
                 leave it out"
            )));
        }
    }
    let schema = &subject.catalogue.schema;
    let tables = schema.relations.iter().map(|relation| Stored {
        name: relation.name.clone(),
        role: "base".into(),
        key: relation
            .primary_key
            .iter()
            .map(|column| relation.column(*column).name.clone())
            .collect(),
        partition: None,
        columns: (0..)
            .zip(&relation.columns)
            .filter(|(number, _)| !relation.primary_key.contains(number))
            .map(|(_, column)| column.name.clone())
            .collect(),
    });
    let queries = subject.catalogue.queries.iter().zip(&subject.frequencies);
    let queries = queries.map(|(query, frequency)| MappedQuery {
        name: query.name.clone(),
        sql: query_text(Dialect::Logical, schema, &query.statement).text,
        frequency: *frequency,
        rows: None,
        cost: None,
        requests: vec![Requested {
            count: 1.0,
            verb: "statement".into(),
            table: issued_to(&query.statement)
                .iter()
                .map(|number| schema.relation(*number).name.as_str())
                .collect::<Vec<_>>()
                .join(", "),
            key: Vec::new(),
            sifted: Vec::new(),
        }],
        sorted: Vec::new(),
    });
    Ok(Mapping {
        workload: subject.name,
        class: "relational".into(),
        origin: "the relations as they are".into(),
        per: subject.per.into(),
        options: Vec::new(),
        tables: tables.collect(),
        queries: queries.collect(),
        warnings: vec!["Each query is one statement, prepared once for each connection.".into()],
    })
}

/// The relations that a statement is about.
fn issued_to(statement: &Statement) -> Vec<u16> {
    match statement {
        Statement::Select(select) => select.from.clone(),
        Statement::Insert(insert) => vec![insert.relation],
        Statement::Update(update) => vec![update.relation],
        Statement::Delete(delete) => vec![delete.relation],
    }
}

/// The tables that a store of records keeps the relations in, with the accesses of each query.
fn physical_mapping(arguments: &ExplainArgs, subject: &Subject, class: Class) -> Result<Mapping> {
    let (physical, origin, options) = match &arguments.mapping {
        Some(file) => {
            let physical = mapped::read(file)?;
            if physical.class != class {
                let other = physical.class.name();
                return Err(usage(format!("{file} is for {other} stores: give --class {other}")));
            }
            (physical, file.clone(), Vec::new())
        }
        None => advised(arguments, subject, class)?,
    };
    let explanation = explain(&subject.catalogue, &physical).map_err(as_usage)?;
    if let Some(file) = &arguments.save {
        atomic_file::write_text(file, &physical.to_toml()).context("--save")?;
    }
    Ok(display(subject, explanation, origin, options))
}

/// A physical schema, where it comes from in words, what it was chosen from.
type Advised = (Physical, String, Vec<Choice>);

/// The option of the advisor that is wanted, with all of them.
fn advised(arguments: &ExplainArgs, subject: &Subject, class: Class) -> Result<Advised> {
    let keys = match arguments.trust_keys {
        true => Keys::Trusted,
        false => Keys::Checked,
    };
    let expected = Expected {
        frequencies: &subject.frequencies,
        rows: &subject.rows,
        keys,
        keeps_relations: subject.keeps_relations,
    };
    let advice = mapped::advised(&subject.catalogue, class, &expected)?;
    let mut all = vec![(advice.cost, advice.best)];
    all.extend(advice.others);
    let target = match &arguments.option {
        None => 1,
        Some(text) => match text.parse() {
            Ok(number) if (1..=all.len()).contains(&number) => number,
            _ => {
                return Err(usage(format!(
                    "--option: there is no option {text}, only 1 to {}",
                    all.len()
                )));
            }
        },
    };
    let choices = all.iter().enumerate().map(|(place, (cost, physical))| Choice {
        cost: *cost,
        tables: names(physical),
        is_shown: place + 1 == target,
    });
    let choices = choices.collect();
    let origin = format!("option {target} of {} that were ranked", advice.options);
    let (_, physical) = all.swap_remove(target - 1);
    Ok((physical, origin, choices))
}

/// The names of what is stored: tables, with the entries of their indexes.
fn names(physical: &Physical) -> Vec<String> {
    let plain = physical.tables.iter().map(|table| table.name.clone());
    let indexes = physical
        .tables
        .iter()
        .filter_map(|table| Some(format!("{} by {}", table.name, table.index.as_ref()?)));
    plain.chain(indexes).collect()
}

fn display(
    subject: &Subject,
    explanation: Explanation,
    origin: String,
    options: Vec<Choice>,
) -> Mapping {
    let is_column = explanation.class == Class::Column;
    let tables = explanation.tables.into_iter().map(|table| Stored {
        name: table.name,
        role: table.role.name().into(),
        key: table.key,
        partition: is_column.then_some(usize::from(table.partition)),
        columns: table.columns,
    });
    let queries = explanation.queries.into_iter().zip(&subject.frequencies);
    let queries = queries.map(|(query, frequency)| MappedQuery {
        name: query.name,
        sql: query.sql,
        frequency: *frequency,
        rows: Some(query.rows),
        cost: Some(query.cost),
        requests: query
            .requests
            .into_iter()
            .map(|request| Requested {
                count: request.expected,
                verb: request.verb.name().into(),
                table: request.table,
                key: request.key,
                sifted: request.sifted,
            })
            .collect(),
        sorted: query.sorted,
    });
    let mut warnings =
        vec!["A query of several requests is not atomic, and a rollback has no effect.".to_owned()];
    if explanation.keys == Keys::Trusted {
        warnings.push("An INSERT does not look if its key is free.".into());
    }
    Mapping {
        workload: subject.name.clone(),
        class: explanation.class.name().into(),
        origin,
        per: subject.per.into(),
        options,
        tables: tables.collect(),
        queries: queries.collect(),
        warnings,
    }
}
