//! The thread that carries out deferred decs: flush waits for it, children of fork have none, and it may be impossible to start one.

use std::sync::OnceLock;
use std::thread::Thread;
use std::time::{Duration, Instant};

use jumplabel::Error;
use jumplabel::platform::builtin;
use jumplabel_testing::real_time::{Upper, wake};

use super::{AT_ONCE, MANY_LATE, NEVER, SLOW, at_once, never, slow, wait_until};
use crate::scenario::{fork, passes, reap, repeats, skip};
use crate::twin::{self, Twin};

/// One dec is due. It happens once, whether the worker or `flush` carries it out, and a user who came meanwhile stays.
#[test]
fn flush_against_the_worker() {
    passes(|| {
        let start = Instant::now();
        let mut rounds = 0;
        while start.elapsed() < Duration::from_secs(3) {
            AT_ONCE.inc().unwrap();
            AT_ONCE.dec_deferred().unwrap();
            AT_ONCE.inc().unwrap();
            for _ in 0..rounds % 64 {
                std::hint::spin_loop();
            }
            AT_ONCE.flush().unwrap();
            assert!(AT_ONCE.count() == 1 && at_once(), "round {rounds}: one dec too many");
            AT_ONCE.dec().unwrap();
            assert!(!at_once());
            rounds += 1;
        }
        println!("{rounds} rounds");
    });
}

/// When `flush` returns, nothing is due and nothing is on its way: the key is off, whoever carried it out.
#[test]
fn flush_waits_for_the_worker() {
    passes(|| {
        let start = Instant::now();
        let (mut rounds, mut late) = (0, 0);
        while start.elapsed() < Duration::from_secs(3) {
            AT_ONCE.inc().unwrap();
            AT_ONCE.dec_deferred().unwrap();
            let due = Instant::now() + Duration::from_millis(1) + Duration::from_micros(rounds % 256);
            while Instant::now() < due {
                std::hint::spin_loop();
            }
            late += u32::from(AT_ONCE.flush().unwrap().is_none());
            assert!(AT_ONCE.count() == 0 && !at_once(), "round {rounds}: flushed, and still on");
            rounds += 1;
        }
        println!("{rounds} rounds, the worker was first in {late}");
    });
}

/// A child has the keys that are due, but not the thread that would carry them out.
#[test]
fn children_of_fork() {
    passes(|| {
        NEVER.inc().unwrap();
        NEVER.dec_deferred().unwrap();
        SLOW.inc().unwrap();
        SLOW.dec_deferred().unwrap();
        let flushes = fork(|| NEVER.flush().unwrap().is_some() && !never() && NEVER.count() == 0);
        let waits = fork(|| {
            assert!(SLOW.count() == 1 && slow());
            SLOW.dec_deferred().unwrap();
            wait_until(|| SLOW.count() == 0);
            !slow()
        });
        reap(flushes);
        reap(waits);
        assert!(never() && NEVER.count() == 1);
        NEVER.flush().unwrap().unwrap();
        wait_until(|| SLOW.count() == 0);
    });
}

/// A dec that no worker will carry out is never reported as one that will be. This includes a thread that finds another one in the middle of
/// starting the worker, in vain.
#[test]
fn no_worker_can_be_started() {
    passes(|| {
        // SAFETY: drops this process's rights, and then the right to another thread; root would not be bound by it.
        let forbid = || unsafe {
            if libc::geteuid() != 0 {
                println!("skipped: not root");
                crate::scenario::skip();
            }
            assert!(libc::setresgid(65534, 65534, 65534) == 0 && libc::setresuid(65534, 65534, 65534) == 0);
            let none = libc::rlimit { rlim_cur: 1, rlim_max: 1 };
            assert_eq!(libc::setrlimit(libc::RLIMIT_NPROC, &raw const none), 0);
        };
        for key in &MANY_LATE {
            key.inc().unwrap();
        }
        let barrier = std::sync::Barrier::new(MANY_LATE.len() + 1);
        std::thread::scope(|scope| {
            for key in &MANY_LATE {
                let barrier = &barrier;
                scope.spawn(move || {
                    barrier.wait();
                    let mut promised = 0;
                    for _ in 0..repeats(2000) {
                        barrier.wait();
                        promised += usize::from(key.dec_deferred() != Err(Error::OutOfMemory));
                    }
                    assert_eq!(promised, 0, "decs that nobody carries out");
                });
            }
            forbid();
            barrier.wait();
            for _ in 0..repeats(2000) {
                barrier.wait();
            }
        });
        for key in &MANY_LATE {
            assert!(key.is_enabled() && key.flush().unwrap().is_some() && !key.is_enabled());
        }
    });
}

/// A platform that wakes a thread when it is about to start another one.
struct Woken;

static UPPER: OnceLock<Thread> = OnceLock::new();

impl Twin for Woken {
    fn start_thread(&self, start: &mut dyn FnMut()) {
        wake(UPPER.get().unwrap());
        builtin().start_thread(start);
    }
}

/// A thread with a real-time priority finds another one in the middle of starting the worker. Both are on one processor, and the other one has a lower
/// priority. (Twin: `a_real_time_thread_that_yields_is_found_out` in threads.rs.)
#[test]
fn the_worker_is_started_below_a_real_time_thread() {
    passes(|| {
        twin::install(Woken);
        let [first, second, ..] = &MANY_LATE;
        assert!(first.inc().is_ok() && second.inc().is_ok());
        let Some(upper) = Upper::new(|| second.dec_deferred().unwrap()) else { skip() };
        UPPER.set(upper.thread()).unwrap();
        first.dec_deferred().unwrap();
        upper.join();
        assert!(first.flush().unwrap().is_some() && second.flush().unwrap().is_some());
    });
}
