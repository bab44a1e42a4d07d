//! The lock as a type: whoever has a [`Held`] has the lock, and can reach what the lock guards. Nobody else can.
//!
//! ```text
//!   Lock ──► Held<Objects>    nobody loads or unloads objects
//!        ──► Held<Patch>      the lists of the transaction
//!        ──► Held<PlatformState>   what the platform keeps between flips
//! ```
//!
//! There is one of each, so that a layer can use its own while it calls the layers below it.

use core::cell::UnsafeCell;
use core::marker::PhantomData;

use super::Platform;

/// The part of a [`Held`] for the platform.
#[derive(Clone, Copy, Debug)]
pub enum PlatformState {}
/// For the layer of sites.
pub(crate) enum Objects {}
/// For the layer of transactions.
pub(crate) enum Patch {}

/// The lock is held by this thread, and this is the one right to what it guards for `Of`.
pub struct Held<Of = PlatformState> {
    platform: &'static dyn Platform,
    /// Of the thread that holds the lock.
    of: PhantomData<(Of, *const ())>,
}

impl<Of> Held<Of> {
    /// # Safety
    /// This thread holds the lock of `platform` as long as this is used, and there is no other for `Of`.
    pub(crate) unsafe fn new(platform: &'static dyn Platform) -> Self {
        Held { platform, of: PhantomData }
    }

    /// The platform whose lock it is.
    #[must_use]
    pub fn platform(&self) -> &'static dyn Platform {
        self.platform
    }
}

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
