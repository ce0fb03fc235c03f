//! Opens a sick store by its URL: a preset or a file, changed by what stands behind the `?`.

use assay_model::Seed;
use assay_store::OpenError;
use assay_store::sick::{Config, Sick, presets};

/// The store that `url` describes; it draws from `seed` unless the URL names another.
///
/// # Errors
/// If there is no such preset, or an option makes no sense.
pub fn open(url: &str, seed: Seed) -> Result<Sick, OpenError> {
    let wrong = |reason: String| OpenError::Url { url: url.into(), reason };
    let config = config(url.strip_prefix("sick:").unwrap_or("")).map_err(wrong)?;
    Sick::new(config, seed).map_err(wrong)
}

/// What `PRESET?KEY=VALUE&…` describes.
///
/// # Errors
/// If there is no such preset, or an option makes no sense, with a sentence.
pub fn config(text: &str) -> Result<Config, String> {
    let (name, query) = text.split_once('?').unwrap_or((text, ""));
    let name = if name.is_empty() { "healthy" } else { name };
    let mut config = presets::find(name)
        .ok_or_else(|| format!("there is no preset {name:?}; `assay sick presets` lists them"))?;
    for option in query.split('&').filter(|option| !option.is_empty()) {
        let (key, value) = option.split_once('=').unwrap_or((option, ""));
        match key {
            "seed" => {
                let seed = value.parse().map_err(|_| format!("seed={value} is no whole number"))?;
                config.seed = Some(Seed(seed));
            }
            _ => return Err(format!("there is no option {key:?}")),
        }
    }
    Ok(config)
}
