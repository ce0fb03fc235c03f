//! The conformance suite against real stores, as a table of stores by rules.

use std::path::PathBuf;

use anyhow::Result;
use assay_drivers::registry;
use assay_model::Seed;
use assay_report::table::{Align, Table};
use assay_store::conformance::queries::survey_queries;
use assay_store::conformance::{Ruling, Verdict, survey};
use assay_store::{OpenError, Store};
use clap::{ArgMatches, Args, FromArgMatches, ValueHint};
use serde_json::json;

use crate::exit::{Exit, code, from_open, usage};
use crate::lab::tied::RunLab;
use crate::opening::open_store;
use crate::options::{Options, SettingValue, StoreNodes};
use crate::show::{put, require_place};

/// What can be typed besides where labs are.
#[derive(Args, Debug)]
#[command(
    about = "Check the contract of every driver with its store; everything in the store is removed"
)]
pub struct CheckArgs {
    /// A store as with --target
    #[arg(value_name = "URL")]
    url: Vec<String>,
    /// A store that nobody else uses; needs --replace; may be repeated
    #[arg(short, long, value_name = "URL")]
    target: Vec<String>,
    /// Start this store here, check it, end it; may be repeated
    #[arg(long, value_name = "STORE[:N]")]
    up: Vec<String>,
    /// Yes, remove what is in the stores of --target
    #[arg(long)]
    replace: bool,
    /// text, md or json
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    #[arg(value_parser = ["text", "md", "json"], hide_possible_values = true)]
    format: String,
    /// Write the table there instead of to standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<String>,
}

/// `assay stores check`: every store that is named, one after another.
pub fn check(matches: &ArgMatches) -> Result<Exit> {
    let CheckArgs { url, target, up, replace, format, output } =
        CheckArgs::from_arg_matches(matches)?;
    let urls = url.into_iter().chain(target).collect();
    let places = places(urls, up, replace)?;
    let options = Options::gather(matches)?;
    let output = output.map(PathBuf::from);
    output.as_deref().map_or(Ok(()), |output| require_place("--output", output))?;
    let mut exit = Exit::Fine;
    let mut checked = Vec::new();
    let mut failed = Vec::new();
    for place in &places {
        match place.examine(&options) {
            Ok(store) => checked.push(store),
            Err(error) => {
                eprintln!("error: {}: {error:#}", place.display());
                failed.push((place.display(), format!("{error:#}")));
                exit = code(&error);
            }
        }
    }
    if checked.iter().any(Checked::is_broken) {
        exit = Exit::Regression;
    }
    let text = match format.as_str() {
        "json" => as_json(&checked, &failed),
        "md" => as_text(&checked, &failed, |table| table.markdown()),
        _ => as_text(&checked, &failed, |table| table.lines().join("\n") + "\n"),
    };
    put(&text, output.as_deref())?;
    Ok(exit)
}

/// Where a store is.
enum Place {
    Url(String),
    Lab { text: String, expected: StoreNodes },
}

/// The stores in the order in which they were typed, those with a URL first.
fn places(urls: Vec<String>, up: Vec<String>, replaces: bool) -> Result<Vec<Place>> {
    if !urls.is_empty() && !replaces {
        return Err(usage(
            "the check removes what Assay has in a store, tables with all rows included; say \
             --replace if nobody needs it, or start an empty store with --up STORE",
        ));
    }
    let labs: Vec<Place> = up.into_iter().map(lab).collect::<Result<_>>()?;
    let places: Vec<Place> = urls.into_iter().map(Place::Url).chain(labs).collect();
    if places.is_empty() {
        return Err(usage("name a store: --up STORE, or URL --replace"));
    }
    Ok(places)
}

fn lab(text: String) -> Result<Place> {
    let expected = StoreNodes::parse(&text).map_err(|why| usage(format!("--up: {why}")))?;
    Ok(Place::Lab { text, expected })
}

impl Place {
    fn display(&self) -> String {
        match self {
            Place::Url(url) => registry::without_secrets(url),
            Place::Lab { text, .. } => format!("--up {text}"),
        }
    }

    fn examine(&self, options: &Options) -> Result<Checked> {
        match self {
            Place::Url(url) => examine(url, scheme(url), &self.display()),
            Place::Lab { text, expected } => {
                let lab = RunLab::start(options, expected, &mut |text| eprintln!("{text}"))?;
                examine(&lab.record.url, text, &format!("version {}", lab.record.version))
            }
        }
    }
}

/// A store with what it made of every rule.
struct Checked {
    name: String,
    place: String,
    rulings: Vec<Ruling>,
}

impl Checked {
    fn is_broken(&self) -> bool {
        self.rulings.iter().any(|ruling| matches!(ruling.verdict, Verdict::Violated(_)))
    }

    fn word(&self, rule: &str) -> &'static str {
        let ruling = self.rulings.iter().find(|ruling| ruling.rule == rule);
        match ruling.map(|ruling| &ruling.verdict) {
            Some(Verdict::Held) => "held",
            Some(Verdict::Violated(_)) => "VIOLATED",
            Some(Verdict::Refused(_)) => "refused",
            Some(Verdict::NotDeclared) | None => "-",
        }
    }
}

