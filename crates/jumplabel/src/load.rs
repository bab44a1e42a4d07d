//! Objects come and go: their constructors and destructors call these functions.
//!
//! ```text
//!   loaded      locate; the first of this instance starts the platform; link; catch up with keys that were flipped
//!   unloaded    unlink; forget everything that leads there; the last of this instance stops the platform
//!   fork        the child puts its sites right, if somebody may have been flipping
//!   exit        objects that could be unloaded stay: other threads go on flipping while destructors run
//! ```

use crate::platform::{Platform, custom};
#[cfg(jumplabel_sites)]
use {
    crate::format::{IN_PROGRAM, Object, STAYS, VERSION},
    crate::patch::{self, Lock},
    crate::platform::{Callbacks, instances::RUNTIME, platform},
    crate::site::{index, object},
    core::sync::atomic::Ordering,
};

/// Replaces the platform. A kernel does that before its first flip. Registers the kernel's own table, whether or not the kernel runs its
/// constructors (`.init_array`). If objects are registered already, asks the new platform where they lie.
///
/// # Safety
/// Nobody has flipped yet, or nobody is flipping. `platform` keeps the contract of [`Platform`].
pub unsafe fn set_platform(platform: &'static &'static dyn Platform) {
    custom::set(platform);
    #[cfg(jumplabel_sites)]
    {
        RUNTIME.objects().for_each(|object| object.locate(*platform));
        if !RUNTIME.is_empty() {
            let in_program = RUNTIME.objects().any(|object| object.has(IN_PROGRAM));
            // SAFETY: the library's callbacks.
            unsafe { platform.start(in_program, &CALLBACKS) };
        }
        register_own();
    }
}

#[cfg(jumplabel_sites)]
static CALLBACKS: Callbacks = Callbacks { forked, ending };

/// Links `object` into the list. The object's constructor calls this: no allocation, no lock, no system call. There is one exception. If
/// the object has sites of keys in other objects, or if anybody has flipped before, this brings its sites to the state of their keys
/// before anything can run them.
///
/// # Safety
/// `object` is the record of a loaded object.
#[cfg(jumplabel_sites)]
#[unsafe(no_mangle)]
unsafe extern "C" fn __jumplabel_register_object(object: *mut Object) {
    // SAFETY: the caller passes the record of an object that is loaded.
    let record = unsafe { &*object };
    if record.version != VERSION || RUNTIME.objects().any(|known| core::ptr::eq(known, record)) {
        return;
    }
    patch::set_registered();
    // A constructor that came before this one may have flipped keys of this object already.
    let flipped = !RUNTIME.process_state.load(Ordering::Acquire).is_null();
    record.locate(platform());
    if RUNTIME.is_empty() {
        // SAFETY: the library's callbacks.
        unsafe { platform().start(record.has(IN_PROGRAM), &CALLBACKS) };
    }
    if !flipped && !record.has_foreign_keys() {
        return link(object, record);
    }
    // Linked under the lock, so that a flip either finds the object or is seen here. A constructor cannot report an error: the
    // next flip of their key repairs sites that could not be brought up to date.
    let lock = Lock::take_anyway();
    link(object, record);
    #[cfg(not(jumplabel_short_engine))]
    if let Ok(mut lock) = lock {
        let _ = patch::catch_up(record, &mut lock);
        patch::tell_others(&lock);
    }
    #[cfg(jumplabel_short_engine)]
    {
        let right = lock.and_then(|mut lock| {
            let tried = patch::catch_up(record, &mut lock);
            patch::tell_others(&lock);
            patch::demand_right(record, tried, &lock.objects)
        });
        // A check that takes the wrong arm is worse.
        match right {
            Err(error) if record.is_unlinked() => crate::platform::abort(object as usize, error),
            _ => {}
        }
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
    // SAFETY: the caller passes the record of an object that is unloaded after this returns.
    let record = unsafe { &*object };
    if record.has(IN_PROGRAM | STAYS) {
        return; // The process ends; the sites stay, for threads and destructors that still flip.
    }
    // If the lock cannot be taken, this thread holds it already, or it was never made: either way nobody else walks the list.
    let lock = Lock::take_anyway();
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
    let Ok(mut lock) = lock else { return };
    index::discard(record, &lock.objects);
    // If the platform cannot tell the object's bounds, forget everything.
    let addresses = record.image(&lock.objects).map_or(0..usize::MAX, |image| image.bounds());
    patch::unload(&addresses, &mut lock);
    lock.platform().unload(&addresses, &mut lock.platform_state);
    #[cfg(feature = "std")]
    crate::key::deferred::unload(&addresses, &lock);
    if RUNTIME.is_empty() {
        patch::release_lists(&mut lock);
        #[cfg(feature = "std")]
        crate::trace::readers::stop(lock.platform());
        // SAFETY: the last object of this instance goes, and so does the instance.
        unsafe { lock.platform().stop(&mut lock.platform_state) };
    }
}

/// In a child of fork.
#[cfg(jumplabel_sites)]
fn forked(in_mid_flip: bool) {
    #[cfg(feature = "std")]
    {
        crate::key::deferred::worker::forked();
        crate::trace::readers::forked();
    }
    if in_mid_flip {
        // Whoever takes the lock first puts the sites right. An error cannot be reported here; the next flip meets it again.
        drop(Lock::take_anyway());
    }
}

/// Keeps all objects. An object that comes later is unloaded like any other. If the lock cannot be taken (a handler of a fault in the
/// patcher ends the process), the objects go as if they were unloaded.
#[cfg(jumplabel_sites)]
fn ending(keep: fn(usize) -> bool) {
    let (mut last, mut kept) = (0, false);
    while let Some(record) = other_behind(last, kept) {
        (last, kept) = (record, keep(record));
    }
}

/// The address of the next record behind `last` that is not the program's: in the order of their addresses each comes once, whatever is
/// loaded and unloaded meanwhile. If `kept`, the object of the record at `last` is never unloaded any more.
#[cfg(jumplabel_sites)]
#[inline(never)]
fn other_behind(last: usize, kept: bool) -> Option<usize> {
    let lock = Lock::take_anyway().ok()?;
    let mut next = usize::MAX;
    for object in object::all(&lock.objects) {
        let record = core::ptr::from_ref(object) as usize;
        if record == last && kept {
            object.flags.fetch_or(STAYS, Ordering::Relaxed);
        }
        if record > last && !object.has(IN_PROGRAM) {
            next = next.min(record);
        }
    }
    (next != usize::MAX).then_some(next)
}

// The object that contains this instance has a record, a constructor and a destructor even without keys and sites: its note,
// by which other instances find it, must not outlive it.
#[cfg(jumplabel_sites)]
core::arch::global_asm!(crate::__object_asm!());

/// Registers the object that contains this instance, if nobody runs constructors: in a kernel.
#[cfg(jumplabel_sites)]
fn register_own() {
    unsafe extern "C" {
        static __jumplabel_object: core::cell::UnsafeCell<Object>;
    }
    // SAFETY: the record above, of this object.
    unsafe { __jumplabel_register_object((&raw const __jumplabel_object).cast_mut().cast()) };
}
