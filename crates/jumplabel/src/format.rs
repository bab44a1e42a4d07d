//! The layouts of the data that a binary carries, and of the records that the library's instances share. The macros and the C header emit the
//! data, the library reads it, and tools and tests search for it. docs/table-format.md explains the layouts. tests/format.rs compares that
//! document and the C header with this file.
//!
//! ```text
//!   section           holds                                               written at run time
//!   __jump_table      Entry, one for each site                            never
//!   __jump_keys       KeyRecord, one for each declaration                 never
//!   .rodata           Declaration, one for each KeyRecord                 never
//!   __jump_foreign    marks, a word each: there are sites of keys in
//!                     other objects, or sites to be linked                never
//!   __jump_lists      Listed, one for each element of a list              never
//!   .note.jumplabel   the way to this instance's Runtime                  never
//!   .data             Object, one in each executable or shared library    at start-up: place, flags, list link; by the first flip: index
//! ```
//!
//! In the file, each word that leads somewhere holds the distance from its own address to that place. So such a word needs no relocation, and no
//! work at start-up. (`Object` and `Runtime` also have pointers: these are null in the file, and the library sets them at run time.)

pub(crate) mod entry;
pub mod process;

use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

#[cfg(jumplabel_sites)]
pub(crate) use entry::NAME;
pub use entry::{Arm, Entry};

pub use jumplabel_format::layout::*;

/// The meta word of an entry: `arm`, `kind` and, in builds with `jumplabel_dylib`, the `offset` of the key in its static.
#[must_use]
#[doc(hidden)] // For the macros.
pub const fn meta(arm: bool, kind: u8, offset: usize) -> u32 {
    let meta = arm as u32 | (kind as u32) << KIND_SHIFT | prefixed(kind);
    if cfg!(jumplabel_dylib) {
        assert!(offset < 1 << 24, "a key lies at most 16 MiB into its static");
        meta | INDIRECT | ((offset as u32) << OFFSET_SHIFT)
    } else {
        meta
    }
}

/// The flag [`PREFIXED`] for a kind whose sites have a site prefix (`arch/asm/x86/site_prefix.rs` emits the prefix); 0 for other kinds.
const fn prefixed(kind: u8) -> u32 {
    let has_prefix = matches!(kind, BRANCH | SHORT | LOADING | SWITCH | OP);
    if cfg!(jumplabel_site_prefix) && has_prefix { PREFIXED } else { 0 }
}

/// The shape word of a key record: the default, whether the key word leads to a GOT slot, and the distance between elements.
#[must_use]
#[doc(hidden)] // For the macros.
pub const fn shape(default: bool, stride: usize) -> u32 {
    assert!(stride < 1 << 24, "a key is smaller than 16 MiB");
    let indirect = if cfg!(jumplabel_dylib) { INDIRECT } else { 0 };
    default as u32 | indirect | ((stride as u32) << OFFSET_SHIFT)
}

/// The address to which `word` leads: `word` holds the distance from its own address to that address. The sum is computed on integers, from the
/// word's address at run time. So no compiler can take the result for a pointer into the table.
pub(crate) fn relative(word: *const i32) -> usize {
    // SAFETY: callers pass a word of a record or table entry, which is mapped and aligned.
    let distance = unsafe { word.read_volatile() };
    (word as usize).wrapping_add_signed(distance as isize)
}

/// A key record. It leads to what a declaration declares (a key, an array of keys, a static call, a mode) and to the [`Declaration`].
#[repr(C, align(4))]
pub struct KeyRecord {
    /// Leads to the static that contains the key, or to the slot that holds the static's address.
    pub(crate) key: i32,
    /// Leads to the [`Declaration`].
    pub(crate) declaration: i32,
    /// Leads to a function that returns the data that `meta` attaches; 0 if the declaration has no `meta`.
    pub(crate) meta: i32,
}

/// The constants of a declaration. The compiler emits them. The assembler emits the [`KeyRecord`] that leads to them.
#[repr(C, align(4))]
pub struct Declaration<const TEXT: usize> {
    pub(crate) line: u32,
    pub(crate) column: u32,
    /// The number of keys: more than one for an array.
    pub(crate) count: u32,
    /// The result of [`shape`].
    pub(crate) shape: u32,
    /// The offset of the first key in the static.
    pub(crate) offset: u32,
    /// The length of the module's path, which is the beginning of the path.
    pub(crate) module_len: u16,
    pub(crate) path_len: u16,
    /// 0 if the declaration gives no name; the path is then the name.
    pub(crate) name_len: u16,
    pub(crate) file_len: u16,
    /// The path, the name and the file, one after the other.
    pub(crate) text: [u8; TEXT],
}

