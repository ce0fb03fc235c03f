//! The server over real connections.

mod hostile;
mod http;
mod overload;
mod recording;
mod routes;
mod served;
