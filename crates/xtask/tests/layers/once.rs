//! Tests that cargo builds once the large crates that `cargo xtask` depends on. `make test` builds `cargo xtask` first. If these crates had fewer
//! features in it than in the workspace, cargo would build them a second time for the tests.

use std::process::Command;

/// The features of the large crates, in the packages and by the dependencies that `chosen` selects: options of `cargo tree`.
fn features(chosen: &[&str]) -> String {
    let mut tree = Command::new(env!("CARGO"));
    tree.args(["tree", "--offline", "--prefix", "none", "--format", "{p} {f}"]).args(chosen).current_dir(super::ROOT);
    let output = tree.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8(output.stdout).unwrap();
    let large = |line: &&str| ["clap_builder ", "linux-raw-sys ", "rustix "].iter().any(|name| line.starts_with(name));
    let mut lines: Vec<_> = printed.lines().filter(large).map(|line| line.trim_end_matches(" (*)")).collect();
    lines.sort_unstable();
    lines.dedup();
    lines.join("\n")
}

#[test]
fn large_crates_are_built_once() {
    let own = features(&["--package", "xtask", "--edges", "no-dev"]);
    assert_eq!(own.lines().count(), 3, "{own}");
    assert_eq!(own, features(&["--workspace"]));
}

/// Broken twin: a crate that needs fewer features of the same crates.
#[test]
fn fewer_features_are_found() {
    let fewer = features(&["--package", "jumplabel-demo", "--edges", "no-dev"]);
    assert_eq!(fewer.lines().count(), 3, "{fewer}");
    assert_ne!(fewer, features(&["--workspace"]));
}
