//! An allocator that has a key of its own: this program's `malloc`. It is called before constructors have run, where its checks take the arm
//! that the file has. It may flip its key in the middle of a call. The library does not call it.

#![cfg(all(target_os = "linux", target_env = "gnu", jumplabel_sites))]

use std::cell::Cell;
use std::ffi::c_void;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use jumplabel::{
    AskedBy, Batch, Changed, Error, WriterKind, modes, naked_key, static_branch_unlikely, static_call, static_key,
    static_mode, static_switch,
};

static_key! {
    /// The allocator counts calls.
    static COUNTS: false;
    static OTHER: false;
}

/// The calls that the allocator counted.
static COUNTED: AtomicU64 = AtomicU64::new(0);

/// The number of calls of the allocator before all constructors, if its key then behaved as it should.
static EARLY: AtomicU64 = AtomicU64::new(0);

#[used]
#[unsafe(link_section = ".preinit_array")]
static BEFORE_CONSTRUCTORS: extern "C" fn() = {
    extern "C" fn allocates() {
        let made = calls(|| drop(black_box(Box::new(1))));
        if made == 2 && matches!(COUNTS.enable(), Err(Error::TooEarly)) && !static_branch_unlikely!(COUNTS) {
            EARLY.store(made, Relaxed);
        }
    }
    allocates
};

thread_local! {
    /// The calls of this thread.
    static CALLS: Cell<u64> = const { Cell::new(0) };
    /// Whether this thread's calls flip the key.
    static FLIPS: Cell<bool> = const { Cell::new(false) };
}

unsafe extern "C" {
    fn __libc_malloc(bytes: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, bytes: usize) -> *mut c_void;
    fn __libc_realloc(old: *mut c_void, bytes: usize) -> *mut c_void;
    fn __libc_memalign(align: usize, bytes: usize) -> *mut c_void;
    fn __libc_free(memory: *mut c_void);
}

/// The first thing that each function of the allocator does.
fn called() {
    CALLS.set(CALLS.get() + 1);
    if FLIPS.get() {
        COUNTS.enable().unwrap();
        assert!(static_branch_unlikely!(COUNTS));
        COUNTS.disable().unwrap();
    }
    if static_branch_unlikely!(COUNTS) {
        COUNTED.fetch_add(1, Relaxed);
    }
}

#[unsafe(no_mangle)]
extern "C" fn malloc(bytes: usize) -> *mut c_void {
    called();
    // SAFETY: the C library's own function takes any size.
    unsafe { __libc_malloc(bytes) }
}

#[unsafe(no_mangle)]
extern "C" fn calloc(count: usize, bytes: usize) -> *mut c_void {
    called();
    // SAFETY: as for `malloc`.
    unsafe { __libc_calloc(count, bytes) }
}

/// # Safety
///
/// Like the C library's `realloc`.
#[unsafe(no_mangle)]
unsafe extern "C" fn realloc(old: *mut c_void, bytes: usize) -> *mut c_void {
    called();
    // SAFETY: the caller keeps the contract of `realloc`. All memory is the C library's.
    unsafe { __libc_realloc(old, bytes) }
}

#[unsafe(no_mangle)]
extern "C" fn memalign(align: usize, bytes: usize) -> *mut c_void {
    called();
    // SAFETY: as for `malloc`.
    unsafe { __libc_memalign(align, bytes) }
}

#[unsafe(no_mangle)]
extern "C" fn aligned_alloc(align: usize, bytes: usize) -> *mut c_void {
    memalign(align, bytes)
}

/// # Safety
///
/// Like the C library's `posix_memalign`.
#[unsafe(no_mangle)]
unsafe extern "C" fn posix_memalign(memory: *mut *mut c_void, align: usize, bytes: usize) -> i32 {
    let new = memalign(align, bytes);
    if new.is_null() {
        return libc::ENOMEM;
    }
    // SAFETY: the caller passes a place for a pointer.
    unsafe { *memory = new };
    0
}