/// An element of a [`List`](crate::List), as an object carries it.
#[repr(C, align(4))]
pub struct Listed {
    /// Leads to the list, or to the slot that holds the list's address.
    list: i32,
    /// Leads to the element, or to the slot that holds the element's address.
    element: i32,
}

#[cfg(jumplabel_sites)]
impl Listed {
    /// The address of the list.
    pub(crate) fn list(&self) -> usize {
        Listed::follow(&raw const self.list)
    }

    /// The address of the element.
    pub(crate) fn element(&self) -> usize {
        Listed::follow(&raw const self.element)
    }

    fn follow(word: *const i32) -> usize {
        let there = relative(word);
        // SAFETY: in this build, the words of elements lead to slots of the object's GOT, which the loader has filled.
        if cfg!(jumplabel_dylib) { unsafe { (there as *const usize).read() } } else { there }
    }
}

/// The record of one object: an executable or shared library.
#[repr(C)]
pub struct Object {
    pub(crate) next: AtomicPtr<Object>,
    /// The index, made of entry numbers ordered by key and address. Null before the first flip.
    pub(crate) index: AtomicPtr<u32>,
    pub(crate) index_bytes: AtomicUsize,
    /// The address of an entry that makes all flips impossible; 0 if there is none. `site::index` sets it when it builds the index.
    pub(crate) damaged: AtomicUsize,
    /// Three words in which the platform keeps the object's position in memory. They are 0 until the object's constructor has run.
    pub(crate) place: [AtomicUsize; 3],
    table_start: i32,
    table_stop: i32,
    keys_start: i32,
    keys_stop: i32,
    foreign_start: i32,
    foreign_stop: i32,
    lists_start: i32,
    lists_stop: i32,
    pub(crate) flags: AtomicU32,
    pub(crate) version: u32,
}

/// A flag of [`Object`]: the object is part of the program.
#[cfg_attr(not(jumplabel_sites), allow(dead_code))]
pub(crate) const IN_PROGRAM: u32 = 1;
/// A flag of [`Object`]: the object is never unloaded. Set under the lock.
#[cfg_attr(not(jumplabel_sites), allow(dead_code))]
pub(crate) const STAYS: u32 = 2;
/// A flag of [`Object`]: the protection of its code has a bit that a change of protection would remove (aarch64: `PROT_BTI`).
#[cfg_attr(not(jumplabel_sites), allow(dead_code))]
pub(crate) const GUARDED: u32 = 4;
/// A flag of [`Object`]: the object was already loaded when the library removed lock prefixes. Set under the lock.
#[cfg_attr(not(jumplabel_prefixes), allow(dead_code))]
pub(crate) const UP: u32 = 8;

impl Object {
    /// The entries of the object's table: one for each site.
    #[must_use]
    #[inline(never)]
    pub fn table(&self) -> &[Entry] {
        // SAFETY: the words stand for the section bounds that the linker gives.
        unsafe { section(&raw const self.table_start, &raw const self.table_stop) }
    }

    /// The object's key records.
    #[must_use]
    pub fn keys(&self) -> &[KeyRecord] {
        // SAFETY: the words stand for the section bounds that the linker gives.
        unsafe { section(&raw const self.keys_start, &raw const self.keys_stop) }
    }

    /// The elements of lists that the object carries.
    #[cfg(jumplabel_sites)]
    pub(crate) fn listed(&self) -> &[Listed] {
        // SAFETY: the words stand for the section bounds that the linker gives.
        unsafe { section(&raw const self.lists_start, &raw const self.lists_stop) }
    }

    /// Whether the object's linker gave bounds to its table and to its key records, and all these bounds lie in `addresses`. The linker gives no
    /// bounds if its script puts these sections into another section. In a build for an operating system, the table of an object without sites has
    /// no bounds, either.
    #[must_use]
    pub fn has_bounds(&self, addresses: &core::ops::Range<usize>) -> bool {
        [&self.table_start, &self.table_stop, &self.keys_start, &self.keys_stop]
            .map(core::ptr::from_ref)
            .iter()
            // If the object has no such section, the bound is at address 0 or (on AArch64) at the address of this word.
            .all(|&bound| {
                relative(bound) != bound as usize && (addresses.start..=addresses.end).contains(&relative(bound))
            })
    }

