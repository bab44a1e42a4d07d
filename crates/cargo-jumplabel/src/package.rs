//! A package that replaces another one: the text of its files, and the functions that edit them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use toml_edit::DocumentMut;

use crate::edits::Text;

/// A package that replaces another one.
pub struct Package {
    pub name: &'static str,
    /// The files, by their paths in the package.
    files: BTreeMap<String, String>,
}

impl Package {
    pub fn new(name: &'static str) -> Package {
        Package { name, files: BTreeMap::new() }
    }

    pub fn add(&mut self, path: impl Into<String>, text: impl Into<String>) {
        self.files.insert(path.into(), text.into());
    }

    /// Edits a file.
    pub fn edit(&mut self, path: &'static str, edit: impl FnOnce(&mut Text) -> Result<()>) -> Result<()> {
        let file = self.files.get_mut(path).with_context(|| format!("{} has no file {path}", self.name))?;
        let mut text = Text::new(path, std::mem::take(file));
        let edited = edit(&mut text);
        *file = text.into_string();
        edited.with_context(|| format!("cannot edit the crate {}", self.name))
    }

    /// Edits the manifest.
    pub fn edit_manifest(&mut self, edit: impl FnOnce(&mut DocumentMut) -> Result<()>) -> Result<()> {
        let file = self.files.get_mut("Cargo.toml").with_context(|| format!("{} has no manifest", self.name))?;
        let mut manifest: DocumentMut = file.parse()?;
        edit(&mut manifest)?;
        *file = manifest.to_string();
        Ok(())
    }

    /// Writes the files to `folder`, and removes anything else there.
    pub fn write(&self, folder: &Path) -> Result<()> {
        // Files that only an earlier version had must not stay.
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        for (path, text) in &self.files {
            let file = folder.join(path);
            fs::create_dir_all(file.parent().context("a file has a folder")?)?;
            fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
        }
        Ok(())
    }

    /// Returns a file in which `folder` differs from this package: the file has another text, is missing in `folder`, or is only in `folder`. (Files
    /// that are only in `folder` matter, too: cargo would run a `build.rs`.)
    pub fn differing(&self, folder: &Path) -> Option<PathBuf> {
        let differs = |(path, text): (&String, &String)| {
            let file = folder.join(path);
            (fs::read_to_string(&file).ok().as_ref() != Some(text)).then_some(file)
        };
        self.files.iter().find_map(differs).or_else(|| self.added(folder, Path::new("")))
    }

    /// Returns a file below `folder` that this package does not have.
    fn added(&self, folder: &Path, below: &Path) -> Option<PathBuf> {
        fs::read_dir(folder.join(below)).ok()?.flatten().find_map(|entry| {
            let path = below.join(entry.file_name());
            if entry.file_type().is_ok_and(|found| found.is_dir()) {
                return self.added(folder, &path);
            }
            let is_ours = path.to_str().is_some_and(|path| self.files.contains_key(path));
            (!is_ours).then(|| folder.join(path))
        })
    }
}