/// # Safety
///
/// Like the C library's `free`.
#[unsafe(no_mangle)]
unsafe extern "C" fn free(memory: *mut c_void) {
    called();
    // SAFETY: the caller keeps the contract of `free`. All memory is the C library's.
    unsafe { __libc_free(memory) }
}

/// The number of calls of the allocator that this thread makes in `body`.
fn calls(body: impl FnOnce()) -> u64 {
    let before = CALLS.get();
    body();
    CALLS.get() - before
}

fn one() -> u32 {
    1
}

fn two() -> u32 {
    2
}

naked_key! { static NAKED: false; }
static_call! { static CALL: fn() -> u32 = one; }
modes! { enum Mode { Low, High } }
static_mode! { static MODE: Mode = Low; }

/// This is one test, because the process has one writer, and the allocator one key.
#[test]
fn has_a_key() {
    assert_eq!((EARLY.load(Relaxed), COUNTED.load(Relaxed)), (2, 0));
    for writer in [None, Some(WriterKind::Procmem), Some(WriterKind::Mprotect), Some(WriterKind::Remap)] {
        jumplabel::set_writer(writer);
        no_call_allocates();
        counts_while_it_is_on();
        flips_its_own_key();
    }
}

/// The twin counts the same operations, and one allocation.
fn no_call_allocates() {
    assert_eq!(calls(operations), 0);
    assert!(calls(|| drop((operations(), Box::new(black_box(1))))) >= 2);
}

fn operations() {
    fn hears(_: &Changed<'_>, _: AskedBy) {}
    jumplabel::prepare().unwrap();
    let hearing = jumplabel::on_change(&hears).unwrap();
    for number in [OTHER.enable(), OTHER.disable(), NAKED.enable(), NAKED.disable(), jumplabel::verify()] {
        number.unwrap();
    }
    OTHER.inc().unwrap();
    OTHER.dec().unwrap();
    CALL.update(two).unwrap();
    assert_eq!((CALL(), other(), NAKED.get()), (2, false, false));
    MODE.set(Mode::High).unwrap();
    Batch::new().set(&CALL, one).set(&MODE, Mode::Low).enable(&OTHER).commit().unwrap();
    assert!(other() && static_switch!(MODE, { Low => true, High => false }));
    OTHER.disable().unwrap();
    jumplabel::for_each_key(|key| _ = black_box(key.name)).unwrap();
    jumplabel::find_key("allocator::OTHER").unwrap();
    hearing.remove();
}

#[inline(never)]
fn other() -> bool {
    static_branch_unlikely!(OTHER)
}

/// While the key is on, each call is counted, on each thread, beside flips of another key.
fn counts_while_it_is_on() {
    COUNTS.enable().unwrap();
    let before = COUNTED.load(Relaxed);
    let allocate = || calls(|| (0..10_000).for_each(|bytes| drop(black_box(vec![0_u8; bytes + 1]))));
    let made: u64 = std::thread::scope(|scope| {
        let threads = [scope.spawn(allocate), scope.spawn(allocate)];
        for _ in 0..200 {
            OTHER.enable().unwrap();
            OTHER.disable().unwrap();
        }
        threads.map(|thread| thread.join().unwrap()).iter().sum()
    });
    COUNTS.disable().unwrap();
    assert!(made >= 40_000 && COUNTED.load(Relaxed) - before >= made);
    let (off, made) = (COUNTED.load(Relaxed), allocate());
    assert!(made >= 20_000 && COUNTED.load(Relaxed) - off < made, "a call was counted while the key was off");
}

/// The allocator turns its key on and off in the middle of its own calls.
fn flips_its_own_key() {
    FLIPS.set(true);
    let made = calls(|| (0..200).for_each(|bytes| drop(black_box(vec![0_u8; bytes + 1]))));
    FLIPS.set(false);
    assert!(made >= 400 && !static_branch_unlikely!(COUNTS));
}
