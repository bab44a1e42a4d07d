//! Data that declarations attach to keys: `static K: false, meta &META;`.
//!
//! The record leads to a function that returns the address of the data with the data's `TypeId`: no relocation, and no work at start-up.
//! The function is called only by the instance of the library that was compiled with the function: a `TypeId` means nothing in another
//! build.

use core::alloc::Layout;
use core::any::TypeId;

/// The data that a declaration attaches, with their type.
#[derive(Clone, Copy)]
pub struct Meta {
    type_id: TypeId,
    layout: Layout,
    at: *const (),
}

impl Meta {
    /// The data `meta`. They are `Sync`, because every thread that finds the key can use them.
    #[must_use]
    pub fn of<T: Sync + 'static>(meta: &'static T) -> Meta {
        Meta { type_id: TypeId::of::<T>(), layout: Layout::new::<T>(), at: core::ptr::from_ref(meta).cast() }
    }

    pub(crate) fn get<T: 'static>(self) -> Option<&'static T> {
        let is_that = self.type_id == TypeId::of::<T>() && self.layout == Layout::new::<T>();
        // SAFETY: `at` comes from a reference to a `T`.
        is_that.then(|| unsafe { &*self.at.cast() })
    }
}

/// Returns the data that a declaration attaches.
pub type MetaFn = fn() -> Meta;

/// Emits the record, and, if the declaration attaches data, the function that returns them.
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
