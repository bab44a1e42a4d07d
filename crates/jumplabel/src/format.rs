//! The layouts of the data in a binary, and of the records that the library's instances share. The macros and the C header emit the data, the library
//! reads it, and tools and tests search for it. docs/table-format.md explains the layouts. tests/format.rs compares that document and the C header
//! with this file.
//!
//! ```text
//!   section           holds                                               written at run time
//!   __jump_table      Entry, one for each site                            never
//!   __jump_keys       KeyRecord, one for each declaration                 never
//!   .rodata           Declaration, one for each KeyRecord                 never
//!   __jump_foreign    marks, one word each: the object has sites        never
//!                     of keys in other objects, or sites to be linked
//!   __jump_lists      Listed, one for each element of a list              never
//!   .note.jumplabel   the way to this instance's Runtime                  never
//!   .data             Object, one in each executable or shared library    at start-up: place, flags, list link; by the first flip: index
//! ```
//!
//! A word that *leads* to a place holds the distance from the word's own address to that place. So such a word needs no relocation, and no work at
//! start-up. (`Object` and `Runtime` also have pointers. They are null in the file, and the library sets them at run time.)

pub(crate) mod entry;
pub mod process;

use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

#[cfg(jumplabel_sites)]
pub(crate) use entry::NAME;
pub use entry::{Arm, Entry};

pub use jumplabel_format::layout::*;

/// The meta word of an entry. It has the `arm` and the `kind` and, in builds with `jumplabel_dylib`, the `offset` of the key in its static.
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

/// The flag [`PREFIXED`] if sites of this kind have a site prefix in this build (`arch/asm/x86/site_prefix.rs` emits the prefix); otherwise 0.
const fn prefixed(kind: u8) -> u32 {
    let has_prefix = matches!(kind, BRANCH | SHORT | LOADING | SWITCH | OP);
    if cfg!(jumplabel_site_prefix) && has_prefix { PREFIXED } else { 0 }
}

/// The shape word of a declaration. It says what the default is, whether the key word leads to a GOT slot, and how far the elements of an array are
/// apart.
#[must_use]
#[doc(hidden)] // For the macros.
pub const fn shape(default: bool, stride: usize) -> u32 {
    assert!(stride < 1 << 24, "a key is smaller than 16 MiB");
    let indirect = if cfg!(jumplabel_dylib) { INDIRECT } else { 0 };
    default as u32 | indirect | ((stride as u32) << OFFSET_SHIFT)
}

/// The address to which `word` leads. The distance in the word is added to the word's address as an integer, so the compiler cannot take the result
/// for a pointer into the table.
pub(crate) fn relative(word: *const i32) -> usize {
    // SAFETY: callers pass a word of a record or of a table entry in a loaded object. Such a word is mapped, and aligned to four bytes.
    let distance = unsafe { word.read_volatile() };
    (word as usize).wrapping_add_signed(distance as isize)
}

/// A key record. It leads to what a declaration declares (a key, an array of keys, a static call or a mode), and to the [`Declaration`].
#[repr(C, align(4))]
pub struct KeyRecord {
    /// Leads to the static that contains the key, or to the slot that holds the static's address.
    pub(crate) key: i32,
    /// Leads to the [`Declaration`].
    pub(crate) declaration: i32,
    /// Leads to a function that returns the data that `meta` attaches; 0 if the declaration has no `meta`.
    pub(crate) meta: i32,
}

/// The constants of a declaration. The compiler emits them; the assembler emits the [`KeyRecord`] that leads to them.
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
    /// The length of the module's path. The path of the declaration begins with the module's path.
    pub(crate) module_len: u16,
    pub(crate) path_len: u16,
    /// The length of the name; 0 if the declaration gives no name. Then the path is the name.
    pub(crate) name_len: u16,
    pub(crate) file_len: u16,
    /// The path, the name and the file, one after the other.
    pub(crate) text: [u8; TEXT],
}

