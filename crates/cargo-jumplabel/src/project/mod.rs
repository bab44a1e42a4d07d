//! The user's workspace.
//!
//! ```text
//!   Cargo.toml                [patch.crates-io] tracing = { path = 'jumplabel-patches/tracing' }
//!   jumplabel-patches/        README.md
//!     tracing/                Cargo.toml, src, licences
//! ```

mod lock;
mod source;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use cargo_metadata::{Metadata, MetadataCommand, Package as Found};
use toml_edit::DocumentMut;

use crate::Patch;
use crate::lines::{self, FOLDER};
use crate::package::Package;
use crate::say;
use lock::Kept;

/// The user's workspace.
pub struct Project {
    metadata: Metadata,
    /// The source of jumplabel that `--jumplabel` names.
    jumplabel: Option<String>,
    offline: bool,
    /// Restores Cargo.lock at the end, for `--check`, which changes nothing.
    _kept: Option<Kept>,
}

/// Returns the command `cargo metadata` for the project of `manifest`, or of the current folder.
pub fn question(manifest: Option<&Path>, offline: bool) -> MetadataCommand {
    let mut command = MetadataCommand::new();
    if let Some(manifest) = manifest {
        command.manifest_path(manifest);
    }
    if offline {
        command.other_options(["--offline".to_owned()]);
    }
    command
}

impl Project {
    pub fn find(patch: &Patch) -> Result<Project> {
        let manifest = patch.manifest_path.as_deref();
        let mut kept = if patch.check {
            let found = question(manifest, patch.offline).no_deps().exec().context("cargo cannot read this project")?;
            Some(Kept::of(found.workspace_root.as_std_path()))
        } else {
            None
        };
        let mut question = question(manifest, patch.offline);
        let answer = question.exec();
        if let Some(kept) = &mut kept {
            kept.note();
        }
        let metadata = match answer {
            // To remove the packages, this tool needs no resolved dependencies, and cargo may be unable to resolve them.
            Err(_) if patch.remove => question.no_deps().exec().context("cargo cannot read this project")?,
            metadata => metadata.map_err(|error| source::explained(error, "cargo cannot read this project"))?,
        };
        Ok(Project { metadata, jumplabel: patch.jumplabel.clone(), offline: patch.offline, _kept: kept })
    }

    pub fn is_offline(&self) -> bool {
        self.offline
    }

    pub fn root(&self) -> &Path {
        self.metadata.workspace_root.as_std_path()
    }

    pub fn target(&self) -> &Path {
        self.metadata.target_directory.as_std_path()
    }

    fn manifest(&self) -> PathBuf {
        self.root().join("Cargo.toml")
    }

    pub fn folder(&self) -> PathBuf {
        self.root().join(FOLDER)
    }

    /// The program's version of the crate `name`, which must be one of `tried`. Also prints which other versions stay as they are.
    pub fn locked(&self, name: &str, tried: &[&str]) -> Result<String> {
        let all = self.metadata.packages.iter().filter(|package| package.name == name);
        let (reached, mut others): (Vec<&Found>, Vec<&Found>) = all.partition(|package| self.is_reached(package));
        let known = tried.join(", ");
        let (fit, unfit): (Vec<&Found>, Vec<&Found>) =
            reached.iter().copied().partition(|package| tried.contains(&package.version.to_string().as_str()));
        let version = match (fit.as_slice(), unfit.as_slice()) {
            ([package], _) => package.version.to_string(),
            ([], [package]) => bail!(
                "Cargo.lock has {name} {}, which nobody has tried yet. Tried are {known}: `cargo update -p {name} --precise VERSION` \
                 takes one of these; or use a newer cargo-jumplabel",
                package.version
            ),
            ([], []) if others.is_empty() => bail!("the program does not depend on {name}: there is nothing to do"),
            ([], []) => {
                // If the crate is replaced by a line that is not this tool's, this call fails, and its error says so.
                lines::with(&fs::read_to_string(self.manifest())?, &[name])?;
                bail!(
                    "the program has {}, which lines of [patch.crates-io] do not reach: it does not come from cargo's own registry",
                    places(&others)
                )
            }
            _ => bail!("the program has {}, and none or several of {known}", places(&reached)),
        };
        others.extend(unfit);
        if !others.is_empty() {
            let others = places(&others);
            say(
                io::stderr(),
                format_args!(
                    "note: the program also has {others}: callsites that use it stay as they are, without keys"
                ),
            );
        }
        Ok(version)
    }

    /// True if lines of [patch.crates-io] can replace the package, or if this tool has already replaced it.
    fn is_reached(&self, package: &Found) -> bool {
        self.is_patched(package) || package.source.as_ref().is_some_and(|source| source.is_crates_io())
    }

    /// True if the package is one of the patched packages in the folder.
    fn is_patched(&self, package: &Found) -> bool {
        package.source.is_none() && package.manifest_path.as_std_path().starts_with(self.folder())
    }

