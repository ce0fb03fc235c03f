//! One cell as commands of this program.

use std::collections::BTreeMap;
use std::path::Path;

use assay_lab::GivenOptions;
use assay_model::percent_encoded;

use crate::command_line::CommandLine;
use crate::file::is_of_fill_too;

/// What stands in a URL for a directory of each cell alone.
pub const OWN_DIR: &str = "{dir}";

/// The commands that load a cell's store, then run its workload.
#[derive(Clone, Debug, PartialEq)]
pub struct CellCommands {
    /// Whom.
    pub target: Target,
    /// What fills the store; `None` if the run does that itself.
    pub fill: Option<CellCommand>,
    /// The command that loads it.
    pub run: CellCommand,
    /// The workload as the study file names it, wherever that is read from.
    pub workload: String,
    /// A fingerprint of the workload's text.
    pub workload_hash: String,
}

/// The store of a cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// One that the study starts.
    Up {
        /// The recipe's name.
        recipe: String,
        /// How many nodes; by default the recipe's usual number.
        nodes: Option<usize>,
        /// Which version.
        version: Option<String>,
        /// The recipe's options that were given.
        options: GivenOptions,
    },
    /// One with a URL, `{dir}` in it standing for a directory of the cell.
    Url(String),
}

impl Target {
    /// Whether the study starts it.
    pub const fn is_up(&self) -> bool {
        matches!(self, Target::Up { .. })
    }
}

/// One command: `assay run SPEC --flag value …`.
#[derive(Clone, Debug, PartialEq)]
pub struct CellCommand {
    /// `load` or `run`.
    pub verb: &'static str,
    /// The workload.
    pub spec: String,
    /// Flags without dashes with their values; empty for switches.
    pub flags: Vec<(String, String)>,
}

impl CellCommand {
    /// The command's words behind the program's name; `more` are flags of this time alone.
    pub fn words(&self, more: &[(&str, String)]) -> Vec<String> {
        let mut words = vec![self.verb.to_owned(), self.spec.clone()];
        let own = self.flags.iter().map(|(name, value)| (name.as_str(), value));
        for (name, value) in own.chain(more.iter().map(|(name, value)| (*name, value))) {
            words.push(format!("--{name}"));
            if !value.is_empty() {
                words.push(value.clone());
            }
        }
        words
    }
}

impl CellCommands {
    /// All settings that decide the figures, by name; users and passwords do not, and must stay
    /// secret.
    pub fn settings(&self, command_line: &CommandLine) -> BTreeMap<String, String> {
        let mut settings = BTreeMap::new();
        let mut add = |name: String, value: &str| {
            let before: &mut String = settings.entry(name).or_default();
            let comma = if before.is_empty() { "" } else { ", " };
            *before += &format!("{comma}{value}");
        };
        match &self.target {
            Target::Url(url) => add("url".to_owned(), &command_line.url_without_secrets(url)),
            Target::Up { recipe, nodes, version, options } => {
                add("up".to_owned(), recipe);
                let nodes = nodes.map_or("usual".to_owned(), |nodes| nodes.to_string());
                add("nodes".to_owned(), &nodes);
                add("version".to_owned(), version.as_deref().unwrap_or("usual"));
                for (name, value) in &options.0 {
                    let value = if command_line.names_a_secret(name) { "…" } else { value };
                    add(format!("option {name}"), value);
                }
            }
        }
        add("workload".to_owned(), &self.workload);
        add("workload's text".to_owned(), &self.workload_hash);
        for (name, value) in &self.run.flags {
            add(name.clone(), &command_line.display(name, value));
        }
        let of_fill = self.fill.iter().flat_map(|fill| &fill.flags);
        // What it has from the run is there already.
        for (name, value) in of_fill.filter(|(name, _)| !is_of_fill_too(command_line, name)) {
            add(format!("fill {name}"), &command_line.display(name, value));
        }
        settings
    }

    /// The command that starts the store as lab `name`, if the study starts it.
    pub fn lab_words(&self, name: &str) -> Option<Vec<String>> {
        let Target::Up { recipe, nodes, version, options } = &self.target else { return None };
        let mut words = ["lab", "up", recipe, "--name", name].map(str::to_owned).to_vec();
        if let Some(nodes) = nodes {
            words.extend(["--nodes".to_owned(), nodes.to_string()]);
        }
        if let Some(version) = version {
            words.extend(["--version".to_owned(), version.clone()]);
        }
        for (name, value) in &options.0 {
            words.extend(["--option".to_owned(), format!("{name}={value}")]);
        }
        Some(words)
    }
}

/// The URL of a cell whose own directory is `dir`.
pub fn url_in(template: &str, dir: &Path) -> String {
    let dir = dir.display().to_string();
    // There it is the value of an option, which ends with `&`.
    let is_encoded = template.starts_with("jvm:");
    let dir = match is_encoded {
        true => dir.split('/').map(percent_encoded).collect::<Vec<_>>().join("/"),
        false => dir,
    };
    template.replace(OWN_DIR, &dir)
}

/// The settings that differ, each with both values.
pub fn differences(
    target: &BTreeMap<String, String>,
    found: &BTreeMap<String, String>,
) -> Vec<String> {
    let mut names: Vec<&String> = target.keys().chain(found.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let display = |value: Option<&String>| value.map_or("not set".to_owned(), Clone::clone);
    names
        .into_iter()
        .filter(|name| target.get(*name) != found.get(*name))
        .map(|name| {
            let (was, is) = (display(found.get(name)), display(target.get(name)));
            format!("{name}: was {was}, is now {is}")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_stand_in_urls_as_their_stores_read_them() {
        let dir = Path::new("/a b/r&d");
        assert_eq!(url_in("fjall:{dir}/db", dir), "fjall:/a b/r&d/db");
        assert_eq!(url_in("jvm:a.B?p.x={dir}/m", dir), "jvm:a.B?p.x=/a%20b/r%26d/m");
    }
}