/// What a column of a store with this URL is called.
fn scheme(url: &str) -> &str {
    url.split_once(':').map_or(url, |(scheme, _)| scheme)
}

fn examine(url: &str, name: &str, place: &str) -> Result<Checked> {
    let store = open_store(url, Seed(0))?;
    let capabilities = store.capabilities();
    eprintln!("checking {name} ({place}) through the driver {}", capabilities.name);
    require_an_answer(store.as_ref()).map_err(from_open)?;
    let mut rulings = survey(store.as_ref());
    for incident in store.incidents() {
        eprintln!("note: {incident}");
    }
    if capabilities.takes_queries && !capabilities.is_no_op {
        // One store object serves either records or queries, not both.
        drop(store);
        let queries = survey_queries(open_store(url, Seed(0))?.as_ref());
        let is_known = |ruling: &Ruling| rulings.iter().any(|known| known.rule == ruling.rule);
        let (again, new): (Vec<Ruling>, Vec<Ruling>) = queries.into_iter().partition(is_known);
        for ruling in again {
            take(&mut rulings, ruling);
        }
        rulings.extend(new);
    }
    Ok(Checked { name: name.to_owned(), place: place.to_owned(), rulings })
}

/// A rule that both suites have is only kept if it is in both.
fn take(rulings: &mut [Ruling], again: Ruling) {
    let known = rulings.iter_mut().find(|known| known.rule == again.rule);
    if let Some(known) = known
        && !matches!(known.verdict, Verdict::Violated(_))
    {
        *known = again;
    }
}

/// A store that is not there breaks no rule.
fn require_an_answer(store: &dyn Store) -> Result<(), OpenError> {
    store.settings().map(|_| ())
}

/// Every rule that one of the stores was checked for, in order.
fn rules(checked: &[Checked]) -> Vec<&'static str> {
    let mut rules = Vec::new();
    for ruling in checked.iter().flat_map(|store| &store.rulings) {
        if !rules.contains(&ruling.rule) {
            rules.push(ruling.rule);
        }
    }
    rules
}

const LEGEND: &str = "
refused: the store cannot keep such a key or value, and says so before anything happens.
-: the store does not declare what the rule is about.

";

fn as_text(
    checked: &[Checked],
    failed: &[(String, String)],
    table_text: impl Fn(&Table) -> String,
) -> String {
    let mut text = String::new();
    if !checked.is_empty() {
        let names = checked.iter().map(|store| (store.name.as_str(), Align::Left));
        let columns: Vec<(&str, Align)> =
            [("rule", Align::Left)].into_iter().chain(names).collect();
        let mut table = Table::new(&columns);
        for rule in rules(checked) {
            let words = checked.iter().map(|store| store.word(rule).to_owned());
            table.row([rule.to_owned()].into_iter().chain(words).collect());
        }
        text.push_str(&table_text(&table));
        text.push_str(LEGEND);
    }
    for store in checked {
        text.push_str(&format!("* {}: {}\n", store.name, summary(store)));
        for ruling in &store.rulings {
            match &ruling.verdict {
                Verdict::Violated(instead) => {
                    text.push_str(&format!("  * VIOLATED: {}; but {instead}\n", ruling.rule));
                }
                Verdict::Refused(what) => {
                    text.push_str(&format!("  * refused: {}: {what}\n", ruling.rule));
                }
                Verdict::Held | Verdict::NotDeclared => {}
            }
        }
    }
    for (place, reason) in failed {
        text.push_str(&format!("* {place}: not checked: {reason}\n"));
    }
    text
}

fn summary(store: &Checked) -> String {
    let count = |expected: &str| {
        store.rulings.iter().filter(|ruling| store.word(ruling.rule) == expected).count()
    };
    let counts = [("held", "held"), ("VIOLATED", "violated"), ("refused", "refused")];
    let counts = counts.map(|(expected, displayed)| format!("{} {displayed}", count(expected)));
    format!("{}, {} not declared ({})", counts.join(", "), count("-"), store.place)
}

fn as_json(checked: &[Checked], failed: &[(String, String)]) -> String {
    let ruling = |ruling: &Ruling| match &ruling.verdict {
        Verdict::Held => json!({"rule": ruling.rule, "verdict": "held"}),
        Verdict::Violated(instead) => {
            json!({"rule": ruling.rule, "verdict": "violated", "instead": instead})
        }
        Verdict::Refused(what) => {
            json!({"rule": ruling.rule, "verdict": "refused", "instead": what})
        }
        Verdict::NotDeclared => json!({"rule": ruling.rule, "verdict": "not declared"}),
    };
    let store = |store: &Checked| {
        let rulings: Vec<_> = store.rulings.iter().map(ruling).collect();
        json!({"store": store.name, "place": store.place, "rules": rulings})
    };
    let stores: Vec<_> = checked.iter().map(store).collect();
    let failed: Vec<_> =
        failed.iter().map(|(place, why)| json!({"place": place, "reason": why})).collect();
    format!("{:#}\n", json!({"stores": stores, "not_checked": failed}))
}
