//! The records of declarations, and how a process finds them. In builds with sites, each object has its records in its section `__jump_keys`. Tools
//! find them there, even in a stripped binary. In builds without sites, the records form a chain.
//!
//! ```text
//!   with sites       object ──► __jump_keys: KeyRecord, KeyRecord, ...      no work at start
//!   without          FIRST ──► Node ──► Node ──► ...                        a constructor for each declaration
//! ```
//!
//! Most targets without sites have no assembler that can write such a section, or no symbols for the bounds of a section. All these targets except
//! WebAssembly have constructors, which put the records into the chain. On WebAssembly this crate uses no constructors: the linker would change each
//! exported function so that it runs the constructors first.

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

/// The record of a declaration. All texts and data that it points to live as long as the object with the declaration stays loaded.
#[derive(Clone, Copy)]
pub struct Record {
    /// The address of the declared static.
    key: *const u8,
    /// The constants of the declaration. The texts follow the constants in memory.
    declaration: *const Declaration<0>,
    /// The function that returns the data that the declaration attaches. `None` if the declaration attaches none. Also `None` in a record of another
    /// instance of the library: a type of that instance can differ from the type with the same name here.
    pub(crate) meta: Option<MetaFn>,
    /// With the flag [`TRACED`], the address of the C function that describes the key's tracepoint. With the flag [`SEMAPHORE`], the address of the
    /// key. 0 without these flags, and in a record of another instance.
    #[cfg(jumplabel_sites)]
    #[cfg_attr(not(jumplabel_usdt), allow(dead_code))]
    pub(crate) describe: usize,
}

impl Record {
    pub(crate) fn declaration(&self) -> &'static Declaration<0> {
        // SAFETY: the macro that emitted the record leads to a `Declaration`, which is a static of a loaded object. Only the chain of a build without
        // sites has a node without a declaration, and `all` leaves it out.
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

    /// Returns the key at index `element` of the declared array. If the record declares a single key, a static call or a mode, `element` is 0.
    ///
    /// # Safety
    /// `T` is what the record declares: `RawKey` for keys, `RawCall` for a static call, `RawMode` for a mode. `element` is below the declaration's
    /// count.
    pub(crate) unsafe fn patchable<T>(&self, element: u32) -> &'static T {
        let offset = self.declaration().offset as usize + element as usize * self.stride();
        // SAFETY: the macros put `count` elements at this offset into the static, `stride` bytes apart. The caller says that they have the type `T`.
        unsafe { &*self.key.wrapping_add(offset).cast() }
    }

    /// The distance in bytes from one element of an array to the next. 0 if the record is not of an array.
    fn stride(&self) -> usize {
        (self.declaration().shape >> OFFSET_SHIFT) as usize
    }

    pub(crate) fn is_array(&self) -> bool {
        self.stride() != 0
    }

    pub(crate) fn default(&self) -> bool {
        self.declaration().shape & DEFAULT != 0
    }

    /// Returns a text of the declaration. In C, a name can have bytes that are not UTF-8; the result then ends before the first of them.
    #[inline(never)] // Inlined, it would stand up to four times in each function that describes a key.
    fn text(&self, range: Range<u16>) -> &'static str {
        // SAFETY: the callers pass the range of a text. All texts lie in the `text` of the declaration, where `declare` (in C, a macro) puts them.
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

    /// Returns the name that the declaration gives. Returns the path if it gives none, or if the name begins with a byte that is not UTF-8.
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

/// Returns all records of all instances of the library.
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
        // SAFETY: the macro leads to a declaration. Its other word leads to the static, or with the flag `INDIRECT` to a slot of the object's GOT;
        // the loader has filled this slot with the static's address.
        let key = unsafe { if (*declaration).shape & INDIRECT != 0 { *key } else { key.cast() } };
        let there = if is_own && record.meta != 0 { relative(&raw const record.meta) } else { 0 };
        // SAFETY: the macro that emitted the record leads to a declaration.
        let flags = unsafe { (*declaration).shape } & (TRACED | SEMAPHORE);
        let meta = (there != 0 && flags == 0).then(|| {
            // SAFETY: without the two flags, the third word leads to a `MetaFn`. It was compiled with this instance of the library, which owns the
            // record.
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
