//! The source of jumplabel: a checkout, a git repository or a registry. A program has only one jumplabel, because two cannot be linked into it.

use std::collections::HashSet;
use std::path::Path;

use anyhow::{Context, Error, Result, bail, ensure};
use cargo_metadata::Package;
use cargo_metadata::semver::VersionReq;
use toml_edit::InlineTable;

use super::{Project, places};

/// Adds an explanation to an error of cargo. If the error is about jumplabel, the explanation says what to do; if not, it is `otherwise`.
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
    /// A dependency on `package`, one of jumplabel's crates. It comes from the source that the user names, or else from where the program has
    /// jumplabel.
    pub fn jumplabel(&self, package: &str) -> Result<InlineTable> {
        match &self.jumplabel {
            Some(source) => self.chosen(source, package),
            None => {
                let found = self.metadata.packages.iter().find(|found| found.name == "jumplabel").context(
                    "the program has no jumplabel yet: say where it comes from, by --jumplabel PATH|GIT|VERSION",
                )?;
                self.beside(found, package)
            }
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
            &|own| {
                let is_wanted = VersionReq::parse(source).is_ok_and(|wanted| wanted.matches(&own.version));
                is_wanted && own.source.as_ref().is_some_and(|own| own.is_crates_io())
            }
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
            // The dependency is spelled as in the program, because cargo takes two spellings of one source for two sources.
            return self.beside(own, package);
        }
        Ok(dependency)
    }

    /// A dependency on `package` from the source of `own`, the jumplabel that the program already has. (The program may have it only through packages
    /// that were patched earlier.)
    fn beside(&self, own: &Package, package: &str) -> Result<InlineTable> {
        let mut dependency = InlineTable::new();
        match &own.source {
            None => {
                let folder =
                    own.manifest_path.parent().and_then(|folder| folder.parent()).context("jumplabel has a folder")?;
                dependency.insert("path", self.path(folder.join(package).as_std_path())?.into());
            }
            Some(source) if source.repr.starts_with("git+") => {
                for (word, value) in git(&source.repr)? {
                    dependency.insert(word, value.into());
                }
            }
            Some(_) => {
                dependency.insert("version", own.version.to_string().into());
            }
        }
        Ok(dependency)
    }

    /// Returns the path to `folder` for the manifest of a patched package, which lies two folders below the workspace's root.
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

/// Returns the fields of a dependency in a manifest for the source `git+ADDRESS?branch=NAME#COMMIT`. `branch` can be `tag` or `rev` instead, or be
/// missing. The result has no commit, because cargo would take the branch and the commit for two sources.
fn git(source: &str) -> Result<Vec<(&'static str, &str)>> {
    let source = source.strip_prefix("git+").context("a git source begins with git+")?;
    // `cargo metadata` writes names as they are: a branch may contain `#`, `&` and `+`.
    let (source, _commit) = source.rsplit_once('#').context("a git source has a commit")?;
    let reference =
        [("branch", "?branch="), ("tag", "?tag="), ("rev", "?rev=")].into_iter().find_map(|(word, sign)| {
            let (address, name) = source.split_once(sign)?;
            Some(vec![("git", address), (word, name)])
        });
    Ok(reference.unwrap_or_else(|| vec![("git", source)]))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Project, git};

    #[test]
    fn sources_of_git() {
        let commit = "#0123456789abcdef0123456789abcdef01234567";
        for (source, says) in [
            ("git+https://example.invalid/j", &[("git", "https://example.invalid/j")][..]),
            ("git+file:///j?branch=one/two+3#4", &[("git", "file:///j"), ("branch", "one/two+3#4")]),
            ("git+file:///j?tag=v1", &[("git", "file:///j"), ("tag", "v1")]),
            ("git+file:///j?rev=0123456", &[("git", "file:///j"), ("rev", "0123456")]),
        ] {
            assert_eq!(git(&format!("{source}{commit}")).unwrap(), says);
        }
        assert!(git("git+file:///j").is_err() && git("registry+file:///j#0").is_err());
    }

    /// If `--jumplabel` names a version, the program's jumplabel must have that version. Otherwise there is an error.
    #[test]
    fn versions_of_a_registry() {
        let package = |name: &str, version: &str, source: Option<&str>| {
            json!({ "name": name, "version": version, "id": name, "source": source, "dependencies": [], "targets": [], "features": {},
                "manifest_path": format!("/{name}/Cargo.toml") })
        };
        // The registry's address, as lock files have it.
        let lock = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock")).unwrap();
        let index = lock.lines().find_map(|line| line.strip_prefix("source = \"")?.strip_suffix('"'));
        let metadata = json!({
            "packages": [package("program", "1.0.0", None), package("jumplabel", "0.1.3", index)],
            "workspace_members": ["program"],
            "resolve": { "root": "program", "nodes": [
                { "id": "program", "dependencies": ["jumplabel"] }, { "id": "jumplabel", "dependencies": [] }] },
            "workspace_root": "/program", "target_directory": "/program/target", "version": 1,
        });
        for (wanted, is_there) in [("0.1", true), ("0.1.3", true), ("0.2", false), ("0.1.4", false), ("0.x.y", false)] {
            let metadata = serde_json::from_value(metadata.clone()).unwrap();
            let project = Project { metadata, jumplabel: Some(wanted.to_owned()), offline: true, _kept: None };
            match project.jumplabel("jumplabel") {
                Ok(found) => assert!(is_there && found["version"].as_str() == Some("0.1.3"), "{wanted}: {found}"),
                Err(error) => {
                    let says = error.to_string();
                    assert!(!is_there && says.contains("the program already has jumplabel 0.1.3"), "{wanted}: {says}");
                }
            }
        }
    }
}
