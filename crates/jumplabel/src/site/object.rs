//! Objects are executables and shared libraries. Each object has its own table, and is registered with one of the [`instances`] of this library in
//! the process.

use core::sync::atomic::Ordering;

use crate::arch::{Arch, Native};
use crate::format::{Object, Runtime};
use crate::platform::{Held, Image, Objects, instances};
#[cfg(jumplabel_sites)]
use crate::{
    format::{GUARDED, IN_PROGRAM, STAYS, UP},
    platform::Platform,
};

impl Object {
    /// Whether `address` is in the table.
    pub(super) fn table_contains(&self, address: usize) -> bool {
        let table = self.table().as_ptr_range();
        (table.start as usize..table.end as usize).contains(&address)
    }

    /// The distance from the addresses for which the object was linked to its addresses at run time. 0 if the platform does not know the distance.
    pub(super) fn base(&self) -> usize {
        self.place[0].load(Ordering::Relaxed)
    }

    /// The bounds of the object in memory. `None` if the platform does not know them.
    #[inline(never)]
    pub(crate) fn image<Of>(&self, held: &Held<Of>) -> Option<Image> {
        // SAFETY: these are the object's own words, and the object is loaded, because it is in the list.
        unsafe { held.platform().image(self.place()) }
    }

    /// Asks `platform` where the object lies in memory, and stores the answer. Calls the dynamic loader.
    #[cfg(jumplabel_sites)]
    pub(crate) fn locate(&self, platform: &dyn Platform) {
        let place = platform.place(core::ptr::from_ref(self) as usize);
        if place.words == [0; 3] && self.place() != [0; 3] {
            return; // This platform does not know the object's position. The answer of the previous platform stays.
        }
        self.place.iter().zip(place.words).for_each(|(place, word)| place.store(word, Ordering::Relaxed));
        let flag = |flag, is_set| if is_set { flag } else { 0 };
        let kept = self.flags.load(Ordering::Relaxed) & (STAYS | UP);
        self.flags.store(kept | flag(IN_PROGRAM, place.in_program) | flag(GUARDED, place.guarded), Ordering::Relaxed);
    }
}

/// All instances of this library in the process. The lock keeps them loaded.
pub(crate) fn runtimes(held: &Held<Objects>) -> impl Iterator<Item = &'static Runtime> + use<> {
    // SAFETY: `held` shows that the lock is held.
    unsafe { instances::from(held.platform().runtimes()) }
}

/// All objects of all instances. The lock keeps them loaded.
pub(crate) fn all<'held>(held: &'held Held<Objects>) -> impl Iterator<Item = &'held Object> {
    // A `flat_map` would take twice as much room on the stack.
    let (mut runtimes, mut objects) = (runtimes(held), None);
    Outlined(core::iter::from_fn(move || {
        loop {
            if let Some(object) = objects.as_mut().and_then(Iterator::next) {
                let object: &'held Object = object;
                return Some(object);
            }
            objects = Some(runtimes.next()?.objects());
        }
    }))
}

/// An iterator whose `next` is never inlined. So a program contains the code of `next` once, however many functions use the iterator.
pub(crate) struct Outlined<I>(pub(crate) I);

impl<I: Iterator> Iterator for Outlined<I> {
    type Item = I::Item;

    #[inline(never)]
    fn next(&mut self) -> Option<I::Item> {
        self.0.next()
    }
}

/// Whether a site can lie at `address`: `address` is code of some object, or the platform does not know where some object lies.
#[inline(never)]
pub(crate) fn contains_code(address: usize, held: &Held<Objects>) -> bool {
    all(held).any(|object| object.image(held).as_ref().is_none_or(|image| image.contains_code(address, Native::SIZE)))
}

/// Whether a function can lie at `address`: `address` is code of an object with a table, or the platform says that code is there.
#[inline(never)]
pub(crate) fn is_code(address: usize, held: &Held<Objects>) -> bool {
    let lies_in = |object: &Object| object.image(held).as_ref().is_some_and(|image| image.contains_code(address, 1));
    all(held).any(lies_in) || held.platform().is_code(address)
}
