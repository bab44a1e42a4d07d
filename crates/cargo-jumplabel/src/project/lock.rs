//! Restores Cargo.lock after `--check`, because cargo writes it whenever it resolves a project.

use std::fs;
use std::path::{Path, PathBuf};

/// The content of Cargo.lock before cargo ran. When this value is dropped, the file gets that content back, or is removed if there was no file. But
/// if another process has written the file since [`Kept::note`], the file stays.
pub struct Kept {
    path: PathBuf,
    /// `None` if there was no file.
    bytes: Option<Vec<u8>>,
    /// The content of the file when cargo had answered this tool.
    written: Option<Vec<u8>>,
}

impl Kept {
    pub fn of(root: &Path) -> Kept {
        let path = root.join("Cargo.lock");
        let bytes = fs::read(&path).ok();
        Kept { written: bytes.clone(), bytes, path }
    }

    /// Notes that cargo has answered: the present content of the file is cargo's.
    pub fn note(&mut self) {
        self.written = fs::read(&self.path).ok();
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if fs::read(&self.path).ok() != self.written {
            return;
        }
        // Errors are ignored: if the folder is not writable, cargo has written nothing either.
        let _ = match &self.bytes {
            bytes if *bytes == self.written => Ok(()),
            Some(bytes) => fs::write(&self.path, bytes),
            None => fs::remove_file(&self.path),
        };
    }
}

#[cfg(test)]
mod tests {
    use std::{env, fs, process};

    use super::Kept;

    /// What cargo wrote for the tool is undone. What another process has written or removed since stays.
    #[test]
    fn who_wrote_it() {
        let folder = env::temp_dir().join(format!("cargo-jumplabel-lock-{}", process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("Cargo.lock");
        let set = |text: Option<&str>| match text {
            Some(text) => fs::write(&path, text).unwrap(),
            None => drop(fs::remove_file(&path)),
        };
        for (before, cargo, other, after) in [
            (Some("old"), Some("old"), Some("old"), Some("old")),
            (Some("old"), Some("new"), Some("new"), Some("old")),
            (None, Some("new"), Some("new"), None),
            (Some("old"), Some("new"), Some("theirs"), Some("theirs")),
            (Some("old"), Some("old"), Some("theirs"), Some("theirs")),
            (None, Some("new"), Some("theirs"), Some("theirs")),
            (Some("old"), Some("new"), None, None),
        ] {
            set(before);
            let mut kept = Kept::of(&folder);
            set(cargo);
            kept.note();
            set(other);
            drop(kept);
            assert_eq!(fs::read_to_string(&path).ok().as_deref(), after, "{before:?} {cargo:?} {other:?}");
        }
        fs::remove_dir_all(&folder).unwrap();
    }
}
