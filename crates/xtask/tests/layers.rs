//! The shape of the repository: which crate uses which, which module which, that no modules use each other in a circle, how long
//! files are, where CONTRIBUTING.md says that each mechanism is, and that what `cargo xtask` needs is built once.

#[path = "layers/circles.rs"]
mod circles;
#[path = "layers/crates.rs"]
mod crates;
#[path = "layers/figure.rs"]
mod figure;
#[path = "layers/lengths.rs"]
mod lengths;
#[path = "layers/mechanisms.rs"]
mod mechanisms;
#[path = "layers/once.rs"]
mod once;
#[path = "layers/sources.rs"]
mod sources;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const CONTRIBUTING: &str = include_str!("../../../CONTRIBUTING.md");
