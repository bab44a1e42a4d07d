//! Handlers: of signals, in a thread that waits for the lock; of fork, before those of the library.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jumplabel::Lock;

use super::{batch, flips};
use crate::scenario::{passes, wait_for};

/// A thread that waits for the lock, and is sent signals all the time, finds out nevertheless that the owner does not exist.
mod interrupted {
    use super::*;

    static HELD: AtomicBool = AtomicBool::new(false);
    const STACK: usize = 256 * 1024;

    extern "C" fn hold(_: *mut libc::c_void) -> i32 {
        let _lock = Lock::take();
        HELD.store(true, Ordering::Release);
        loop {
            // SAFETY: no conditions.
            unsafe { libc::pause() };
        }
    }

    extern "C" fn nothing(_: i32) {}

    pub fn waits_for_the_dead() {
        assert!(flips(batch()));
        // SAFETY: a handler that does nothing; a mapping that the child, which is killed, lives in.
        unsafe {
            libc::signal(libc::SIGUSR1, nothing as extern "C" fn(i32) as libc::sighandler_t);
            let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
            let stack = libc::mmap(std::ptr::null_mut(), STACK, protection, flags, -1, 0);
            assert_ne!(stack, libc::MAP_FAILED);
            let child = libc::clone(hold, stack.byte_add(STACK), libc::CLONE_VM | libc::SIGCHLD, std::ptr::null_mut());
            assert!(child > 0);
            while !HELD.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
            assert_eq!(libc::kill(child, libc::SIGKILL), 0);
            wait_for(child);
        }
        // SAFETY: no conditions. Musl's is a pointer.
        let me = unsafe { libc::pthread_self() } as usize;
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    // SAFETY: that thread waits for this one.
                    unsafe { libc::pthread_kill(me as libc::pthread_t, libc::SIGUSR1) };
                    std::thread::sleep(Duration::from_millis(5));
                }
            });
            assert!(flips(batch()));
            done.store(true, Ordering::Relaxed);
        });
    }
}

#[test]
fn signals_do_not_keep_a_waiter_from_its_judgement() {
    passes(|| interrupted::waits_for_the_dead());
}

/// A handler of fork that comes before the library's starts a thread in the child, and that thread has the lock when the
/// library's handler runs.
#[cfg(target_env = "gnu")] // musl runs nothing before the first constructor.
mod restarted {
    use super::*;
    use crate::scenario::{fork, reap};

    static WANTED: AtomicBool = AtomicBool::new(false);
    static INSIDE: AtomicBool = AtomicBool::new(false);

    fn has_the_lock() {
        let lock = Lock::take().unwrap();
        INSIDE.store(true, Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(300));
        INSIDE.store(false, Ordering::SeqCst);
        drop(lock);
    }

    extern "C" fn child() {
        if WANTED.load(Ordering::Relaxed) {
            std::thread::spawn(has_the_lock);
            while !INSIDE.load(Ordering::SeqCst) {
                std::thread::yield_now();
            }
        }
    }

    extern "C" fn register() {
        // SAFETY: a function of the program.
        unsafe { libc::pthread_atfork(None, None, Some(child)) };
    }

    #[used]
    #[unsafe(link_section = ".preinit_array")]
    static REGISTER: extern "C" fn() = register;

    pub fn starts_a_thread() {
        assert!(flips(batch()));
        WANTED.store(true, Ordering::Relaxed);
        reap(fork(|| {
            let lock = Lock::take().unwrap();
            let alone = !INSIDE.load(Ordering::SeqCst);
            drop(lock);
            alone && flips(batch())
        }));
    }
}

#[test]
#[cfg(target_env = "gnu")]
fn a_handler_may_start_a_thread() {
    passes(|| restarted::starts_a_thread());
}
