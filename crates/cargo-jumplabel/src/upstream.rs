//! Upstream's source, in exactly the versions of the program's lock file. Cargo fetches it as the user has configured: from a registry, from a
//! vendored folder, or from cargo's cache.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use cargo_metadata::CargoOpt;

use crate::package::Package;
use crate::project::{Project, question};

/// The folders that contain the packages as upstream published them.
pub struct Upstream {
    packages: Vec<(String, PathBuf)>,
    /// The lock file by which cargo found these folders.
    pub lock: String,
}

impl Upstream {
    /// Asks cargo for the sources of `packages`, which are names and versions. `earlier` is the path of the last run's lock file; there may be no
    /// such file.
    pub fn of(project: &Project, packages: &[(&str, String)], earlier: PathBuf) -> Result<Upstream> {
        // Cargo is asked from a separate package, so that the lines of [patch] in the user's manifest do not apply. That package lies below the
        // user's folder, so that the user's configuration of cargo applies.
        let asking = project.target().join("cargo-jumplabel");
        fs::create_dir_all(asking.join("src")).with_context(|| format!("cannot make {}", asking.display()))?;
        let dependencies: String = packages
            .iter()
            .map(|(name, version)| format!("{name} = {{ version = \"={version}\", default-features = false }}\n"))
            .collect();
        let manifest = format!(
            "[package]\nname = \"cargo-jumplabel-asks\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n[workspace]\n\n[dependencies]\n{dependencies}"
        );
        fs::write(asking.join("Cargo.toml"), manifest)?;
        fs::write(asking.join("src/lib.rs"), "")?;
        let mut command = question(Some(&asking.join("Cargo.toml")), project.is_offline());
        command.features(CargoOpt::AllFeatures);
        // Cargo uses a yanked version only if a lock file already has it. So cargo first gets the last run's lock file, and, if that fails, the
        // user's.
        let ask = |lock: PathBuf| {
            fs::copy(&lock, asking.join("Cargo.lock")).with_context(|| format!("there is no {}", lock.display()))?;
            command.exec().context(
                "cargo does not find upstream's source of the versions in Cargo.lock. If dependencies are vendored: `cargo vendor --no-delete` keeps it",
            )
        };
        let metadata = ask(earlier).or_else(|_| ask(project.root().join("Cargo.lock")));
        let lock = fs::read_to_string(asking.join("Cargo.lock"));
        // The folder of the separate package is removed, even after a failure.
        fs::remove_dir_all(&asking)?;
        let (metadata, lock) = (metadata?, lock?);
        let folder = |name: &str, version: &str| -> Result<PathBuf> {
            let is_that =
                |package: &&cargo_metadata::Package| package.name == name && package.version.to_string() == version;
            let package =
                metadata.packages.iter().find(is_that).with_context(|| format!("cargo knows no {name} {version}"))?;
            Ok(package.manifest_path.parent().context("a package has a folder")?.as_std_path().to_owned())
        };
        let folders = packages.iter().map(|(name, version)| Ok(((*name).to_owned(), folder(name, version)?)));
        Ok(Upstream { packages: folders.collect::<Result<_>>()?, lock })
    }

    /// Returns the files of a package that a program needs: its source, its manifest, its licences, its README. With `tests`, returns almost all of
    /// its text files.
    pub fn package(&self, name: &'static str, tests: bool) -> Result<Package> {
        let (_, folder) = self.packages.iter().find(|(known, _)| known == name).context("asked for this package")?;
        let mut package = Package::new(name);
        collect(folder, Path::new(""), &mut |path, text| {
            let first = path.components().next().map(|first| first.as_os_str().to_string_lossy().into_owned());
            let first = first.unwrap_or_default();
            let is_needed =
                first == "src" || first == "Cargo.toml" || first.starts_with("LICENSE") || first == "README.md";
            if is_needed || tests && !first.starts_with(".cargo") && !first.starts_with("Cargo.") {
                package.add(path.to_string_lossy().into_owned(), text);
            }
        })?;
        if !tests {
            package.edit_manifest(|manifest| {
                for part in ["test", "bench", "example", "dev-dependencies"] {
                    manifest.remove(part);
                }
                if let Some(targets) = manifest.get_mut("target").and_then(|targets| targets.as_table_like_mut()) {
                    for (_, target) in targets.iter_mut() {
                        target.as_table_like_mut().and_then(|target| target.remove("dev-dependencies"));
                    }
                }
                Ok(())
            })?;
        }
        Ok(package)
    }
}

/// Calls `take` for each text file in the folder `below` of `root` and its subfolders, with the file's path from `root` and its text.
fn collect(root: &Path, below: &Path, take: &mut impl FnMut(&Path, String)) -> Result<()> {
    let folder = root.join(below);
    for entry in fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let entry = entry?;
        let path = below.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            collect(root, &path, take)?;
        } else if let Ok(text) = fs::read_to_string(entry.path()) {
            take(&path, text);
        }
    }
    Ok(())
}
