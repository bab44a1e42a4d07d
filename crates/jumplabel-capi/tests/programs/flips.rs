//! The file in which the processes of a program count their flips: programs/c/flipping.c.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The sums over all processes of a run.
#[derive(Clone, Copy, Default)]
pub struct Flips {
    pub processes: u64,
    pub keys: u64,
    pub sites: u64,
    pub changes: u64,
    pub refused: u64,
}

/// A new file, for the variable FLIPPED.
pub fn file(folder: &Path) -> PathBuf {
    let path = folder.join("flipped");
    fs::write(&path, [0; 40]).unwrap();
    path
}

impl Flips {
    /// The counts of one process that only starts.
    pub fn of_one(path: &Path, mut program: Command) -> Flips {
        program.arg("--version").env("FLIPPED", path).output().unwrap();
        Flips::read(path)
    }

    pub fn read(path: &Path) -> Flips {
        let bytes = fs::read(path).unwrap();
        let number = |at: usize| u64::from_ne_bytes(bytes[at * 8..][..8].try_into().unwrap());
        let [processes, keys, sites, changes, refused] = [0, 1, 2, 3, 4].map(number);
        Flips { processes, keys, sites, changes, refused }
    }
}
