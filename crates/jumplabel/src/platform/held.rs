//! Statics whose values belong to the holder of the lock. Such a value can be reached only through a [`Held`].

use core::cell::UnsafeCell;
use core::marker::PhantomData;

use super::{Held, PlatformState};

/// A static whose value belongs to the holder of the lock.
pub(crate) struct Guarded<T, Of = PlatformState>(UnsafeCell<T>, PhantomData<fn(Of)>);

// SAFETY: only `get` reaches the cell, and it takes the only existing `Held<Of>`.
unsafe impl<T, Of> Sync for Guarded<T, Of> {}

impl<T, Of> Guarded<T, Of> {
    pub(crate) const fn new(value: T) -> Self {
        Guarded(UnsafeCell::new(value), PhantomData)
    }

    /// The value, for the holder of the lock.
    pub(crate) fn get<'held>(&'static self, _: &'held mut Held<Of>) -> &'held mut T {
        // SAFETY: there is only one `Held<Of>`, and it stays borrowed as long as the value is borrowed.
        unsafe { &mut *self.0.get() }
    }
}
