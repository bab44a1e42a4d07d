//! The layouts that a binary carries and that instances of the library share, in one place. The macros and the C header emit them, the
//! runtime reads them, tools and tests look for them. docs/table-format.md explains them; tests/format.rs compares that document and the
//! header with this file.
//!
//! ```text
//!   section           holds                                          written
//!   __jump_table      Entry, one for each site                       never
//!   __jump_keys       KeyRecord, one for each declaration            never
//!   .rodata           Declaration, one for each                      never
//!   __jump_foreign    a word for each use of another object's key    never
//!   .note.jumplabel   the way to this instance's Runtime                 never
//!   .data             Object, one in each executable or library      linked into a list at start-up
//! ```
//!
//! All words that lead somewhere are relative to themselves: no relocation, no work at start-up.

mod entry;
pub mod process;

use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

#[cfg(jumplabel_sites)]
pub(crate) use entry::NAME;
pub use entry::{Arm, Entry};

pub use jumplabel_format::layout::*;

/// The meta word of an entry.
#[must_use]
#[doc(hidden)] // For the macros.
pub const fn meta(arm: bool, kind: u8, offset: usize) -> u32 {
    let meta = arm as u32 | (kind as u32) << KIND_SHIFT;
    if cfg!(jumplabel_dylib) {
        assert!(offset < 1 << 24, "a key lies at most 16 MiB into its static");
        meta | INDIRECT | ((offset as u32) << OFFSET_SHIFT)
    } else {
        meta
    }
}

/// The shape word of a key record: the default, whether the key word leads to a GOT slot, the distance of elements.
#[must_use]
#[doc(hidden)] // For the macros.
pub const fn shape(default: bool, stride: usize) -> u32 {
    assert!(stride < 1 << 24, "a key is smaller than 16 MiB");
    let indirect = if cfg!(jumplabel_dylib) { INDIRECT } else { 0 };
    default as u32 | indirect | ((stride as u32) << OFFSET_SHIFT)
}

/// The address that a self-relative word stands for. Computed on integers, from the address of the word as the program
/// sees it, so that no compiler can relate it to the table's bounds.
pub(crate) fn relative(word: *const i32) -> usize {
    // SAFETY: callers pass a word of a record or table entry, which is mapped and aligned.
    let distance = unsafe { word.read_volatile() };
    (word as usize).wrapping_add_signed(distance as isize)
}

/// Leads to one key, or one array of keys, and to what is known of it.
#[repr(C, align(4))]
pub struct KeyRecord {
    /// The static that the key lies in, or the slot that holds its address.
    pub(crate) key: i32,
    /// The [`Declaration`].
    pub(crate) declaration: i32,
    /// A function that returns what `meta` gave; 0 if nothing did.
    pub(crate) meta: i32,
}

/// What a declaration says of its keys. Constant: the compiler lays it out, the assembler only leads to it.
#[repr(C, align(4))]
pub struct Declaration<const TEXT: usize> {
    pub(crate) line: u32,
    pub(crate) column: u32,
    /// How many keys: more than one for an array.
    pub(crate) count: u32,
    /// [`shape`].
    pub(crate) shape: u32,
    /// Where the first key lies in the static.
    pub(crate) offset: u32,
    /// The path begins with the module.
    pub(crate) module_len: u16,
    pub(crate) path_len: u16,
    /// 0: the path is the name.
    pub(crate) name_len: u16,
    pub(crate) file_len: u16,
    /// Path, name, file.
    pub(crate) text: [u8; TEXT],
}

/// The record of one object: an executable or shared library.
#[repr(C)]
pub struct Object {
    pub(crate) next: AtomicPtr<Object>,
    /// Entry numbers ordered by key and address; null before the first flip.
    pub(crate) index: AtomicPtr<u32>,
    pub(crate) index_bytes: AtomicUsize,
    /// Address of an entry that leads nowhere; 0 if there is none. Known with the index.
    pub(crate) damaged: AtomicUsize,
    /// Where it lies, in the platform's words; 0 until its constructor has run.
    pub(crate) place: [AtomicUsize; 3],
    table_start: i32,
    table_stop: i32,
    keys_start: i32,
    keys_stop: i32,
    foreign_start: i32,
    foreign_stop: i32,
    pub(crate) flags: AtomicU32,
    pub(crate) version: u32,
}

/// A flag of [`Object`]: it is part of the program.
#[cfg_attr(not(jumplabel_sites), allow(dead_code))]
pub(crate) const IN_PROGRAM: u32 = 1;
/// A flag of [`Object`]: it is never unloaded. Set under the lock.
#[cfg_attr(not(jumplabel_sites), allow(dead_code))]
pub(crate) const STAYS: u32 = 2;
/// A flag of [`Object`]: its code is guarded.
#[cfg_attr(not(jumplabel_sites), allow(dead_code))]
pub(crate) const GUARDED: u32 = 4;
/// A flag of [`Object`]: it was there when lock prefixes were taken out. Set under the lock.
#[cfg_attr(not(jumplabel_prefixes), allow(dead_code))]
pub(crate) const UP: u32 = 8;

