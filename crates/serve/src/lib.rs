//! Small HTTP servers: the loop that bounds what callers can make it do, and the pages of run
//! directories.

pub mod http;
mod site;

pub use site::Site;
