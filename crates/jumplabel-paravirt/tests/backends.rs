//! Each backend has the same results as the native one.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};

use jumplabel_paravirt::irq::{self, Cpu, IRQ, Interrupts};
use jumplabel_paravirt::lock::{LOCK, Lock, Locking};
use jumplabel_paravirt::pte::{self, DISTANCE, PTE, Paging};
use jumplabel_testing::scenario::passes;

const LOCKINGS: [Locking; 3] = [Locking::Ticket, Locking::Byte, Locking::Called];
const INTERRUPTS: [Interrupts; 3] = [Interrupts::Native, Interrupts::Masked, Interrupts::Called];
const PAGINGS: [Paging; 3] = [Paging::Native, Paging::Moved, Paging::Called];

/// One thread takes a lock of each backend, and gives it back.
#[test]
fn lock() {
    passes(|| {
        for backend in LOCKINGS {
            LOCK.set(backend).unwrap();
            let lock = Lock::new();
            // Each half of a ticket lock has 16 bits, so this many turns overflow it.
            for _ in 0..70_000 {
                lock.lock();
                // SAFETY: this thread has just taken the lock.
                unsafe { lock.unlock() };
            }
            lock.unlock_wait();
            assert!(!lock.is_locked() && !lock.is_contended(), "{backend:?}");
            assert!(lock.try_lock() && lock.is_locked() && !lock.is_contended(), "{backend:?}");
            assert!(!lock.try_lock(), "{backend:?}");
            // SAFETY: this thread has taken the lock above.
            unsafe { lock.unlock() };
            assert!(!lock.is_locked(), "{backend:?}");
        }
    });
}

struct Guarded(Lock, UnsafeCell<u64>);
// SAFETY: only the thread that has the lock accesses the value.
unsafe impl Sync for Guarded {}

/// Two threads add to a number that the lock guards.
#[test]
fn exclusion() {
    const TIMES: u64 = 20_000;
    passes(|| {
        for backend in LOCKINGS {
            LOCK.set(backend).unwrap();
            let guarded = &Guarded(Lock::new(), UnsafeCell::new(0));
            let add = move |ways: u64| {
                for turn in 0..TIMES {
                    if turn % 4 != ways || !guarded.0.try_lock() {
                        guarded.0.lock();
                    }
                    // SAFETY: this thread has the lock.
                    unsafe {
                        *guarded.1.get() += 1;
                        guarded.0.unlock();
                    }
                }
            };
            std::thread::scope(|scope| {
                for ways in [1, 2] {
                    scope.spawn(move || add(ways));
                }
            });
            // SAFETY: the other threads have ended, so nobody else uses the value.
            assert_eq!(unsafe { *guarded.1.get() }, 2 * TIMES, "{backend:?}");
        }
    });
}

/// While one thread waits, the lock is contended, and the waiter has interrupts on.
#[test]
fn contended() {
    passes(|| {
        for backend in LOCKINGS {
            LOCK.set(backend).unwrap();
            let (lock, cpu, has_it) = (Lock::new(), Cpu::new(), AtomicBool::new(false));
            // SAFETY: the pointers lead to processors, and to a lock that is taken.
            unsafe {
                irq::disable(cpu.as_ptr());
                lock.lock();
                std::thread::scope(|scope| {
                    scope.spawn(|| {
                        lock.lock_flags(&cpu, 1);
                        has_it.store(true, Ordering::SeqCst);
                        lock.unlock();
                    });
                    while !lock.is_contended() || irq::save(cpu.as_ptr()) == 0 {
                        std::thread::yield_now();
                    }
                    assert!(!has_it.load(Ordering::SeqCst), "{backend:?}");
                    lock.unlock();
                    lock.unlock_wait();
                });
                assert!(has_it.load(Ordering::SeqCst) && irq::save(cpu.as_ptr()) == 0, "{backend:?}");
            }
            assert!(!lock.is_locked(), "{backend:?}");
        }
    });
}

#[test]
fn interrupts() {
    passes(|| {
        for backend in INTERRUPTS {
            IRQ.set(backend).unwrap();
            let cpu = Cpu::new();
            let at = cpu.as_ptr();
            // SAFETY: the pointer leads to a processor.
            let seen = unsafe {
                let first = irq::save(at);
                irq::disable(at);
                let off = irq::save(at);
                irq::restore(at, first);
                let restored = irq::save(at);
                irq::restore(at, off);
                let restored_off = irq::save(at);
                irq::enable(at);
                [first, off, restored, restored_off, irq::save(at)]
            };
            assert_eq!(seen, [1, 0, 1, 0, 1], "{backend:?}");
        }
    });
}

/// A guest takes an interrupt that came while interrupts were off. It takes it when it switches them on, and only once.
#[test]
fn pending() {
    passes(|| {
        for (backend, expected) in INTERRUPTS.into_iter().zip([0, 2, 2]) {
            IRQ.set(backend).unwrap();
            let cpu = Cpu::new();
            let at = cpu.as_ptr();
            // SAFETY: the pointer leads to a processor.
            unsafe {
                irq::disable(at);
                cpu.send();
                irq::restore(at, 0);
                assert_eq!(cpu.taken(), 0, "{backend:?}");
                irq::enable(at);
                irq::enable(at);
                irq::disable(at);
                cpu.send();
                irq::restore(at, 1);
            }
            assert_eq!(cpu.taken(), expected, "{backend:?}");
        }
    });
}

/// A guest reads the address that it has put into an entry, while the entry holds the machine's address.
#[test]
fn entries() {
    passes(|| {
        for (backend, distance) in PAGINGS.into_iter().zip([0, DISTANCE, DISTANCE]) {
            PTE.set(backend).unwrap();
            let mut entry = 0;
            for address in [0, 0x1000, 0x7fff_ffff_f000] {
                // SAFETY: the pointer leads to an entry.
                let read = unsafe {
                    pte::set(&raw mut entry, pte::make(address));
                    pte::read(&raw const entry)
                };
                // SAFETY: the pointer leads to `entry`. The read is volatile, because the compiler does not see that assembler wrote the entry.
                let stored = unsafe { (&raw const entry).read_volatile() };
                assert_eq!((read, stored), (address, address + distance), "{backend:?}");
            }
        }
    });
}
