//! Tests that crates keep the order of the figure in CONTRIBUTING.md: a crate uses only crates in lines below its own. Its tests may use
//! jumplabel-testing as well.

use std::path::Path;

use super::CONTRIBUTING;
use super::figure::rows;

const OF_WORKSPACE: &str = include_str!("../../../../Cargo.toml");

/// The crates of this repository that a manifest names as dependencies, also for tests. Leaves out jumplabel-testing if it is only for tests.
fn dependencies(manifest: &str) -> Vec<&str> {
    let mut is_for_tests = false;
    let mut found = Vec::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            is_for_tests = line.contains("dev-dependencies");
        }
        let name = line.split([' ', '=', '.']).next().unwrap();
        // A crate of this repository has a path: in this manifest, or in the workspace's.
        let is_there = OF_WORKSPACE.contains(&format!("\n{name} = {{ path = \"crates/"));
        if line.contains("path = \"../") || line.contains("workspace = true") && is_there {
            found.extend((!is_for_tests || name != "jumplabel-testing").then_some(name));
        }
    }
    found
}

/// A message for each dependency of a crate that is not below it.
fn complaints(rows: &[Vec<&str>], name: &str, manifest: &str) -> Vec<String> {
    let row = |name: &str| rows.iter().position(|row| row.contains(&name));
    let Some(own) = row(name) else { return vec![format!("{name} is not in the figure of CONTRIBUTING.md")] };
    let wrong = dependencies(manifest).into_iter().filter(|other| row(other).is_none_or(|row| row <= own));
    wrong.map(|other| format!("{name} depends on {other}, which is not below it")).collect()
}

/// The crates: names and manifests.
fn crates() -> Vec<(String, String)> {
    let folder = Path::new(super::ROOT).join("crates");
    let names = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.map(|name| (name.clone(), std::fs::read_to_string(folder.join(name).join("Cargo.toml")).unwrap())).collect()
}

#[test]
fn dependencies_point_down() {
    let rows = rows(CONTRIBUTING);
    let crates = crates();
    for (name, manifest) in &crates {
        assert_eq!(complaints(&rows, name, manifest), [""; 0]);
    }
    let there: Vec<&str> = crates.iter().map(|(name, _)| &**name).collect();
    for name in rows.iter().flatten() {
        assert!(there.contains(name), "{name} is no crate");
    }
    assert_eq!(rows.last().unwrap()[..], ["jumplabel-format"], "it depends on none");
}

/// Broken twins: each dependency in the opposite direction is found.
#[test]
fn an_upward_dependency_is_found() {
    let rows = rows(CONTRIBUTING);
    let crates = crates();
    let mut turned = 0;
    for (name, manifest) in &crates {
        for other in dependencies(manifest) {
            let (_, below) = crates.iter().find(|(name, _)| name == other).unwrap();
            let manifest = format!("{below}\n[dependencies]\n{name} = {{ path = \"../{name}\" }}\n");
            assert!(!complaints(&rows, other, &manifest).is_empty(), "{other} may depend on {name}");
            turned += 1;
        }
    }
    assert!(turned > 15, "{turned}");
}
