//! Records of declarations, as they are found in a process: in the section `__jump_keys` of each object, where tools find them in a
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
pub mod meta;
pub(crate) mod name;

use core::ops::Range;

use crate::format::{CALL, DEFAULT, Declaration, OFFSET_SHIFT};
#[cfg(jumplabel_sites)]
use crate::{
    format::{INDIRECT, KeyRecord, relative},
    site::object,
    text::{Held, Objects, RUNTIME},
};
use meta::MetaFn;

/// What it leads to lives as long as the object that declares the keys is loaded.
#[derive(Clone, Copy)]
pub(crate) struct Record {
    /// The static.
    key: *const u8,
    /// The texts follow.
    declaration: *const Declaration<0>,
    /// What the declaration adds, if the function is of this copy's object: types of others may only look the same.
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

    /// The key, or the static call, which has one element.
    ///
    /// # Safety
    /// `T` is a raw key, or, if it is of a static call, a raw call.
    pub(crate) unsafe fn subject<T>(&self, element: u32) -> &'static T {
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

/// All records, of all copies.
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
            // SAFETY: the macro leads to a function of that type, compiled with this copy.
            unsafe { core::mem::transmute::<usize, MetaFn>(relative(&raw const record.meta)) }
        });
        Record { key, declaration, meta }
    }
}

#[cfg(not(jumplabel_sites))]
pub use list::Node;
#[cfg(not(jumplabel_sites))]
pub(crate) use list::all;

#[cfg(not(jumplabel_sites))]
mod list {
    use core::ptr::{null, null_mut};
    use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

    use super::{Declaration, MetaFn, Record};
    use crate::error::Error;

    /// A record, and the next one.
    pub struct Node {
        record: Record,
        is_listed: AtomicBool,
        next: AtomicPtr<Node>,
    }

    // SAFETY: leads to statics.
    unsafe impl Sync for Node {}

    impl Node {
        /// The record of keys in the static `key`.
        #[must_use]
        pub const fn new<S, const TEXT: usize>(
            key: &'static S,
            declaration: &'static Declaration<TEXT>,
            meta: &[MetaFn],
        ) -> Node {
            let meta = if let &[meta] = meta { Some(meta) } else { None };
            Node::of(Record {
                key: core::ptr::from_ref(key).cast(),
                declaration: core::ptr::from_ref(declaration).cast(),
                meta,
            })
        }

        const fn of(record: Record) -> Node {
            Node { record, is_listed: AtomicBool::new(false), next: AtomicPtr::new(null_mut()) }
        }

        /// Puts it on the list. Called by a constructor: no lock, no allocation.
        pub fn link(&'static self) {
            if self.is_listed.swap(true, Ordering::Relaxed) {
                return;
            }
            let mut first = LIST.load(Ordering::Relaxed);
            loop {
                self.next.store(first, Ordering::Relaxed);
                let node = core::ptr::from_ref(self).cast_mut();
                match LIST.compare_exchange_weak(first, node, Ordering::Release, Ordering::Relaxed) {
                    Ok(_) => return,
                    Err(now) => first = now,
                }
            }
        }

        /// Takes it off. Called by a destructor of an object that may be unloaded while the list stays.
        #[cfg(jumplabel_dylib)]
        pub fn unlink(&'static self) {
            // Without the lock, this thread holds it already: either way nobody else takes nodes off.
            let _lock = crate::patch::Lock::take();
            let node = core::ptr::from_ref(self).cast_mut();
            let mut link = &LIST;
            loop {
                let at = link.load(Ordering::Acquire);
                if at == node {
                    // Only a new head can get in the way, put there by a constructor.
                    match link.compare_exchange(
                        at,
                        self.next.load(Ordering::Acquire),
                        Ordering::AcqRel,
                        Ordering::Acquire,
                    ) {
                        Ok(_) => return,
                        Err(_) => link = &LIST,
                    }
                } else if at.is_null() {
                    return;
                } else {
                    // SAFETY: a node on the list.
                    link = unsafe { &(*at).next };
                }
            }
        }
    }

    static LIST: AtomicPtr<Node> = AtomicPtr::new(null_mut());

    /// Says that constructors were run. It declares nothing.
    #[cfg(not(target_family = "wasm"))]
    mod first {
        use super::{Node, Record, null};
        crate::__constructor!(Node::of(Record { key: null(), declaration: null(), meta: None }));
    }

    /// All records of this copy.
    pub(crate) fn all() -> Result<impl Iterator<Item = Record>, Error> {
        let mut at = LIST.load(Ordering::Acquire);
        if at.is_null() {
            return Err(Error::NoRecords);
        }
        let nodes = core::iter::from_fn(move || {
            // SAFETY: null, or a node of an object that is loaded.
            let node = unsafe { at.as_ref() }?;
            at = node.next.load(Ordering::Acquire);
            Some(node.record)
        });
        Ok(nodes.filter(|record| !record.declaration.is_null()))
    }

    /// A program whose constructors nobody ran says so, and does not say that it has no keys.
    #[test]
    #[cfg(not(target_family = "wasm"))]
    fn without_constructors() {
        static EMPTY: Node = Node::of(Record { key: null(), declaration: null(), meta: None });
        assert!(all().is_ok());
        let first = LIST.swap(null_mut(), Ordering::AcqRel);
        assert_eq!(all().err(), Some(Error::NoRecords));
        EMPTY.link();
        EMPTY.link();
        assert_eq!(all().unwrap().count(), 0);
        LIST.store(first, Ordering::Release);
    }
}

/// A node, with the constructor that puts it on the list.
#[cfg(all(not(jumplabel_sites), not(target_family = "wasm")))]
#[doc(hidden)]
#[macro_export]
macro_rules! __constructor {
    ($node:expr) => {
        static __JUMPLABEL_NODE: $crate::record::Node = $node;
        #[used]
        #[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
        #[cfg_attr(windows, unsafe(link_section = ".CRT$XCU"))]
        #[cfg_attr(not(any(target_vendor = "apple", windows)), unsafe(link_section = ".init_array"))]
        static __JUMPLABEL_CONSTRUCTOR: extern "C" fn() = {
            extern "C" fn construct() {
                __JUMPLABEL_NODE.link();
            }
            construct
        };
        $crate::__destructor!();
    };
}

/// An object that may be unloaded while the list, which is in another, stays.
#[cfg(all(not(jumplabel_sites), not(target_family = "wasm"), jumplabel_dylib))]
#[doc(hidden)]
#[macro_export]
macro_rules! __destructor {
    () => {
        #[used]
        #[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_term_func"))]
        #[cfg_attr(windows, unsafe(link_section = ".CRT$XTU"))]
        #[cfg_attr(not(any(target_vendor = "apple", windows)), unsafe(link_section = ".fini_array"))]
        static __JUMPLABEL_DESTRUCTOR: extern "C" fn() = {
            extern "C" fn destruct() {
                __JUMPLABEL_NODE.unlink();
            }
            destruct
        };
    };
}

/// The list goes with the object.
#[cfg(all(not(jumplabel_sites), not(target_family = "wasm"), not(jumplabel_dylib)))]
#[doc(hidden)]
#[macro_export]
macro_rules! __destructor {
    () => {};
}

/// Without constructors, nothing is left.
#[cfg(all(not(jumplabel_sites), target_family = "wasm"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __constructor {
    ($node:expr) => {};
}
