//! Core sync: `membarrier(PRIVATE_EXPEDITED_SYNC_CORE)` interrupts every processor that runs a thread of this process, and makes the processor
//! serialise. (Intel SDM volume 3, 9.1.3, and AMD APM volume 2, 7.6.1, demand that after code was modified.)
//!
//! The system can refuse membarrier. (On loongarch64 it always does, because Linux 7.2 has no membarrier there that serialises.) For that case, a
//! program can opt in to core sync by signal: a signal to each thread. The library installs no handler for that signal. The program installs one,
//! which calls [`core_sync_handler`]. If membarrier is refused and the program has not opted in, a flip of primed sites reports
//! [`Visibility::Eventual`](crate::Visibility::Eventual), and a flip of pristine sites needs the `remap` writer or a process with a single thread.

use core::num::NonZeroU32;
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
/// False if the last core sync of this process was refused. True if it succeeded, or if none was tried yet.
static SYNCED: AtomicBool = AtomicBool::new(true);

/// Forgets earlier refusals, for [`visibility`]. Called before the first write of a transaction.
pub(crate) fn reset() {
    REFUSED.store(false, Ordering::Relaxed);
}

/// Registers this process for membarrier, so that the first core sync need not do that. Costs milliseconds if the process has several threads.
pub(crate) fn register() -> Result<(), Refusal> {
    Ok(membarrier(MembarrierCommand::RegisterPrivateExpeditedSyncCore)?)
}

/// Does a core sync by membarrier. If the process is not registered, the kernel answers EPERM; then this registers the process and calls membarrier
/// again. So the library need not remember whether this process, or the one that it was forked from, was registered. After the registration,
/// membarrier interrupts the other processors as if the process had been registered from the beginning.
fn membarrier_sync() -> Result<(), Refusal> {
    match membarrier(MembarrierCommand::PrivateExpeditedSyncCore) {
        Err(rustix::io::Errno::PERM) => {
            register()?;
            Ok(membarrier(MembarrierCommand::PrivateExpeditedSyncCore)?)
        }
        result => Ok(result?),
    }
}

/// The moment at which other threads see the writes since [`reset`].
pub(super) fn visibility() -> Visibility {
    if REFUSED.load(Ordering::Relaxed) { Visibility::Eventual } else { Visibility::Immediate }
}

/// False if the last core sync of this process was refused.
pub(crate) fn is_synced() -> bool {
    SYNCED.load(Ordering::Relaxed)
}

/// Does a core sync: makes all other threads of this process serialise. Returns an error if the system refuses.
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
    // SAFETY: the pointer is null, or leads to the static `ROUND`.
    let round = unsafe { BY_SIGNAL.load(Ordering::Relaxed).as_ref() };
    match (round, SIGNAL.load(Ordering::Relaxed)) {
        _ if pages::single_threaded() => Ok(()),
        (None, _) | (_, 0) => Err(refused),
        (Some(round), signal) => round(signal),
    }
}

/// Calls `riscv_flush_icache` for all threads. After that, all threads fetch the stored instructions, whatever processor they run on later. Returns
/// false if the system refuses. The caller then uses membarrier, which does the same since Linux 6.10.
#[cfg(target_arch = "riscv64")]
fn flush_all() -> bool {
    const SYS_RISCV_FLUSH_ICACHE: core::ffi::c_long = 259;
    // SAFETY: the kernel ignores the range. No flags mean all threads.
    unsafe { libc::syscall(SYS_RISCV_FLUSH_ICACHE, 0_usize, 0_usize, 0_usize) == 0 }
}

static SIGNAL: AtomicI32 = AtomicI32::new(0);
/// The address of [`ROUND`] if the program has called [`core_sync_by_signal`], otherwise null. The call of [`signal_all`] goes through this pointer,
/// so that a program that never opts in does not contain that function.
static BY_SIGNAL: AtomicPtr<Round> = AtomicPtr::new(core::ptr::null_mut());
type Round = fn(i32) -> Result<(), Refusal>;
static ROUND: Round = signal_all;
static PENDING: AtomicU32 = AtomicU32::new(0);

/// Allows core sync by signal, for flips for which the system refuses membarrier. Such a flip sends `signal` to each other thread, and waits until
/// all threads have answered. That costs about 7 us for each thread. A `signal` of 0 forbids core sync by signal again, which is the state at the
/// start of the program.
///
/// If a thread has not answered after a second, for example because it blocks the signal, the core sync counts as refused, and core sync by signal is
/// forbidden from then on. A flip of primed sites then reports [`Visibility::Eventual`](crate::Visibility::Eventual).
///
/// # Safety
/// The program has installed a handler for `signal` that calls [`core_sync_handler`]. Nothing else sends that signal.
pub unsafe fn core_sync_by_signal(signal: i32) {
    SIGNAL.store(signal, Ordering::Relaxed);
    // `black_box` hides the value from the compiler. Otherwise the compiler could replace the pointer by a flag, and call `signal_all` directly. The
    // linker could then not drop `signal_all` from a program that never opts in.
    BY_SIGNAL.store(core::hint::black_box((&raw const ROUND).cast_mut()), Ordering::Relaxed);
}

