//! Core sync: `membarrier(PRIVATE_EXPEDITED_SYNC_CORE)` interrupts every processor that runs a thread of this process and
//! makes it serialise (Intel SDM volume 3, 9.1.3 asks for that after code was modified; AMD APM volume 2, 7.6.1).
//!
//! If membarrier is refused (always on loongarch64: Linux 7.2 has none there that serialises), a program may opt in to a signal to each
//! thread. The library installs no handler: the program does, and calls [`core_sync_handler`] in it. If the program does not, a flip of
//! primed sites reports [`Visibility::Eventual`](crate::Visibility::Eventual), and a flip of pristine sites needs the `remap` writer or a
//! single thread.

use core::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, Ordering, fence};
use core::time::Duration;

use rustix::thread::{MembarrierCommand, futex, membarrier};

use super::events;
use crate::arch::{Act, Machine, Native};
use crate::error::Refusal;
use crate::platform::Visibility;
use crate::platform::linux::procfs::{is_procfs, open, open_at};
use crate::platform::linux::{libc, pages};

/// Whether a core sync since the last [`reset`] was refused.
static REFUSED: AtomicBool = AtomicBool::new(false);
/// Whether the last core sync succeeded, or none was tried.
static SYNCED: AtomicBool = AtomicBool::new(true);

/// Before the first write of a transaction.
pub(crate) fn reset() {
    REFUSED.store(false, Ordering::Relaxed);
}

/// Registers this process, so that its first core sync need not. Costs milliseconds if there are several threads.
pub(crate) fn register() -> Result<(), Refusal> {
    Ok(membarrier(MembarrierCommand::RegisterPrivateExpeditedSyncCore)?)
}

/// The kernel tells a process that is not registered (EPERM), and a child of fork is not: so nobody has to compare process numbers. After
/// the registration, the kernel interrupts the others as it would have before.
fn membarrier_sync() -> Result<(), Refusal> {
    match membarrier(MembarrierCommand::PrivateExpeditedSyncCore) {
        Err(rustix::io::Errno::PERM) => {
            register()?;
            Ok(membarrier(MembarrierCommand::PrivateExpeditedSyncCore)?)
        }
        result => Ok(result?),
    }
}

/// How visible what was written since [`reset`] is.
pub(super) fn visibility() -> Visibility {
    if REFUSED.load(Ordering::Relaxed) { Visibility::Eventual } else { Visibility::Immediate }
}

/// Whether the last core sync was not refused.
pub(crate) fn is_synced() -> bool {
    SYNCED.load(Ordering::Relaxed)
}

/// Makes all other threads serialise.
#[inline(never)]
pub(crate) fn core_sync() -> Result<(), Refusal> {
    let done = serialise_others();
    SYNCED.store(done.is_ok(), Ordering::Relaxed);
    if done.is_err() {
        REFUSED.store(true, Ordering::Relaxed);
    }
    done
}

fn serialise_others() -> Result<(), Refusal> {
    fence(Ordering::SeqCst);
    events::log(events::Event::CoreSync);
    #[cfg(target_arch = "riscv64")]
    if flush_all() {
        return Ok(());
    }
    let Err(refused) = membarrier_sync() else { return Ok(()) };
    // SAFETY: null, or `ROUND`.
    let round = unsafe { BY_SIGNAL.load(Ordering::Relaxed).as_ref() };
    match (round, SIGNAL.load(Ordering::Relaxed)) {
        _ if pages::single_threaded() => Ok(()),
        (None, _) | (_, 0) => Err(refused),
        (Some(round), signal) => round(signal),
    }
}

/// `riscv_flush_icache` for all threads: from now on all of them fetch what was stored, whatever processor they run on later.
/// False if it is refused; then the membarrier of newer kernels (6.10) does the same.
#[cfg(target_arch = "riscv64")]
fn flush_all() -> bool {
    const SYS_RISCV_FLUSH_ICACHE: core::ffi::c_long = 259;
    // SAFETY: a range that the kernel ignores, and no flags: all threads.
    unsafe { libc::syscall(SYS_RISCV_FLUSH_ICACHE, 0_usize, 0_usize, 0_usize) == 0 }
}

static SIGNAL: AtomicI32 = AtomicI32::new(0);
/// [`ROUND`], once the program has opted in. If it never does, the linker drops the code.
static BY_SIGNAL: AtomicPtr<Round> = AtomicPtr::new(core::ptr::null_mut());
type Round = fn(i32) -> Result<(), Refusal>;
static ROUND: Round = signal_all;
static PENDING: AtomicU32 = AtomicU32::new(0);

