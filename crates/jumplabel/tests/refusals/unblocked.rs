//! The system refuses to block signals, with which every taking of the lock begins. Flips are refused before anything is read or written;
//! operations that cannot be refused go on.

use jumplabel::platform::{Token, builtin};
use jumplabel::{Error, Lock, Refusals, for_each_site, set_writer, text_reserved};

use crate::scenario::{Scenario, fork, passes, reap};
use crate::seccomp::{Fault, Faults};
use crate::state::Watch;
use crate::twin::{Twin, install};

crate::pages::pages! { sites: 3 keys, 6 sites, every 18 pages, at 4094 }

const BLOCK: crate::seccomp::Call = libc::SYS_rt_sigprocmask;

/// Calls `body` while no mask of signals can be changed.
fn refused<T>(faults: Faults, body: impl FnOnce() -> T) -> T {
    faults.arm(BLOCK, 1, u32::MAX, Fault::Errno(libc::EPERM));
    let result = body();
    assert!(faults.disarm() > 0);
    result
}

/// The signals that this thread blocks.
fn mask() -> Vec<i32> {
    // SAFETY: a set of signals, which is plain numbers.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        assert_eq!(libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &raw mut set), 0);
        (1..32).filter(|&signal| libc::sigismember(&raw const set, signal) == 1).collect()
    }
}

/// Blocks one signal for good, so that the test notices a mask that is lost.
fn block_one() {
    // SAFETY: as above.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigaddset(&raw mut set, libc::SIGUSR2);
        assert_eq!(libc::pthread_sigmask(libc::SIG_SETMASK, &raw const set, std::ptr::null_mut()), 0);
    }
}

/// The error of every flip: no writer was tried.
fn denied() -> Error {
    Error::Denied { refused: Refusals::default() }
}

fn flips_are_denied() {
    let (sites, faults) = (sites(), Faults::new(&[BLOCK]));
    block_one();
    for writer in crate::writers::all() {
        set_writer(writer);
        for on in [true, false] {
            let watch = Watch::new(sites.raw());
            assert_eq!(refused(faults, || watch.refused(|| sites.set(on))), denied());
            assert_eq!(refused(faults, || text_reserved(0..1)), Err(denied()));
            assert_eq!(refused(faults, || for_each_site(&sites.keys[0], |_| ())), Err(denied()));
            assert_eq!(refused(faults, || Lock::take().err()), Some(denied()));
            assert_eq!(mask(), [libc::SIGUSR2]);
            sites.set(on).unwrap();
            assert!(sites.all(on) && mask() == [libc::SIGUSR2]);
        }
    }
    assert!(denied().to_string().contains("block signals"));
}

#[test]
fn flips_are_refused() {
    passes(|| {
        flips_are_denied();
    });
}

/// A platform that takes the lock all the same.
struct Open;

impl Twin for Open {
    fn lock(&self) -> Result<Token, Error> {
        builtin().lock_anyway()
    }
}

#[test]
fn broken_twin_flips_with_signals_open() {
    Scenario::new().fails("was not refused", || {
        install(Open);
        flips_are_denied();
    });
}

/// A fork is not refused: parent and child flip, their sites agree, and each has the mask that it had.
#[test]
fn forks_go_on() {
    passes(|| {
        let faults = Faults::new(&[BLOCK]);
        block_one();
        sites().set(true).unwrap();
        let well = |on| sites().set(on).is_ok() && sites().all(on) && mask() == [libc::SIGUSR2];
        faults.arm(BLOCK, 1, u32::MAX, Fault::Errno(libc::EPERM));
        let child = fork(|| {
            let same = sites().agree() && sites().set(false) == Err(denied());
            faults.disarm();
            same && well(false) && well(true)
        });
        reap(child);
        assert!(well(false) && well(true));
    });
}