/// Answers a flip that does a core sync by signal. The program's handler for the signal of [`core_sync_by_signal`] must call this function. The
/// thread serialises in this function or, on x86, at the return from the handler (`iret`). Async-signal-safe.
///
/// # Safety
/// The handler calls this function exactly once each time the signal arrives. A second call would count as the answer of another thread.
pub unsafe fn core_sync_handler() {
    fence(Ordering::SeqCst);
    // SAFETY: this only makes the processor serialise, which changes no data.
    unsafe { Native::act(Act::Serialise) };
    if PENDING.fetch_sub(1, Ordering::Release) == 1 {
        let _ = futex::wake(&PENDING, futex::Flags::PRIVATE, 1);
    }
}

/// Sends the signal to each other thread, and waits for all answers. After a failure, forbids core sync by signal: late answers can still come, and
/// would count for the next round.
fn signal_all(signal: i32) -> Result<(), Refusal> {
    // `PENDING` counts the missing answers. It begins at 1, so that it cannot reach 0 before the signal was sent to all threads.
    PENDING.store(1, Ordering::Relaxed);
    let answered = send(signal).and_then(|()| {
        PENDING.fetch_sub(1, Ordering::AcqRel);
        wait_for_answers()
    });
    answered.inspect_err(|_| SIGNAL.store(0, Ordering::Relaxed)).map_err(Refusal::from)
}

/// Sends the signal to each other thread, and counts these threads in [`PENDING`]. Returns an error if the threads cannot be listed, or if one of
/// them cannot get the signal.
fn send(signal: i32) -> rustix::io::Result<()> {
    use rustix::fs::{OFlags, RawDir};

    let tasks = open(c"/proc/thread-self/../", OFlags::RDONLY | OFlags::DIRECTORY)?;
    if !is_procfs(rustix::fs::fstatfs(&tasks)) {
        return Err(rustix::io::Errno::NOTTY);
    }
    let process = libc::process();
    let me = libc::gettid().ok_or(rustix::io::Errno::PERM)?.get();
    let mut buffer = [core::mem::MaybeUninit::<u8>::uninit(); 2048];
    let mut entries = RawDir::new(&tasks, &mut buffer);
    let mut found_me = false;
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let Some(thread) = entry.file_name().to_str().ok().and_then(|name| name.parse::<u32>().ok()) else { continue };
        if thread == me {
            found_me = true;
            continue;
        }
        if has_ended(&tasks, entry.file_name())? {
            continue;
        }
        PENDING.fetch_add(1, Ordering::Relaxed);
        // SAFETY: `tgkill` takes three integers. The caller of `core_sync_by_signal` guarantees that a handler for the signal is installed.
        if unsafe { libc::syscall(libc::SYS_TGKILL, process, thread, signal) } != 0 {
            PENDING.fetch_sub(1, Ordering::Relaxed);
            if !has_ended(&tasks, entry.file_name())? {
                return Err(rustix::io::Errno::PERM);
            }
        }
    }
    // If this thread is not among the entries, /proc belongs to another pid namespace, and the numbers are those of other threads.
    if found_me { Ok(()) } else { Err(rustix::io::Errno::SRCH) }
}

/// Whether a thread does not exist or is a zombie, and so answers no signal. The first thread of a process can be a zombie: after its end, it stays
/// until the process ends.
fn has_ended(tasks: &rustix::fd::OwnedFd, thread: &core::ffi::CStr) -> rustix::io::Result<bool> {
    use rustix::fs::OFlags;

    let mut stat = [0_u8; 128];
    let read = open_at(tasks, thread, OFlags::RDONLY | OFlags::DIRECTORY)
        .and_then(|task| open_at(task, c"stat", OFlags::RDONLY))
        .and_then(|file| rustix::io::read(&file, &mut stat));
    match read {
        // The file contains `tid (name) state ...`. The name can contain anything, even parentheses, so this looks for the last one.
        Ok(length) => {
            let behind_name = stat[..length].iter().rposition(|&byte| byte == b')').map(|at| at + 2);
            Ok(matches!(behind_name.and_then(|at| stat.get(at)), Some(b'Z' | b'X')))
        }
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::SRCH) => Ok(true),
        Err(refusal) => Err(refusal),
    }
}

/// Waits until all threads have answered. Returns the error ETIMEDOUT if they have not within a second. Neither a signal handler nor an answer makes
/// that time begin again.
fn wait_for_answers() -> rustix::io::Result<()> {
    const PATIENCE: Duration = Duration::from_secs(1);
    let end = libc::now().saturating_add(PATIENCE);
    let limit = rustix::fs::Timespec { tv_sec: end.as_secs() as _, tv_nsec: end.subsec_nanos() as _ };
    loop {
        let pending = PENDING.load(Ordering::Acquire);
        if pending == 0 {
            return Ok(());
        }
        // A sandbox may refuse this call, and the time ends all the same.
        let result = futex::wait_bitset(&PENDING, futex::Flags::PRIVATE, pending, Some(&limit), NonZeroU32::MAX);
        if result.is_err() && libc::now() >= end {
            return Err(rustix::io::Errno::TIMEDOUT);
        }
    }
}
