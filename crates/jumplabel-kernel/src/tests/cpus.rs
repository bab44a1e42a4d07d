//! Tests of CPU numbers: numbers that are not below `CPUS`, and callers that a scheduler moves to another CPU.

use core::sync::atomic::AtomicU32;
use core::time::Duration;

use jumplabel::platform::Platform;
use jumplabel::{Error, Lock, Refusal};

use super::threads::{CPU, NEXT, OFF, Threads};
use crate::{Bounds, Kernel, Machine, TIMED_OUT};

const fn kernel() -> Kernel<Threads, 3, 1> {
    Kernel::new(Threads {
        patience: Duration::ZERO,
        refused: 0,
        wrong: None,
        serialised: [const { AtomicU32::new(0) }; 3],
        interrupts: AtomicU32::new(0),
        relaxed: AtomicU32::new(0),
        while_interrupting: || (),
        mapped: AtomicU32::new(0),
    })
}

/// Numbers that are not below `CPUS`: the lowest one, and numbers that a shift by them would treat like smaller ones.
const TOO_HIGH: [usize; 4] = [3, 64, 65, usize::MAX];

/// The platform of this test process. Only the test `of_this_process` uses it.
static KERNEL: Kernel<Threads, 3, 1> = kernel();
static PLATFORM: &dyn Platform = &KERNEL;

/// All memory, so that the tables of this process lie in it.
const ALL: Bounds = Bounds { code: 0..usize::MAX, all: 0..usize::MAX };

#[test]
fn of_this_process() {
    they_cannot_come();
    moved_callers();
}

/// `start`, `online`, `offline` and flips on a CPU whose number is too high are refused, and change nothing.
fn they_cannot_come() {
    for cpu in TOO_HIGH {
        CPU.set(cpu);
        // SAFETY: the call is refused, so nobody flips here.
        assert_eq!(unsafe { KERNEL.start(&PLATFORM, &ALL) }, Err(Error::NoSuchCpu { cpu }));
    }
    CPU.set(0);
    // SAFETY: nobody flips here, and these bounds contain all objects.
    unsafe { KERNEL.start(&PLATFORM, &ALL) }.unwrap();
    // A second start is refused, on each CPU, and the bounds of the first one stay.
    for (cpu, bounds) in [(0, ALL), (1, ALL), (0, Bounds { code: 0..0, all: 0..0 })] {
        CPU.set(cpu);
        // SAFETY: the call is refused, so nobody flips with these bounds.
        assert_eq!(unsafe { KERNEL.start(&PLATFORM, &bounds) }, Err(Error::Sealed));
        // SAFETY: `place` returns these words for the kernel.
        assert_eq!(unsafe { KERNEL.image([0, 1, 0]) }.map(|image| image.bounds()), Some(ALL.all));
    }
    for cpu in TOO_HIGH {
        CPU.set(cpu);
        let refused = Err(Error::NoSuchCpu { cpu });
        assert_eq!(KERNEL.online(|_| unreachable!()), refused);
        assert_eq!(KERNEL.offline(), refused);
        // A flip on such a CPU is refused, too.
        assert_eq!(KERNEL.lock().map(drop), refused);
        assert_eq!(OFF.get(), 0);
    }
    CPU.set(0);
    let token = KERNEL.lock().unwrap();
    // SAFETY: the token comes from `lock` above.
    unsafe { KERNEL.unlock(token) };
    assert!(KERNEL.is_early());
}

/// The CPU that a flip on CPU 0 waits for in vain. `None` if no other CPU is online.
fn last_stopped() -> Option<usize> {
    CPU.set(0);
    let token = KERNEL.lock().unwrap();
    let stopped = KERNEL.stopped(|| ());
    // SAFETY: the token comes from `lock` above.
    unsafe { KERNEL.unlock(token) };
    assert!(stopped == Err(Refusal::errno(TIMED_OUT)) || stopped == Ok(((), true)), "{stopped:?}");
    stopped.err().and(KERNEL.late())
}

/// Calls `work` on the CPU `cpu`. If `work` asks for the CPU's number while interrupts are on, a scheduler then moves it to the CPU `next`. Returns
/// the CPU on which `work` ended, and its result.
fn movable<T>(cpu: usize, next: usize, work: impl FnOnce() -> Result<T, Error>) -> (usize, T) {
    CPU.set(cpu);
    NEXT.set(Some(next));
    let done = work().unwrap();
    NEXT.set(None);
    (CPU.get(), done)
}

/// `online`, `offline` and the lock ask for the CPU's number only when a scheduler cannot move the caller any more.
fn moved_callers() {
    let (online, inside) = movable(1, 2, || {
        let mut inside = 0;
        KERNEL.online(|_| inside = CPU.get()).map(|()| inside)
    });
    assert_eq!((last_stopped(), inside), (Some(online), online));
    let (offline, ()) = movable(1, 2, || KERNEL.offline());
    assert_eq!((last_stopped(), offline), (None, 1));
    // A broken copy of `online` asks for the number before it takes the lock. It ends on CPU 2, and flips stop CPU 1 instead.
    let (online, ()) = movable(1, 2, || {
        let cpu = KERNEL.machine().cpu();
        let _lock = Lock::take()?;
        KERNEL.come(cpu);
        Ok(())
    });
    assert_eq!((online, last_stopped()), (2, Some(1)));
    // CPUs 1 and 2 are online now. The one that calls `offline` goes offline, and the other stays online.
    CPU.set(2);
    KERNEL.online(|_| ()).unwrap();
    let (offline, ()) = movable(1, 2, || KERNEL.offline());
    assert_eq!((last_stopped(), offline), (Some(2), 1));
    let (locked, token) = movable(0, 64, || KERNEL.lock());
    assert_eq!(locked, 0);
    // SAFETY: the token comes from `lock` above.
    unsafe { KERNEL.unlock(token) };
}

/// If a CPU whose number is too high calls `answer`, flips are refused from then on, because they cannot stop it. A CPU below `CPUS` may call
/// `answer` before it is online.
#[test]
fn they_cannot_answer() {
    for cpu in TOO_HIGH {
        let kernel = kernel();
        for known in [0, 1] {
            CPU.set(known);
            kernel.answer();
            let token = kernel.lock().unwrap();
            // SAFETY: the token comes from `lock` above.
            unsafe { kernel.unlock(token) };
        }
        CPU.set(cpu);
        kernel.answer();
        CPU.set(0);
        for _ in 0..2 {
            assert_eq!(kernel.lock().map(drop), Err(Error::NoSuchCpu { cpu }));
        }
    }
}
