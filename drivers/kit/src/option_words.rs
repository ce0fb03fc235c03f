//! Enums whose variants are the words that an option may have.

/// Declares enums, each variant with its word in URLs and reports, and perhaps, behind a colon,
/// what it means for the figures.
///
/// They are `Clone`, `Copy`, `Debug`, `PartialEq`, `Eq` and `Deserialize`. `name()` is the word;
/// where meanings are declared, `setting(name)` is the setting of that name with word and meaning.
///
/// ```
/// assay_driver_kit::option_words! {
///     /// Who answers reads.
///     pub enum Read {
///         /// The member that has all writes.
///         Leader => "leader": "reads see every write answered before them",
///         /// The member that gets the request.
///         Any => "any": "reads see what the member that gets them has, which may lag behind",
///     }
/// }
/// assert_eq!(Read::Any.name(), "any");
/// assert_eq!(Read::Leader.setting("read").value, "leader");
/// ```
#[macro_export]
macro_rules! option_words {
    (@enum [$($attribute:meta)*] $visibility:vis $enum:ident
        $([$($of_variant:meta)*] $variant:ident $word:literal)*
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
        $visibility enum $enum {
            $($(#[$of_variant])* #[serde(rename = $word)] $variant,)*
        }

        impl $enum {
            /// The word in URLs and reports.
            $visibility const fn name(self) -> &'static str {
                match self { $($enum::$variant => $word,)* }
            }
        }
    };
    (@words [$($attribute:meta)*] $visibility:vis $enum:ident {
        $($(#[$of_variant:meta])* $variant:ident => $word:literal,)*
    }) => {
        $crate::option_words! {
            @enum [$($attribute)*] $visibility $enum $([$($of_variant)*] $variant $word)*
        }
    };
    (@words [$($attribute:meta)*] $visibility:vis $enum:ident {
        $($(#[$of_variant:meta])* $variant:ident => $word:literal: $meaning:literal,)*
    }) => {
        $crate::option_words! {
            @enum [$($attribute)*] $visibility $enum $([$($of_variant)*] $variant $word)*
        }

        impl $enum {
            /// The setting of this name, with what it means for the figures.
            $visibility fn setting(self, name: &str) -> assay_model::Setting {
                let meaning = match self { $($enum::$variant => $meaning,)* };
                assay_model::Setting::new(name, self.name(), meaning)
            }
        }
    };
    ($($(#[$attribute:meta])* $visibility:vis enum $enum:ident { $($words:tt)* })*) => {
        $($crate::option_words! { @words [$($attribute)*] $visibility $enum { $($words)* } })*
    };
}
