//! Objects: executables and shared libraries, each with its own table.
//!
//! ```text
//!  Text::runtimes() ──► Runtime (one for each copy of this library) ──► next copy
//!                          │ objects
//!                          ▼
//!                       Object ──► Object ──► ...      one record in each, linked in by its constructor
//! ```
//!
//! The record is emitted by the macros, once in each object (a COMDAT group), with a constructor that links it into the
//! list of the copy of this library that the object was linked with: one store and one compare-and-swap. Copies find
//! each other (see `text`), so that a flip reaches all objects whichever copy they belong to.
//!
//! Objects, runtimes and keys are shared between copies: their layout is an interface and changes only with [`VERSION`].

use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use super::{Entry, record::KeyRecord, relative};
use crate::patch::Lock;
use crate::text::Image;

/// Version of the layouts that copies of the library share: `Object`, `Runtime`, `RawKey`, `Entry`, `KeyRecord`.
pub const VERSION: u32 = 1;

/// What a [`Runtime`] begins with: nothing that is not one does.
pub(crate) const MAGIC: [u32; 2] = [0x6a75_6d70, 0xc5f0_93d2];

/// The record of one object.
#[repr(C)]
pub struct Object {
    next: AtomicPtr<Object>,
    /// Entry numbers ordered by key and address; null before the first flip.
    pub(super) index: AtomicPtr<u32>,
    pub(super) index_bytes: AtomicUsize,
    /// Address of an entry that leads nowhere, 0 where there is none. Known with the index.
    pub(super) damaged: AtomicUsize,
    /// Where it lies, in the platform's words, from its constructor on. Else 0.
    place: [AtomicUsize; 3],
    table_start: i32,
    table_stop: i32,
    keys_start: i32,
    keys_stop: i32,
    foreign_start: i32,
    foreign_stop: i32,
    flags: AtomicU32,
    version: u32,
}

/// A flag of [`Object`]: it is part of the program.
#[cfg(any(jumplabel_linux, jumplabel_sites))]
const IN_PROGRAM: u32 = 1;
/// A flag of [`Object`]: it is never unloaded. Set under the lock.
#[cfg(any(jumplabel_linux, jumplabel_sites))]
const STAYS: u32 = 2;
/// Another: its code is guarded.
#[cfg(jumplabel_sites)]
const GUARDED: u32 = 4;

impl Object {
    /// The object's sites.
    #[must_use]
    pub fn table(&self) -> &[Entry] {
        // SAFETY: the linker's section bounds.
        unsafe { section(&raw const self.table_start, &raw const self.table_stop) }
    }

    /// Whether `address` is in the table.
    pub(super) fn table_contains(&self, address: usize) -> bool {
        let table = self.table().as_ptr_range();
        (table.start as usize..table.end as usize).contains(&address)
    }

    /// The object's key records.
    #[must_use]
    pub fn keys(&self) -> &[KeyRecord] {
        // SAFETY: the linker's section bounds.
        unsafe { section(&raw const self.keys_start, &raw const self.keys_stop) }
    }

    /// Whether it has sites whose keys may be in other objects.
    #[cfg(jumplabel_sites)]
    fn has_foreign_keys(&self) -> bool {
        // SAFETY: the linker's section bounds.
        !unsafe { section::<u32>(&raw const self.foreign_start, &raw const self.foreign_stop) }.is_empty()
    }

    /// What is address 0 to its linker; 0 where the platform does not know.
    pub(crate) fn base(&self) -> usize {
        self.place[0].load(Ordering::Relaxed)
    }

    /// Its bounds in memory; `None` where the platform has none.
    pub(crate) fn image(&self) -> Option<Image> {
        crate::text::image(self.place.each_ref().map(|word| word.load(Ordering::Relaxed)))
    }

