//! UP mode on platforms where prefixes are sites.

#![cfg_attr(jumplabel_dylib, allow(named_asm_labels))]

use std::arch::asm;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use iced_x86::{Code, Decoder, DecoderOptions, Instruction};
use jumplabel::up::{self, AtomicU32, AtomicUsize};
use jumplabel::{Error, Outcome, lock_prefix};
use jumplabel_testing::beside::{ENOUGH, Watch};
use jumplabel_testing::scenario::{self, Scenario, passes};

/// Prefixes in a program's own assembler, before everything that an instruction may have after one.
#[inline(never)]
fn adds(number: &mut usize) {
    let (mut one, mut found) = (1_usize, 0_usize);
    // SAFETY: a number that nobody else has.
    unsafe {
        asm!(lock_prefix!(), "inc dword ptr [{number}]", number = in(reg) number);
        asm!(lock_prefix!(), "xadd [{number}], {one}", number = in(reg) number, one = inout(reg) one);
        asm!(lock_prefix!(), "add word ptr [{number}], 1", number = in(reg) number);
        asm!(lock_prefix!(), "cmpxchg [{number}], {one}", number = in(reg) number, one = in(reg) one, inout("ax") found);
    }
    assert_eq!((*number, one, found), (3, 1, 3));
}

/// The instructions of `adds` that have a lock, or could have one, with their bytes.
fn prefixed() -> Vec<(Instruction, Vec<u8>)> {
    let start = adds as *const () as usize;
    // SAFETY: code of this program, and what follows it is, too.
    let code = unsafe { std::slice::from_raw_parts(start as *const u8, 1500) };
    let mut decoder = Decoder::with_ip(usize::BITS, code, start as u64, DecoderOptions::NONE);
    let mut found = Vec::new();
    loop {
        let instruction = decoder.decode();
        let at = instruction.ip() as usize - start;
        let bytes = code[at..at + instruction.len()].to_vec();
        if [0x3e, 0xf0].contains(&bytes[0]) {
            found.push((instruction, bytes));
        }
        if instruction.mnemonic() == iced_x86::Mnemonic::Ret && found.len() >= 4 || at > 1400 {
            return found;
        }
    }
}

/// Runs a scenario in a child of the test's process, because that process has a second thread, the harness's.
fn alone(body: fn()) {
    scenario::reap(scenario::fork(move || {
        body();
        true
    }));
}

/// Takes the prefixes out. Tests that are to lose updates break the promise of `enter`.
fn enter() -> Result<Outcome, Error> {
    // SAFETY: threads are started after `leave`. Otherwise the test says that they lose updates, which are numbers.
    unsafe { up::enter() }
}

/// The bytes before, between and after: only the prefix changes, and no change is left at the end.
#[test]
fn bytes() {
    passes(|| {
        alone(|| {
            adds(&mut 0);
            let before = prefixed();
            assert!(before.len() >= 4, "{before:?}");
            assert!(
                !up::is_on()
                    && before.iter().all(|(instruction, bytes)| instruction.has_lock_prefix() && bytes[0] == 0xf0)
            );
            assert!(before.iter().any(|(instruction, _)| instruction.code() == Code::Inc_rm32));
            assert_eq!(up::leave().unwrap().sites, 0);
            let outcome = enter().unwrap();
            assert!(outcome.sites >= 5 && outcome.primed == 0, "{outcome:?}");
            let between = prefixed();
            assert!(up::is_on() && between.len() == before.len());
            for ((old, bytes), (new, unlocked)) in before.iter().zip(&between) {
                assert!(
                    !new.has_lock_prefix() && unlocked[0] == 0x3e && unlocked[1..] == bytes[1..],
                    "{bytes:02x?} {unlocked:02x?}"
                );
                assert_eq!((old.code(), old.len(), old.ip()), (new.code(), new.len(), new.ip()));
            }
            adds(&mut 0);
            super::operations();
            // A second call changes nothing.
            assert_eq!(enter().unwrap().sites, 0);
            assert_eq!(up::leave().unwrap().sites, outcome.sites);
            assert!(!up::is_on());
            assert_eq!(prefixed(), before);
        })
    });
}

/// Threads add to one number, all at once. Returns whether the number is right.
fn is_exact(threads: usize, rounds: usize) -> bool {
    watched(threads, rounds).0
}

/// Like `is_exact`. Also returns the number of times, at least, that one thread ran beside another.
fn watched(threads: usize, rounds: usize) -> (bool, u64) {
    let (number, barrier) = (Arc::new(AtomicUsize::new(0)), Arc::new(Barrier::new(threads)));
    let start = |_| {
        let (number, barrier) = (Arc::clone(&number), Arc::clone(&barrier));
        std::thread::spawn(move || {
            barrier.wait();
            let mut watch = Watch::begin();
            for _ in 0..rounds {
                watch.look(|| number.load(Relaxed));
                number.fetch_add(1, Relaxed);
                number.add(1, Relaxed);
                number.sub(1, Relaxed);
            }
            watch.end()
        })
    };
    let threads_started: Vec<_> = (0..threads).map(start).collect();
    let beside = threads_started.into_iter().map(|thread| thread.join().unwrap()).sum();
    (number.load(Relaxed) == threads * rounds, beside)
}

/// No update is lost in a program that knows nothing of UP mode, nor after UP mode.
#[test]
fn threads_lose_nothing() {
    passes(|| {
        for threads in [2, 8] {
            assert!(is_exact(threads, 300_000));
        }
        alone(|| {
            enter().unwrap();
            up::leave().unwrap();
            assert!(is_exact(8, 300_000));
        });
    });
}

