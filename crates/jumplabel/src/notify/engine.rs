//! The engine: notes what has changed, and calls the functions of the table. Only programs that register functions have it.

use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, Ordering};

use crate::patch::MODE;
use crate::platform::list::List;
use crate::platform::notifiers::{Notifiers, RawChanged};
use crate::platform::telling::{Engine, NO_MEMORY, NOBODY, ROOM, TOO_DEEP, Telling};
use crate::platform::{Platform, platform};

pub(super) static ENGINE: Engine = Engine { room, note, tell, gone };

/// A number that stands for a key or a mode, and its new setting.
#[derive(Clone, Copy)]
struct Change {
    heard: usize,
    setting: usize,
}

/// What has changed.
struct Noted {
    few: [MaybeUninit<Change>; FEW],
    len: usize,
    /// Those that `few` has no room for.
    many: List<Change>,
}

/// So many changes, in so many threads at once, need no memory of the platform's.
const FEW: usize = 8;
const THREADS: usize = 4;

/// A place for a [`Noted`].
struct Place {
    is_taken: AtomicBool,
    noted: UnsafeCell<MaybeUninit<Noted>>,
}

// SAFETY: `noted` belongs to whoever has set `is_taken`.
unsafe impl Sync for Place {}

static PLACES: [Place; THREADS] =
    [const { Place { is_taken: AtomicBool::new(false), noted: UnsafeCell::new(MaybeUninit::uninit()) } }; THREADS];

impl Noted {
    /// Null if there is no memory.
    fn new(platform: &dyn Platform) -> *mut Noted {
        let is_free = |place: &&Place| !place.is_taken.swap(true, Ordering::Acquire);
        let noted = match PLACES.iter().find(is_free) {
            Some(place) => place.noted.get().cast::<Noted>(),
            None => platform.allocate(size_of::<Noted>()).map_or(null_mut(), |memory| memory.as_ptr().cast()),
        };
        if !noted.is_null() {
            let few = [const { MaybeUninit::uninit() }; FEW];
            // SAFETY: the place or the memory is this caller's, and has room.
            unsafe { noted.write(Noted { few, len: 0, many: List::new() }) };
        }
        noted
    }

    /// # Safety
    /// `noted` is from `new`, and is not used any more.
    unsafe fn free(noted: *mut Noted, platform: &dyn Platform) {
        // SAFETY: the caller gives it away.
        unsafe { (*noted).many.free(platform) };
        let is_its = |place: &&Place| core::ptr::eq(place.noted.get().cast(), noted);
        match (PLACES.iter().find(is_its), core::ptr::NonNull::new(noted)) {
            (Some(place), _) => place.is_taken.store(false, Ordering::Release),
            // SAFETY: `new` has allocated it.
            (None, Some(memory)) => unsafe { platform.release(memory.cast(), size_of::<Noted>()) },
            (None, None) => {}
        }
    }
}

fn table() -> Option<(&'static dyn Platform, &'static Notifiers)> {
    let platform = platform();
    platform.notifiers().map(|notifiers| (platform, notifiers))
}

unsafe extern "C" fn room(telling: *mut Telling, more: usize) -> u32 {
    // SAFETY: the caller has a `Telling` of its own.
    let telling = unsafe { &mut *telling };
    let Some((platform, notifiers)) = table() else { return ROOM };
    if more == 0 || telling.by == NOBODY || notifiers.is_empty() {
        return ROOM;
    }
    if notifiers.is_too_deep(platform.thread()) {
        return TOO_DEEP;
    }
    if telling.noted.is_null() {
        telling.noted = Noted::new(platform).cast();
    }
    // SAFETY: null, or what `new` has made for this `Telling`.
    match unsafe { telling.noted.cast::<Noted>().as_mut() } {
        Some(noted) if noted.len + more <= FEW => ROOM,
        Some(noted) => noted.many.reserve(more, platform).map_or(NO_MEMORY, |()| ROOM),
        None => NO_MEMORY,
    }
}

unsafe extern "C" fn note(telling: *mut Telling, heard: usize, setting: usize) {
    // SAFETY: the caller has a `Telling` of its own.
    let telling = unsafe { &mut *telling };
    // SAFETY: null, or what `new` has made for this `Telling`.
    let Some(noted) = (unsafe { telling.noted.cast::<Noted>().as_mut() }).filter(|_| telling.by != NOBODY) else {
        return;
    };
    let change = Change { heard, setting };
    if let Some(place) = noted.few.get_mut(noted.len) {
        *place = MaybeUninit::new(change);
        noted.len += 1;
    } else {
        let _ = noted.many.push(change, platform()); // `room` has made room.
    }
}

unsafe extern "C" fn tell(telling: *mut Telling) {
    // SAFETY: the caller has a `Telling` of its own.
    let telling = unsafe { &mut *telling };
    let noted = core::mem::replace(&mut telling.noted, null_mut()).cast::<Noted>();
    let [by, uid] = telling.by;
    // SAFETY: null, or what `new` has made for this `Telling`.
    let (Some(Noted { few, len, many }), Some((platform, notifiers))) = (unsafe { noted.as_ref() }, table()) else {
        return;
    };
    // SAFETY: `note` has initialised as many.
    let few = few.iter().take(*len).map(|change| unsafe { change.assume_init() });
    let mut changes = few.chain(many.iter().copied()).map(|Change { heard, setting }| {
        let address = |is_one: bool| -> *const c_void {
            core::ptr::with_exposed_provenance(if is_one { heard & !MODE } else { 0 })
        };
        let is_mode = heard & MODE != 0;
        RawChanged { key: address(!is_mode), mode: address(is_mode), state: setting as c_int, by: by as c_int, uid }
    });
    if *len != 0 {
        notifiers.tell(platform.thread(), &mut changes);
    }
    // SAFETY: nobody else has it.
    unsafe { Noted::free(noted, platform) };
}

unsafe extern "C" fn gone(start: usize, end: usize) {
    match table() {
        Some((_, notifiers)) if end != 0 => notifiers.unload(&(start..end)),
        Some((platform, notifiers)) => notifiers.forked(platform.thread()),
        None => {}
    }
}
