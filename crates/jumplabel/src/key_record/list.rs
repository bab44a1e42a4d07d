//! The list of records in a program without sites: its nodes, and the constructors that link them.

use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use super::{Declaration, MetaFn, Record};
use crate::error::Error;

/// A record, and a pointer to the next node.
pub struct Node {
    record: Record,
    is_listed: AtomicBool,
    next: AtomicPtr<Node>,
}

// SAFETY: the pointers lead to statics.
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

    /// Puts the node on the list. A constructor calls this, so it takes no lock and allocates nothing.
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

    /// Takes the node off the list. Called by a destructor of an object that can be unloaded while the list stays.
    #[cfg(jumplabel_dylib)]
    pub fn unlink(&'static self) {
        // If the lock is refused, this thread holds it already. Either way nobody else takes nodes off.
        let _lock = crate::patch::Lock::take_anyway();
        let node = core::ptr::from_ref(self).cast_mut();
        let mut link = &LIST;
        loop {
            let at = link.load(Ordering::Acquire);
            if at == node {
                // Only one thing can get in the way: a constructor may have put a new head on the list.
                match link.compare_exchange(at, self.next.load(Ordering::Acquire), Ordering::AcqRel, Ordering::Acquire)
                {
                    Ok(_) => return,
                    Err(_) => link = &LIST,
                }
            } else if at.is_null() {
                return;
            } else {
                // SAFETY: a node on the list, which is not null.
                link = unsafe { &(*at).next };
            }
        }
    }
}

static LIST: AtomicPtr<Node> = AtomicPtr::new(null_mut());

/// A node that declares nothing. If it is on the list, constructors were run.
#[cfg(not(target_family = "wasm"))]
mod first {
    use super::{Node, Record};
    use core::ptr::null;
    crate::__constructor!(Node::of(Record { key: null(), declaration: null(), meta: None }));
}

/// All records of this instance.
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

/// A program whose constructors nobody ran gets an error, instead of an empty list of keys.
#[test]
#[cfg(not(target_family = "wasm"))]
fn without_constructors() {
    use core::ptr::null;

    static EMPTY: Node = Node::of(Record { key: null(), declaration: null(), meta: None });
    assert!(all().is_ok());
    let first = LIST.swap(null_mut(), Ordering::AcqRel);
    assert_eq!(all().err(), Some(Error::NoRecords));
    EMPTY.link();
    EMPTY.link();
    assert_eq!(all().unwrap().count(), 0);
    LIST.store(first, Ordering::Release);
}

/// A node, with the constructor that puts it on the list.
#[cfg(all(not(jumplabel_sites), not(target_family = "wasm")))]
#[doc(hidden)]
#[macro_export]
macro_rules! __constructor {
    ($node:expr) => {
        static __JUMPLABEL_NODE: $crate::key_record::Node = $node;
        #[used]
        #[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
        #[cfg_attr(windows, unsafe(link_section = ".CRT$XCU"))]
        // The number makes these run before constructors that flip. Miri runs only constructors without a number.
        #[cfg_attr(all(target_os = "linux", not(miri)), unsafe(link_section = ".init_array.00000"))]
        #[cfg_attr(
            not(any(target_vendor = "apple", windows, all(target_os = "linux", not(miri)))),
            unsafe(link_section = ".init_array")
        )]
        static __JUMPLABEL_CONSTRUCTOR: extern "C" fn() = {
            extern "C" fn construct() {
                __JUMPLABEL_NODE.link();
            }
            construct
        };
        $crate::__destructor!();
    };
}

/// A destructor that takes the node off the list. The list may be in another object, which stays when the object of the node is unloaded.
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

/// No destructor, because the list is in the object of the node, and is unloaded together with the node.
#[cfg(all(not(jumplabel_sites), not(target_family = "wasm"), not(jumplabel_dylib)))]
#[doc(hidden)]
#[macro_export]
macro_rules! __destructor {
    () => {};
}

/// Without constructors, there is no node. The code below only uses the names of the declaration, so that they do not
/// look unused.
#[cfg(all(not(jumplabel_sites), target_family = "wasm"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __constructor {
    ($node:expr) => {
        const _: fn() -> $crate::key_record::Node = || $node;
    };
}
