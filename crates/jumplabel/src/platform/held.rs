//! Statics whose values only the holder of the lock can reach: access to such a value takes a [`Held`].

use core::cell::UnsafeCell;
use core::marker::PhantomData;

use super::{Held, PlatformState};

/// A static whose value only the holder of the lock can reach, by [`get`](Self::get).
pub(crate) struct Guarded<T, Of = PlatformState>(UnsafeCell<T>, PhantomData<fn(Of)>);

// SAFETY: only `get` reaches the cell. It borrows a `Held<Of>` mutably, and the lock allows only one `Held<Of>` at a time, on one thread.
unsafe impl<T, Of> Sync for Guarded<T, Of> {}

impl<T, Of> Guarded<T, Of> {
    pub(crate) const fn new(value: T) -> Self {
        Guarded(UnsafeCell::new(value), PhantomData)
    }

    /// The value. The argument shows that the caller holds the lock.
    pub(crate) fn get<'held>(&'static self, _: &'held mut Held<Of>) -> &'held mut T {
        // SAFETY: `Held::new` demands that only one `Held<Of>` exists. It stays mutably borrowed as long as the value is borrowed.
        unsafe { &mut *self.0.get() }
    }
}
