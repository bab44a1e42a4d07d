//! Records of declarations, where a process finds them: in the section `__jump_keys` of each object, where tools find them in a
//! stripped binary, too; without sites, in a list.
//!
//! ```text
//!   with sites       object ──► __jump_keys: KeyRecord, KeyRecord, ...      no work at start
//!   without          LIST ──► Node ──► Node ──► ...                         a constructor for each declaration
//! ```
//!
//! Most targets without sites have no assembler to write such a section with, or no bounds of sections. All but WebAssembly have
//! constructors; there, a linker lets each exported function run them before it does anything else.

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
    format::{INDIRECT, KeyRecord, relative},
    platform::{Held, Objects, RUNTIME},
    site::object,
};
use meta::MetaFn;

/// What it leads to lives as long as the object that declares the keys is loaded.
#[derive(Clone, Copy)]
pub(crate) struct Record {
    /// The static.
    key: *const u8,
    /// The texts follow.
    declaration: *const Declaration<0>,
    /// What the declaration adds, if the function is of this instance's object: types of others may only look the same.
    pub(crate) meta: Option<MetaFn>,
}

impl Record {
    pub(crate) fn declaration(&self) -> &'static Declaration<0> {
        // SAFETY: from the macro.
        unsafe { &*self.declaration }
    }

    /// Whether it is of a static call.
    pub(crate) fn is_call(&self) -> bool {
        self.declaration().shape & CALL != 0
    }

    /// Whether it is of a static mode.
    pub(crate) fn is_mode(&self) -> bool {
        self.declaration().shape & MODE != 0
    }

    /// Whether it is of keys.
    pub(crate) fn is_key(&self) -> bool {
        self.declaration().shape & (CALL | MODE) == 0
    }

    /// The key, or the static call or the mode, which have one element.
    ///
    /// # Safety
    /// `T` is a raw key, or, if it is of a static call, a raw call, or, of a mode, a raw mode.
    pub(crate) unsafe fn patchable<T>(&self, element: u32) -> &'static T {
        let offset = self.declaration().offset as usize + element as usize * self.stride();
        // SAFETY: the macros make sure that `count` of them lie there in the static, at that distance.
        unsafe { &*self.key.wrapping_add(offset).cast() }
    }

    /// 0 for a single key.
    fn stride(&self) -> usize {
        (self.declaration().shape >> OFFSET_SHIFT) as usize
    }

    pub(crate) fn is_array(&self) -> bool {
        self.stride() != 0
    }

    pub(crate) fn default(&self) -> bool {
        self.declaration().shape & DEFAULT != 0
    }

    fn text(&self, range: Range<u16>) -> &'static str {
        // SAFETY: the texts of the declaration, each of them a literal that `declare` put there.
        unsafe {
            let text = (&raw const (*self.declaration).text).cast::<u8>().add(range.start.into());
            core::str::from_utf8_unchecked(core::slice::from_raw_parts(text, (range.end - range.start).into()))
        }
    }

    pub(crate) fn module(&self) -> &'static str {
        self.text(0..self.declaration().module_len)
    }

    pub(crate) fn path(&self) -> &'static str {
        self.text(0..self.declaration().path_len)
    }

    /// The name that the declaration gives, else the path.
    pub(crate) fn name(&self) -> &'static str {
        let Declaration { path_len, name_len, .. } = *self.declaration();
        if name_len == 0 { self.path() } else { self.text(path_len..path_len + name_len) }
    }

    pub(crate) fn file(&self) -> &'static str {
        let Declaration { path_len, name_len, file_len, .. } = *self.declaration();
        self.text(path_len + name_len..path_len + name_len + file_len)
    }
}

/// All records, of all instances.
#[cfg(jumplabel_sites)]
pub(crate) fn all(held: &Held<Objects>) -> impl Iterator<Item = Record> + use<> {
    object::runtimes(held).flat_map(|runtime| {
        let is_own = core::ptr::eq(runtime, &raw const RUNTIME);
        let records = runtime.objects().flat_map(|object| object.keys());
        records.map(move |record| Record::read(record, is_own))
    })
}

#[cfg(jumplabel_sites)]
impl Record {
    fn read(record: &KeyRecord, is_own: bool) -> Record {
        let declaration = relative(&raw const record.declaration) as *const Declaration<0>;
        let key = relative(&raw const record.key) as *const *const u8;
        // SAFETY: the macro leads to a declaration, and to its static or to a slot of the object's GOT, which the loader
        // has filled.
        let key = unsafe { if (*declaration).shape & INDIRECT != 0 { *key } else { key.cast() } };
        let meta = (is_own && record.meta != 0).then(|| {
            // SAFETY: the macro leads to a function of that type, compiled with this instance.
            unsafe { core::mem::transmute::<usize, MetaFn>(relative(&raw const record.meta)) }
        });
        Record { key, declaration, meta }
    }
}

#[cfg(not(jumplabel_sites))]
pub use list::Node;
#[cfg(not(jumplabel_sites))]
pub(crate) use list::all;
