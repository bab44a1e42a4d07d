//! The input of the passes: a file that is not damaged, with its tables.

use std::rc::Rc;

use jumplabel_format::layout::{LINKED, TO_LINK};

use super::elf::Elf;
use crate::failure::Failure;
use crate::image::{Format, Image};
use crate::machine::Machine;
use crate::table::{self, Table};

/// An entry of the table: three addresses, and the meta word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    pub code: u64,
    pub target: u64,
    pub key: u64,
    pub meta: u32,
}

/// The size of an entry, in bytes.
pub const ENTRY: usize = 16;

/// A program or a shared library that has keys, calls or modes.
pub struct Program {
    pub bytes: Rc<Vec<u8>>,
    pub image: Image,
    pub table: Table,
    pub elf: Elf,
    /// The addresses of the program's table.
    pub entries: std::ops::Range<u64>,
    /// The addresses of the first of the two words that lead to the table, in the object's record and in each copy of the record.
    pub words: Vec<u64>,
    /// The addresses of the object's marks. Each mark is a word.
    pub marks: Vec<u64>,
}

impl Program {
    /// Reads the program. Refuses a file that this step is not for.
    pub fn read(bytes: Rc<Vec<u8>>) -> Result<Program, Failure> {
        let image = Image::of(Rc::clone(&bytes))?;
        if image.format != Format::Elf {
            let why = "a PE file: this step is for ELF files alone, and without it everything works";
            return Err(Failure::OutOfReach(why.into()));
        }
        if image.machine != Machine::X86_64 {
            let why =
                format!("of {}: this step is for x86_64 alone, and without it everything works", image.machine.name());
            return Err(Failure::OutOfReach(why));
        }
        let table = Table::read(&image)?;
        if let Some(why) = table.damage.first() {
            return Err(Failure::Refused(format!("damaged: {why}")));
        }
        let bounds = table::find(&image)?;
        let bounds = bounds.ok_or_else(|| Failure::Nothing("no keys, and no static calls".into()))?;
        let elf = Elf::read(&bytes)?;
        let (entries, words, marks) = (bounds.table.bounds().clone(), bounds.words, bounds.marks.collect());
        Ok(Program { bytes, image, table, elf, entries, words, marks })
    }

    /// Whether the program has sites that were built as plain jumps, even if these sites are nops by now.
    pub fn has_built_jumps(&self) -> bool {
        self.marks.iter().any(|&mark| matches!(self.image.word(mark), Some(TO_LINK | LINKED)))
    }
}
