//! Ends the process if a program treats a shared library's key as its own, so that the key exists twice or is out of reach.
//!
//! ```text
//!   program, not -fPIC                      libnet.so
//!   site of `trace` ──► copy of `trace`     trace   ◄── site of `trace`, if libnet.so was linked with -Bsymbolic
//!                       ▲ R_X86_64_COPY               ◄─ otherwise by a slot, which leads to the copy, too
//! ```
//!
//! In a program that is not compiled with -fPIC, code refers to a variable of a library by the distance to the variable, which the linker does not
//! know. So the linker puts a copy of the variable into the program. All objects then use the copy, except those that were built to use their own
//! variable. If there are such objects, there are two keys, and a flip of one does not reach the sites of the other. If copies are forbidden, GNU ld
//! makes the loader write the distance into the code or the table, where there is no room for it.
//!
//! The constructor of each object finds both cases in the relocations of the program, and ends the process. Otherwise the program would take wrong
//! arms without an error. This was tested on x86-64 only.

use core::ffi::{CStr, c_void};
use core::ops::Range;

use jumplabel::text::{self, Pieces};

use crate::system;
use elf::{Loaded, Relocation, each};

mod elf;

/// The number of the relocation type `R_X86_64_COPY`.
const COPY: u32 = 5;

/// A table entry: C's `struct jump_entry`.
#[repr(C)]
struct Entry {
    _code: i32,
    _target: i32,
    key: i32,
    meta: u32,
}

/// The table of the object to which this record belongs (docs/table-format.md).
///
/// # Safety
/// `record` is the record of an object.
unsafe fn table<'a>(record: *const c_void) -> &'a [Entry] {
    let bounds = record.cast::<i32>().wrapping_add(14);
    // SAFETY: the caller guarantees that `record` is the record of an object. These two words of it hold the distances to the bounds of the table.
    let [start, stop] = [0, 1].map(|number| unsafe {
        let word = bounds.add(number);
        (word as usize).wrapping_add_signed(word.read() as isize)
    });
    if start >= stop {
        return &[]; // An object without sites may have no table. The linker then leaves both bounds 0.
    }
    // SAFETY: the linker puts whole entries, and nothing else, between these bounds. They are never written.
    unsafe { core::slice::from_raw_parts(start as *const Entry, (stop - start) / size_of::<Entry>()) }
}

impl Entry {
    /// The address of the entry's key. `None` if that address is in a slot that `object` does not map for reading.
    fn key(&self, object: &Loaded) -> Option<usize> {
        let word = (&raw const self.key as usize).wrapping_add_signed(self.key as isize);
        if self.meta & 2 == 0 {
            return Some(word);
        }
        // SAFETY: `holds` has found that the object maps these eight bytes for reading.
        object
            .holds(word, 8)
            .then(|| unsafe { (word as *const usize).read_unaligned() }.wrapping_add((self.meta >> 8) as usize))
    }
}

/// Ends the process if sites of this object check a key that exists twice, or a key that the program cannot reach.
///
/// # Safety
/// `record` is the record of an object whose constructor runs.
pub(crate) unsafe fn refuse(record: *const c_void) {
    // SAFETY: the caller guarantees that `record` is the record of an object. Its constructor runs, so the object is loaded.
    let entries = unsafe { table(record) };
    let (mut is_program, mut is_suspect) = (true, false);
    each(|object| {
        let is_it = object.holds(record as usize, 1);
        if core::mem::take(&mut is_program) {
            is_suspect = object.relocations.iter().any(is_foreign);
            table_is_relocated(object, entries);
        }
        if is_it && is_suspect {
            each(|program| {
                for relocation in program.relocations.iter().filter(|relocation| is_foreign(relocation)) {
                    look(program, relocation, object, entries);
                }
                true
            });
        }
        is_it
    });
}

fn is_foreign(relocation: &Relocation) -> bool {
    relocation.kind == COPY || is_near(relocation)
}

/// True if the relocation is near: it names a symbol, and is `R_X86_64_PC32`, `_32` or `_32S`, whose word has no room for the distance to another
/// object.
fn is_near(relocation: &Relocation) -> bool {
    matches!(relocation.kind, 2 | 10 | 11) && relocation.symbol != 0
}

/// Ends the process if the program has a near relocation in the table `entries`. A correct table has none, because its words lead to places in the
/// same object.
fn table_is_relocated(program: &Loaded, entries: &[Entry]) {
    let Range { start, end } = entries.as_ptr_range();
    let table = start as usize..end as usize;
    let inside = |near: &&Relocation| is_near(near) && table.contains(&program.base.wrapping_add(near.offset));
    if let Some(near) = program.relocations.iter().find(inside) {
        out_of_reach(program.symbol(near.symbol).1, c"a shared library");
    }
}

/// Ends the process if sites of `object` check a library's key that this relocation of the program has copied, or cannot reach.
fn look(program: &Loaded, relocation: &Relocation, object: &Loaded, entries: &[Entry]) {
    let (symbol, name) = program.symbol(relocation.symbol);
    let copy = program.base.wrapping_add(relocation.offset);
    let copy = copy..copy.saturating_add(symbol.size);
    let mut is_program = true;
    each(|library| {
        if core::mem::take(&mut is_program) {
            return false;
        }
        let Some(own) = library.definition(name) else { return false };
        let is_copied = relocation.kind == COPY;
        let follows = |key: usize| own.contains(&key) || (is_copied && library.symbolic && copy.contains(&key));
        if entries.iter().any(|entry| entry.key(object).is_some_and(follows)) {
            if is_copied { two_keys(name, library.name) } else { out_of_reach(name, library.name) }
        }
        true
    });
}

fn out_of_reach(key: &CStr, library: &CStr) -> ! {
    abort(&|pieces| {
        pieces("`");
        text::name(key, pieces);
        pieces("` is in ");
        text::name(library, pieces);
        pieces(
            "; the program was compiled as if it were in the program, and linked without a copy of it (-z nocopyreloc, \
             -mno-direct-extern-access). ",
        );
    })
}

fn two_keys(key: &CStr, library: &CStr) -> ! {
    abort(&|pieces| {
        pieces("there are two of `");
        text::name(key, pieces);
        pieces("`: the program has a copy, and ");
        text::name(library, pieces);
        pieces(" uses its own (it was linked with -Bsymbolic, or compiled with -DJUMPLABEL_LOCAL_KEYS). ");
    })
}

#[cold]
fn abort(why: &dyn Fn(Pieces<'_>)) -> ! {
    let mut room = [0; 4096];
    let line = text::line(&mut room, b'\n', &|pieces| {
        pieces("jumplabel: ");
        why(pieces);
        pieces("Compile the program's files that use it with -fPIC");
    });
    system::print(line);
    system::abort()
}
