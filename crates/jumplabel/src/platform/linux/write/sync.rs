//! Core sync: `membarrier(PRIVATE_EXPEDITED_SYNC_CORE)` interrupts every processor that runs a thread of this process, and makes the processor
//! serialise. (Intel SDM volume 3, 9.1.3, and AMD APM volume 2, 7.6.1, demand that after code was modified.)
//!
//! The system can refuse membarrier. (On loongarch64 it always does: Linux 7.2 has no membarrier there that serialises.) For that case, a
//! program can opt in to core sync by a signal to each thread. The library installs no handler for the signal: the program does, and calls
//! [`core_sync_handler`] in it. If the program does not opt in, a flip of primed sites reports
//! [`Visibility::Eventual`](crate::Visibility::Eventual), and a flip of pristine sites needs the `remap` writer or a process with a single
//! thread.

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
/// False if the last core sync was refused. True if it succeeded, or if none was tried.
static SYNCED: AtomicBool = AtomicBool::new(true);

/// Forgets earlier refusals. Called before the first write of a transaction.
pub(crate) fn reset() {
    REFUSED.store(false, Ordering::Relaxed);
}

/// Registers this process in advance, so that its first core sync need not do it. Costs milliseconds if there are several threads.
pub(crate) fn register() -> Result<(), Refusal> {
    Ok(membarrier(MembarrierCommand::RegisterPrivateExpeditedSyncCore)?)
}

/// Calls membarrier, and registers the process before that if necessary. If the process is not registered, the kernel answers EPERM. So no
/// comparison of process numbers is needed to notice a forked child, which is not registered. After the registration, membarrier interrupts the
/// other processors as if the process had always been registered.
fn membarrier_sync() -> Result<(), Refusal> {
    match membarrier(MembarrierCommand::PrivateExpeditedSyncCore) {
        Err(rustix::io::Errno::PERM) => {
            register()?;
            Ok(membarrier(MembarrierCommand::PrivateExpeditedSyncCore)?)
        }
        result => Ok(result?),
    }
}

/// When other threads see the writes that came after [`reset`].
pub(super) fn visibility() -> Visibility {
    if REFUSED.load(Ordering::Relaxed) { Visibility::Eventual } else { Visibility::Immediate }
}

/// False if the last core sync was refused.
pub(crate) fn is_synced() -> bool {
    SYNCED.load(Ordering::Relaxed)
}

/// Makes all other threads serialise. An error if the system refuses.
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
    // SAFETY: the pointer is null, or leads to `ROUND`.
    let round = unsafe { BY_SIGNAL.load(Ordering::Relaxed).as_ref() };
    match (round, SIGNAL.load(Ordering::Relaxed)) {
        _ if pages::single_threaded() => Ok(()),
        (None, _) | (_, 0) => Err(refused),
        (Some(round), signal) => round(signal),
    }
}

/// Calls `riscv_flush_icache` for all threads. After that, all threads fetch the stored instructions, whatever processor they run on later. Returns
/// false if the system refuses; on newer kernels (6.10), membarrier then does the same.
#[cfg(target_arch = "riscv64")]
fn flush_all() -> bool {
    const SYS_RISCV_FLUSH_ICACHE: core::ffi::c_long = 259;
    // SAFETY: the kernel ignores the range. No flags mean all threads.
    unsafe { libc::syscall(SYS_RISCV_FLUSH_ICACHE, 0_usize, 0_usize, 0_usize) == 0 }
}

static SIGNAL: AtomicI32 = AtomicI32::new(0);
/// The address of [`ROUND`] if the program has opted in; null before that. If no program opts in, the linker drops the code of [`signal_all`].
static BY_SIGNAL: AtomicPtr<Round> = AtomicPtr::new(core::ptr::null_mut());
type Round = fn(i32) -> Result<(), Refusal>;
static ROUND: Round = signal_all;
static PENDING: AtomicU32 = AtomicU32::new(0);

/// Allows core sync by signal if membarrier is refused. A flip then sends `signal` to each other thread, and waits for all answers. If `signal`
/// is 0, forbids it again. At the start of the program it is forbidden. Costs about 7 us for each thread.
///
/// If a thread blocks the signal for a second, the flip stops waiting, reports [`Visibility::Eventual`](crate::Visibility::Eventual), and
/// forbids core sync by signal from then on.
///
/// # Safety
/// A handler for `signal` is installed, and calls [`core_sync_handler`]. Nothing else sends the signal.
pub unsafe fn core_sync_by_signal(signal: i32) {
    SIGNAL.store(signal, Ordering::Relaxed);
    // `black_box` hides the value from the compiler. If the compiler knew that the pointer is either null or this value, it would replace the
    // pointer by a flag, and call `signal_all` directly. Then the linker could never drop that function.
    BY_SIGNAL.store(core::hint::black_box((&raw const ROUND).cast_mut()), Ordering::Relaxed);
}

/// Core sync by signal: the handler for the signal of [`core_sync_by_signal`] calls this function. Either this function serialises, or the return
/// from the handler does (x86: `iret`). Async-signal-safe.
///
/// # Safety
/// Call it exactly once each time the signal arrives. A second call would count as the answer of a thread that has not answered.
pub unsafe fn core_sync_handler() {
    fence(Ordering::SeqCst);
    // SAFETY: serialising only drops instructions that were fetched ahead.
    unsafe { Native::act(Act::Serialise) };
    if PENDING.fetch_sub(1, Ordering::Release) == 1 {
        let _ = futex::wake(&PENDING, futex::Flags::PRIVATE, 1);
    }
}

/// Sends the signal to each other thread, and waits for all answers. After a failed round, late answers can still come, and would count for the
/// next round. So a failed round is the last one.
fn signal_all(signal: i32) -> Result<(), Refusal> {
    // `PENDING` begins at 1, so that it does not reach 0 before the signal was sent to all threads.
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
        // SAFETY: tgkill takes three integers.
        if unsafe { libc::syscall(libc::SYS_TGKILL, process, thread, signal) } != 0 {
            PENDING.fetch_sub(1, Ordering::Relaxed);
            if !has_ended(&tasks, entry.file_name())? {
                return Err(rustix::io::Errno::PERM);
            }
        }
    }
    // If /proc belongs to another pid namespace, its entries have the numbers of other threads.
    if found_me { Ok(()) } else { Err(rustix::io::Errno::SRCH) }
}

/// Whether a thread has ended, even if it is still there as a zombie. The first thread of a process can be a zombie: after its end it stays until
/// the process ends, and answers no signal.
fn has_ended(tasks: &rustix::fd::OwnedFd, thread: &core::ffi::CStr) -> rustix::io::Result<bool> {
    use rustix::fs::OFlags;

    let mut stat = [0_u8; 128];
    let read = open_at(tasks, thread, OFlags::RDONLY | OFlags::DIRECTORY)
        .and_then(|task| open_at(task, c"stat", OFlags::RDONLY))
        .and_then(|file| rustix::io::read(&file, &mut stat));
    match read {
        // The file holds `tid (name) state ...`. The name can contain anything, even parentheses.
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
