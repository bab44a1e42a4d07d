//! Two plugins come and go while the program flips and forks.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::pace::{rounds, slowness};
use crate::{flip, load, share_a_processor};

/// Two plugins come, flip for the first time, and go, again and again, while the program flips and forks: nothing waits for
/// the dynamic loader with the lock held, because whoever loads may wait for the lock.
pub fn storm() {
    share_a_processor();
    // A deadlock ends the process, and is not waited out.
    std::thread::spawn(|| {
        std::thread::sleep(std::time::Duration::from_secs(60) * slowness());
        eprintln!("still running: a deadlock?");
        std::process::abort();
    });
    let (stop, loads) = (AtomicBool::new(false), AtomicU32::new(0));
    std::thread::scope(|scope| {
        for name in ["plugin", "second"] {
            let (stop, loads) = (&stop, &loads);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let plugin = load(name);
                    plugin.flip(true);
                    assert!(plugin.unload(), "the plugin stays loaded");
                    loads.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        while loads.load(Ordering::Relaxed) < rounds(4000) {
            flip(true);
            flip(false);
            // SAFETY: the child flips and leaves.
            match unsafe { libc::fork() } {
                0 => {
                    // SAFETY: it does not outlive its parent, and ends without the parent's handlers.
                    unsafe {
                        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                        flip(true);
                        libc::_exit(0)
                    }
                }
                child => {
                    let mut status = 0;
                    // SAFETY: waits for our child.
                    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
                    assert_eq!(status, 0, "a child");
                }
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
}
