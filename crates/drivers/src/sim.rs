//! Opens a simulated store by its URL: a preset or a file, changed by what stands behind the `?`.

use assay_model::Seed;
use assay_model::closest;
use assay_sim::{Config, SimulatedStore, presets};
use assay_store::OpenError;

/// The store that `url` describes; it draws from `seed` unless the URL names another.
///
/// # Errors
/// If there is no such preset or file, or an option is invalid.
pub fn open(url: &str, seed: Seed) -> Result<SimulatedStore, OpenError> {
    let wrong = |reason: String| OpenError::Url { url: url.into(), reason };
    let config = config(url.split_once(':').map_or("", |(_, rest)| rest)).map_err(wrong)?;
    SimulatedStore::new(config, seed).map_err(wrong)
}

/// What `PRESET?KEY=VALUE&…` or `FILE?KEY=VALUE&…` describes; nothing at all is `healthy`.
///
/// A file is one of SickStore's if its name ends in `.yml` or `.yaml`, one of ours if it ends in
/// `.toml`.
///
/// # Errors
/// If there is no such preset or file, or an option is invalid, with a sentence.
pub fn config(text: &str) -> Result<Config, String> {
    let (name, query) = text.split_once('?').unwrap_or((text, ""));
    let mut config = match name.rsplit_once('.').map(|(_, ending)| ending) {
        Some("toml") => from_file(name, Config::from_toml)?,
        Some("yml" | "yaml") => from_file(name, Config::from_sickstore)?,
        _ if name.is_empty() => Config::default(),
        _ => presets::find(name).ok_or_else(|| unknown(name))?,
    };
    config.set_all(query)?;
    Ok(config)
}

type Read = fn(&str, &str) -> Result<Config, assay_sim::tree::Wrong>;

fn from_file(path: &str, read: Read) -> Result<Config, String> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("{path} cannot be read: {error}; name another file"))?;
    read(&text, path).map_err(|wrong| format!("{path}:{}: {}", wrong.line, wrong.reason))
}

fn unknown(name: &str) -> String {
    let list = presets::list();
    let hint = match closest(name, list.iter().map(|(name, _)| name.as_str())) {
        Some(near) => format!("did you mean {near}?"),
        None => "`assay sim presets` lists them; files end in .toml or .yml".into(),
    };
    format!("there is no preset {name:?}; {hint}")
}

#[cfg(test)]
mod tests {
    use assay_store::{Store, StoreTime};

    use super::*;

    fn complaint(url: &str) -> String {
        open(url, Seed(1)).err().expect("the store must not open").to_string()
    }

    #[test]
    fn presets_open_with_their_changes() {
        let sim = open("sim:hickup1000_max1250?seed=7&max=800", Seed(1)).unwrap();
        assert_eq!(sim.capabilities().time, StoreTime::Simulated);
        let settings = sim.settings().unwrap();
        let describe = |name: &str| {
            settings.iter().find(|setting| setting.name == name).map(|one| one.value.clone())
        };
        assert_eq!(describe("seed").as_deref(), Some("7"));
        assert!(describe("node primary").unwrap().contains("800 requests/s, hiccup 30s for 1s"));
        assert_eq!(open("sim:", Seed(1)).unwrap().settings().unwrap()[0].value, "healthy");
    }

    #[test]
    fn files_open_by_their_ending() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.display().to_string()
        };
        let toml = write("ill.toml", "lost = 0.5\n");
        assert_eq!(config(&toml).unwrap().fault_model.lost.rate, 0.5);
        let yaml = write("a.yml", "queryHandler:\n  nodes:\n  - {name: n, primary: true}\n");
        assert_eq!(config(&format!("{yaml}?max=9")).unwrap().nodes[0].max, 9.0);
        let wrong = write("wrong.toml", "\nlots = 0.5\n");
        let message = complaint(&format!("sim:{wrong}"));
        assert!(
            message.contains("wrong.toml:2: there is no `lots` here; did you mean `lost`?"),
            "{message}"
        );
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (url, describe) in [
            ("sim:helthy", "there is no preset \"helthy\"; did you mean healthy?"),
            ("sim:measles", "`assay sim presets` lists them"),
            ("sim:?losst=1%", "did you mean `lost`?"),
            ("sim:no-such-file.toml", "no-such-file.toml cannot be read"),
        ] {
            assert!(complaint(url).contains(describe), "{url}: {}", complaint(url));
        }
    }
}
