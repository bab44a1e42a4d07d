//! The lines of `[patch.crates-io]` in the user's Cargo.toml.

use anyhow::{Context, Result, ensure};
use toml_edit::{DocumentMut, InlineTable, Item, Table, value};

/// The folder of the patched packages in the user's workspace.
pub const FOLDER: &str = "jumplabel-patches";

fn path_of(name: &str) -> String {
    format!("{FOLDER}/{name}")
}

fn is_ours(line: &Item, name: &str) -> bool {
    line.get("path").and_then(Item::as_str) == Some(&path_of(name))
}

/// The manifest with a line of `[patch.crates-io]` for each package in `names`.
pub fn with(manifest: &str, names: &[&str]) -> Result<String> {
    let mut manifest: DocumentMut = manifest.parse().context("Cargo.toml cannot be read")?;
    let mut implicit = Table::new();
    implicit.set_implicit(true);
    let patches = manifest.entry("patch").or_insert(Item::Table(implicit));
    let patches = patches.as_table_like_mut().context("`patch` in Cargo.toml is no table")?;
    let lines = patches.entry("crates-io").or_insert(Item::Table(Table::new()));
    let lines = lines.as_table_like_mut().context("`patch.crates-io` in Cargo.toml is no table")?;
    for name in names {
        if let Some(line) = lines.get(name) {
            ensure!(
                is_ours(line, name),
                "Cargo.toml patches {name} already, with something else: {}",
                line.to_string().trim()
            );
            continue;
        }
        let mut line = InlineTable::new();
        line.insert("path", path_of(name).into());
        lines.insert(name, value(line));
    }
    Ok(manifest.to_string())
}

/// The manifest without the lines of the packages in `names`, and without tables that become empty.
pub fn without(manifest: &str, names: &[&str]) -> Result<String> {
    let mut manifest: DocumentMut = manifest.parse().context("Cargo.toml cannot be read")?;
    if let Some(patches) = manifest.get_mut("patch").and_then(Item::as_table_like_mut) {
        if let Some(lines) = patches.get_mut("crates-io").and_then(Item::as_table_like_mut) {
            for name in names {
                if lines.get(name).is_some_and(|line| is_ours(line, name)) {
                    lines.remove(name);
                }
            }
            if lines.is_empty() {
                patches.remove("crates-io");
            }
        }
        if patches.is_empty() {
            manifest.remove("patch");
        }
    }
    Ok(manifest.to_string())
}
