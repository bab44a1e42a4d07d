//! Where the bytes of an object are read from: a file, or memory.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::rc::Rc;

/// The bytes of an object.
pub enum Source {
    File(File),
    Memory(Rc<Vec<u8>>),
}

impl Source {
    /// Fills `to` with the bytes from `offset` on.
    pub fn read_exact_at(&self, to: &mut [u8], offset: u64) -> io::Result<()> {
        match self {
            Source::File(file) => file.read_exact_at(to, offset),
            Source::Memory(bytes) => {
                let start = usize::try_from(offset).ok().filter(|&start| start <= bytes.len());
                let there = start.and_then(|start| bytes.get(start..start.checked_add(to.len())?));
                to.copy_from_slice(there.ok_or(io::ErrorKind::UnexpectedEof)?);
                Ok(())
            }
        }
    }

    /// The number of bytes.
    pub fn length(&self) -> io::Result<u64> {
        match self {
            Source::File(file) => Ok(file.metadata()?.len()),
            Source::Memory(bytes) => Ok(bytes.len() as u64),
        }
    }

    /// A reader that can seek.
    pub fn reader(&self) -> Reader<'_> {
        Reader { source: self, at: 0 }
    }
}

/// A reader with its position in the bytes.
pub struct Reader<'source> {
    source: &'source Source,
    at: u64,
}

impl Read for Reader<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let count = match self.source {
            Source::File(file) => file.read_at(to, self.at)?,
            Source::Memory(bytes) => {
                let start = usize::try_from(self.at).unwrap_or(usize::MAX).min(bytes.len());
                let count = to.len().min(bytes.len() - start);
                to[..count].copy_from_slice(&bytes[start..start + count]);
                count
            }
        };
        self.at += count as u64;
        Ok(count)
    }
}

impl Seek for Reader<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(more) => self.source.length()?.checked_add_signed(more),
            SeekFrom::Current(more) => self.at.checked_add_signed(more),
        };
        self.at = at.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}
