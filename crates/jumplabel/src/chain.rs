//! Chains: linked lists of records, for programs without sites. Each record lies in a node, and a constructor puts the node into the chain at
//! start-up. (A program with sites has its records in sections instead.)

use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// A record that can be in a chain.
pub trait Record: Sync + Sized + 'static {
    /// The head of the record's chain: a pointer to the first node, or null.
    fn first(&self) -> &AtomicPtr<Node<Self>>;
}

/// A record, and a pointer to the next node of the record's chain.
#[derive(Debug)]
pub struct Node<R: 'static> {
    record: R,
    is_linked: AtomicBool,
    next: AtomicPtr<Node<R>>,
}

impl<R: Record> Node<R> {
    /// A node that is not in a chain yet.
    #[must_use]
    pub const fn of(record: R) -> Self {
        Node { record, is_linked: AtomicBool::new(false), next: AtomicPtr::new(null_mut()) }
    }

    /// Puts the node at the head of its chain, unless the node is there already. Takes no lock and allocates nothing, because a constructor calls it.
    pub fn link(&'static self) {
        if self.is_linked.swap(true, Ordering::Relaxed) {
            return;
        }
        let chain = self.record.first();
        let mut first = chain.load(Ordering::Relaxed);
        loop {
            self.next.store(first, Ordering::Relaxed);
            let node = core::ptr::from_ref(self).cast_mut();
            match chain.compare_exchange_weak(first, node, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => first = now,
            }
        }
    }

    /// Takes the node out of its chain. A destructor calls this if the node's object can be unloaded while the object with the head of the chain
    /// stays.
    #[cfg(jumplabel_dylib)]
    pub fn unlink(&'static self) {
        #[cfg(windows)]
        if crate::platform::is_ending() {
            return; // Windows has ended all other threads, and one of them may have had the lock.
        }
        // If the lock is refused, either this thread already holds it, or there is no memory for a lock, so no thread has ever held it. In both
        // cases, no other thread takes a node out of a chain now.
        let _lock = crate::patch::Lock::take_anyway();
        let node = core::ptr::from_ref(self).cast_mut();
        let first = self.record.first();
        let mut link = first;
        loop {
            let at = link.load(Ordering::Acquire);
            if at == node {
                // The exchange fails only at the head of the chain, if a constructor has put a new node there. Then the search begins again.
                match link.compare_exchange(at, self.next.load(Ordering::Acquire), Ordering::AcqRel, Ordering::Acquire)
                {
                    Ok(_) => return,
                    Err(_) => link = first,
                }
            } else if at.is_null() {
                return;
            } else {
                // SAFETY: `at` is not null, so it is a node in the chain. The node's object is loaded: the destructor of that object would first take
                // the node out, and that needs the lock.
                link = unsafe { &(*at).next };
            }
        }
    }
}

/// The records of the chain whose head is `first`. The caller ensures that no object with such a record is unloaded meanwhile.
pub(crate) fn records<R: Record>(first: &AtomicPtr<Node<R>>) -> impl Iterator<Item = &'static R> + use<R> {
    let mut at = first.load(Ordering::Acquire);
    core::iter::from_fn(move || {
        // SAFETY: `at` is null, or a node in the chain. A node is a static of an object, and the caller ensures that the object stays loaded.
        let node: &'static Node<R> = unsafe { at.as_ref() }?;
        at = node.next.load(Ordering::Acquire);
        Some(&node.record)
    })
}

/// Makes a node, and a constructor that puts the node into its chain.
#[cfg(not(target_family = "wasm"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __constructor {
    ($Record:ty, $node:expr) => {
        static __JUMPLABEL_NODE: $crate::chain::Node<$Record> = $node;
        #[used]
        #[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
        #[cfg_attr(windows, unsafe(link_section = ".CRT$XCU"))]
        // The number makes these constructors run before constructors that flip keys. Miri runs only constructors without a number.
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

/// Makes a destructor that takes the node out of its chain. The head of the chain may be in another object, which stays loaded when the node's object
/// is unloaded.
#[cfg(all(not(target_family = "wasm"), not(windows), jumplabel_dylib))]
#[doc(hidden)]
#[macro_export]
macro_rules! __destructor {
    () => {
        #[used]
        #[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_term_func"))]
        #[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".fini_array"))]
        static __JUMPLABEL_DESTRUCTOR: extern "C" fn() = {
            extern "C" fn destruct() {
                __JUMPLABEL_NODE.unlink();
            }
            destruct
        };
    };
}

/// Makes the destructor on Windows, where C libraries call no list of destructors (mingw's ignores `.CRT$XT`). So a constructor registers the
/// destructor by `atexit`, which here has a list for each object. This constructor runs before other constructors of the object, so the destructor
/// runs after what they register.
#[cfg(all(windows, jumplabel_dylib))]
#[doc(hidden)]
#[macro_export]
macro_rules! __destructor {
    () => {
        #[used]
        #[unsafe(link_section = ".CRT$XCAC")]
        static __JUMPLABEL_DESTRUCTOR: extern "C" fn() = {
            extern "C" fn destruct() {
                __JUMPLABEL_NODE.unlink();
            }
            extern "C" fn at_exit() {
                unsafe extern "C" {
                    fn atexit(function: extern "C" fn()) -> ::core::ffi::c_int;
                }
                // SAFETY: `destruct` is a function of this object, and the object's list is called before the object is unloaded. If the list is
                // full, the node stays.
                unsafe { atexit(destruct) };
            }
            at_exit
        };
    };
}

/// Makes no destructor: the head of the chain is in the node's own object, and both are unloaded together.
#[cfg(all(not(target_family = "wasm"), not(jumplabel_dylib)))]
#[doc(hidden)]
#[macro_export]
macro_rules! __destructor {
    () => {};
}

/// Makes no node, because this crate uses no constructors in WebAssembly. The code below only uses the names in the declaration, so that the compiler
/// does not report them as unused.
#[cfg(target_family = "wasm")]
#[doc(hidden)]
#[macro_export]
macro_rules! __constructor {
    ($Record:ty, $node:expr) => {
        const _: fn() -> $crate::chain::Node<$Record> = || $node;
    };
}