/// Allows core sync by signal if membarrier is refused: the flip sends `signal` to each other thread, and waits until each has answered.
/// 0 forbids it again; at the start it is forbidden. Costs about 7 us a thread.
///
/// If a thread blocks the signal for a second, the flip stops waiting, reports [`Visibility::Eventual`](crate::Visibility::Eventual), and
/// forbids core sync by signal from then on.
///
/// # Safety
/// A handler for `signal` is installed, calls [`core_sync_handler`], and nothing else sends the signal.
pub unsafe fn core_sync_by_signal(signal: i32) {
    SIGNAL.store(signal, Ordering::Relaxed);
    // If the compiler knew the only value, it would make this a flag, and put a call of the function wherever the flag is looked at.
    BY_SIGNAL.store(core::hint::black_box((&raw const ROUND).cast_mut()), Ordering::Relaxed);
}

/// The handler for the signal of [`core_sync_by_signal`] calls this. It serialises, or the return from the handler does (x86: `iret`).
/// Async-signal-safe.
///
/// # Safety
/// Call it once for each arrival of that signal. Another call would pass for the answer of a thread that has not answered.
pub unsafe fn core_sync_handler() {
    fence(Ordering::SeqCst);
    // SAFETY: changes nothing but what was fetched ahead.
    unsafe { Native::act(Act::Serialise) };
    if PENDING.fetch_sub(1, Ordering::Release) == 1 {
        let _ = futex::wake(&PENDING, futex::Flags::PRIVATE, 1);
    }
}

/// Signals each other thread and waits for its answer. After a round that fails, answers may still come, and would count for the next
/// round. So a round that fails is the last one.
fn signal_all(signal: i32) -> Result<(), Refusal> {
    // One more than the threads, so that the number does not reach 0 before all of them are signalled.
    PENDING.store(1, Ordering::Relaxed);
    let answered = send(signal).and_then(|()| {
        PENDING.fetch_sub(1, Ordering::AcqRel);
        wait_for_answers()
    });
    answered.inspect_err(|_| SIGNAL.store(0, Ordering::Relaxed)).map_err(Refusal::from)
}

fn send(signal: i32) -> rustix::io::Result<()> {
    use rustix::fs::{OFlags, RawDir};

    let tasks = open(c"/proc/thread-self/../", OFlags::RDONLY | OFlags::DIRECTORY)?;
    if !is_procfs(rustix::fs::fstatfs(&tasks)) {
        return Err(rustix::io::Errno::NOTTY);
    }
    let process = rustix::process::getpid().as_raw_nonzero().get();
    let me = rustix::thread::gettid().as_raw_nonzero().get();
    let mut buffer = [core::mem::MaybeUninit::<u8>::uninit(); 2048];
    let mut entries = RawDir::new(&tasks, &mut buffer);
    let mut found_me = false;
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let Some(thread) = entry.file_name().to_str().ok().and_then(|name| name.parse::<i32>().ok()) else { continue };
        if thread == me {
            found_me = true;
            continue;
        }
        if has_ended(&tasks, entry.file_name())? {
            continue;
        }
        PENDING.fetch_add(1, Ordering::Relaxed);
        // SAFETY: tgkill with three integers.
        if unsafe { libc::syscall(libc::SYS_TGKILL, process, thread, signal) } != 0 {
            PENDING.fetch_sub(1, Ordering::Relaxed);
            if !has_ended(&tasks, entry.file_name())? {
                return Err(rustix::io::Errno::PERM);
            }
        }
    }
    // If /proc is of another pid namespace, it names other threads.
    if found_me { Ok(()) } else { Err(rustix::io::Errno::SRCH) }
}

/// Whether a thread is gone, or a zombie: a first thread that has ended stays until the process does, and answers nothing.
fn has_ended(tasks: &rustix::fd::OwnedFd, thread: &core::ffi::CStr) -> rustix::io::Result<bool> {
    use rustix::fs::OFlags;

    let mut stat = [0_u8; 128];
    let read = open_at(tasks, thread, OFlags::RDONLY | OFlags::DIRECTORY)
        .and_then(|task| open_at(task, c"stat", OFlags::RDONLY))
        .and_then(|file| rustix::io::read(&file, &mut stat));
    match read {
        // `tid (name) state ...`; the name may hold anything, parentheses too.
        Ok(length) => {
            let behind_name = stat[..length].iter().rposition(|&byte| byte == b')').map(|at| at + 2);
            Ok(matches!(behind_name.and_then(|at| stat.get(at)), Some(b'Z' | b'X')))
        }
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::SRCH) => Ok(true),
        Err(refusal) => Err(refusal),
    }
}

fn wait_for_answers() -> rustix::io::Result<()> {
    const PATIENCE: Duration = Duration::from_secs(1);
    let limit = rustix::fs::Timespec { tv_sec: PATIENCE.as_secs() as _, tv_nsec: 0 };
    loop {
        let pending = PENDING.load(Ordering::Acquire);
        if pending == 0 {
            return Ok(());
        }
        if let Err(errno @ rustix::io::Errno::TIMEDOUT) =
            futex::wait(&PENDING, futex::Flags::PRIVATE, pending, Some(&limit))
        {
            return Err(errno);
        }
    }
}
