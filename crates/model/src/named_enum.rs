//! Declaration of an enum whose variants have names.

/// Declares an enum whose variants have names, with the constant `ALL` and the method `name`.
///
/// The enum is written as usual, with any attributes and discriminants; each variant is followed by
/// `=>` and its name. `ALL` and `name` are as visible as the enum.
///
/// ```
/// use assay_model::named_enum;
///
/// named_enum! {
///     /// Where a value is kept.
///     #[derive(Clone, Copy, Debug, PartialEq, Eq)]
///     #[repr(u8)]
///     pub enum Medium {
///         /// Lost when the process ends.
///         Memory = 0 => "memory",
///         /// Survives the process.
///         LocalDisk = 1 => "local-disk",
///     }
/// }
///
/// assert_eq!(Medium::ALL, [Medium::Memory, Medium::LocalDisk]);
/// assert_eq!(Medium::LocalDisk.name(), "local-disk");
/// ```
#[macro_export]
macro_rules! named_enum {
    ($(#[$attribute:meta])* $visibility:vis enum $enum:ident {
        $($(#[$of_variant:meta])* $variant:ident $(= $code:literal)? => $name:literal,)*
    }) => {
        $(#[$attribute])*
        $visibility enum $enum { $($(#[$of_variant])* $variant $(= $code)?,)* }

        impl $enum {
            /// All variants, in the order in which they are declared.
            $visibility const ALL: [$enum; [$($enum::$variant,)*].len()] = [$($enum::$variant,)*];

            /// The name in options, files and reports.
            $visibility const fn name(self) -> &'static str {
                match self { $($enum::$variant => $name,)* }
            }
        }
    };
}
