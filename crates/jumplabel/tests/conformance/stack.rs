//! The stack that functions take that flip. Kernels and a program of user space run this (kernels/src/stack.rs, test-crates/stack).
//!
//! ```text
//!   the caller's frame
//!   ├── the stack pointer   ◄── what is measured begins here
//!   │   256 bytes           for the frames of the functions that paint
//!   │   painted             a flip changes what it uses: the lowest word that has another colour is where it ended
//! ```

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use jumplabel::{
    Batch, Lock, RawKey, modes, prepare, set_all, static_branch_unlikely, static_call, static_key, static_mode,
    static_switch, verify,
};

/// Bytes that are painted.
const PAINTED: usize = 14 << 10;
/// Bytes between the stack pointer and the first painted byte.
const OWN: usize = 256;
const COLOUR: usize = 0x5a5a_5a5a;

/// The stack pointer where a flip began.
static BEGAN: AtomicUsize = AtomicUsize::new(0);

#[inline(always)]
fn stack_pointer() -> usize {
    let pointer;
    // SAFETY: reads a register.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        core::arch::asm!("mov {}, rsp", out(reg) pointer, options(nomem, nostack, preserves_flags));
        #[cfg(target_arch = "x86")]
        core::arch::asm!("mov {}, esp", out(reg) pointer, options(nomem, nostack, preserves_flags));
        #[cfg(any(target_arch = "riscv32", target_arch = "riscv64"))]
        core::arch::asm!("mv {}, sp", out(reg) pointer, options(nomem, nostack, preserves_flags));
        #[cfg(not(any(
            target_arch = "x86",
            target_arch = "x86_64",
            target_arch = "riscv32",
            target_arch = "riscv64"
        )))]
        core::arch::asm!("mov {}, sp", out(reg) pointer, options(nomem, nostack, preserves_flags));
    }
    pointer
}

/// Notes where a flip begins: the frame of the function that calls this does not count.
#[inline(always)]
fn begin() {
    BEGAN.store(stack_pointer(), Relaxed);
}

/// The number of bytes of stack that `work` takes, from where it has called [`begin`], or with its own frame. Rounded up if that is less than
/// [`OWN`]. Nothing else may use this stack meanwhile.
#[inline(never)]
pub fn taken(work: fn()) -> usize {
    begin();
    let top = stack_pointer() - OWN;
    let words = || (top - PAINTED..top).step_by(size_of::<usize>());
    // SAFETY: memory below the frames of this function and of the functions that it calls here. The stack has this much room.
    words().for_each(|at| unsafe { (at as *mut usize).write_volatile(COLOUR) });
    work();
    // SAFETY: the same words.
    let changed = words().find(|&at| unsafe { (at as *const usize).read_volatile() } != COLOUR);
    BEGAN.load(Relaxed) - changed.unwrap_or(top)
}

static_key! {
    static KEY: false;
    static KEYS: [false; 40];
}
static_call! { static CALL: fn(u32) -> u32 = first; }
modes! { enum Mode { Fast, Checked, Traced } }
static_mode! { static MODE: Mode = Fast; }

fn first(value: u32) -> u32 {
    value + 1
}
fn second(value: u32) -> u32 {
    value + 2
}

