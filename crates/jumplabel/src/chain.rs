//! Chains of records in a program without sites. A record is in a node, and a constructor puts the node into the chain.

use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// A record that can be in a chain.
pub trait Record: Sync + Sized + 'static {
    /// The first node of the chain that this record belongs to.
    fn first(&self) -> &AtomicPtr<Node<Self>>;
}

/// A record, and a pointer to the next node of its chain.
#[derive(Debug)]
pub struct Node<R: 'static> {
    record: R,
    is_linked: AtomicBool,
    next: AtomicPtr<Node<R>>,
}

impl<R: Record> Node<R> {
    /// A node that is in no chain yet.
    #[must_use]
    pub const fn of(record: R) -> Self {
        Node { record, is_linked: AtomicBool::new(false), next: AtomicPtr::new(null_mut()) }
    }

    /// Puts the node into its chain. A constructor calls this, so it takes no lock and allocates nothing.
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

    /// Takes the node out of its chain. A destructor calls this if its object can be unloaded while the chain stays.
    #[cfg(jumplabel_dylib)]
    pub fn unlink(&'static self) {
        #[cfg(windows)]
        if crate::platform::is_ending() {
            return; // Another thread was ended, perhaps while it had the lock.
        }
        // If the lock is refused, this thread already holds it. So no other thread takes a node out.
        let _lock = crate::patch::Lock::take_anyway();
        let node = core::ptr::from_ref(self).cast_mut();
        let first = self.record.first();
        let mut link = first;
        loop {
            let at = link.load(Ordering::Acquire);
            if at == node {
                // The exchange fails only if a constructor has put a new node at the head of the chain.
                match link.compare_exchange(at, self.next.load(Ordering::Acquire), Ordering::AcqRel, Ordering::Acquire)
                {
                    Ok(_) => return,
                    Err(_) => link = first,
                }
            } else if at.is_null() {
                return;
            } else {
                // SAFETY: `at` is a node in the chain, and not null.
                link = unsafe { &(*at).next };
            }
        }
    }
}

/// The records of a chain, from `first` on.
pub(crate) fn records<R: Record>(first: &AtomicPtr<Node<R>>) -> impl Iterator<Item = &'static R> + use<R> {
    let mut at = first.load(Ordering::Acquire);
    core::iter::from_fn(move || {
        // SAFETY: `at` is null, or a node of an object that is loaded.
        let node: &'static Node<R> = unsafe { at.as_ref() }?;
        at = node.next.load(Ordering::Acquire);
        Some(&node.record)
    })
}

/// Makes a node, and the constructor that puts it into its chain.
#[cfg(not(target_family = "wasm"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __constructor {
    ($Record:ty, $node:expr) => {
        static __JUMPLABEL_NODE: $crate::chain::Node<$Record> = $node;
        #[used]
        #[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
        #[cfg_attr(windows, unsafe(link_section = ".CRT$XCU"))]
        // The number makes these constructors run before those that flip. Miri runs only constructors without a number.
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

/// Makes a destructor that takes the node out of its chain. The chain may be in another object, which stays loaded when the node's object is
/// unloaded.
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

/// The same on Windows, where C libraries call no list of destructors (mingw's ignores `.CRT$XT`). So a constructor, which runs before others, puts
/// the destructor on the object's own list of `atexit`, and the destructor runs after others.
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
                // SAFETY: the function is in this object, which calls it before it is unloaded. If the list is full, the node stays.
                unsafe { atexit(destruct) };
            }
            at_exit
        };
    };
}

/// Makes no destructor, because the chain is in the node's own object, and both are unloaded together.
#[cfg(all(not(target_family = "wasm"), not(jumplabel_dylib)))]
#[doc(hidden)]
#[macro_export]
macro_rules! __destructor {
    () => {};
}

/// Makes no node, because there are no constructors. The code below only uses the names of the declaration, so that the compiler does not report
/// them as unused.
#[cfg(target_family = "wasm")]
#[doc(hidden)]
#[macro_export]
macro_rules! __constructor {
    ($Record:ty, $node:expr) => {
        const _: fn() -> $crate::chain::Node<$Record> = || $node;
    };
}