    /// Finds out where it is. Calls the dynamic loader.
    #[cfg(jumplabel_sites)]
    fn locate(&self) {
        let place = crate::text::place(core::ptr::from_ref(self) as usize);
        self.place.iter().zip(place.words).for_each(|(place, word)| place.store(word, Ordering::Relaxed));
        let flag = |flag, is_set| if is_set { flag } else { 0 };
        self.flags.store(flag(IN_PROGRAM, place.in_program) | flag(GUARDED, place.guarded), Ordering::Relaxed);
    }

    /// Whether it has one of these flags.
    #[cfg(any(jumplabel_linux, jumplabel_sites))]
    fn has(&self, flags: u32) -> bool {
        self.flags.load(Ordering::Relaxed) & flags != 0
    }

    /// Whether it is part of the program, which is never unloaded.
    #[cfg(any(jumplabel_linux, jumplabel_sites))]
    pub(crate) fn is_in_program(&self) -> bool {
        self.has(IN_PROGRAM)
    }
}

/// # Safety
/// The two words stand for the bounds of a section of whole `T`s, or for the same address.
unsafe fn section<'a, T>(start: *const i32, stop: *const i32) -> &'a [T] {
    let (start, stop) = (relative(start), relative(stop));
    // Both weak symbols are undefined where the object has no such section; then they are equal to each other, or
    // differ by no more than the distance of the two words.
    let bytes = stop.wrapping_sub(start);
    if bytes < size_of::<T>() || start % align_of::<T>() != 0 || bytes > isize::MAX as usize {
        return &[];
    }
    // SAFETY: by the contract; the address is laundered through an integer.
    unsafe { core::slice::from_raw_parts(start as *const T, bytes / size_of::<T>()) }
}

/// One copy of this library in the process.
#[repr(C)]
pub struct Runtime {
    /// [`MAGIC`].
    magic: [u32; 2],
    /// [`VERSION`].
    pub(crate) version: u32,
    /// Whether the copy is on the list: [`UNLISTED`], [`LISTED`] or [`LEFT`]. Changed under the lock.
    membership: AtomicU32,
    /// 1 if the copy is never unloaded, and is told of forks and of the end of the process for all.
    stays: AtomicU32,
    /// What its transaction has come to; see `patch::in_flight`. Changed under the lock.
    pub(crate) phase: AtomicU32,
    objects: AtomicPtr<Object>,
    /// The next copy, in the list that [`Text::runtimes`](crate::text::Text::runtimes) begins.
    pub(crate) next: AtomicPtr<Runtime>,
    /// What the copies of a platform share; null until there is something to share.
    pub(crate) shared: AtomicPtr<()>,
    /// Undoes or finishes what the copy had begun, for another copy that holds the lock.
    pub(crate) recover: extern "C" fn(),
}

/// Not on the list yet.
pub(crate) const UNLISTED: u32 = 0;
/// On the list.
#[cfg(jumplabel_linux)]
pub(crate) const LISTED: u32 = 1;
/// Taken off: the last object has gone, and what still runs (a destructor behind ours) must not put it back.
#[cfg(jumplabel_linux)]
pub(crate) const LEFT: u32 = 2;

/// This copy.
pub static RUNTIME: Runtime = Runtime {
    magic: MAGIC,
    version: VERSION,
    membership: AtomicU32::new(UNLISTED),
    stays: AtomicU32::new(0),
    phase: AtomicU32::new(crate::patch::in_flight::NOTHING),
    objects: AtomicPtr::new(core::ptr::null_mut()),
    next: AtomicPtr::new(core::ptr::null_mut()),
    shared: AtomicPtr::new(core::ptr::null_mut()),
    recover: crate::patch::in_flight::recover_here,
};

