//! Checkers of single records against independent judges and against texts.

mod definitions;
mod differential;
mod oracle;
mod random;

mod agreement;
mod metamorphic;
mod texts;
