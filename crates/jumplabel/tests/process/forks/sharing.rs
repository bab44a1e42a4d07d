//! Processes that share memory with this one, and are killed.

use std::time::Duration;

use jumplabel::set_writer;

use super::{Slow, Unforked, batch, childrens, flips};
use crate::scenario::{Scenario, passes, rounds, wait_for};
use crate::twin::install;
use crate::writers;

const STACK: usize = 256 * 1024;

/// No assertion here: thread-locals are the parent's.
extern "C" fn flip(_: *mut libc::c_void) -> i32 {
    loop {
        for on in [true, false] {
            let _ = batch().set(on);
        }
    }
}

/// The moment at which somebody waits for a child that was killed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wait {
    Before,
    After,
    /// No process here can wait: the child is one of this process's parent.
    Never,
}

/// Starts a child on a stack of its own, kills it after this many microseconds, and waits for its end before or after `then`.
fn killed_after(microseconds: u64, wait: Wait, then: impl FnOnce()) {
    // SAFETY: a new mapping; the child lives in it, and is gone when it is unmapped.
    unsafe {
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        let stack = libc::mmap(std::ptr::null_mut(), STACK, protection, flags, -1, 0);
        assert_ne!(stack, libc::MAP_FAILED);
        let whose = if wait == Wait::Never { libc::CLONE_PARENT } else { libc::SIGCHLD };
        let child = libc::clone(flip, stack.byte_add(STACK), libc::CLONE_VM | whose, std::ptr::null_mut());
        assert!(child > 0);
        std::thread::sleep(Duration::from_micros(microseconds));
        assert_eq!(libc::kill(child, libc::SIGKILL), 0);
        if wait == Wait::Before {
            wait_for(child);
            assert_eq!(libc::munmap(stack, STACK), 0); // Then nobody may look for the child's remains there.
            return then();
        }
        then();
        if wait == Wait::Never {
            return; // The child may be about to end, on its stack.
        }
        wait_for(child);
        libc::munmap(stack, STACK);
    }
}

/// Kills children with each writer, at all moments of a flip.
fn storm(killings: usize, waits: &[Wait]) {
    for number in 0..killings {
        set_writer(writers::turn(number / 2));
        killed_after(200 + (number as u64 * 137) % 1500, waits[number % waits.len()], || {
            assert!(flips(batch()) && flips(childrens()), "after process {number} was killed");
            let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
            assert!(!maps.lines().any(|line| line.contains(" rwx")), "process {number} left text open");
        });
    }
}

#[test]
fn killed_while_they_share_memory() {
    passes(|| storm(rounds(200), &[Wait::Before, Wait::After]));
}

/// These children stay zombies until this process's parent ends.
#[test]
fn killed_and_nobody_waits() {
    passes(|| storm(rounds(40), &[Wait::Never]));
}

#[test]
fn killed_while_they_share_memory_during_slow_batches() {
    passes(|| {
        install(Slow);
        storm(rounds(100), &[Wait::Before, Wait::After]);
    });
}

#[test]
fn broken_twin_waits_for_the_dead() {
    Scenario::new().hangs(|| {
        install(Unforked::default());
        storm(usize::MAX, &[Wait::Before, Wait::After]);
    });
}