impl Runtime {
    fn objects(&self) -> impl Iterator<Item = &'static Object> {
        let mut at = self.objects.load(Ordering::Acquire);
        core::iter::from_fn(move || {
            // SAFETY: records live as long as their object is loaded, and leave the list under the lock before.
            let object = unsafe { at.as_ref() }?;
            at = object.next.load(Ordering::Acquire);
            Some(object)
        })
    }

    /// Goes from one membership to another; whether it was the first. A kernel has one copy.
    #[cfg(jumplabel_linux)]
    pub(crate) fn change_membership(&self, from: u32, to: u32) -> bool {
        self.membership.load(Ordering::Relaxed) == from
            && self.membership.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// This copy is never unloaded, and has its handlers.
    #[cfg(jumplabel_linux)]
    pub(crate) fn stay(&self) {
        self.stays.store(1, Ordering::Relaxed);
    }

    /// Whether [`stay`](Self::stay) was called.
    #[cfg(jumplabel_linux)]
    pub(crate) fn stays(&self) -> bool {
        self.stays.load(Ordering::Relaxed) != 0
    }

    /// Whether no object is registered with this copy.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.objects.load(Ordering::Acquire).is_null()
    }
}

/// All copies of this library. The lock keeps them loaded.
pub(crate) fn runtimes(lock: &Lock) -> impl Iterator<Item = &'static Runtime> + use<> {
    // SAFETY: the lock is held.
    unsafe { runtimes_of(lock.text().runtimes()) }
}

/// # Safety
/// While the lock is held: a copy leaves the list under it before it is unloaded.
unsafe fn runtimes_of(mut at: *const Runtime) -> impl Iterator<Item = &'static Runtime> {
    core::iter::from_fn(move || {
        // SAFETY: by the contract.
        let runtime: &'static Runtime = unsafe { at.as_ref() }?;
        at = runtime.next.load(Ordering::Acquire);
        Some(runtime)
    })
}

