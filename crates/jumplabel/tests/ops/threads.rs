//! Tables that change while threads run, and where the system or the program forbids it.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use jumplabel::platform::{Held, Write, Writer};
use jumplabel::{Error, Refusal, WriterKind, for_each_mode_site, set_writer};
use jumplabel_testing::scenario::{Scenario, fork, passes, reap, rounds};
use jumplabel_testing::twin::{Twin, install};

use super::{COUNTER, Counting, EACH, all, count, counted};

/// Counts with two threads while `change` is called: no event is lost, and none is counted in a way that no backend has.
fn under_threads(change: impl Fn(usize)) {
    let (stop, events, counter) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU32::new(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut own = 0;
                while !stop.load(Ordering::Relaxed) {
                    for _ in 0..64 {
                        // SAFETY: a number.
                        unsafe { count(counter.as_ptr()) };
                        own += 1;
                    }
                }
                events.fetch_add(own, Ordering::Relaxed);
            });
        }
        change(rounds(300));
        stop.store(true, Ordering::Relaxed);
    });
    let (events, counted) = (events.into_inner(), u64::from(counter.into_inner()));
    assert!(counted >= events && counted <= events * 3, "{events} events, counted {counted}");
}

/// Backends that count an event once, twice or three times.
fn change(rounds: usize) {
    for round in 0..rounds {
        let backend = [Counting::Twice, Counting::Closed, Counting::Plain][round % 3];
        let outcome = COUNTER.set(backend).unwrap();
        assert!(outcome.writer.is_some());
    }
    COUNTER.native().unwrap();
}

#[test]
fn under_running_threads() {
    passes(|| {
        under_threads(|rounds| {
            assert_eq!(COUNTER.set(Counting::Closed).unwrap().writer, Some(WriterKind::Remap));
            change(rounds);
        });
    });
}

/// Only `remap` may write then.
#[test]
fn refused_under_threads() {
    passes(|| {
        let sites = || {
            let mut sites = Vec::new();
            for_each_mode_site(COUNTER.raw().mode(), |site| sites.push((site.address, site.bytes))).unwrap();
            sites
        };
        COUNTER.set(Counting::Twice).unwrap();
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    std::thread::yield_now()
                }
            });
            for writer in [WriterKind::Mprotect, WriterKind::Procmem] {
                set_writer(Some(writer));
                let before = sites();
                let error = COUNTER.set(Counting::Closed).unwrap_err();
                assert_eq!(error, Error::MultiThreaded { core_sync: Refusal::NOT_TRIED, remap: Refusal::NOT_TRIED });
                assert!(error.to_string().contains("before the first thread starts"), "{error}");
                assert_eq!((all(), COUNTER.query(), sites()), (EACH[2].1, Counting::Twice, before));
            }
            set_writer(None);
            COUNTER.set(Counting::Closed).unwrap();
            assert_eq!(all(), EACH[3].1);
            stop.store(true, Ordering::Relaxed);
        });
    });
}

/// With one thread, any writer.
#[test]
fn alone() {
    passes(|| {
        reap(fork(|| {
            [WriterKind::Mprotect, WriterKind::Procmem, WriterKind::Remap].into_iter().all(|writer| {
                set_writer(Some(writer));
                EACH.into_iter().rev().all(|(backend, expected)| {
                    let outcome = COUNTER.set(backend).unwrap();
                    (outcome.sites == 0 || outcome.writer == Some(writer)) && all() == expected
                })
            })
        }));
    });
}

/// A platform that says that there is one thread.
struct Alone;

impl Twin for Alone {
    fn is_alone(&self, _: &mut Held) -> bool {
        true
    }

    /// Writes byte by byte, as a writer may if no other thread runs.
    fn write(&self, writer: &mut dyn Writer, writes: &[Write]) -> Result<(), (usize, Refusal)> {
        for (number, write) in writes.iter().enumerate() {
            for (at, byte) in write.bytes().iter().enumerate() {
                // SAFETY: a part of what was to be written.
                unsafe { writer.write(&[Write::new(write.address + at, &[*byte], false)]) }
                    .map_err(|(_, refusal)| (number, refusal))?;
            }
        }
        Ok(())
    }
}

/// Bytes that change under a thread: it executes an instruction that nobody wrote, and crashes or counts wrong.
#[test]
fn twin_that_does_not_look_for_threads() {
    Scenario::new().fails("", || {
        // A thread that goes astray may panic anywhere, and the others would wait for it.
        std::panic::set_hook(Box::new(|_| std::process::abort()));
        install(Alone);
        set_writer(Some(WriterKind::Procmem));
        loop {
            under_threads(change);
        }
    });
}

/// A child of the process that is made while the table changes has one state or the other.
#[test]
fn forked_in_between() {
    passes(|| {
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    for (backend, _) in EACH {
                        COUNTER.set(backend).unwrap();
                    }
                }
            });
            for _ in 0..rounds(60) {
                reap(fork(|| {
                    let (_, expected) = EACH.into_iter().find(|(backend, _)| *backend == COUNTER.query()).unwrap();
                    let right = all() == expected;
                    let others =
                        EACH.into_iter().all(|(backend, expected)| COUNTER.set(backend).is_ok() && all() == expected);
                    right && others
                }));
            }
            stop.store(true, Ordering::Relaxed);
        });
    });
}

/// Bytes that a debugger leaves.
#[test]
fn foreign_bytes() {
    passes(|| {
        for (backend, expected) in EACH {
            COUNTER.set(backend).unwrap();
            let mut addresses = Vec::new();
            for_each_mode_site(COUNTER.raw().mode(), |site| addresses.push(site.address)).unwrap();
            assert!(!addresses.is_empty());
            for address in addresses {
                let old = read(address);
                write(address, 0xcc);
                let next = if backend == Counting::Twice { Counting::Closed } else { Counting::Twice };
                let error = COUNTER.set(next).unwrap_err();
                assert!(matches!(error, Error::ForeignBytes { address: at, .. } if at == address), "{error:?}");
                write(address, old);
                assert_eq!((COUNTER.query(), all(), counted(0)), (backend, expected, counted(0)));
            }
        }
    });
}

fn read(address: usize) -> u8 {
    // SAFETY: a site.
    unsafe { (address as *const u8).read_volatile() }
}

fn write(address: usize, byte: u8) {
    // SAFETY: a byte of code that nobody executes meanwhile.
    unsafe {
        let memory = libc::open(c"/proc/self/mem".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
        assert_eq!(libc::pwrite64(memory, (&raw const byte).cast(), 1, address as i64), 1);
        libc::close(memory);
    }
}