    /// Writes the packages, and the lines of `[patch.crates-io]`. With `--check`, writes nothing, and fails if a package or a line would change. Also
    /// fails, with `--check` or without, if cargo does not use the packages.
    pub fn write_or_check(&self, packages: &[Package], patch: &Patch) -> Result<()> {
        let names: Vec<_> = packages.iter().map(|package| package.name).collect();
        let manifest_path = self.manifest();
        let before = fs::read_to_string(&manifest_path)?;
        let manifest = lines::with(&before, &names)?;
        if patch.check {
            let again = "run the command again without --check, and commit what it writes";
            ensure!(manifest == before, "{} lacks lines of [patch.crates-io]: {again}", manifest_path.display());
            for package in packages {
                if let Some(file) = package.differing(&self.folder().join(package.name)) {
                    let (file, name) = (file.display(), package.name);
                    bail!(
                        "{file} is not what would be written now: the patched {name} is not that of Cargo.lock: {again}"
                    );
                }
            }
            return self.demand_used(&self.metadata, &names);
        }
        for package in packages {
            package.write(&self.folder().join(package.name))?;
        }
        fs::write(self.folder().join("README.md"), include_str!("../../patches/README.md"))?;
        fs::write(&manifest_path, manifest)?;
        let otherwise =
            "cargo cannot resolve the program with the patched packages. `--remove` takes the packages away again";
        let metadata = question(Some(&manifest_path), self.offline).exec();
        let metadata = metadata.map_err(|error| source::explained(error, otherwise))?;
        self.demand_used(&metadata, &names)
    }

    /// Fails unless cargo takes these packages from the folder.
    fn demand_used(&self, metadata: &Metadata, names: &[&str]) -> Result<()> {
        for name in names {
            ensure!(
                metadata.packages.iter().any(|package| package.name == *name && self.is_patched(package)),
                "cargo does not use the patched {name}: Cargo.lock has another version than {}. Run the command again; or `cargo update -p {name} --precise VERSION`",
                self.folder().join(name).display()
            );
        }
        Ok(())
    }

    /// Removes packages, their lines in Cargo.toml, and other files.
    pub fn remove(&self, names: &[&str], files: &[&Path]) -> Result<()> {
        let manifest_path = self.manifest();
        let manifest = lines::without(&fs::read_to_string(&manifest_path)?, names)?;
        fs::write(&manifest_path, manifest)?;
        let folder = self.folder();
        let mut versions = Vec::new();
        for name in names.iter().filter(|name| folder.join(name).exists()) {
            let manifest = fs::read_to_string(folder.join(name).join("Cargo.toml")).unwrap_or_default();
            let version = manifest
                .parse::<DocumentMut>()
                .ok()
                .and_then(|manifest| manifest.get("package")?.get("version")?.as_str().map(str::to_owned));
            versions.extend(version.map(|version| (*name, version)));
            fs::remove_dir_all(folder.join(name))?;
        }
        for file in files.iter().filter(|file| file.exists()) {
            fs::remove_file(file)?;
        }
        self.lock_as_before(&versions)?;
        // The folder is removed with its last package.
        let is_package = |entry: io::Result<fs::DirEntry>| entry.is_ok_and(|entry| entry.path().is_dir());
        if folder.exists() && !fs::read_dir(&folder)?.any(is_package) {
            fs::remove_dir_all(&folder)?;
        }
        Ok(())
    }

    /// Puts upstream's packages back into Cargo.lock, in the versions that the patched ones had.
    fn lock_as_before(&self, versions: &[(&str, String)]) -> Result<()> {
        let manifest = self.manifest();
        let question = question(Some(&manifest), self.offline);
        let now = question.exec().context("cargo cannot resolve the program without the packages")?;
        for (name, version) in versions {
            // The program may have several versions of a package now: other versions may be dependencies in their own right. So the package goes back
            // to `version` only if the program has another version, and does not have this one.
            let is_other = |package: &Found| package.name == *name && package.version.to_string() != *version;
            let is_there = |package: &Found| package.name == *name && package.version.to_string() == *version;
            if now.packages.iter().any(is_other) && !now.packages.iter().any(is_there) {
                let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
                let mut update = std::process::Command::new(cargo);
                update.args(["update", "--quiet", "-p", name, "--precise", version]);
                update.args(self.offline.then_some("--offline")).arg("--manifest-path").arg(&manifest);
                ensure!(update.status()?.success(), "Cargo.lock does not go back to {name} {version}");
            }
        }
        Ok(())
    }
}

/// Packages as text, with their versions and their sources.
fn places(packages: &[&Found]) -> String {
    let place = |package: &&Found| match &package.source {
        Some(source) if source.is_crates_io() => format!("{} {}", package.name, package.version),
        Some(source) => format!("{} {} ({source})", package.name, package.version),
        None => {
            let folder = package.manifest_path.parent();
            format!("{} {} ({})", package.name, package.version, folder.unwrap_or(&package.manifest_path))
        }
    };
    packages.iter().map(place).collect::<Vec<_>>().join(", ")
}
