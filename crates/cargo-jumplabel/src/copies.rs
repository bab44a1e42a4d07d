//! Patched copies of upstream's crates.

use std::fs;
use std::io;

use anyhow::Result;
use toml_edit::value;

use crate::Patch;
use crate::package::Package;
use crate::project::Project;
use crate::say;
use crate::upstream::Upstream;

/// The minimum version of Rust, the same as jumplabel's.
const RUST: &str = "1.88";

/// The crates that a command patches.
pub struct Copies {
    pub command: &'static str,
    pub crates: &'static [Crate],
}

/// A crate, and the edits of it.
pub struct Crate {
    pub name: &'static str,
    /// The versions that the edits were tried with.
    pub tried: &'static [&'static str],
    pub edit: fn(&mut Package, &Project) -> Result<()>,
}

impl Copies {
    pub fn run(&self, project: &Project, patch: &Patch) -> Result<()> {
        let names: Vec<_> = self.crates.iter().map(|of| of.name).collect();
        // The lock file by which cargo found upstream's source in the last run.
        let lock = project.folder().join(format!("{}.lock", self.command));
        if patch.remove {
            return project.remove(&names, &[&lock]);
        }
        let versions = self.crates.iter().map(|of| Ok((of.name, project.locked(of.name, of.tried)?)));
        let versions: Vec<_> = versions.collect::<Result<_>>()?;
        let upstream = Upstream::of(project, &versions, lock.clone())?;
        let packages = self.crates.iter().map(|of| of.edited(&upstream, project, patch));
        project.write_or_check(&packages.collect::<Result<Vec<_>>>()?, patch)?;
        if !patch.check {
            fs::write(lock, &upstream.lock)?;
            let crates: Vec<_> = versions.iter().map(|(name, version)| format!("{name} {version}")).collect();
            let (crates, command) = (crates.join(" and "), self.command);
            say(
                io::stdout(),
                format_args!(
                    "Each callsite of {crates} has a static key now, in this program and in its dependencies.\n\
                     Run `cargo jumplabel {command}` again when Cargo.lock has another version; \
                     `cargo jumplabel {command} --check` in CI says so."
                ),
            );
        }
        Ok(())
    }
}

impl Crate {
    fn edited(&self, upstream: &Upstream, project: &Project, patch: &Patch) -> Result<Package> {
        let mut package = upstream.package(self.name, patch.with_tests)?;
        (self.edit)(&mut package, project)?;
        // Cargo hides the warnings of a registry's packages, so `RUSTFLAGS=-Dwarnings` does not make them errors. But cargo takes the packages in
        // this folder for the program's own.
        package.edit("src/lib.rs", |text| text.insert_before(r"\A", 1, "#![allow(warnings)]\n"))?;
        package.edit_manifest(|manifest| {
            manifest["package"]["rust-version"] = value(RUST);
            Ok(())
        })?;
        Ok(package)
    }
}
