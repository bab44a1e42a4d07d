//! The package that replaces the crate fail. It contains nothing of upstream: it offers jumplabel-fail under upstream's name.

use anyhow::{Context, Result};
use toml_edit::{DocumentMut, value};

use crate::Patch;
use crate::package::Package;
use crate::project::Project;

/// The versions of fail whose API jumplabel-fail offers. The package that replaces fail gets the version that the program has.
const TRIED: [&str; 2] = ["0.5.0", "0.5.1"];

pub fn run(project: &Project, patch: &Patch) -> Result<()> {
    if patch.remove {
        return project.remove(&["fail"], &[]);
    }
    let version = project.locked("fail", &TRIED)?;
    let mut package = Package::new("fail");
    package.add("src/lib.rs", include_str!("../patches/fail/lib.rs"));
    package.add("Cargo.toml", manifest(&version, project)?);
    project.write_or_check(&[package], patch)?;
    if !patch.check {
        let now = "is jumplabel-fail now, in this program and in its dependencies: one nop for each fail point.";
        crate::say(std::io::stdout(), format_args!("fail {version} {now}"));
    }
    Ok(())
}

/// Returns the manifest of the package: the one in `patches`, without the lines that make sense only in this repository.
fn manifest(version: &str, project: &Project) -> Result<String> {
    let mut manifest: DocumentMut = include_str!("../patches/fail/manifest.toml").parse()?;
    let package = manifest["package"].as_table_mut().context("the stand-in is a package")?;
    for (field, of_workspace) in [("edition", "2024"), ("rust-version", "1.88"), ("license", "MIT OR Apache-2.0")] {
        package.insert(field, value(of_workspace));
    }
    package.remove("repository");
    package.insert("version", value(version));
    manifest.remove("dev-dependencies");
    manifest.remove("lints");
    manifest["dependencies"]["jumplabel-fail"] = value(project.jumplabel("jumplabel-fail")?);
    Ok(manifest.to_string())
}
