//! Tests a registry that has our crates as if they were published: a program that depends on them finds all that they need.

use std::path::Path;

use super::{printed, root, scratch};

/// The program is the README's first one. The other crates must only be found and compile.
const MANIFEST: &str = r#"
[package]
name = "consumer"
version = "0.1.0"
edition = "2024"

[dependencies]
jumplabel = "0.1.0"
jumplabel-agent = "0.1.0"
jumplabel-capi = "0.1.0"
jumplabel-fail = "0.1.0"
jumplabel-fail-capi = "0.1.0"
jumplabel-format = "0.1.0"
jumplabel-kernel = "0.1.0"
jumplabel-layer = "0.1.0"
jumplabel-log = "0.1.0"
jumplabel-selector = "0.1.0"
jumplabel-tracing = "0.1.0"

[workspace]
"#;

/// The first program in Rust of the README.
fn program() -> String {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    readme.split("```rust\n").nth(1).expect("a program").split("```").next().unwrap().to_owned()
}

/// Packages all crates. A program and the tools must build from these packages alone. Takes a quarter of an hour on one processor.
#[test]
#[ignore = "minutes: make release-check"]
fn everything_builds() {
    let folder = scratch("registry");
    let registry = folder.join("registry");
    printed(&format!("cargo xtask registry {}", registry.display()), &root());
    let cargo = format!("cargo --config {}/config.toml", registry.display());

    let consumer = folder.join("consumer");
    std::fs::create_dir_all(consumer.join("src")).unwrap();
    std::fs::write(consumer.join("Cargo.toml"), MANIFEST).unwrap();
    std::fs::write(consumer.join("src/main.rs"), program()).unwrap();
    let target = folder.join("target");
    assert_eq!(printed(&format!("{cargo} run --quiet --target-dir {} 2>&1", target.display()), &consumer), "work(2)\n");
    every_crate_is_named(&registry);

    // Installs the tools as users do, but without optimisation.
    let root = folder.join("installed");
    for package in ["jumplabel-cli", "cargo-jumplabel"] {
        let install = format!("{cargo} install --debug --quiet --locked --root {} {package}", root.display());
        printed(&format!("CARGO_TARGET_DIR={} {install}", target.display()), &consumer);
    }
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(printed("bin/jumplabel --version", &root), format!("jumplabel {version}\n"));
    assert!(printed("bin/cargo-jumplabel jumplabel --version", &root).contains(version));
    let listed = printed(&format!("bin/jumplabel list {}/debug/consumer", target.display()), &root);
    assert!(listed.contains("TRACE"), "{listed}");
}

/// Tests that the program depends on each of our crates, except for those of tools.
fn every_crate_is_named(registry: &Path) {
    for entry in std::fs::read_dir(registry.join("packaged/package")).unwrap() {
        let file = entry.unwrap().file_name().into_string().unwrap();
        if let Some(name) = file.strip_suffix(&format!("-{}.crate", env!("CARGO_PKG_VERSION"))) {
            let is_tool = ["jumplabel-cli", "cargo-jumplabel"].contains(&name);
            assert!(is_tool || MANIFEST.contains(&format!("\n{name} = ")), "{name} is not tried");
        }
    }
}
