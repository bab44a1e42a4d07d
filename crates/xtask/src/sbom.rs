//! Makes a bill of materials in the format CycloneDX 1.5: every crate of Cargo.lock, its licence, its checksum and its dependencies.
//!
//! The scope `required` marks crates that are part of an installation on Linux. The scope `excluded` marks crates that only build or test it, and
//! crates that only other systems need. The bill does not depend on the folder or the time.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};
use xshell::{Shell, cmd};

use crate::root;

/// The packages that are installed: the libraries, the tool, and cargo's command.
const INSTALLED: [&str; 5] =
    ["jumplabel-agent-capi", "jumplabel-capi", "jumplabel-cli", "jumplabel-fail-capi", "cargo-jumplabel"];

pub fn run(sh: &Shell) -> Result<()> {
    let host = "x86_64-unknown-linux-gnu";
    let all: Value = serde_json::from_str(&cmd!(sh, "cargo metadata --locked --format-version 1").quiet().read()?)?;
    let chosen = INSTALLED.iter().flat_map(|name| ["-p", name]);
    let tree = ["--locked", "--edges", "normal,no-proc-macro", "--prefix", "none", "--no-dedupe", "--format", "{p}"];
    let tree = cmd!(sh, "cargo tree {chosen...} {tree...} --target {host}").quiet().read()?;
    let required = tree.lines().filter_map(name_and_version).collect();
    let lock = std::fs::read_to_string(root().join("Cargo.lock"))?;
    println!("{}", serde_json::to_string_pretty(&bill(&all, &required, &lock)?)?);
    Ok(())
}

/// Makes `name@version` from a line of cargo tree: `name v1.2.3 (where)`.
fn name_and_version(line: &str) -> Option<String> {
    let mut words = line.split(' ');
    let (name, version) = (words.next()?, words.next()?.strip_prefix('v')?);
    Some(called(name, version, line.contains(" (/")))
}

/// `name@version`, and for a package of this repository a mark: `crates/fail` has the name and the version of the crate that it replaces.
fn called(name: &str, version: &str, is_own: bool) -> String {
    format!("{name}@{version}{}", if is_own { "#jumplabel" } else { "" })
}

/// The bill of all packages in cargo's metadata.
fn bill(metadata: &Value, required: &BTreeSet<String>, lock: &str) -> Result<Value> {
    let text = |value: &Value, field: &str| value[field].as_str().unwrap_or_default().to_owned();
    let called =
        |package: &Value| called(&text(package, "name"), &text(package, "version"), package["source"].is_null());
    let packages = metadata["packages"].as_array().context("cargo lists packages")?;
    let named: Map<String, Value> =
        packages.iter().map(|package| (text(package, "id"), called(package).into())).collect();
    let reference = |id: &str| format!("pkg:cargo/{}", named[id].as_str().unwrap_or_default());

    let mut components = Vec::new();
    for package in packages {
        let called = called(package);
        let mut component = json!({
            "type": "library",
            "bom-ref": format!("pkg:cargo/{called}"),
            "name": package["name"],
            "version": package["version"],
            "scope": if required.contains(&called) { "required" } else { "excluded" },
            "licenses": [{ "expression": text(package, "license").replace('/', " OR ").replace("  ", " ") }],
            "purl": format!("pkg:cargo/{called}"),
        });
        if let Some(sum) = sum(lock, package) {
            component["hashes"] = json!([{ "alg": "SHA-256", "content": sum }]);
        }
        components.push(component);
    }
    components.sort_by_key(|component| text(component, "bom-ref"));

    let nodes = metadata["resolve"]["nodes"].as_array().context("cargo resolves")?;
    let mut dependencies: Vec<Value> = nodes
        .iter()
        .map(|node| {
            let mut on: Vec<_> = node["dependencies"].as_array().into_iter().flatten().collect();
            on.sort_by_key(|id| id.as_str());
            let on: BTreeSet<_> = on.into_iter().filter_map(Value::as_str).map(reference).collect();
            json!({ "ref": reference(&text(node, "id")), "dependsOn": on })
        })
        .collect();
    dependencies.sort_by_key(|dependency| text(dependency, "ref"));

    let version = packages.iter().find(|package| package["name"] == "jumplabel").map(|core| core["version"].clone());
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": { "type": "application", "bom-ref": "jumplabel", "name": "jumplabel", "version": version } },
        "components": components,
        "dependencies": dependencies,
    }))
}

/// The package's checksum in Cargo.lock. `None` for a package of this repository.
fn sum<'a>(lock: &'a str, package: &Value) -> Option<&'a str> {
    package["source"].as_str()?;
    let head = format!("name = {}\nversion = {}\n", package["name"], package["version"]);
    let is_it = |entry: &&str| entry.starts_with(&head) && entry.contains("\nsource = ");
    let entry = lock.split("[[package]]\n").find(is_it)?;
    entry.split_once("checksum = \"")?.1.split('"').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `b` is two packages: one of this repository, which stands in for the other.
    const LOCK: &str = "[[package]]\nname = \"b\"\nversion = \"2.0.0\"\n\n\
                        [[package]]\nname = \"b\"\nversion = \"2.0.0\"\nsource = \"there\"\nchecksum = \"0b\"\n\n\
                        [[package]]\nname = \"jumplabel\"\nversion = \"0.1.0\"\n";

    fn metadata() -> Value {
        json!({
            "packages": [
                { "id": "J", "name": "jumplabel", "version": "0.1.0", "license": "MIT OR Apache-2.0" },
                { "id": "B", "name": "b", "version": "2.0.0", "license": "MIT/Apache-2.0", "source": "there" },
                { "id": "O", "name": "b", "version": "2.0.0", "license": "MIT" },
            ],
            "resolve": {
                "nodes": [
                    { "id": "J", "dependencies": ["B", "O"] },
                    { "id": "B", "dependencies": [] },
                    { "id": "O", "dependencies": [] },
                ],
            },
        })
    }

    #[test]
    fn what_is_said_of_a_crate() {
        let required = BTreeSet::from([name_and_version("jumplabel v0.1.0 (/a/folder)").unwrap()]);
        let bill = bill(&metadata(), &required, LOCK).unwrap();
        let [b, own, core] = &bill["components"].as_array().unwrap()[..] else { panic!("{bill}") };
        assert_eq!(
            (&b["name"], &b["scope"], &b["hashes"][0]["content"]),
            (&json!("b"), &json!("excluded"), &json!("0b"))
        );
        assert_eq!(b["licenses"][0]["expression"], "MIT OR Apache-2.0", "as SPDX writes it");
        assert_eq!((&own["name"], &own["hashes"], &own["scope"]), (&json!("b"), &Value::Null, &json!("excluded")));
        assert_eq!((&core["scope"], &core["hashes"]), (&json!("required"), &Value::Null));
        let (there, here) = ("pkg:cargo/b@2.0.0", "pkg:cargo/b@2.0.0#jumplabel");
        let of_core = json!({ "ref": "pkg:cargo/jumplabel@0.1.0#jumplabel", "dependsOn": [there, here] });
        assert_eq!(bill["dependencies"][2], of_core);
    }
}