/// Whether updates are lost before the threads have run beside each other for long. If the threads do not run so, nothing is shown.
fn loses() -> bool {
    let mut beside = 0;
    for _ in 0..ROUNDS {
        let (exact, more) = watched(2, 300_000);
        beside += more;
        if !exact || beside > 100 * ENOUGH {
            return !exact;
        }
    }
    println!("not shown: no two threads ran at once");
    true
}

/// The number of times that threads try to run at once.
const ROUNDS: usize = 500;

/// The broken twins: one that never puts the prefixes in, and one that puts them in when its threads run.
#[test]
fn broken_twins_lose_updates() {
    passes(|| alone(|| _ = (enter().unwrap(), assert!(loses()))));
    passes(|| {
        alone(|| {
            enter().unwrap();
            let number = Arc::new(AtomicUsize::new(0));
            let other = Arc::clone(&number);
            let [ran, stop] = [Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0))];
            let [running, stopped] = [Arc::clone(&ran), Arc::clone(&stop)];
            let thread = std::thread::spawn(move || {
                let mut added = 0_usize;
                while stopped.load(Relaxed) == 0 {
                    other.fetch_add(1, Relaxed);
                    added += 1;
                    running.store(added, Relaxed);
                }
                added
            });
            let (mut added, mut watch, mut rounds) = (0_usize, Watch::begin(), 0);
            let lost = |added: usize| ran.load(Relaxed) + added > number.load(Relaxed) + 1000;
            while !lost(added) && watch.end() < 100 * ENOUGH && rounds < 100 * ROUNDS {
                for _ in 0..10_000 {
                    watch.look(|| number.load(Relaxed));
                    number.fetch_add(1, Relaxed);
                    added += 1;
                }
                rounds += 1;
            }
            up::leave().unwrap();
            stop.store(1, Relaxed);
            let all = added + thread.join().unwrap();
            if watch.end() < 100 * ENOUGH && number.load(Relaxed) == all {
                return println!("not shown: no two threads ran at once");
            }
            assert!(number.load(Relaxed) < all);
        })
    });
}

/// Calls `enter` until the process has one thread: a thread that was joined may be on its way out for some microseconds more.
fn enter_at_last() {
    let start = Instant::now();
    while let Err(error) = enter() {
        assert!(matches!(error, Error::MultiThreaded { .. }), "{error}");
        assert!(start.elapsed() < Duration::from_secs(30), "{error}");
        std::thread::yield_now();
    }
}

#[test]
fn back_to_one_thread() {
    passes(|| {
        alone(|| {
            enter().unwrap();
            for _ in 0..20 {
                let (barrier, other) = (Arc::new(Barrier::new(2)), AtomicU32::new(0));
                let inner = Arc::clone(&barrier);
                let thread = up::spawn(move || inner.wait()).unwrap();
                assert!(matches!(enter(), Err(Error::MultiThreaded { .. })) && !up::is_on());
                assert!(prefixed().iter().all(|(instruction, _)| instruction.has_lock_prefix()));
                barrier.wait();
                thread.join().unwrap();
                enter_at_last();
                assert!(up::is_on());
                other.add(1, Relaxed);
            }
            // A child of fork has one thread, whatever its parent has.
            let barrier = Arc::new(Barrier::new(2));
            let inner = Arc::clone(&barrier);
            let thread = up::spawn(move || inner.wait()).unwrap();
            scenario::reap(scenario::fork(|| !up::is_on() && enter().is_ok() && up::is_on() && up::leave().is_ok()));
            assert!(!up::is_on());
            barrier.wait();
            thread.join().unwrap();
        })
    });
}

/// A breakpoint on a prefix: nothing changes, and no thread starts.
#[test]
fn foreign_bytes() {
    passes(|| {
        alone(|| {
            enter().unwrap();
            let before = prefixed();
            let site = before[1].0.ip() as usize;
            let write = |byte: u8| {
                let page = site & !(page_size() - 1);
                // SAFETY: a page of code, which nobody runs meanwhile.
                unsafe {
                    assert_eq!(
                        libc::mprotect(
                            page as *mut _,
                            page_size(),
                            libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC
                        ),
                        0
                    );
                    (site as *mut u8).write(byte);
                    assert_eq!(libc::mprotect(page as *mut _, page_size(), libc::PROT_READ | libc::PROT_EXEC), 0);
                }
            };
            write(0xcc);
            let error = up::leave().unwrap_err();
            assert!(matches!(error, Error::ForeignBytes { address, .. } if address == site), "{error}");
            let Err(refused) = up::spawn(|| unreachable!("a thread without prefixes")) else { panic!("started") };
            assert_eq!(refused.get_ref().and_then(|error| error.downcast_ref()), Some(&error));
            assert!(up::is_on());
            write(0x3e);
            assert_eq!(prefixed(), before);
            up::leave().unwrap();
        })
    });
}

fn page_size() -> usize {
    // SAFETY: no conditions.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as usize }
}

/// With each writer.
#[test]
fn writers() {
    for writer in ["procmem", "mprotect", "remap"] {
        Scenario::new().env("JUMPLABEL_WRITER", writer).passes(|| {
            alone(|| {
                for _ in 0..3 {
                    enter_at_last();
                    assert!(up::leave().unwrap().writer.is_some());
                    assert!(is_exact(2, 1000));
                }
            })
        });
    }
}
