//! The user's workspace.
//!
//! ```text
//!   Cargo.toml                [patch.crates-io] tracing = { path = 'jumplabel-patches/tracing' }
//!   jumplabel-patches/        README.md
//!     tracing/                Cargo.toml, src, licences
//! ```

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use cargo_metadata::{Metadata, MetadataCommand};
use toml_edit::InlineTable;

use crate::Patch;
use crate::lines::{self, FOLDER};
use crate::package::Package;

/// The user's workspace.
pub struct Project {
    metadata: Metadata,
    /// Where `--jumplabel` says that jumplabel comes from.
    jumplabel: Option<String>,
    offline: bool,
}

/// A question to cargo about the project of a manifest.
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
        let question = question(patch.manifest_path.as_deref(), patch.offline);
        let metadata = question.exec().context("cargo cannot read this project")?;
        Ok(Project { metadata, jumplabel: patch.jumplabel.clone(), offline: patch.offline })
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

    /// The version of the crate `name` that the program has, which must be one of `tried`.
    pub fn locked(&self, name: &str, tried: &[&str]) -> Result<String> {
        let is_tried = |version: &str| tried.contains(&version);
        let versions: Vec<_> = self.versions(name).collect();
        let known = tried.join(", ");
        match versions.as_slice() {
            [] => bail!("the program does not depend on {name}: there is nothing to do"),
            [version] if is_tried(version) => Ok(version.clone()),
            [version] => bail!(
                "Cargo.lock has {name} {version}, which nobody has tried yet. Tried are {known}: `cargo update -p {name} --precise VERSION` \
                 takes one of these; or use a newer cargo-jumplabel"
            ),
            several => {
                let tried: Vec<_> = several.iter().filter(|version| is_tried(version)).collect();
                match tried.as_slice() {
                    [version] => Ok((*version).clone()),
                    _ => bail!(
                        "the program has {} versions of {name} ({}), and none or several of {known}",
                        several.len(),
                        several.join(", ")
                    ),
                }
            }
        }
    }

    fn versions(&self, name: &str) -> impl Iterator<Item = String> {
        self.metadata
            .packages
            .iter()
            .filter(move |package| package.name == name)
            .map(|package| package.version.to_string())
    }

    /// A dependency on `package`, one of jumplabel's: from where the user says, or from where the program has jumplabel already.
    pub fn jumplabel(&self, package: &str) -> Result<InlineTable> {
        let mut dependency = InlineTable::new();
        // The patched package lies two folders below the root.
        let path = |folder: &Path| -> Result<String> {
            let from = self.folder().join("package");
            let path = pathdiff::diff_paths(folder, from).context("jumplabel's folder has no path from here")?;
            Ok(path.to_string_lossy().into_owned())
        };
        if let Some(source) = &self.jumplabel {
            let folder = Path::new(source).join("crates").join(package);
            if folder.is_dir() {
                dependency.insert("path", path(&folder.canonicalize()?)?.into());
            } else if source.contains("://") || source.contains('@') {
                dependency.insert("git", source.as_str().into());
            } else if source.starts_with(|first: char| first.is_ascii_digit()) {
                dependency.insert("version", source.as_str().into());
            } else {
                bail!(
                    "--jumplabel {source}: this is no checkout (there is no crates/{package} in it), no address of a repository and no version"
                );
            }
            return Ok(dependency);
        }
        let own = self.metadata.packages.iter().find(|found| found.name == "jumplabel");
        let own =
            own.context("the program has no jumplabel yet: say where it comes from, by --jumplabel PATH|GIT|VERSION")?;
        match &own.source {
            None => {
                let folder =
                    own.manifest_path.parent().and_then(|folder| folder.parent()).context("jumplabel has a folder")?;
                dependency.insert("path", path(folder.join(package).as_std_path())?.into());
            }
            Some(source) if source.repr.starts_with("git+") => {
                let (address, commit) =
                    source.repr["git+".len()..].split_once('#').context("a git source has a commit")?;
                let address = address.split('?').next().unwrap_or(address);
                dependency.insert("git", address.into());
                dependency.insert("rev", commit.into());
            }
            Some(_) => {
                dependency.insert("version", own.version.to_string().into());
            }
        }
        Ok(dependency)
    }

    /// Writes the packages, and the lines of `[patch.crates-io]`. Or, with `--check`, fails if that would change anything, or if cargo does
    /// not use the packages.
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
        fs::write(self.folder().join("README.md"), include_str!("../patches/README.md"))?;
        fs::write(&manifest_path, manifest)?;
        let metadata = question(Some(&manifest_path), self.offline).exec().context(
            "cargo cannot resolve the program with the patched packages. If it says that two packages link to `jumplabel`, the program has \
             jumplabel from another place: say which by --jumplabel. `--remove` takes the packages away again",
        )?;
        self.demand_used(&metadata, &names)
    }

    /// Fails unless cargo takes these packages from the folder.
    fn demand_used(&self, metadata: &Metadata, names: &[&str]) -> Result<()> {
        for name in names {
            let folder = self.folder().join(name);
            let is_ours = |package: &cargo_metadata::Package| {
                package.name == *name && package.manifest_path.as_std_path().starts_with(&folder)
            };
            ensure!(
                metadata.packages.iter().any(is_ours),
                "cargo does not use the patched {name}: Cargo.lock has another version than {}. Run the command again; or `cargo update -p {name} --precise VERSION`",
                folder.display()
            );
        }
        Ok(())
    }

    /// Takes packages and their lines away.
    pub fn remove(&self, names: &[&str]) -> Result<()> {
        let manifest_path = self.manifest();
        let manifest = lines::without(&fs::read_to_string(&manifest_path)?, names)?;
        fs::write(&manifest_path, manifest)?;
        let folder = self.folder();
        for name in names {
            if folder.join(name).exists() {
                fs::remove_dir_all(folder.join(name))?;
            }
        }
        self.lock_as_before(names)?;
        // The folder goes with its last package.
        let is_package = |entry: std::io::Result<fs::DirEntry>| entry.is_ok_and(|entry| entry.path().is_dir());
        if folder.exists() && !fs::read_dir(&folder)?.any(is_package) {
            fs::remove_dir_all(&folder)?;
        }
        Ok(())
    }

    /// Lets Cargo.lock have upstream's packages again, of the versions that the patched ones had.
    fn lock_as_before(&self, names: &[&str]) -> Result<()> {
        let manifest = self.manifest();
        let question = question(Some(&manifest), self.offline);
        let now = question.exec().context("cargo cannot resolve the program without the packages")?;
        for name in names {
            let Some(version) = self.versions(name).next() else { continue };
            if now.packages.iter().any(|package| package.name == *name && package.version.to_string() != version) {
                let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
                let mut update = std::process::Command::new(cargo);
                update.args(["update", "--quiet", "-p", name, "--precise", &version]);
                update.args(self.offline.then_some("--offline")).arg("--manifest-path").arg(&manifest);
                ensure!(update.status()?.success(), "Cargo.lock does not go back to {name} {version}");
            }
        }
        Ok(())
    }
}