    /// Whether the object has sites whose keys can be in other objects, or sites that are still to be linked.
    #[cfg(jumplabel_sites)]
    pub(crate) fn has_foreign_keys(&self) -> bool {
        // SAFETY: the words stand for the section bounds that the linker gives.
        let words = unsafe { section::<u32>(&raw const self.foreign_start, &raw const self.foreign_stop) };
        #[cfg(jumplabel_short_engine)]
        return words.iter().any(|&word| word != LINKED);
        #[cfg(not(jumplabel_short_engine))]
        !words.is_empty()
    }

    /// Whether the object has sites that `jumplabel link` or the object's constructor must still change.
    #[cfg(jumplabel_short_engine)]
    pub(crate) fn is_unlinked(&self) -> bool {
        // SAFETY: the words stand for the section bounds that the linker gives.
        unsafe { section::<u32>(&raw const self.foreign_start, &raw const self.foreign_stop) }.contains(&TO_LINK)
    }

    /// Whether the object has any of these flags.
    #[cfg_attr(not(jumplabel_sites), allow(dead_code))]
    pub(crate) fn has(&self, flags: u32) -> bool {
        self.flags.load(Ordering::Relaxed) & flags != 0
    }

    /// The words in which the platform keeps the object's position in memory.
    pub(crate) fn place(&self) -> [usize; 3] {
        self.place.each_ref().map(|word| word.load(Ordering::Relaxed))
    }
}

/// # Safety
/// The two words stand for the bounds of a section that contains whole `T`s, or for the same address.
unsafe fn section<'a, T>(start: *const i32, stop: *const i32) -> &'a [T] {
    let (start, stop) = (relative(start), relative(stop));
    // If the object has no such section, the weak symbols of both bounds are undefined. Then both addresses are equal, or differ by at most
    // the distance between the two words.
    let bytes = stop.wrapping_sub(start);
    if bytes < size_of::<T>() || start % align_of::<T>() != 0 || bytes > isize::MAX as usize {
        return &[];
    }
    // SAFETY: the caller says that whole `T`s lie between the bounds. The address went through an integer, so the compiler cannot relate it
    // to the bounds.
    unsafe { core::slice::from_raw_parts(start as *const T, bytes / size_of::<T>()) }
}

/// The record of one instance of this library in the process.
#[repr(C)]
pub struct Runtime {
    /// The words by which the record is recognised: [`MAGIC`].
    pub(crate) magic: [u32; 2],
    /// The version of the layouts that the instance knows: [`VERSION`].
    pub(crate) version: u32,
    /// Whether the instance is on the platform's list of instances, is not on it yet, or has left it. See `platform::instances`.
    pub(crate) membership: AtomicU32,
    /// 1 if the instance is never unloaded, and has the handlers of fork and of the end of the process.
    pub(crate) stays: AtomicU32,
    /// The phase of the instance's transaction; see `patch::in_flight`. Changed under the lock, or by a tool; see `format::process`.
    pub(crate) phase: AtomicU32,
    pub(crate) objects: AtomicPtr<Object>,
    /// The next instance in the list that [`Platform::runtimes`](crate::platform::Platform::runtimes) begins.
    pub(crate) next: AtomicPtr<Runtime>,
    /// Leads to the state that the instances of a process share. The platform defines its contents. Null until the state exists.
    pub(crate) process_state: AtomicPtr<()>,
    /// An `extern "C" fn()`. It undoes or finishes the transaction that the instance of this record began. An instance that holds the lock calls
    /// it. Null until the instance of this record has begun a transaction.
    pub(crate) recover: AtomicPtr<()>,
    /// An `extern "C" fn(usize, usize)`. An instance that holds the lock calls it. The arguments are the bounds of an object that is about to be
    /// unloaded. If both are 0, the process was forked in mid-flip, or an object was loaded. Null while keys are the only patchables that the
    /// instance of this record knows.
    pub(crate) tell: AtomicPtr<()>,
}

// The macros emit this version into the record, and rely on these sizes.
const _: () = assert!(VERSION == 1);
const _: () = assert!(size_of::<Entry>() == 16 && size_of::<KeyRecord>() == 12 && size_of::<Declaration<0>>() == 28);
const _: () = assert!(size_of::<Object>() == 7 * size_of::<usize>() + 40);