impl Object {
    /// The object's sites.
    #[must_use]
    pub fn table(&self) -> &[Entry] {
        // SAFETY: the linker's section bounds.
        unsafe { section(&raw const self.table_start, &raw const self.table_stop) }
    }

    /// The object's key records.
    #[must_use]
    pub fn keys(&self) -> &[KeyRecord] {
        // SAFETY: the linker's section bounds.
        unsafe { section(&raw const self.keys_start, &raw const self.keys_stop) }
    }

    /// Whether its linker gave bounds to its table and its key records, somewhere in `addresses`. It gives none if its script puts these
    /// sections into another one. In a build for an operating system, a table without sites has none either.
    #[must_use]
    pub fn has_bounds(&self, addresses: &core::ops::Range<usize>) -> bool {
        [&self.table_start, &self.table_stop, &self.keys_start, &self.keys_stop]
            .map(core::ptr::from_ref)
            .iter()
            // Without a section, linkers make address 0 of the bound, or (AArch64) the address of the word itself.
            .all(|&bound| {
                relative(bound) != bound as usize && (addresses.start..=addresses.end).contains(&relative(bound))
            })
    }

    /// Whether it has sites whose keys may be in other objects, or that are to be linked.
    #[cfg(jumplabel_sites)]
    pub(crate) fn has_foreign_keys(&self) -> bool {
        // SAFETY: the linker's section bounds.
        let words = unsafe { section::<u32>(&raw const self.foreign_start, &raw const self.foreign_stop) };
        #[cfg(jumplabel_short_engine)]
        return words.iter().any(|&word| word != LINKED);
        #[cfg(not(jumplabel_short_engine))]
        !words.is_empty()
    }

    /// Whether it has sites that are to be linked.
    #[cfg(jumplabel_short_engine)]
    pub(crate) fn is_unlinked(&self) -> bool {
        // SAFETY: the linker's section bounds.
        unsafe { section::<u32>(&raw const self.foreign_start, &raw const self.foreign_stop) }.contains(&TO_LINK)
    }

    /// Whether it has one of these flags.
    #[cfg_attr(not(jumplabel_sites), allow(dead_code))]
    pub(crate) fn has(&self, flags: u32) -> bool {
        self.flags.load(Ordering::Relaxed) & flags != 0
    }

    /// The platform's words for where it lies.
    pub(crate) fn place(&self) -> [usize; 3] {
        self.place.each_ref().map(|word| word.load(Ordering::Relaxed))
    }
}

/// # Safety
/// The two words stand for the bounds of a section of whole `T`s, or for the same address.
unsafe fn section<'a, T>(start: *const i32, stop: *const i32) -> &'a [T] {
    let (start, stop) = (relative(start), relative(stop));
    // If the object has no such section, both weak symbols are undefined; then they are equal to each other, or differ by no
    // more than the distance of the two words.
    let bytes = stop.wrapping_sub(start);
    if bytes < size_of::<T>() || start % align_of::<T>() != 0 || bytes > isize::MAX as usize {
        return &[];
    }
    // SAFETY: the caller says that whole `T`s lie between the bounds. The address is laundered through an integer.
    unsafe { core::slice::from_raw_parts(start as *const T, bytes / size_of::<T>()) }
}

/// One instance of this library in the process.
#[repr(C)]
pub struct Runtime {
    /// [`MAGIC`].
    pub(crate) magic: [u32; 2],
    /// [`VERSION`].
    pub(crate) version: u32,
    /// Whether the instance is on the platform's list of instances.
    pub(crate) membership: AtomicU32,
    /// 1 if the instance is never unloaded, and hears of forks and of the end of the process for all instances.
    pub(crate) stays: AtomicU32,
    /// The phase of its transaction; see `patch::in_flight`. Changed under the lock.
    pub(crate) phase: AtomicU32,
    pub(crate) objects: AtomicPtr<Object>,
    /// The next instance, in the list that [`Platform::runtimes`](crate::platform::Platform::runtimes) begins.
    pub(crate) next: AtomicPtr<Runtime>,
    /// The state that the instances of a process share, in the form of the platform; null until it exists.
    pub(crate) process_state: AtomicPtr<()>,
    /// An `extern "C" fn()` that undoes or finishes what the instance had begun, for another instance that holds the lock. Null as long as
    /// the instance has begun nothing.
    pub(crate) recover: AtomicPtr<()>,
    /// An `extern "C" fn(usize, usize)` for another instance that holds the lock: the object between two addresses is about to be unloaded,
    /// or, between 0 and 0, the process was forked in mid-flip. Null as long as the instance has changed nothing but keys.
    pub(crate) tell: AtomicPtr<()>,
}

// What the macros emit as the version of the record, and the sizes that they emit.
const _: () = assert!(VERSION == 1);
const _: () = assert!(size_of::<Entry>() == 16 && size_of::<KeyRecord>() == 12 && size_of::<Declaration<0>>() == 28);
const _: () = assert!(size_of::<Object>() == 7 * size_of::<usize>() + 32);
