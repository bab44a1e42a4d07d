//! CPUs whose numbers are not below `CPUS`.

use core::sync::atomic::AtomicU32;
use core::time::Duration;

use jumplabel::Error;
use jumplabel::platform::Platform;

use super::threads::{CPU, Threads};
use crate::{Bounds, Kernel};

const fn kernel() -> Kernel<Threads, 2, 1> {
    Kernel::new(Threads {
        patience: Duration::from_secs(60),
        refused: 0,
        wrong: None,
        serialised: [const { AtomicU32::new(0) }; 3],
        interrupts: AtomicU32::new(0),
        relaxed: AtomicU32::new(0),
        while_interrupting: || (),
        mapped: AtomicU32::new(0),
    })
}

/// Numbers that are too high: the lowest of them, and numbers that a shift would take for a smaller one.
const TOO_HIGH: [usize; 4] = [2, 64, 65, usize::MAX];

/// `start`, `online` and flips are refused on such CPUs, and nothing is done.
#[test]
fn they_cannot_come() {
    static KERNEL: Kernel<Threads, 2, 1> = kernel();
    static PLATFORM: &dyn Platform = &KERNEL;
    for cpu in TOO_HIGH {
        CPU.set(cpu);
        let refused = Err(Error::NoSuchCpu { cpu });
        // SAFETY: the call is refused, so nobody flips here.
        assert_eq!(unsafe { KERNEL.start(&PLATFORM, &Bounds { code: 0..0, all: 0..0 }) }, refused);
        assert_eq!(KERNEL.online(|_| unreachable!()), refused);
        assert_eq!(KERNEL.offline(), refused);
        // A flip on such a CPU is refused, too.
        assert_eq!(KERNEL.lock().map(drop), refused);
    }
    CPU.set(0);
    let token = KERNEL.lock().unwrap();
    // SAFETY: the token comes from `lock` above.
    unsafe { KERNEL.unlock(token) };
    assert!(KERNEL.is_early());
}

/// If such a CPU answers, it runs although it was not stopped, so flips are refused from then on. A CPU below `CPUS` may answer before it is online.
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