/// A measurement: its name, and the function that is measured.
pub type Row = (&'static str, fn());

// In a kernel, the functions are optimised for size, and call no C library. (The target of a kernel may be one of Linux: i686.)
use super::IS_KERNEL;

/// The most stack for a change of one key, call or mode.
pub const FLIP: usize = if IS_KERNEL { 1024 } else { 1536 };
/// For a change of a table of operations.
#[allow(dead_code)] // Only kernels measure that.
pub const TABLE: usize = 1408;
/// For a list of changes: in an array in C, from an iterator, in a small batch.
pub const LIST: usize = if IS_KERNEL { 1536 } else { 2368 };
/// For a batch with room for 32 changes.
const BATCH: usize = if IS_KERNEL { 1920 } else { 2240 };
/// For a function that flips nothing, although it could: the frame of a flip is not its own. A batch is.
pub const CALLER: usize = 256;
const CALLER_OF_BATCH: usize = 1024;
/// For a look at all sites.
const LOOK: usize = if IS_KERNEL { 2048 } else { 1664 };

/// The state that the key gets next.
fn on(key: &RawKey) -> bool {
    !key.is_enabled()
}

/// The other target.
fn other() -> fn(u32) -> u32 {
    if CALL(1) == 2 { second } else { first }
}

const FLIPS: &[Row] = &[
    ("enable, disable", || {
        begin();
        _ = if on(&KEY) { KEY.enable() } else { KEY.disable() };
    }),
    ("inc, dec", || {
        begin();
        _ = if on(&KEY) { KEY.inc() } else { KEY.dec() };
    }),
    ("enable_locked", || {
        let mut lock = Lock::take().unwrap();
        begin();
        _ = if on(&KEY) { KEY.enable_locked(&mut lock) } else { KEY.disable_locked(&mut lock) };
    }),
    ("a static call", || {
        begin();
        _ = CALL.update(other());
    }),
    ("a mode", || {
        begin();
        _ = MODE.set(if MODE.get() == Mode::Fast { Mode::Traced } else { Mode::Fast });
    }),
];

const BATCHES: &[Row] = &[
    ("a batch of one", || _ = Batch::new().set(&KEYS[39], on(&KEYS[39])).commit()),
    ("a batch of three", || {
        let (target, on) = (other(), on(&KEYS[39]));
        _ = Batch::new().enable(&KEYS[38]).set(&CALL, target).set(&KEYS[39], on).commit();
    }),
];

const LISTS: &[Row] = &[
    ("a batch for four", || {
        let (target, on) = (other(), on(&KEYS[39]));
        _ = Batch::<4>::with_capacity().enable(&KEYS[38]).set(&CALL, target).set(&KEYS[39], on).commit();
    }),
    ("set_all of 3", || _ = set_all(KEYS[37..].iter().map(|key| (&**key, on(key))))),
    ("set_all of 40", || _ = set_all(KEYS.iter().map(|key| (&**key, on(key))))),
];

/// Never true, but the compiler does not know that.
static FLIPS_NOW: AtomicBool = AtomicBool::new(false);

/// Calls `flip`, which is inlined, if this ever flips; then a function that uses the stack below the caller's frame.
#[inline(always)]
pub fn flip_never(flip: impl FnOnce()) {
    if FLIPS_NOW.load(Relaxed) {
        flip();
    }
    below();
    // What follows the call keeps it from being the caller's last jump, which would need no frame.
    FLIPS_NOW.store(false, Relaxed);
}

#[inline(never)]
fn below() {
    core::hint::black_box(&mut [0_usize; 2]);
}

const CALLERS: &[Row] = &[
    ("caller: enable", || flip_never(|| _ = KEY.enable())),
    ("caller: inc", || flip_never(|| _ = KEY.inc())),
    ("caller: a static call", || flip_never(|| _ = CALL.update(second))),
    ("caller: set_all", || flip_never(|| _ = set_all(KEYS.iter().map(|key| (&**key, true))))),
];
const CALLERS_OF_BATCHES: &[Row] =
    &[("caller: a batch", || flip_never(|| _ = Batch::new().set(&KEYS[39], true).commit()))];

const ALL: &[Row] = &[
    ("verify", || {
        begin();
        _ = verify();
    }),
    ("prepare", || {
        begin();
        _ = prepare();
    }),
];

/// Measures each row, there and back, so that sites change both times. Reports each row, and the most that it may take. The caller adds rows of its
/// own, each list with the most that its rows may take.
pub fn rows(others: &[(&[Row], usize)], report: fn(&str, usize, usize)) {
    let sites = || static_branch_unlikely!(KEY) | static_branch_unlikely!(KEYS[39]);
    assert!(!sites() && CALL(1) == 2 && static_switch!(MODE, { Fast => true, Checked => false, Traced => false }));
    let callers = [(CALLERS, CALLER), (CALLERS_OF_BATCHES, CALLER_OF_BATCH)];
    let own = [(FLIPS, FLIP), (BATCHES, BATCH), (LISTS, LIST), callers[0], callers[1], (ALL, LOOK)];
    for (rows, bound) in own.iter().chain(others) {
        for (name, work) in *rows {
            let most = taken(*work).max(taken(*work));
            report(name, most, *bound);
        }
    }
}
