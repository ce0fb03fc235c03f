//! Man: the verb, hidden from help, that writes a man page for each command.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use clap::{Arg, ArgMatches, Command, ValueHint};

use crate::exit::Exit;

/// The command line of the verb.
pub fn command() -> Command {
    Command::new("man")
        .about("Write a man page for each command into a directory")
        .hide(true)
        .arg(Arg::new("dir").value_name("DIR").required(true).value_hint(ValueHint::DirPath))
}

/// `assay man DIR`: `assay.1`, `assay-bench.1`, `assay-lab-up.1`, …
pub fn man(matches: &ArgMatches, whole: Command) -> Result<Exit> {
    let dir = Path::new(matches.get_one::<String>("dir").context("a directory is needed")?);
    fs::create_dir_all(dir).with_context(|| format!("cannot create {}", dir.display()))?;
    write_pages(dir, whole.disable_help_subcommand(true))?;
    Ok(Exit::Fine)
}

fn write_pages(dir: &Path, mut whole: Command) -> Result<()> {
    whole.build();
    write_page(dir, &whole)
}

fn write_page(dir: &Path, command: &Command) -> Result<()> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).title(name.to_uppercase()).render(&mut page)?;
    let path = dir.join(format!("{name}.1"));
    fs::write(&path, page).with_context(|| format!("cannot write {}", path.display()))?;
    command
        .get_subcommands()
        .filter(|one| !one.is_hide_set())
        .try_for_each(|one| write_page(dir, one))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_has_a_page_that_names_its_options() {
        let dir = tempfile::tempdir().unwrap();
        write_pages(dir.path(), crate::cli::command().disable_help_subcommand(true)).unwrap();
        let page = fs::read_to_string(dir.path().join("assay-bench.1")).unwrap();
        assert!(page.contains("\\-\\-rate"), "{page}");
        assert!(dir.path().join("assay-lab-up.1").is_file());
        assert!(!dir.path().join("assay-man.1").exists());
    }
}