/// The record of an element of a [`List`](crate::List). Objects carry these records in `__jump_lists`.
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
        // SAFETY: with `jumplabel_dylib`, the two words lead to slots of the object's GOT, which the loader fills before it runs the object's
        // constructors. The library knows the object only after that.
        if cfg!(jumplabel_dylib) { unsafe { (there as *const usize).read() } } else { there }
    }
}

/// The record of one object: an executable or shared library.
#[repr(C)]
pub struct Object {
    pub(crate) next: AtomicPtr<Object>,
    /// The index: the numbers of the entries, sorted by key and address. Null until the first flip.
    pub(crate) index: AtomicPtr<u32>,
    pub(crate) index_bytes: AtomicUsize,
    /// The address of an entry that the library cannot rely on; 0 if there is none. Flips of keys to which such an entry may belong are
    /// refused. `site::index` sets this when it builds the index.
    pub(crate) damaged: AtomicUsize,
    /// Three words in which the platform notes where the object lies in memory. They are 0 until the object's constructor has run.
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

/// A flag of [`Object`]: the object is the program itself, or the kernel. It is never unloaded.
#[cfg_attr(not(jumplabel_sites), allow(dead_code))]
pub(crate) const IN_PROGRAM: u32 = 1;
/// A flag of [`Object`]: the object is never unloaded. Set under the lock.
#[cfg_attr(not(jumplabel_sites), allow(dead_code))]
pub(crate) const STAYS: u32 = 2;
/// A flag of [`Object`]: the object's code has a protection bit that a writer must ask for again when it changes the protection of the code (aarch64:
/// `PROT_BTI`).
#[cfg_attr(not(jumplabel_sites), allow(dead_code))]
pub(crate) const GUARDED: u32 = 4;
/// A flag of [`Object`]: the library has removed the lock prefixes of this object (see [`up`](crate::up)). Set and cleared under the lock.
#[cfg_attr(not(jumplabel_prefixes), allow(dead_code))]
pub(crate) const UP: u32 = 8;

impl Object {
    /// The entries of the object's table, one for each site.
    #[must_use]
    #[inline(never)]
    pub fn table(&self) -> &[Entry] {
        // SAFETY: the two words lead to the bounds that the linker gives to the section `__jump_table`, which has only whole entries.
        unsafe { section(&raw const self.table_start, &raw const self.table_stop) }
    }

    /// The object's key records.
    #[must_use]
    pub fn keys(&self) -> &[KeyRecord] {
        // SAFETY: the two words lead to the bounds that the linker gives to the section `__jump_keys`, which has only whole records.
        unsafe { section(&raw const self.keys_start, &raw const self.keys_stop) }
    }

    /// The records of the list elements in this object.
    #[cfg(jumplabel_sites)]
    pub(crate) fn listed(&self) -> &[Listed] {
        // SAFETY: the two words lead to the bounds that the linker gives to the section `__jump_lists`, which has only whole records.
        unsafe { section(&raw const self.lists_start, &raw const self.lists_stop) }
    }

    /// Whether the linker gave bounds to the object's table and to its key records, and all of these bounds lie in `addresses`. If the linker's
    /// script puts these sections into another section, there are no bounds. In a build for an operating system, an object without sites has no
    /// bounds of a table, either.
    #[must_use]
    pub fn has_bounds(&self, addresses: &core::ops::Range<usize>) -> bool {
        [&self.table_start, &self.table_stop, &self.keys_start, &self.keys_stop]
            .map(core::ptr::from_ref)
            .iter()
            // If there is no such section, the bound is at address 0 or, on AArch64, at the address of the word itself.
            .all(|&bound| {
                relative(bound) != bound as usize && (addresses.start..=addresses.end).contains(&relative(bound))
            })
    }

    /// Whether the object has sites of keys that can be in other objects, or sites that `jumplabel link` or the object's constructor must still
    /// change.
    #[cfg(jumplabel_sites)]
    pub(crate) fn has_foreign_keys(&self) -> bool {
        // SAFETY: the two words lead to the bounds that the linker gives to the section `__jump_foreign`, which has only whole words.
        let words = unsafe { section::<u32>(&raw const self.foreign_start, &raw const self.foreign_stop) };
        #[cfg(jumplabel_short_engine)]
        return words.iter().any(|&word| word != LINKED);
        #[cfg(not(jumplabel_short_engine))]
        !words.is_empty()
    }

