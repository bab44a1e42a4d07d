//! The library that contains tracing, for the program and for what it loads.
#![forbid(unsafe_code)]

pub use tracing;
