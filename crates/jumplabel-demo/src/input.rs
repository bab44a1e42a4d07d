//! The input: reads files and directories, and cuts them into pieces of whole lines.
//!
//! ```text
//!  arguments ──► files (directories are walked) ──► text (at most 16 MB) ──► pieces of about 16 kB, whole lines
//! ```
//!
//! In directories, the program skips `.git`, `target`, symbolic links, and files that are not text. Any other path that cannot be read is an error,
//! which names the path: a demonstration that silently leaves out input proves little. If the input is small, a pass reads it several times, so that
//! the pass is long enough to be measured. The line numbers then continue from one time to the next.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::index::Piece;

/// The largest input, in bytes. The rest is left out.
const MOST: usize = 16_000_000;
/// The number of bytes at the beginning of a file in which the program looks for a zero byte. A file with such a byte is not text.
const PROBE: usize = 8192;
const PIECE: usize = 16 * 1024;

/// The reason why the input cannot be used.
#[derive(Debug)]
pub enum Problem {
    /// A path could not be read.
    Unreadable(PathBuf, io::Error),
    /// The path is that of a device, a pipe or a socket.
    NotAFile(PathBuf),
    /// A file that the arguments name is not text.
    NotText(PathBuf),
    /// The input contains no word.
    Empty,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Unreadable(path, error) => write!(f, "cannot read {path:?}: {error}"),
            Problem::NotAFile(path) => write!(f, "{path:?} is neither a file nor a directory"),
            Problem::NotText(path) => write!(f, "{path:?} is not text: it contains zero bytes"),
            Problem::Empty => f.write_str("the input is empty: it contains no word"),
        }
    }
}

/// The text of all files.
#[derive(Default)]
pub struct Input {
    /// One text for each file that is not empty.
    pub texts: Vec<Vec<u8>>,
    /// The number of bytes in all texts.
    pub bytes: usize,
    /// True if a part of the input was left out.
    pub cut: bool,
}

impl Input {
    /// Reads files and directories.
    pub fn read(paths: &[PathBuf]) -> Result<Input, Problem> {
        let mut input = Input::default();
        for path in paths {
            let kind = fs::metadata(path).map_err(|error| Problem::Unreadable(path.clone(), error))?.file_type();
            if kind.is_dir() {
                input.walk(path)?;
            } else if !kind.is_file() {
                return Err(Problem::NotAFile(path.clone()));
            } else if !input.file(path)? {
                return Err(Problem::NotText(path.clone()));
            }
        }
        if input.texts.is_empty() { Err(Problem::Empty) } else { Ok(input) }
    }

    /// Reads a directory, in the order of names, so that every run reads the same.
    fn walk(&mut self, directory: &Path) -> Result<(), Problem> {
        let unreadable = |error| Problem::Unreadable(directory.to_owned(), error);
        let mut entries: Vec<_> = fs::read_dir(directory).and_then(Iterator::collect).map_err(unreadable)?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let (path, kind) = (entry.path(), entry.file_type().map_err(unreadable)?);
            if self.cut {
                break;
            } else if kind.is_dir() && entry.file_name() != ".git" && entry.file_name() != "target" {
                self.walk(&path)?;
            } else if kind.is_file() {
                match self.file(&path) {
                    Err(Problem::Unreadable(_, error)) if error.kind() == io::ErrorKind::NotFound => {} // The file was deleted meanwhile.
                    other => drop(other?),
                }
            }
        }
        Ok(())
    }

    /// Reads a file. Returns false if the file is not text.
    fn file(&mut self, path: &Path) -> Result<bool, Problem> {
        let mut text = Vec::new();
        let room = MOST - self.bytes;
        File::open(path)
            .and_then(|file| file.take(room as u64 + 1).read_to_end(&mut text))
            .map_err(|error| Problem::Unreadable(path.to_owned(), error))?;
        if text[..text.len().min(PROBE)].contains(&0) {
            return Ok(false);
        }
        if text.len() > room {
            self.cut = true;
            text.truncate(room);
        }
        if !text.is_empty() {
            self.bytes += text.len();
            self.texts.push(text);
        }
        Ok(true)
    }

    /// Returns the pieces of all texts, repeated until they have at least `bytes` bytes, and the number of repetitions.
    pub fn pieces(&self, bytes: usize) -> (Vec<Piece<'_>>, usize) {
        let times = bytes.div_ceil(self.bytes).max(1);
        let mut pieces = Vec::new();
        let mut line = 1;
        for text in (0..times).flat_map(|_| &self.texts) {
            let mut rest = text.as_slice();
            while !rest.is_empty() {
                let end = rest.iter().skip(PIECE - 1).position(|&byte| byte == b'\n');
                let (piece, behind) = rest.split_at(end.map_or(rest.len(), |end| end + PIECE));
                pieces.push(Piece { text: piece, first_line: line });
                line += piece.iter().filter(|&&byte| byte == b'\n').count() as u32;
                line += u32::from(!piece.ends_with(b"\n")); // The last line of a text may have no newline.
                rest = behind;
            }
        }
        (pieces, times)
    }
}
