//! The records of declarations, and how a process finds them. In builds with sites, they are in the section `__jump_keys` of each object. Tools
//! find them there, too, even in a stripped binary. In builds without sites, they are in a list.
//!
//! ```text
//!   with sites       object ──► __jump_keys: KeyRecord, KeyRecord, ...      no work at start
//!   without          LIST ──► Node ──► Node ──► ...                         a constructor for each declaration
//! ```
//!
//! Most targets without sites have no assembler that could write such a section, or no symbols for the bounds of a section. All of these targets
//! except WebAssembly have constructors. On WebAssembly this crate uses no constructors: the linker would change each exported function so that
//! it runs the constructors first.

pub mod declaration;
#[cfg(not(jumplabel_sites))]
mod list;
pub mod meta;
pub(crate) mod name;
mod place;

use core::ops::Range;

use crate::format::{CALL, DEFAULT, Declaration, MODE, OFFSET_SHIFT};
#[cfg(jumplabel_sites)]
use crate::{
    format::{INDIRECT, KeyRecord, SEMAPHORE, TRACED, relative},
    platform::{Held, Objects, RUNTIME},
    site::object,
};
use meta::MetaFn;

/// A record of a declaration. Everything that it points to lives as long as the object that declares the keys stays loaded.
#[derive(Clone, Copy)]
pub struct Record {
    /// The address of the declared static.
    key: *const u8,
    /// The constants of the declaration. The texts follow them in memory.
    declaration: *const Declaration<0>,
    /// The function that returns the data that the declaration attaches. `None` if the function belongs to another instance of the library: that
    /// instance's types may look the same and still differ.
    pub(crate) meta: Option<MetaFn>,
    /// The address of the C function that describes the key's tracepoint; for a record with the flag [`SEMAPHORE`], the address of the key. 0 if
    /// the record has neither, or if it belongs to another instance.
    #[cfg(jumplabel_sites)]
    #[cfg_attr(not(jumplabel_usdt), allow(dead_code))]
    pub(crate) describe: usize,
}

impl Record {
    pub(crate) fn declaration(&self) -> &'static Declaration<0> {
        // SAFETY: the macro that made the record leads to a declaration.
        unsafe { &*self.declaration }
    }

    /// Whether this is the record of a static call.
    pub(crate) fn is_call(&self) -> bool {
        self.declaration().shape & CALL != 0
    }

    /// Whether this is the record of a static mode.
    pub(crate) fn is_mode(&self) -> bool {
        self.declaration().shape & MODE != 0
    }

    /// Whether this is the record of keys.
    pub(crate) fn is_key(&self) -> bool {
        self.declaration().shape & (CALL | MODE) == 0
    }

    /// Element number `element` of the declared array. For a single key, a static call or a mode, `element` is 0.
    ///
    /// # Safety
    /// `T` is the type that the record declares: a raw key; for a static call, a raw call; for a mode, a raw mode.
    pub(crate) unsafe fn patchable<T>(&self, element: u32) -> &'static T {
        let offset = self.declaration().offset as usize + element as usize * self.stride();
        // SAFETY: the macros ensure that the static contains `count` elements from that offset on, at that distance from each other.
        unsafe { &*self.key.wrapping_add(offset).cast() }
    }

    /// The distance from one element to the next. 0 for a single key.
    fn stride(&self) -> usize {
        (self.declaration().shape >> OFFSET_SHIFT) as usize
    }

    pub(crate) fn is_array(&self) -> bool {
        self.stride() != 0
    }

    pub(crate) fn default(&self) -> bool {
        self.declaration().shape & DEFAULT != 0
    }

    /// A text of the declaration. In C a name can have bytes that are not UTF-8. The result then ends before the first such byte.
    #[inline(never)] // Inlined, it would stand up to four times in each function that describes a key.
    fn text(&self, range: Range<u16>) -> &'static str {
        // SAFETY: `range` is the range of one of the declaration's texts. Each text comes from a literal.
        let bytes = unsafe {
            let text = (&raw const (*self.declaration).text).cast::<u8>().add(range.start.into());
            core::slice::from_raw_parts(text, (range.end - range.start).into())
        };
        bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid())
    }

    pub(crate) fn module(&self) -> &'static str {
        self.text(0..self.declaration().module_len)
    }

    pub(crate) fn path(&self) -> &'static str {
        self.text(0..self.declaration().path_len)
    }

    /// The name that the declaration gives. The path, if the declaration gives no name, or if the name begins with a byte that is not UTF-8.
    pub(crate) fn name(&self) -> &'static str {
        let Declaration { path_len, name_len, .. } = *self.declaration();
        let name = self.text(path_len..path_len + name_len);
        if name.is_empty() { self.path() } else { name }
    }

    pub(crate) fn file(&self) -> &'static str {
        let Declaration { path_len, name_len, file_len, .. } = *self.declaration();
        self.text(path_len + name_len..path_len + name_len + file_len)
    }
}

/// All records, of all instances of the library.
#[cfg(jumplabel_sites)]
pub(crate) fn all(held: &Held<Objects>) -> impl Iterator<Item = Record> + use<> {
    object::Outlined(object::runtimes(held).flat_map(|runtime| {
        let is_own = core::ptr::eq(runtime, &raw const RUNTIME);
        let records = runtime.objects().flat_map(|object| object.keys());
        records.map(move |record| Record::read(record, is_own))
    }))
}

#[cfg(jumplabel_sites)]
impl Record {
    fn read(record: &KeyRecord, is_own: bool) -> Record {
        let declaration = relative(&raw const record.declaration) as *const Declaration<0>;
        let key = relative(&raw const record.key) as *const *const u8;
        // SAFETY: the macro leads to a declaration. It also leads to the static, or to a slot of the object's GOT, which the loader has
        // filled with the static's address.
        let key = unsafe { if (*declaration).shape & INDIRECT != 0 { *key } else { key.cast() } };
        let there = if is_own && record.meta != 0 { relative(&raw const record.meta) } else { 0 };
        // SAFETY: the macro leads to a declaration.
        let flags = unsafe { (*declaration).shape } & (TRACED | SEMAPHORE);
        let meta = (there != 0 && flags == 0).then(|| {
            // SAFETY: the macro leads to a `MetaFn`, compiled with this instance of the library.
            unsafe { core::mem::transmute::<usize, MetaFn>(there) }
        });
        let describe = match flags {
            TRACED => there,
            SEMAPHORE if is_own => key as usize,
            _ => 0,
        };
        Record { key, declaration, meta, describe }
    }
}

#[cfg(not(jumplabel_sites))]
pub(crate) use list::{all, demand_constructors};
