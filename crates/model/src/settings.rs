//! A setting of a store that a reader of its figures must know.

/// One effective setting, for example `appendfsync = everysec`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The store's own name for it.
    pub name: String,
    /// Its value, as the store tells it; secrets are never among them.
    pub value: String,
    /// What it means for the figures, for example "a crash loses up to one second of writes".
    pub meaning: String,
}

impl Setting {
    /// A setting with its value and what that means.
    pub fn new(
        name: impl Into<String>,
        value: impl Into<String>,
        meaning: impl Into<String>,
    ) -> Setting {
        Setting { name: name.into(), value: value.into(), meaning: meaning.into() }
    }
}
