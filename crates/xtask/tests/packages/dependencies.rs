//! Tests of dependencies on other projects' crates: each is in Cargo.toml once, docs/building.md says what it is for, and deny.toml allows its
//! licence.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::{ROOT, printed, root};

fn read(name: &str) -> String {
    std::fs::read_to_string(format!("{ROOT}/{name}")).unwrap()
}

/// The crates of other projects that Cargo.toml lists for the workspace.
fn of_workspace(manifest: &str) -> BTreeSet<String> {
    let rows = manifest.split("[workspace.dependencies]\n").nth(1).expect("dependencies").split("\n[").next().unwrap();
    let of_others = rows.lines().filter(|row| row.contains(" = ") && !row.contains("path = "));
    of_others.map(|row| row.split(' ').next().unwrap().to_owned()).collect()
}

/// The crates that the document's table names.
fn of_table(document: &str) -> Vec<String> {
    let section =
        document.split("\n## What it depends on\n").nth(1).expect("the section").split("\n## ").next().unwrap();
    let cells = section.lines().filter(|line| line.starts_with("| `")).map(|line| line.split('|').nth(1).unwrap());
    cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).map(str::to_owned).collect()
}

/// The crates for which a manifest has its own version, not the workspace's; and all crates that it depends on.
fn of_crate(manifest: &str) -> (Vec<String>, BTreeSet<String>) {
    let (mut own, mut all, mut is_in) = (Vec::new(), BTreeSet::new(), false);
    for line in manifest.lines() {
        if line.starts_with('[') {
            is_in = line.trim_end_matches(']').ends_with("dependencies");
        } else if is_in && let Some((name, how)) = line.split_once('=').filter(|_| !line.starts_with('#')) {
            let name = name.trim();
            let is_shared =
                name.ends_with(".workspace") || how.contains("workspace = true") || how.contains("path = \".\"");
            let name = name.trim_end_matches(".workspace").to_owned();
            own.extend((!is_shared).then(|| name.clone()));
            all.insert(name);
        }
    }
    (own, all)
}

#[test]
fn each_is_in_one_place() {
    let mut used = BTreeSet::new();
    for entry in std::fs::read_dir(format!("{ROOT}/crates")).unwrap() {
        let manifest = std::fs::read_to_string(entry.unwrap().path().join("Cargo.toml")).unwrap();
        let (own, all) = of_crate(&manifest);
        assert_eq!(own, [""; 0], "its version belongs into the workspace's Cargo.toml");
        used.extend(all);
    }
    let unused: Vec<_> = of_workspace(&read("Cargo.toml")).into_iter().filter(|name| !used.contains(name)).collect();
    assert_eq!(unused, [""; 0], "no crate uses it");

    let (own, all) =
        of_crate("[dependencies]\na.workspace = true\nb = { workspace = true }\nc = \"1\"\n[features]\nd = []\n");
    assert_eq!((own, all.len()), (vec!["c".to_owned()], 3), "a version of its own is found");
}

#[test]
fn each_is_in_the_document() {
    let (manifest, document) = (read("Cargo.toml"), read("docs/building.md"));
    let (there, mut named) = (of_workspace(&manifest), of_table(&document));
    assert!(there.len() > 30, "{there:?}");
    let count = named.len();
    named.sort_unstable();
    named.dedup();
    assert_eq!(named.len(), count, "a crate has two rows");
    assert_eq!(named, there.into_iter().collect::<Vec<_>>());

    let without = document.replacen("`ureq`", "`coffee`", 1);
    assert!(of_table(&without).contains(&"coffee".to_owned()) && !of_table(&without).contains(&"ureq".to_owned()));
}

/// The database of advisories that `cargo deny` has fetched for this user, if there is one. (It is a repository of its own below this folder.)
fn has_advisories() -> bool {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let databases = home.and_then(|home| std::fs::read_dir(home.join("advisory-dbs")).ok());
    databases.into_iter().flatten().flatten().any(|entry| entry.path().is_dir())
}

/// Checks advisories, if their database is on this machine: only a network has it otherwise. What this finds depends on the day, not on the sources
/// alone. So it is not a part of `make test-all`.
#[test]
#[ignore = "depends on the day: make packages"]
fn advisories() {
    let tool = root().join("target/cargo-deny/bin/cargo-deny");
    if has_advisories() && jumplabel_testing::breadth::has(&tool) {
        printed(&format!("{} --locked --offline check advisories", tool.display()), &root());
    } else {
        println!("not shown: advisories. Their database is not here: `cargo deny fetch db` asks for it");
    }
}

/// Checks licences, bans and sources.
#[test]
fn licences_and_sources() {
    let tool = root().join("target/cargo-deny/bin/cargo-deny");
    if !jumplabel_testing::breadth::has(&tool) {
        return;
    }
    let check = format!("{} --locked", tool.display());
    printed(&format!("{check} check licenses bans sources"), &root());
    // Broken twin: without the licence that most crates have, the check fails.
    let broken = read("deny.toml").replace("\"MIT\", ", "");
    let config = super::scratch("deny").join("deny.toml");
    std::fs::write(&config, broken).unwrap();
    let line = format!("{check} --config {} check licenses", config.display());
    let output = super::shell(&line, &root()).output().unwrap();
    assert!(!output.status.success() && String::from_utf8_lossy(&output.stderr).contains("rejected"), "{output:?}");
}
