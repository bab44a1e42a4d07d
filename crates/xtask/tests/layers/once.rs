//! Tests that cargo builds each foreign crate once. `make test` builds `cargo xtask` first, and then the workspace without jumplabel-bench;
//! `make test-all` builds the whole workspace. If a crate had other features in one of these builds, cargo would build it again, and all crates
//! that depend on it.

use std::collections::BTreeSet;
use std::process::Command;

const WORKSPACE: &[&str] = &["--workspace"];

/// The crates that `chosen` names and what they depend on, each with its features.
fn features(chosen: &[&str]) -> BTreeSet<String> {
    let mut tree = Command::new(env!("CARGO"));
    tree.args(["tree", "--offline", "--prefix", "none", "--format", "{p} {f}"]).args(chosen).current_dir(super::ROOT);
    let output = tree.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8(output.stdout).unwrap();
    let lines = printed.lines().filter(|line| !line.is_empty());
    lines.map(|line| line.trim_end_matches(" (*)").replace(" (proc-macro)", "")).collect()
}

/// Those of `chosen` that cargo builds a second time for the workspace.
fn twice(chosen: &[&str]) -> Vec<String> {
    let chosen = features(chosen);
    assert!(chosen.len() > 20, "{chosen:?}");
    chosen.difference(&features(WORKSPACE)).cloned().collect()
}

#[test]
fn crates_are_built_once() {
    assert_eq!(twice(&["--package", "xtask", "--edges", "no-dev"]), [""; 0]);
    assert_eq!(twice(&["--workspace", "--exclude", "jumplabel-bench"]), [""; 0]);
}

/// Broken twin: a build of jumplabel-demo alone. It needs fewer features of clap_builder, so cargo would build that crate twice.
#[test]
fn fewer_features_are_found() {
    let twice = twice(&["--package", "jumplabel-demo", "--edges", "no-dev"]);
    assert!(twice.iter().any(|line| line.starts_with("clap_builder ")), "{twice:?}");
}
