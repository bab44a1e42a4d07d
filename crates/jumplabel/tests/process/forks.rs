//! Processes that are copied while another thread flips: by `fork`, which waits for the batch; by a raw `clone`, which does
//! not; by `posix_spawn`, which shares memory until the new program starts.

#![allow(clippy::redundant_closure, reason = "a scenario is found by the name of its closure")]

#[path = "forks/handlers.rs"]
mod handlers;
#[path = "forks/sharing.rs"]
mod sharing;

use std::sync::atomic::{AtomicBool, Ordering};

use jumplabel::Lock;
use jumplabel::platform::{Token, Write, Writer};
use jumplabel::{Error, Refusal, set_writer};

use crate::pages::Pages;
use crate::scenario::{Scenario, end, fork, passes, reap, rounds, slowness};
use crate::twin::{PrivateLock, Twin, install, write_slowly};
use crate::writers;

crate::pages::pages! { batch: 4 keys, 24 sites, every 1 pages, at 4093 }
crate::pages::pages! { childrens: 2 keys, 4 sites, every 1 pages, at 0 }

/// Runs `body` while another thread flips the batch back and forth, with all writers in turn.
fn while_flipping(body: impl FnOnce()) {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let flipper = scope.spawn(|| {
            let mut flips = 0;
            while !stop.load(Ordering::Relaxed) {
                set_writer(writers::turn(flips / 2));
                batch().set(flips % 2 == 0).unwrap();
                flips += 1;
            }
            flips
        });
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body));
        stop.store(true, Ordering::Relaxed);
        println!("{} batches meanwhile", flipper.join().unwrap());
        result.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
    for writer in writers::all() {
        set_writer(writer);
        for on in [true, false] {
            batch().set(on).unwrap();
            assert!(batch().all(on));
        }
    }
}

/// All keys of the batch are in one state, and so are all sites.
fn is_whole(pages: Pages) -> bool {
    let on = pages.keys[0].is_enabled();
    pages.keys.iter().all(|key| key.is_enabled() == on && key.count() == i32::from(on)) && pages.all(on)
}

/// Flips there and back.
fn flips(pages: Pages) -> bool {
    [true, false, true].iter().all(|&on| pages.set(on).is_ok() && pages.all(on) && is_whole(pages))
}

/// Children find whole batches, flip, and change nothing in their parent.
fn storm(forks: usize, flip: bool) {
    while_flipping(|| {
        for number in 0..forks {
            reap(fork(|| {
                assert!(is_whole(batch()), "child {number} found half a batch");
                !flip || (flips(batch()) && flips(childrens()))
            }));
        }
        assert!(childrens().all(false) && childrens().agree(), "a child's flip reached its parent");
    });
}

#[test]
fn storm_of_forks() {
    passes(|| storm(rounds(400), true));
}

/// The built-in lock, under batches that take long.
struct Slow;

impl Twin for Slow {
    fn write(&self, writer: &mut dyn Writer, writes: &[Write]) -> Result<(), (usize, Refusal)> {
        write_slowly(writer, writes)
    }
}

#[test]
fn storm_of_forks_during_slow_batches() {
    passes(|| {
        install(Slow);
        storm(rounds(100), true);
    });
}

/// A twin whose lock `fork` does not take.
#[derive(Default)]
struct Unforked(PrivateLock);

impl Twin for Unforked {
    fn lock(&self) -> Result<Token, Error> {
        Ok(self.0.take())
    }
    fn unlock(&self, _token: Token) {
        self.0.release();
    }
    fn write(&self, writer: &mut dyn Writer, writes: &[Write]) -> Result<(), (usize, Refusal)> {
        write_slowly(writer, writes)
    }
}

#[test]
fn broken_twin_fork_does_not_take_the_lock() {
    Scenario::new().fails("found half a batch", || {
        install(Unforked::default());
        storm(4_000, false); // Ends at the first child that is found out: by chance, so it gets many.
    });
}

/// Makes a child by a system call, without the handlers that `fork` runs, whatever the other threads are doing.
fn clone(body: impl FnOnce() -> bool) -> i32 {
    // The flags come second on s390x, after a stack, which is this one.
    let (first, second) = if cfg!(target_arch = "s390x") { (0, libc::SIGCHLD) } else { (libc::SIGCHLD, 0) };
    // SAFETY: as fork, on a copy of this stack.
    match unsafe { libc::syscall(libc::SYS_clone, first, second, 0, 0, 0) } {
        0 => end(body),
        child => child as i32,
    }
}

fn storm_of_clones(clones: usize, body: impl Fn() -> bool) {
    while_flipping(|| (0..clones).for_each(|_| reap(clone(&body))));
}

#[test]
fn storm_of_raw_clones() {
    passes(|| storm_of_clones(rounds(400), || flips(batch()) && flips(childrens())));
}

#[test]
fn storm_of_raw_clones_during_slow_batches() {
    passes(|| {
        install(Slow);
        storm_of_clones(rounds(100), || flips(batch()) && flips(childrens()));
    });
}

/// Every site that a clone finds is one whole instruction, and its own threads see that before anybody flips.
#[test]
fn raw_clones_find_whole_instructions() {
    passes(|| {
        storm_of_clones(rounds(400), || {
            let run = (0..batch().count).filter(|&number| batch().check(number)).count();
            let mut states = 0;
            for key in batch().keys {
                jumplabel::for_each_site(key, |site| states += usize::from(site.state.is_some())).unwrap();
            }
            run <= 24 && states == 24
        });
    });
}

/// Text that a clone found open is closed by its first flip.
#[test]
fn raw_clones_close_what_was_open() {
    passes(|| {
        storm_of_clones(rounds(200), || {
            set_writer(None);
            childrens().set(true).unwrap();
            let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
            !maps.lines().any(|line| line.contains(" rwx"))
        });
    });
}

#[test]
fn broken_twin_lock_is_not_wiped() {
    Scenario::new().fails("signal: 14", || {
        install(Unforked::default());
        storm_of_clones(400, || {
            // SAFETY: a deadline.
            unsafe { libc::alarm(slowness()) };
            flips(childrens())
        });
    });
}

#[test]
fn spawned_programs() {
    passes(|| {
        while_flipping(|| {
            for _ in 0..rounds(50) {
                assert!(std::process::Command::new("/bin/true").status().unwrap().success());
            }
        });
    });
}

/// A callback that holds the lock forks: the child has the lock, too, and lets go of it.
#[test]
fn fork_inside_a_callback() {
    passes(|| {
        let mut children = Vec::new();
        jumplabel::for_each_site(&childrens().keys[0], |_| {
            // SAFETY: a child that goes on as its parent does.
            children.push(unsafe { libc::fork() });
        })
        .unwrap();
        let is_child = children.contains(&0);
        assert!(flips(childrens()));
        if is_child {
            end(|| flips(batch()));
        }
        children.into_iter().for_each(reap);
    });
}

/// A thread that has the lock for long does not keep another from forking. The child has the lock to itself.
#[test]
fn forks_do_not_wait_for_ever() {
    passes(|| {
        let (held, forked) = (AtomicBool::new(false), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut lock = Lock::take().unwrap();
                batch().keys[0].enable_locked(&mut lock).unwrap();
                held.store(true, Ordering::Release);
                while !forked.load(Ordering::Acquire) {
                    std::thread::yield_now();
                }
                batch().keys[0].disable_locked(&mut lock).unwrap();
            });
            while !held.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
            let child = fork(|| batch().keys[0].is_enabled() && flips(batch()) && flips(childrens()));
            forked.store(true, Ordering::Release);
            reap(child);
        });
        assert!(flips(batch()));
    });
}
