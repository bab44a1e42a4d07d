//! Data that declarations attach to keys: `static K: false, meta &META;`.
//!
//! The record leads to a function that returns the address with the `TypeId`: no relocation, and nothing at start-up. Only the instance
//! of the library that was compiled with the function calls it, because a `TypeId` says nothing across builds.

use core::alloc::Layout;
use core::any::TypeId;

/// What a declaration adds, with its type.
#[derive(Clone, Copy)]
pub struct Meta {
    type_id: TypeId,
    layout: Layout,
    at: *const (),
}

impl Meta {
    /// It is shared by whoever finds the key.
    #[must_use]
    pub fn of<T: Sync + 'static>(meta: &'static T) -> Meta {
        Meta { type_id: TypeId::of::<T>(), layout: Layout::new::<T>(), at: core::ptr::from_ref(meta).cast() }
    }

    pub(crate) fn get<T: 'static>(self) -> Option<&'static T> {
        let is_that = self.type_id == TypeId::of::<T>() && self.layout == Layout::new::<T>();
        // SAFETY: from a reference to a `T`.
        is_that.then(|| unsafe { &*self.at.cast() })
    }
}

/// Returns what a declaration adds.
pub type MetaFn = fn() -> Meta;

/// What leads to the declaration, and the function that yields what it adds.
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
