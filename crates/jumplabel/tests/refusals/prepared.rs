//! `prepare`: the system calls that it takes off the first flip of a process, and its result on systems on which flips fail. One child for each
//! kind of call.

use std::sync::Barrier;

use jumplabel::{Error, Refusal, WriterKind, prepare, set_writer};

use crate::calls::CALLS;
use crate::pages::Pages;
use crate::scenario::{fork, passes, reap, wait_for};
use crate::seccomp::{CORE_SYNC, Call, Faults, MMAP, deny};

crate::pages::pages! { few: 2 keys, 4 sites, every 1 pages, at 0 }
crate::pages::pages! { many: 2 keys, 80 sites, every 1 pages, at 0 }

/// The writers that can be chosen first.
const WRITERS: [Option<WriterKind>; 3] = [None, Some(WriterKind::Procmem), Some(WriterKind::Mprotect)];

/// Runs in a process of its own, with a second thread. Returns whether the first flip makes as many calls of a kind as the next flip of the same
/// pristine sites.
fn is_like_the_next(
    faults: Faults,
    call: Call,
    sites: Pages,
    writer: Option<WriterKind>,
    ahead: fn() -> Result<(), Error>,
) -> bool {
    let child = fork(|| {
        let (there, done) = (Barrier::new(2), Barrier::new(2));
        std::thread::scope(|scope| {
            scope.spawn(|| (there.wait(), done.wait()));
            there.wait();
            set_writer(writer);
            ahead().unwrap();
            let flips = [(); 2].map(|()| {
                faults.count(call);
                let writer = sites.set(true).unwrap().writer;
                let seen = faults.seen();
                faults.disarm();
                assert!(sites.all(true));
                sites.restore_pristine();
                (writer, seen)
            });
            done.wait();
            println!("{writer:?}, call {call}: {flips:?}");
            flips[0] == flips[1]
        })
    });
    wait_for(child).success()
}

#[test]
fn the_first_flip_is_like_any_other() {
    passes(|| {
        let faults = Faults::new(&CALLS);
        for writer in WRITERS {
            for sites in [few(), many()] {
                for call in CALLS {
                    assert!(is_like_the_next(faults, call, sites, writer, || prepare().map(drop)));
                }
            }
        }
    });
}

/// The broken twin prepares nothing: registration, and memory for the index, are left to the first flip.
#[test]
fn broken_twin_prepares_nothing() {
    passes(|| {
        let faults = Faults::new(&CALLS);
        for call in [libc::SYS_membarrier, MMAP] {
            assert!(!is_like_the_next(faults, call, few(), None, || Ok(())), "call {call}");
        }
    });
}

/// A second call changes nothing, two calls are as good as one, and a child can make one again.
#[test]
fn again_and_in_a_child() {
    passes(|| {
        for _ in 0..2 {
            prepare().unwrap();
            assert!(few().all(false) && few().agree() && many().agree());
        }
        few().set(true).unwrap();
        reap(fork(|| prepare().is_ok() && few().all(true) && few().set(false).is_ok() && few().all(false)));
        prepare().unwrap();
        assert!(few().all(true));
    });
}

/// If flips would be refused, `prepare` says so. If only core sync would be refused, it leaves that to the flips.
#[test]
fn refused() {
    passes(|| {
        reap(fork(|| {
            deny(CORE_SYNC, libc::EPERM);
            prepare().is_ok()
        }));
        reap(fork(|| {
            deny(&[libc::SYS_mprotect, libc::SYS_openat], libc::EACCES);
            let refusal = Refusal::errno(libc::EACCES);
            let all = [WriterKind::Mprotect, WriterKind::Procmem, WriterKind::Remap];
            let denied = |result: Result<(), Error>| {
                let Err(Error::Denied { refused }) = result else { panic!("{result:?}") };
                assert!(all.iter().all(|kind| refused.of(*kind) == refusal), "{refused:?}");
            };
            denied(prepare().map(drop));
            denied(few().set(true).map(drop));
            few().all(false)
        }));
    });
}
