//! Data that declarations attach to keys: `static K: false, meta &META;`.
//!
//! The record leads to a function that returns a [`Meta`]: the address of the data, with their `TypeId`. This needs no relocation and no work at
//! start-up. Only the instance of the library that was compiled with the function calls it, because a `TypeId` means nothing in another build.

use core::alloc::Layout;
use core::any::TypeId;
use core::sync::atomic::AtomicU16;

use crate::raw::call::RawCall;
use crate::raw::key::RawKey;

/// The address of the data that a declaration attaches, and the type of the data.
#[derive(Clone, Copy)]
pub struct Meta {
    type_id: TypeId,
    layout: Layout,
    at: *const (),
    /// The parts of the key's tracepoint. `None` if the key has no tracepoint that tracers can find.
    #[cfg(jumplabel_usdt)]
    pub(crate) tracepoint: Option<Description>,
}

/// The parts of a tracepoint that tracers can find by an SDT note. In C: `struct jumplabel_usdt_`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(jumplabel_usdt), allow(dead_code))]
pub struct Description {
    pub(crate) semaphore: *const AtomicU16,
    pub(crate) key: *const RawKey,
    /// Null for a key that follows a semaphore of `<sys/sdt.h>`, because such a tracepoint has no static call.
    pub(crate) call: *const RawCall,
    /// The address of the head of the list of probes.
    pub(crate) probes: *const (),
}

impl Meta {
    /// Describes the data `meta`. The data must be `Sync`, because every thread that finds the key can use them.
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

    /// Adds the parts of the key's tracepoint, if tracers can find this tracepoint.
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
        // SAFETY: `of` stores the address of a static reference together with the type of the data. This type is `T`, as the comparison shows.
        is_that.then(|| unsafe { &*self.at.cast() })
    }
}

/// The type of the function to which a record leads. The function returns the data that the declaration attaches.
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