    /// Whether the object has sites that `jumplabel link` or the object's constructor must still change.
    #[cfg(jumplabel_short_engine)]
    pub(crate) fn is_unlinked(&self) -> bool {
        // SAFETY: the two words lead to the bounds that the linker gives to the section `__jump_foreign`, which has only whole words.
        unsafe { section::<u32>(&raw const self.foreign_start, &raw const self.foreign_stop) }.contains(&TO_LINK)
    }

    /// Whether at least one of these flags is set.
    #[cfg_attr(not(jumplabel_sites), allow(dead_code))]
    pub(crate) fn has(&self, flags: u32) -> bool {
        self.flags.load(Ordering::Relaxed) & flags != 0
    }

    /// The words in which the platform notes where the object lies in memory.
    pub(crate) fn place(&self) -> [usize; 3] {
        self.place.each_ref().map(|word| word.load(Ordering::Relaxed))
    }
}

/// The contents of a section, as a slice: the words at `start` and `stop` lead to the start and the end of the section.
///
/// # Safety
/// Both words are in the record of a loaded object, and are those of one section. The section contains only whole `T`s, or the object has no such
/// section.
unsafe fn section<'a, T>(start: *const i32, stop: *const i32) -> &'a [T] {
    let (start, stop) = (relative(start), relative(stop));
    // If the object has no such section, the weak symbols of both bounds are undefined. Then the two addresses are equal, or as far apart as the two
    // words.
    let bytes = stop.wrapping_sub(start);
    if bytes < size_of::<T>() || start % align_of::<T>() != 0 || bytes > isize::MAX as usize {
        return &[];
    }
    // SAFETY: the caller ensures that only whole `T`s lie between the bounds. The address was made from an integer, so the compiler cannot relate it
    // to the words.
    unsafe { core::slice::from_raw_parts(start as *const T, bytes / size_of::<T>()) }
}

/// The record of one instance of the library in the process.
#[repr(C)]
pub struct Runtime {
    /// [`MAGIC`], by which tools recognise the record.
    pub(crate) magic: [u32; 2],
    /// The version of the layouts that the instance knows: [`VERSION`].
    pub(crate) version: u32,
    /// Whether the instance is not on the platform's list of instances yet, is on it, or has left it. See `platform::instances`.
    pub(crate) membership: AtomicU32,
    /// 1 if the instance is never unloaded and has the handlers for fork and for the end of the process.
    pub(crate) stays: AtomicU32,
    /// The phase of the instance's transaction (see `patch::in_flight`). The instance changes it under the lock; a tool can change it, too (see
    /// `format::process`).
    pub(crate) phase: AtomicU32,
    pub(crate) objects: AtomicPtr<Object>,
    /// The next instance in the list of instances ([`Platform::runtimes`](crate::platform::Platform::runtimes) returns the first).
    pub(crate) next: AtomicPtr<Runtime>,
    /// A pointer to the state that the instances of a process share. The platform defines its contents. Null until the state exists.
    pub(crate) process_state: AtomicPtr<()>,
    /// A function, `extern "C" fn()`, that undoes or finishes the transaction that this instance began. Any instance that holds the lock may call it.
    /// Null until this instance has begun a transaction.
    pub(crate) recover: AtomicPtr<()>,
    /// A function, `extern "C" fn(usize, usize)`, that tells this instance of an event. Any instance that holds the lock may call it. The arguments
    /// are the bounds of an object that is about to be unloaded. If both are 0, an object was loaded, or the process was forked while another thread
    /// could flip. Null as long as this instance knows no patchables but keys.
    pub(crate) tell: AtomicPtr<()>,
}

// The macros emit this version into the record, and rely on the sizes below.
const _: () = assert!(VERSION == 1);
const _: () = assert!(size_of::<Entry>() == 16 && size_of::<KeyRecord>() == 12 && size_of::<Declaration<0>>() == 28);
const _: () = assert!(size_of::<Object>() == 7 * size_of::<usize>() + 40);
