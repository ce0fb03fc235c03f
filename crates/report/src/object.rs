//! Declaration and text of JSON objects.

use serde::Serialize;

/// Why writing cannot fail.
const ALWAYS: &str = "an object of numbers and texts with text keys is always JSON";

/// `value` as one indented JSON object with a line end.
pub fn pretty(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).expect(ALWAYS) + "\n"
}

/// `value` as one JSON object on a line of its own.
pub fn line(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect(ALWAYS) + "\n"
}

/// JSON has no infinity: what is not finite is none.
pub fn finite(number: f64) -> Option<f64> {
    number.is_finite().then_some(number)
}

/// Declares the objects of a JSON form, each with the function `new` that fills it.
///
/// Behind the name of an object stand the arguments of `new`, and behind each field, after `=`, its
/// value. A field without a value is a clone of the same field of the first argument. What several
/// values need may be bound by `let` after `where`. The body is not indented, because the line
/// breaks of the comments on fields are part of the schema.
///
/// ```text
/// objects! {
/// /// A stretch in which nothing was answered.
/// pub struct SilenceObject(silence: &Silence, window: &Window)
/// where
///     let length = silence.until.0 - silence.from.0;
/// {
///     /// Its length in nanoseconds.
///     length_ns: u64 = length,
///     /// Its length as a share of the window.
///     share: f64 = length as f64 / window.length().0 as f64,
///     /// Whether the window's start or end cuts it off.
///     is_cut_off: bool,
/// }
/// }
/// ```
macro_rules! objects {
    (@$of:ident $field:ident) => { Clone::clone(&$of.$field) };
    (@$of:ident $field:ident $value:expr) => { $value };
    ($(
        $(#[$($attribute:tt)*])*
        $visibility:vis struct $object:ident $(<$lifetime:lifetime>)?
        ($of:ident: $of_type:ty $(, $argument:ident: $argument_type:ty)*)
        $(where $(let $bound:pat = $shared:expr;)+)?
        {$(
            $(#[$($field_attribute:tt)*])*
            $field:ident: $type:ty $(= $value:expr)?,
        )*}
    )*) => {$(
        #[derive(::schemars::JsonSchema, ::serde::Serialize)]
        $(#[$($attribute)*])*
        $visibility struct $object $(<$lifetime>)? {
            $($(#[$($field_attribute)*])* $field: $type,)*
        }

        impl $(<$lifetime>)? $object $(<$lifetime>)? {
            /// The object about these arguments.
            $visibility fn new($of: $of_type $(, $argument: $argument_type)*) -> Self {
                $($(let $bound = $shared;)+)?
                $object { $($field: crate::object::objects!(@$of $field $($value)?),)* }
            }
        }
    )*};
}
pub(crate) use objects;