/// All objects of all copies. The lock keeps them loaded.
pub(crate) fn all<'lock>(lock: &'lock Lock) -> impl Iterator<Item = &'lock Object> {
    runtimes(lock).flat_map(|runtime| runtime.objects().map(|object| -> &'lock Object { object }))
}

/// The object whose record is at this address is never unloaded any more.
#[cfg(jumplabel_linux)]
pub(crate) fn stays(address: usize) {
    let Ok(lock) = Lock::take() else { return };
    let is_it = |object: &&Object| core::ptr::from_ref(*object) as usize == address;
    all(&lock).filter(is_it).for_each(|object| _ = object.flags.fetch_or(STAYS, Ordering::Relaxed));
}

/// Whether `address` lies in the code of an object that is guarded.
///
/// # Safety
/// As for [`runtimes_of`].
#[cfg(all(target_arch = "aarch64", jumplabel_sites, jumplabel_linux))]
pub(crate) unsafe fn is_guarded(runtimes: *const Runtime, address: usize) -> bool {
    // SAFETY: by the contract.
    unsafe { runtimes_of(runtimes) }
        .flat_map(Runtime::objects)
        .filter(|object| object.flags.load(Ordering::Relaxed) & GUARDED != 0)
        .any(|object| object.image().is_some_and(|image| image.contains_code(address, 1)))
}

/// Whether a site can lie at `address`: some object's code does, as far as the platform knows.
pub(crate) fn contains_code(address: usize, lock: &Lock) -> bool {
    let lies_in = |image: Image| image.contains_code(address, crate::arch::SITE_SIZE);
    all(lock).any(|object| object.image().is_none_or(lies_in))
}

/// Links `object` into the list. Called by the object's constructor: no allocation, no lock, no system call, unless the
/// object has sites of keys in other objects, or something was flipped before: its sites are then brought to the state of
/// their keys before anything can run them.
///
/// # Safety
/// `object` is the record of a loaded object.
#[cfg(jumplabel_sites)]
#[unsafe(no_mangle)]
unsafe extern "C" fn __jumplabel_register_object(object: *mut Object) {
    // SAFETY: by the contract.
    let record = unsafe { &*object };
    if record.version != VERSION || RUNTIME.objects().any(|known| core::ptr::eq(known, record)) {
        return;
    }
    // A constructor that came before this one may have flipped keys of this object already.
    let flipped = !RUNTIME.shared.load(Ordering::Acquire).is_null();
    record.locate();
    if RUNTIME.is_empty() {
        crate::text::start(record.is_in_program());
    }
    if !flipped && !record.has_foreign_keys() {
        return link(object, record);
    }
    // Linked under the lock, so that a flip either finds the object or is seen here. A constructor cannot report an
    // error: sites that could not be brought up to date are repaired by the next flip of their key.
    let lock = Lock::take();
    link(object, record);
    if let Ok(lock) = lock {
        let _ = crate::patch::catch_up(record, &lock);
    }
}

#[cfg(jumplabel_sites)]
fn link(object: *mut Object, record: &Object) {
    let mut head = RUNTIME.objects.load(Ordering::Relaxed);
    loop {
        record.next.store(head, Ordering::Relaxed);
        match RUNTIME.objects.compare_exchange_weak(head, object, Ordering::Release, Ordering::Relaxed) {
            Ok(_) => return,
            Err(now) => head = now,
        }
    }
}

/// Unlinks `object` and frees its index. Called by the object's destructor.
///
/// # Safety
/// `object` is the record of an object that is about to be unloaded.
#[cfg(jumplabel_sites)]
#[unsafe(no_mangle)]
unsafe extern "C" fn __jumplabel_unregister_object(object: *mut Object) {
    // SAFETY: by the contract.
    let record = unsafe { &*object };
    if record.has(IN_PROGRAM | STAYS) {
        return; // The process ends; the sites stay, for threads and destructors that still flip.
    }
    // Without the lock, this thread holds it already, or it was never made: either way nobody else walks the list.
    let lock = Lock::take();
    let mut link = &RUNTIME.objects;
    loop {
        let at = link.load(Ordering::Acquire);
        if at.is_null() {
            return;
        }
        if at == object {
            let next = record.next.load(Ordering::Acquire);
            // Only a new head can get in the way, put there by a constructor that does not hold the lock.
            if link.compare_exchange(at, next, Ordering::AcqRel, Ordering::Acquire).is_ok() {
                break;
            }
            link = &RUNTIME.objects;
            continue;
        }
        // SAFETY: a record in the list, under the lock.
        link = unsafe { &(*at).next };
    }
    let Ok(lock) = lock else { return };
    super::index::discard(record, &lock);
    // Where nobody knows where it lies, it may be anywhere.
    let addresses = record.image().map_or(0..usize::MAX, |image| image.all.0..image.all.1);
    crate::patch::in_flight::forget(&addresses, &lock);
    crate::text::forget(&addresses);
    #[cfg(feature = "std")]
    crate::key::deferred::forget(&addresses, &lock);
    if RUNTIME.is_empty() {
        crate::patch::release_lists(&lock);
        // SAFETY: the last object of this copy goes, and so does the copy.
        unsafe { lock.text().stop() };
    }
}

// The object that contains this copy has a record, a constructor and a destructor even without keys and sites: its note,
// by which other copies find it, must not outlive it.
#[cfg(jumplabel_sites)]
core::arch::global_asm!(crate::__object_asm!());

/// Registers the object that contains this copy, where no constructors are run: in a kernel.
#[cfg(jumplabel_sites)]
pub(crate) fn register_own() {
    unsafe extern "C" {
        static __jumplabel_object: core::cell::UnsafeCell<Object>;
    }
    // SAFETY: the record above, of this object.
    unsafe { __jumplabel_register_object((&raw const __jumplabel_object).cast_mut().cast()) };
}

// What the macros emit as the version of the record.
const _: () = assert!(VERSION == 1);

// The size that the macros emit.
#[cfg(jumplabel_sites)]
const _: () = assert!(size_of::<Object>() == 7 * size_of::<usize>() + 32);
