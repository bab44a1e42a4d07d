//! Data that declarations attach to keys: `static K: false, meta &META;`.
//!
//! The record leads to a function that returns the address of the data with the data's `TypeId`: no relocation, and no work at start-up.
//! Only one instance of the library calls the function: the instance that was compiled with it, because a `TypeId` means nothing in another
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
    /// Whoever finds the key shares `meta`.
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

/// The link to the declaration, and the function that returns the data that the declaration attaches.
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
