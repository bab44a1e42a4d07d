//! Static calls led elsewhere at bad moments: at each step of an update the call is made, the process is forked, or the system refuses
//! ([`steps`]); under running threads, forks and signal handlers ([`running`]); from the target itself.
#![cfg(all(target_os = "linux", target_pointer_width = "64", jumplabel_trampolines))]
#![allow(clippy::redundant_closure, reason = "a scenario is found by the name of its closure")]

#[path = "retargets/running.rs"]
mod running;
#[path = "retargets/steps.rs"]
mod steps;

use jumplabel::{Batch, Error, static_call, static_key};
use jumplabel_testing::far;
use jumplabel_testing::scenario::end;

type Function = extern "C" fn(u64) -> u64;

extern "C" fn one(x: u64) -> u64 {
    x + 1
}

/// Lies so far from `one` that the displacements differ in several bytes.
#[unsafe(link_section = ".text_of_two")]
extern "C" fn two(x: u64) -> u64 {
    x + 2
}

static_call! { static HOOK: Function = one; }
static_key! { static KEY: false; }

/// Adds `number`, out of reach of a direct jump.
fn far(number: u8) -> Function {
    // SAFETY: the code of a function of that type.
    unsafe { far::function(one as *const (), &far::adds(number), number) }
}

/// Two functions in reach, and two out of reach. Each adds its number.
fn targets() -> [(u64, Function); 4] {
    [(1, one), (2, two), (3, far(3)), (4, far(4))]
}

/// All changes from one target to another.
fn changes() -> Vec<[(u64, Function); 2]> {
    let all = targets();
    let pairs = all.iter().flat_map(|&from| all.map(|to| [from, to]));
    pairs.filter(|[from, to]| from.0 != to.0).collect()
}

/// A child of the process without the handlers of `fork`.
fn clone(body: impl FnOnce() -> bool) -> i32 {
    // SAFETY: as fork, on a copy of this stack.
    match unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) } {
        0 => end(body),
        child => child as i32,
    }
}

/// The target leads the call elsewhere, and returns to its caller all the same.
#[test]
fn an_update_from_the_target() {
    static_call! { static ONCE: Function = first; }
    extern "C" fn first(x: u64) -> u64 {
        ONCE.update(then).unwrap();
        x + ONCE(10)
    }
    extern "C" fn then(x: u64) -> u64 {
        x + 100
    }
    assert_eq!([ONCE(1), ONCE(1)], [111, 101]);
}

/// A sealed call stays where it is, alone and in a batch, and the batch changes nothing else.
#[test]
fn sealed() {
    static_call! { static SEALED: Function = one; }
    static_key! { static BESIDE: false; }
    SEALED.update(two).unwrap();
    SEALED.seal().unwrap();
    assert!(SEALED.raw().is_sealed());
    assert_eq!([SEALED.update(one), SEALED.reset()], [Err(Error::Sealed); 2]);
    assert_eq!(Batch::new().enable(&BESIDE).set(&SEALED, one).commit(), Err(Error::Sealed));
    assert_eq!(SEALED.update(two).map(|outcome| outcome.sites), Ok(0));
    assert!(SEALED(0) == 2 && !BESIDE.is_enabled());
}
