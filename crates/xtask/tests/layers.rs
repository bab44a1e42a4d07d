//! Tests of the repository's shape: which crate and which module uses which, that no modules use each other in a circle, the lengths of files, that
//! the files in CONTRIBUTING.md's table of mechanisms exist, and that cargo builds once what `cargo xtask` needs.

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
