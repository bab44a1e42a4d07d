//! Keys declared `or_load`, where the system itself refuses (tests/or_load.rs has a platform that refuses on command).

use std::sync::mpsc;
use std::thread;

use jumplabel::{Batch, Error, Visibility, prepare, probe, static_branch_likely, static_branch_unlikely, static_key};

use crate::scenario::{fork, passes, reap};
use crate::seccomp::deny;

crate::pages::pages! { sites: 1 keys, 2 sites, every 1 pages, at 0 }

static_key! { static KEY: false, or_load; static ON: true, or_load; }

fn checks() -> [bool; 4] {
    [static_branch_likely!(KEY), static_branch_unlikely!(KEY), static_branch_likely!(ON), static_branch_unlikely!(ON)]
}

/// MDWE, and no write to /proc/self/mem, which a filter stands for: keys declared `or_load` work, in all threads.
#[test]
fn or_load_where_nothing_may_be_written() {
    passes(|| {
        let forbid = || {
            const PR_SET_MDWE: i32 = 65;
            // SAFETY: forbids this process something. Where there is no MDWE, the filter does what it would.
            unsafe { libc::prctl(PR_SET_MDWE, 1, 0, 0, 0) };
            deny(&[libc::SYS_pwrite64, libc::SYS_mprotect, libc::SYS_mremap], libc::EACCES);
        };
        let denied = |result: Result<_, Error>| matches!(result, Err(Error::Denied { .. }));
        let work = |ask: mpsc::Sender<()>, told: mpsc::Receiver<[bool; 4]>| {
            assert!(denied(sites().set(true)));
            for _ in 0..3 {
                assert_eq!(checks(), [false, false, true, true]);
                let on = KEY.enable().unwrap();
                assert_eq!((on.loading, on.writer, on.visibility), (2, None, Visibility::Immediate));
                ask.send(()).unwrap();
                assert_eq!((checks(), told.recv().unwrap()), ([true; 4], [true; 4]));
                assert_eq!(Batch::new().disable(&ON).disable(&KEY).commit().unwrap().loading, 4);
                assert_eq!(checks(), [false; 4]);
                ON.inc().unwrap();
            }
            true
        };
        reap(fork(|| {
            // A thread that comes later would need `mprotect` for its stack.
            let ((ask, asked), (tell, told)) = (mpsc::channel(), mpsc::channel());
            thread::spawn(move || asked.iter().try_for_each(|()| tell.send(checks())));
            forbid();
            work(ask, told) && probe().is_err()
        }));
        // Patched first, forbidden later: an error that says so, and the old state.
        reap(fork(|| {
            prepare().unwrap();
            forbid();
            let both = Batch::new().disable(&ON).enable(&KEY);
            denied(KEY.enable()) && denied(both.commit()) && checks() == [false, false, true, true]
        }));
        reap(fork(|| {
            KEY.enable().unwrap();
            forbid();
            denied(KEY.disable()) && denied(KEY.dec()) && checks() == [true; 4] && KEY.is_enabled()
        }));
    });
}
