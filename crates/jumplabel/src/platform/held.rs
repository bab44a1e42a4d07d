//! What belongs to whoever holds the lock: a [`Held`] reaches it, and nobody else can.

use core::cell::UnsafeCell;
use core::marker::PhantomData;

use super::{Held, PlatformState};

/// A static that belongs to whoever holds the lock.
pub(crate) struct Guarded<T, Of = PlatformState>(UnsafeCell<T>, PhantomData<fn(Of)>);

// SAFETY: only `get` reaches the cell, by the one right to it.
unsafe impl<T, Of> Sync for Guarded<T, Of> {}

impl<T, Of> Guarded<T, Of> {
    pub(crate) const fn new(value: T) -> Self {
        Guarded(UnsafeCell::new(value), PhantomData)
    }

    /// The value.
    pub(crate) fn get<'held>(&'static self, _: &'held mut Held<Of>) -> &'held mut T {
        // SAFETY: there is one `Held<Of>`, which is borrowed as long as the value is.
        unsafe { &mut *self.0.get() }
    }
}
