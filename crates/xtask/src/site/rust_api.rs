//! The API for Rust: rustdoc's pages of the crates that others use.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;
use xshell::{Shell, cmd};

use super::pages::Pages;

/// The target directory for rustdoc. The one of `make doc` also has pages of other crates.
const BUILT: &str = "target/site-api";

/// Adds the page with links to rustdoc's pages. Returns the names of the crates.
pub fn add(sh: &Shell, pages: &mut Pages) -> Result<Vec<String>> {
    let metadata: Value =
        serde_json::from_str(&cmd!(sh, "cargo metadata --no-deps --format-version 1").quiet().read()?)?;
    let packages = metadata["packages"].as_array().context("cargo lists packages")?;
    let crates: Vec<_> = packages.iter().filter(|package| is_for_others(package)).collect();
    let text = |package: &Value, field: &str| package[field].as_str().unwrap_or_default().to_owned();
    let mut page = String::from(
        "# Rust API\n\nrustdoc's pages: what each function does, what it costs, its errors, and whether signal handlers may call it. \
         [Features](features.md) has programs; [Errors](errors.md) what went wrong.\n\n| crate | |\n|---|---|\n",
    );
    for package in &crates {
        let (name, about) = (text(package, "name"), text(package, "description"));
        page += &format!("| [`{name}`](api/{}/index.html) | {about} |\n", name.replace('-', "_"));
    }
    pages.add("rust-api.md", page);
    Ok(crates.iter().map(|package| text(package, "name")).collect())
}

/// Returns whether the package is a library and is published.
fn is_for_others(package: &Value) -> bool {
    let kinds = package["targets"].as_array().into_iter().flatten().flat_map(|target| target["kind"].as_array());
    package["publish"].is_null() && !kinds.flatten().any(|kind| kind == "bin")
}

/// Builds rustdoc's pages.
pub fn build(sh: &Shell, crates: &[String], to: &Path) -> Result<()> {
    let built = Path::new(BUILT).join("doc");
    if built.exists() {
        fs::remove_dir_all(&built)?;
    }
    let chosen = crates.iter().flat_map(|name| ["-p", name]);
    cmd!(sh, "cargo doc --quiet --no-deps --lib {chosen...} --target-dir {BUILT}").quiet().run()?;
    Ok(cmd!(sh, "cp --recursive {built} {to}").quiet().run()?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::is_for_others;

    #[test]
    fn libraries_of_others() {
        let package = |publish, kind| is_for_others(&json!({ "publish": publish, "targets": [{ "kind": [kind] }] }));
        assert!(package(json!(null), "lib"));
        assert!(!package(json!([]), "lib") && !package(json!(null), "bin"));
    }
}
