//! The library's work when objects are loaded and unloaded, and when the process is forked or ends. The constructors and destructors of objects
//! call the functions here.
//!
//! ```text
//!   when an object is
//!     loaded       its constructor locates it, starts the platform if it is the first object of this instance, links it into the list,
//!                  and sets its sites to the states of keys that were flipped before
//!     unloaded     its destructor unlinks it, forgets everything that leads into it, and stops the platform if it was the last object
//!   when the process
//!     is forked    the child corrects its sites, if another thread may have been flipping
//!     ends         objects that could be unloaded stay loaded, because other threads go on flipping while destructors run
//! ```

#[cfg(all(jumplabel_sites, jumplabel_windows))]
mod windows;

use crate::platform::{Platform, custom};
#[cfg(jumplabel_sites)]
use {
    crate::format::{IN_PROGRAM, Object, STAYS, VERSION},
    crate::list::{self, ObjectChange},
    crate::patch::{self, Lock},
    crate::platform::{Callbacks, instances::RUNTIME, notices, platform},
    crate::site::{index, object},
    core::sync::atomic::Ordering,
};

/// Replaces the platform. A kernel does that before its first flip. Also registers the kernel's own table, so a kernel need not run constructors
/// (`.init_array`). For objects that are already registered, asks the new platform for their bounds.
///
/// # Safety
/// No thread flips during this call. `platform` fulfils the contract of [`Platform`].
pub unsafe fn set_platform(platform: &'static &'static dyn Platform) {
    custom::set(platform);
    #[cfg(jumplabel_sites)]
    {
        RUNTIME.objects().for_each(|object| object.locate(*platform));
        if !RUNTIME.is_empty() {
            let in_program = RUNTIME.objects().any(|object| object.has(IN_PROGRAM));
            // SAFETY: the callbacks are those of the library.
            unsafe { platform.start(in_program, &CALLBACKS) };
        }
        register_own();
    }
}

#[cfg(jumplabel_sites)]
static CALLBACKS: Callbacks = Callbacks { forked, ending };

/// Links `object` into the list. The object's constructor calls this function. It allocates nothing, takes no lock and makes no system call, with
/// three exceptions:
/// * The object is the first one of this instance: then the function starts the platform.
/// * The object has sites of keys in other objects, or sites that `jumplabel link` should have changed, or the process has flipped before: then the
///   function takes the lock and sets the object's sites to the state of their keys. No thread can run these sites earlier.
/// * The object has elements of a list with a hook: then the function calls the hook.
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
    // Another constructor that ran before this one may already have flipped keys of this object.
    let flipped = !RUNTIME.process_state.load(Ordering::Acquire).is_null();
    record.locate(platform());
    if RUNTIME.is_empty() {
        // SAFETY: the callbacks are those of the library.
        unsafe { platform().start(record.has(IN_PROGRAM), &CALLBACKS) };
    }
    if !flipped && !record.has_foreign_keys() {
        link(object, record);
    } else {
        link_and_catch_up(object, record);
    }
    list::tell(record, ObjectChange::Loaded);
}

