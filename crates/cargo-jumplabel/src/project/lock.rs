//! Cargo.lock, which cargo writes whenever it resolves a project: also for a command that changes nothing.

use std::fs;
use std::path::{Path, PathBuf};

/// A file that gets back what it contained, or goes again, when this is dropped.
pub struct Kept {
    path: PathBuf,
    /// `None` if there was no file.
    bytes: Option<Vec<u8>>,
}

impl Kept {
    pub fn of(root: &Path) -> Kept {
        let path = root.join("Cargo.lock");
        Kept { bytes: fs::read(&path).ok(), path }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let now = fs::read(&self.path).ok();
        // If the folder lets nobody write, cargo has written nothing.
        let _ = match &self.bytes {
            bytes if *bytes == now => Ok(()),
            Some(bytes) => fs::write(&self.path, bytes),
            None => fs::remove_file(&self.path),
        };
    }
}
