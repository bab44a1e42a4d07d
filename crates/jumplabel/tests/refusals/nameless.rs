//! A filter refuses `gettid` to a thread. By this number, others judge whether the owner of the lock still exists. Still nobody takes the lock from
//! the thread, and if nothing tells the number, flips are refused.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use jumplabel::{Error, Lock, Refusals};

use crate::scenario::passes;
use crate::seccomp::deny;

crate::pages::pages! { sites: 3 keys, 6 sites, every 18 pages, at 4094 }

/// A thread without a number has the lock for longer than others wait before they judge the owner (100 ms). They wait on.
#[test]
fn the_lock_is_not_taken_over() {
    passes(|| {
        let (sites, has_lock, released) = (sites(), AtomicBool::new(false), AtomicBool::new(false));
        thread::scope(|scope| {
            scope.spawn(|| {
                deny(&[libc::SYS_gettid], libc::EPERM);
                let lock = Lock::take().unwrap();
                has_lock.store(true, Ordering::SeqCst);
                thread::sleep(Duration::from_millis(450));
                released.store(true, Ordering::SeqCst);
                drop(lock);
                sites.set(false).unwrap();
            });
            while !has_lock.load(Ordering::SeqCst) {
                thread::yield_now();
            }
            sites.set(true).unwrap();
            assert!(released.load(Ordering::SeqCst), "the lock was taken over from a thread that lives");
        });
        sites.set(true).unwrap();
        assert!(sites.all(true));
    });
}

/// No source tells the thread's number: no flip begins.
#[test]
fn flips_are_refused() {
    passes(|| {
        let sites = sites();
        sites.set(true).unwrap();
        deny(&[libc::SYS_gettid, libc::SYS_futex], libc::EPERM);
        let refused = sites.set(false).unwrap_err();
        assert_eq!(refused, Error::Denied { refused: Refusals::default() });
        assert!(refused.to_string().contains("gettid") && sites.all(true));
        assert_eq!(Lock::take().err(), Some(refused));
    });
}

/// Work that cannot be refused takes the lock all the same, and nobody takes it over.
#[test]
fn the_lock_is_taken_anyway() {
    passes(|| {
        let (sites, released) = (sites(), AtomicBool::new(false));
        let platform = jumplabel::platform::builtin();
        thread::scope(|scope| {
            let (send, has_lock) = std::sync::mpsc::channel();
            let released = &released;
            scope.spawn(move || {
                deny(&[libc::SYS_gettid], libc::EPERM);
                // Only the question for the number is refused: others wait by the same system call.
                crate::arguments::deny_locks_with_inheritance(libc::EPERM);
                let token = platform.lock_anyway().unwrap();
                send.send(()).unwrap();
                thread::sleep(Duration::from_millis(450));
                released.store(true, Ordering::SeqCst);
                // SAFETY: the token of this thread's last call.
                unsafe { platform.unlock(token) };
            });
            has_lock.recv().unwrap();
            sites.set(true).unwrap();
            assert!(released.load(Ordering::SeqCst), "the lock was taken over from a thread that lives");
        });
        assert!(sites.all(true));
    });
}
