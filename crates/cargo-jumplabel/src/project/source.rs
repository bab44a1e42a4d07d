//! The source of jumplabel: a checkout, a git repository or a registry. A program has only one jumplabel, because two cannot be linked into it.

use std::collections::HashSet;
use std::path::Path;

use anyhow::{Context, Error, Result, bail, ensure};
use cargo_metadata::Package;
use toml_edit::InlineTable;

use super::{Project, places};

/// Explains an error of cargo. If the error is about jumplabel, the explanation says what to do; otherwise, it is `otherwise`.
pub fn explained(error: cargo_metadata::Error, otherwise: &'static str) -> Error {
    let says = error.to_string();
    let why = if says.contains("links to the native library `jumplabel`") {
        "the program and the patched packages have jumplabel from two sources, which cannot be linked into one program. `--remove` takes the \
         packages away; then let the program have one jumplabel, and run the command again, without --jumplabel or with that source"
    } else if says.contains("no matching package") && says.contains("required by package `jumplabel ") {
        "cargo does not find what jumplabel itself depends on. If dependencies are vendored: `--remove` takes the packages away; let the program \
         depend on jumplabel, vendor again, and run the command again"
    } else {
        otherwise
    };
    Error::new(error).context(why)
}

impl Project {
    /// A dependency on `package`, one of jumplabel's crates, from the source that the user names, or else from the source of the program's jumplabel.
    pub fn jumplabel(&self, package: &str) -> Result<InlineTable> {
        match &self.jumplabel {
            Some(source) => self.chosen(source, package),
            None => self.found(package),
        }
    }

    /// A dependency on `package` from the source that the user names.
    fn chosen(&self, source: &str, package: &str) -> Result<InlineTable> {
        let mut dependency = InlineTable::new();
        let crates = Path::new(source).join("crates");
        let is_same: &dyn Fn(&Package) -> bool = if crates.join(package).is_dir() {
            dependency.insert("path", self.path(&crates.join(package).canonicalize()?)?.into());
            &|own| {
                let folder = own.manifest_path.parent().and_then(|folder| folder.canonicalize().ok());
                own.source.is_none() && folder.is_some() && folder == crates.join("jumplabel").canonicalize().ok()
            }
        } else if source.contains("://") || source.contains('@') {
            dependency.insert("git", source.into());
            &|own| {
                let address = own.source.as_ref().and_then(|own| own.repr.strip_prefix("git+"));
                address.and_then(|address| address.split(['?', '#']).next()) == Some(source)
            }
        } else if source.starts_with(|first: char| first.is_ascii_digit()) {
            dependency.insert("version", source.into());
            &|own| own.source.as_ref().is_some_and(|own| own.is_crates_io())
        } else {
            bail!(
                "--jumplabel {source}: this is no checkout (there is no crates/{package} in it), no address of a repository and no version"
            );
        };
        if let Some(own) = self.own() {
            ensure!(
                is_same(own),
                "--jumplabel {source}: the program already has {}, and two sources of jumplabel cannot be linked into one program. Leave \
                 --jumplabel out, or let the program have it from there as well",
                places(&[own])
            );
        }
        Ok(dependency)
    }

    /// A dependency on `package` from the source from which the program has jumplabel. Perhaps only packages that were patched earlier use jumplabel.
    fn found(&self, package: &str) -> Result<InlineTable> {
        let mut dependency = InlineTable::new();
        let own = self.metadata.packages.iter().find(|found| found.name == "jumplabel");
        let own =
            own.context("the program has no jumplabel yet: say where it comes from, by --jumplabel PATH|GIT|VERSION")?;
        match &own.source {
            None => {
                let folder =
                    own.manifest_path.parent().and_then(|folder| folder.parent()).context("jumplabel has a folder")?;
                dependency.insert("path", self.path(folder.join(package).as_std_path())?.into());
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

    /// The path to a folder as a patched package's manifest has it. A patched package lies two folders below the root.
    fn path(&self, folder: &Path) -> Result<String> {
        let path = pathdiff::diff_paths(folder, self.folder().join("package"));
        Ok(path.context("jumplabel's folder has no path from here")?.to_string_lossy().into_owned())
    }

    /// The jumplabel on which the program would depend without the patched packages.
    fn own(&self) -> Option<&Package> {
        let resolve = self.metadata.resolve.as_ref()?;
        let mut reached = HashSet::new();
        let mut next: Vec<_> = self.metadata.workspace_members.iter().collect();
        while let Some(id) = next.pop() {
            let package = &self.metadata[id];
            if !reached.insert(id) || self.is_patched(package) {
                continue;
            }
            if package.name == "jumplabel" {
                return Some(package);
            }
            let node = resolve.nodes.iter().find(|node| node.id == *id);
            next.extend(node.into_iter().flat_map(|node| &node.dependencies));
        }
        None
    }
}