#[cfg(jumplabel_sites)]
fn link_and_catch_up(object: *mut Object, record: &Object) {
    // The object is linked under the lock. So each flip either comes later and finds the object, or is over, and this constructor sees the key's new
    // state. A constructor cannot report an error. If a site cannot be set to the state of its key, the next flip of the key repairs the site.
    #[cfg_attr(jumplabel_short_engine, allow(unused_mut))]
    let mut lock = Lock::take_anyway();
    link(object, record);
    #[cfg(not(jumplabel_short_engine))]
    if let Ok(lock) = &mut lock {
        let _ = patch::catch_up(record, lock);
        patch::tell_others(lock);
    }
    #[cfg(jumplabel_short_engine)]
    {
        let right = lock.and_then(|mut lock| {
            let tried = patch::catch_up(record, &mut lock);
            patch::tell_others(&lock);
            patch::demand_right(record, tried, &lock.objects)
        });
        // The process aborts, because otherwise a check would take the wrong arm.
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

/// Unlinks `object` and frees its index. The object's destructor calls this.
///
/// # Safety
/// `object` is the record of an object that is about to be unloaded.
#[cfg(jumplabel_sites)]
#[unsafe(no_mangle)]
unsafe extern "C" fn __jumplabel_unregister_object(object: *mut Object) {
    // SAFETY: the caller passes the record of an object that is unloaded after this returns.
    let record = unsafe { &*object };
    if record.has(IN_PROGRAM | STAYS) {
        return; // The process is ending. The object stays in the list, because threads and destructors can still flip.
    }
    list::tell(record, ObjectChange::Unloading);
    // If the lock cannot be taken, either this thread already holds it, or the process has never made a lock. In both cases no other thread
    // reads the list.
    let mut lock = Lock::take_anyway();
    let mut link = &RUNTIME.objects;
    loop {
        let at = link.load(Ordering::Acquire);
        if at.is_null() {
            return;
        }
        if at == object {
            let next = record.next.load(Ordering::Acquire);
            // The exchange can fail only if `link` is the head: a constructor that does not hold the lock can put a new head there.
            if link.compare_exchange(at, next, Ordering::AcqRel, Ordering::Acquire).is_ok() {
                break;
            }
            link = &RUNTIME.objects;
            continue;
        }
        // SAFETY: the record is in the list, and its object stays loaded while the lock is held.
        link = unsafe { &(*at).next };
    }
    let Ok(lock) = &mut lock else { return };
    index::discard(record, &lock.objects);
    // If the platform does not know the object's bounds, the library forgets what it knows about all addresses.
    let addresses = record.image(&lock.objects).map_or(0..usize::MAX, |image| image.bounds());
    if addresses.start != 0
        && let Some(sender) = notices::sender(lock.platform())
    {
        // SAFETY: the object at these addresses is about to be unloaded.
        unsafe { (sender.gone)(addresses.start, addresses.end) };
    }
    patch::unload(&addresses, lock);
    lock.platform().unload(&addresses, &mut lock.platform_state);
    #[cfg(jumplabel_threads)]
    crate::key::deferred::unload(&addresses, lock);
    if RUNTIME.is_empty() {
        patch::release_lists(lock);
        #[cfg(jumplabel_threads)]
        crate::trace::readers::stop(lock.platform());
        // SAFETY: the last object of this instance is being unloaded, and this instance with it.
        unsafe { lock.platform().stop(&mut lock.platform_state) };
    }
}

/// Corrects the library's state in a forked child. The platform calls this function there. `in_mid_flip` is true if another thread of the parent may
/// have been flipping at the time of the fork.
#[cfg(jumplabel_sites)]
fn forked(in_mid_flip: bool) {
    if cfg!(target_os = "none") {
        return; // So a kernel does not contain the code below.
    }
    #[cfg(jumplabel_threads)]
    {
        crate::key::deferred::worker::forked();
        crate::trace::readers::forked();
    }
    #[cfg(feature = "std")]
    crate::scoped::forked();
    if let Some(sender) = notices::sender(platform()) {
        // SAFETY: this process was forked.
        unsafe { (sender.gone)(0, 0) };
    }
    if in_mid_flip {
        // The first thread that takes the lock repairs the sites. An error cannot be reported here, but the next flip meets the same error.
        drop(Lock::take_anyway());
    }
}

/// Makes sure that the objects that are registered now are never unloaded. The platform calls this function when the process ends. An object that is
/// loaded later can be unloaded as usual. If the process ends in the handler of a fault in the patcher, the lock cannot be taken. Then this function
/// does nothing, and the destructors unlink all objects except the program.
#[cfg(jumplabel_sites)]
fn ending(keep: fn(usize) -> bool) {
    if cfg!(target_os = "none") {
        return;
    }
    let (mut last, mut kept) = (0, false);
    while let Some(record) = other_behind(last, kept) {
        (last, kept) = (record, keep(record));
    }
}

/// The address of the next record after the one at `last`, in the order of addresses; `None` if there is none. Leaves out the program's record. In
/// this order each record comes once, even if objects are loaded and unloaded in between. If `kept` is true, marks the object whose record is at
/// `last` as one that is never unloaded.
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

// The object that contains this instance needs a record, a constructor and a destructor, even if the object has no keys and no sites. The constructor
// announces this instance to the others. The destructor takes this instance off the list of instances before the instance is unloaded.
#[cfg(all(jumplabel_sites, not(jumplabel_windows)))]
core::arch::global_asm!(crate::__object_asm!());

#[cfg(jumplabel_sites)]
unsafe extern "C" {
    static __jumplabel_object: core::cell::UnsafeCell<Object>;
}

/// Registers the object that contains this instance. A kernel that runs no constructors needs this. On Windows, `called_by_loader` (load/windows.rs)
/// calls this function.
#[cfg(jumplabel_sites)]
fn register_own() {
    // SAFETY: this is the record of this object, which the assembler above emits.
    unsafe { __jumplabel_register_object((&raw const __jumplabel_object).cast_mut().cast()) };
}
