//! The command `link`, the step after the linker: writes into a file what becomes known only once the whole program is linked.
//!
//! ```text
//!   save       reads the file, and replaces it by the new one
//!   passes     calls        lists calls of static calls, and leads them straight
//!              short        turns sites that were built as jumps into nops, if they should fall through at first
//!   program    what passes look at: bytes, headers, tables
//!   changes    what passes ask for: bytes in place, entries of the table
//!   segment    a table with more entries, in a segment of its own; room: its program header; sections: their numbers
//!   elf        headers, symbols, relocations
//! ```
//!
//! A pass only looks at the program, and asks for changes. All changes are made together. Then the tool reads the result like any file. If the result
//! seems damaged, the step refuses. Until then, no file on the disk changes: [`link`] is a function of bytes.

mod calls;
mod changes;
mod decode;
mod elf;
mod program;
mod room;
pub mod save;
mod sections;
mod segment;
mod short;

pub use calls::Form;
pub use sections::Keep;

use std::rc::Rc;

use serde::Serialize;

use crate::failure::Failure;
use crate::image::Image;
use crate::table::Table;
use changes::Changes;
use program::Program;

/// The findings, with one field for each pass.
#[derive(Debug, Default, Serialize)]
pub struct Found {
    pub calls: calls::Found,
    pub checks: short::Found,
}

/// The result of linking a file.
pub struct Linked {
    pub found: Found,
    /// The new contents of the file. `None` if nothing changes.
    pub bytes: Option<Vec<u8>>,
}

/// Runs all passes on the bytes of a file.
pub fn link(bytes: Rc<Vec<u8>>, keep: Keep) -> Result<Linked, Failure> {
    let program = match Program::read(Rc::clone(&bytes)) {
        // A program without keys can still lose its relocations.
        Err(Failure::Nothing(_)) if keep != Keep::All => {
            let less = sections::without(elf::Elf::read(&bytes)?, bytes.to_vec(), keep)?;
            let bytes = (less != **bytes).then_some(less);
            return Ok(Linked { found: Found::default(), bytes });
        }
        program => program?,
    };
    let mut changes = Changes::default();
    let checks = short::run(&program, &mut changes)?;
    let found = Found { calls: calls::run(&program, &mut changes)?, checks };
    let bytes = changes.make(&program, keep)?;
    if let Some(bytes) = &bytes {
        verify(&program, &changes, bytes)?;
    }
    Ok(Linked { found, bytes })
}

/// Checks that the tool reads in the new file exactly what it read in the old one, plus the additions.
fn verify(program: &Program, changes: &Changes, bytes: &[u8]) -> Result<(), Failure> {
    let wrong = |why: &str| Failure::Refused(format!("a mistake of this tool: {why}; nothing was changed"));
    let image = Image::of(Rc::new(bytes.to_vec())).map_err(|failure| wrong(&failure.to_string()))?;
    let table = Table::read(&image).map_err(|failure| wrong(&failure.to_string()))?;
    if let Some(damage) = table.damage.first() {
        return Err(wrong(damage));
    }
    let old = &program.table;
    if table.sites.len() != old.sites.len() + changes.entries.len() || table.subjects.len() != old.subjects.len() {
        return Err(wrong("the new table has other entries than it should"));
    }
    let is_same = |a: &crate::table::Site, b: &crate::table::Site| {
        (a.address, a.kind, a.arm, a.straight, &a.place, &a.arms)
            == (b.address, b.kind, b.arm, b.straight, &b.place, &b.arms)
    };
    if !old.sites.iter().zip(&table.sites).all(|(a, b)| is_same(a, b)) {
        return Err(wrong("an entry of the old table is another in the new one"));
    }
    if table.sites.iter().any(|site| site.is_unlinked) {
        return Err(wrong("a site is as it was"));
    }
    let added = table.sites[old.sites.len()..].iter().map(|site| site.address);
    if !added.eq(changes.entries.iter().map(|entry| entry.code)) {
        return Err(wrong("a new entry leads elsewhere"));
    }
    Ok(())
}
