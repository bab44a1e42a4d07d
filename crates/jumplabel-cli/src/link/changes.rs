//! The changes that passes ask for. Either all of them are made, or none.

use super::elf::{Elf, damaged, put};
use super::program::{Entry, Program};
use super::sections::{self, Keep};
use super::segment;
use crate::failure::Failure;

/// All changes of a file.
#[derive(Default)]
pub struct Changes {
    /// New bytes, by their addresses.
    loaded: Vec<(u64, Vec<u8>)>,
    /// New bytes, by their places in the file.
    beside: Vec<(u64, Vec<u8>)>,
    /// New entries of the table.
    pub entries: Vec<Entry>,
}

impl Changes {
    /// Asks for new bytes at an address of loaded code or data.
    pub fn write(&mut self, address: u64, bytes: &[u8]) {
        self.loaded.push((address, bytes.to_vec()));
    }

    /// Asks for new bytes at a place in the file that is not loaded.
    pub fn write_beside(&mut self, place: u64, bytes: &[u8]) {
        self.beside.push((place, bytes.to_vec()));
    }

    /// The file with all changes made. `None` if there is nothing to change.
    pub fn make(&self, program: &Program, keep: Keep) -> Result<Option<Vec<u8>>, Failure> {
        let mut bytes = program.bytes.to_vec();
        let nowhere = || damaged("code that the file does not have");
        for (address, new) in &self.loaded {
            let place = program.elf.place(*address, new.len() as u64).ok_or_else(nowhere)?;
            put(&mut bytes, place as u64, new).ok_or_else(nowhere)?;
        }
        for (place, new) in &self.beside {
            put(&mut bytes, *place, new).ok_or_else(nowhere)?;
        }
        if !self.entries.is_empty() {
            bytes = segment::with_entries(program, bytes, &self.entries)?;
        }
        if keep != Keep::All {
            bytes = sections::without(Elf::read(&bytes)?, bytes, keep)?;
        }
        Ok((bytes != **program.bytes).then_some(bytes))
    }
}
