//! Data that declarations attach to keys: `static K: false, meta &META;`.
//!
//! The record leads to a function that returns the address of the data and the data's `TypeId`. This needs no relocation and no work at
//! start-up. Only the instance of the library that was compiled with the function calls it, because a `TypeId` means nothing in another build.

use core::alloc::Layout;
use core::any::TypeId;
use core::sync::atomic::AtomicU16;

use crate::raw::call::RawCall;
use crate::raw::key::RawKey;

/// The data that a declaration attaches, with its type.
#[derive(Clone, Copy)]
pub struct Meta {
    type_id: TypeId,
    layout: Layout,
    at: *const (),
    /// The parts of the key's tracepoint, if the key has one with a note for tracers.
    #[cfg(jumplabel_usdt)]
    pub(crate) tracepoint: Option<Description>,
}

/// The parts of a tracepoint that has a note for tracers. In C: `struct jumplabel_usdt_`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(jumplabel_usdt), allow(dead_code))]
pub struct Description {
    pub(crate) semaphore: *const AtomicU16,
    pub(crate) key: *const RawKey,
    /// Null for a key that follows a semaphore of `<sys/sdt.h>`: such a tracepoint has nothing but its key.
    pub(crate) call: *const RawCall,
    /// Leads to the head of the list of probes.
    pub(crate) probes: *const (),
}

impl Meta {
    /// A description of the data `meta`. The data must be `Sync`, because every thread that finds the key can use them.
    #[must_use]
    pub fn of<T: Sync + 'static>(meta: &'static T) -> Meta {
        Meta {
            type_id: TypeId::of::<T>(),
            layout: Layout::new::<T>(),
            at: core::ptr::from_ref(meta).cast(),
            #[cfg(jumplabel_usdt)]
            tracepoint: None,
        }
    }

    /// Adds the parts of the key's tracepoint, if it has one with a note for tracers.
    #[cfg(jumplabel_threads)]
    #[must_use]
    pub fn with_tracepoint(self, tracepoint: Option<Description>) -> Meta {
        #[cfg(jumplabel_usdt)]
        return Meta { tracepoint, ..self };
        #[cfg(not(jumplabel_usdt))]
        tracepoint.map_or(self, |_| self)
    }

    pub(crate) fn get<T: 'static>(self) -> Option<&'static T> {
        let is_that = self.type_id == TypeId::of::<T>() && self.layout == Layout::new::<T>();
        // SAFETY: `at` was made from a reference to a `T`.
        is_that.then(|| unsafe { &*self.at.cast() })
    }
}

/// A function that returns the data that a declaration attaches.
pub type MetaFn = fn() -> Meta;

/// Emits the record and, if the declaration attaches data, the function that returns the data.
#[doc(hidden)]
#[macro_export]
macro_rules! __key_meta {
    ($symbol:path,) => {
        $crate::__key_link!($symbol, []);
    };
    ($symbol:path, $meta:expr) => {
        fn __jumplabel_meta() -> $crate::key_record::meta::Meta {
            $crate::key_record::meta::Meta::of($meta)
        }
        $crate::__key_link!($symbol, [__jumplabel_meta]);
    };
}
