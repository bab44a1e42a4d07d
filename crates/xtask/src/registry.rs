//! Makes a registry that has this repository's crates, as if they were published, and all other crates of Cargo.lock.
//!
//! ```text
//!   DIR/packaged/      what `cargo package` writes
//!   DIR/crates/        a folder for each crate: cargo's "directory source"
//!   DIR/config.toml    sends cargo to DIR/crates: `cargo --config DIR/config.toml --offline install jumplabel-cli`
//! ```

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use xshell::{Shell, cmd};

/// Names and versions of the crates that are published: those whose manifests do not say `publish = false`.
fn published(sh: &Shell) -> Result<Vec<(String, String)>> {
    let metadata: Value =
        serde_json::from_str(&cmd!(sh, "cargo metadata --no-deps --format-version 1").quiet().read()?)?;
    let packages = metadata["packages"].as_array().context("cargo lists packages")?;
    let published = packages.iter().filter(|package| package["publish"].is_null());
    let text = |package: &Value, field: &str| package[field].as_str().unwrap_or_default().to_owned();
    Ok(published.map(|package| (text(package, "name"), text(package, "version"))).collect())
}

/// Writes the registry into the folder, which must be empty, or hold a registry of an earlier run.
pub fn run(sh: &Shell, folder: &Path) -> Result<()> {
    let (packaged, crates, config) = (folder.join("packaged"), folder.join("crates"), folder.join("config.toml"));
    for old in [&packaged, &crates].into_iter().filter(|old| old.exists()) {
        ensure!(config.exists(), "{} is not empty, and no registry", folder.display());
        fs::remove_dir_all(old)?;
    }
    fs::create_dir_all(&crates)?;
    let crates = crates.canonicalize()?;
    fs::write(
        config,
        format!(
            "[source.crates-io]\nreplace-with = \"here\"\n\n[source.here]\ndirectory = '{}'\n\n[net]\noffline = true\n",
            crates.display()
        ),
    )?;
    cmd!(sh, "cargo vendor --quiet --locked --versioned-dirs {crates}").ignore_stdout().quiet().run()?;

    // One call packages all of them: they depend on each other, and no registry has them.
    let published = published(sh)?;
    let chosen: Vec<_> = published.iter().flat_map(|(name, _)| ["-p", name]).collect();
    let files = ["--allow-dirty", "--no-verify", "--quiet", "--target-dir"];
    cmd!(sh, "cargo package {chosen...} {files...} {packaged}").quiet().ignore_stderr().run()?;
    for (name, version) in &published {
        add(sh, &packaged.join(format!("package/{name}-{version}.crate")), &crates)?;
    }
    println!("{} crates of this repository, in {}", published.len(), folder.display());
    Ok(())
}

/// Unpacks a crate into the registry.
fn add(sh: &Shell, file: &Path, crates: &Path) -> Result<()> {
    cmd!(sh, "tar --extract --file {file} --directory {crates}").quiet().run()?;
    let sums = cmd!(sh, "sha256sum {file}").quiet().read()?;
    let sum = sums.split(' ').next().context("sha256sum prints a sum")?;
    let name = file.file_stem().context("a crate has a name")?;
    let checksums: PathBuf = crates.join(name).join(".cargo-checksum.json");
    Ok(fs::write(checksums, json!({ "files": {}, "package": sum }).to_string())?)
}
