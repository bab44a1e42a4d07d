//! Tests of what a registry shows about each published crate.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{printed, root};

/// Cargo's metadata of the published crates.
pub fn published() -> Vec<Value> {
    let metadata: Value =
        serde_json::from_str(&printed("cargo metadata --no-deps --offline --format-version 1", &root())).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    packages.iter().filter(|package| package["publish"].is_null()).cloned().collect()
}

/// The categories of our crates. The registry knows all of these.
const CATEGORIES: [&str; 14] = [
    "command-line-utilities",
    "config",
    "development-tools::cargo-plugins",
    "development-tools::debugging",
    "development-tools::testing",
    "encoding",
    "external-ffi-bindings",
    "hardware-support",
    "no-std",
    "no-std::no-alloc",
    "os",
    "parser-implementations",
    "parsing",
    "rust-patterns",
];

/// A message for each thing that a package lacks.
fn complaints(package: &Value, folder: &Path) -> Vec<String> {
    let texts = |field: &str| -> Vec<String> {
        package[field].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let name = package["name"].as_str().unwrap();
    let mut found = Vec::new();
    let mut demand = |is_so: bool, what: &str| found.extend((!is_so).then(|| format!("{name}: {what}")));
    for field in ["description", "repository", "license", "rust_version"] {
        demand(package[field].as_str().is_some_and(|text| text.len() > 3), field);
    }
    let keywords = texts("keywords");
    demand((1..=5).contains(&keywords.len()) && keywords.iter().all(|word| word.len() <= 20), "one to five keywords");
    let categories = texts("categories");
    let is_known = |category: &String| CATEGORIES.contains(&category.as_str());
    demand((1..=5).contains(&categories.len()) && categories.iter().all(is_known), "one to five categories");
    demand(package["metadata"]["docs"]["rs"]["targets"].is_array(), "targets for docs.rs");
    demand(!package["links"].is_null() || name != "jumplabel", "links, so that a binary has one copy");
    let readme = folder.join(package["readme"].as_str().unwrap_or("none"));
    let readme = std::fs::read_to_string(readme).unwrap_or_default();
    demand(readme.starts_with(&format!("# {name}\n")), "a README of its own");
    for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
        demand(folder.join(licence).exists(), licence);
    }
    for dependency in package["dependencies"].as_array().unwrap() {
        let is_for_tests = dependency["kind"] == "dev";
        demand(is_for_tests || dependency["req"] != "*", "a dependency without a version");
    }
    found
}

/// Files that a source names and that lie outside its crate. A package would lack them.
fn outside(source: &Path, text: &str, folder: &Path) -> Vec<PathBuf> {
    let named = ["#[path = \"", "include!(\"", "include_str!(\"", "include_bytes!(\""]
        .into_iter()
        .flat_map(|opens| text.split(opens).skip(1).filter_map(|rest| rest.split('"').next()).collect::<Vec<_>>());
    let mut found = Vec::new();
    for name in named {
        let mut file = source.parent().unwrap().to_owned();
        for part in Path::new(name) {
            if part == ".." {
                file.pop();
            } else {
                file.push(part);
            }
        }
        found.extend((!file.starts_with(folder)).then_some(file));
    }
    found
}

/// All files below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found
}

#[test]
fn nothing_lies_outside() {
    let mut read = 0;
    for package in published() {
        let folder = Path::new(package["manifest_path"].as_str().unwrap()).parent().unwrap().to_owned();
        for source in sources(&folder.join("src")).iter().filter(|file| file.extension().is_some_and(|end| end == "rs"))
        {
            let outside = outside(source, &std::fs::read_to_string(source).unwrap(), &folder);
            assert!(outside.is_empty(), "{}: {outside:?}", source.display());
            read += 1;
        }
    }
    assert!(read > 300, "{read}");
    let (source, folder) = (Path::new("/a/crate/src/x/y.rs"), Path::new("/a/crate"));
    assert!(outside(source, "include_str!(\"../../b.rs\")", folder).is_empty());
    assert_eq!(outside(source, "#[path = \"../../../b.rs\"] mod b;", folder), [Path::new("/a/b.rs")]);
}

#[test]
fn complete() {
    let published = published();
    let names: Vec<_> = published.iter().map(|package| package["name"].as_str().unwrap()).collect();
    for name in ["jumplabel", "jumplabel-format", "jumplabel-agent", "jumplabel-cli", "cargo-jumplabel"] {
        assert!(names.contains(&name), "{names:?}");
    }
    for package in &published {
        let folder = Path::new(package["manifest_path"].as_str().unwrap()).parent().unwrap();
        assert_eq!(complaints(package, folder), [""; 0]);
        // Other people can use each crate only if it depends on no crate that is not published.
        for dependency in package["dependencies"].as_array().unwrap() {
            let name = dependency["name"].as_str().unwrap();
            let is_ours = dependency["path"].is_string() && dependency["kind"] != "dev";
            assert!(!is_ours || names.contains(&name), "{} depends on {name}", package["name"]);
        }
        // Broken twins.
        let twin = |field: &str, value: Value| {
            let mut broken = package.clone();
            broken[field] = value;
            assert!(!complaints(&broken, folder).is_empty(), "{field}");
        };
        twin("description", Value::Null);
        twin("keywords", Value::Array(vec![]));
        twin("categories", Value::Array(vec!["coffee".into()]));
        twin("readme", "Cargo.toml".into());
        twin("metadata", Value::Null);
    }
}
