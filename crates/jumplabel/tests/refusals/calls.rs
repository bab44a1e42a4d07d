//! The k-th call of each kind fails, once or from then on, for each writer and for the automatic choice, at the first flip
//! of a process (which proves the writer, primes mappings, registers for core sync) and at a later one. One child for each
//! case.

use std::sync::Barrier;

use jumplabel::{Error, Visibility, WriterKind, set_writer};

use crate::pages::Pages;
use crate::scenario::{fork, passes, slowness, wait_for};
use crate::seccomp::{Call, Fault, Faults, MMAP, STATUS};
use crate::state::{Watch, is_open};

// Sites too far apart to share a span or a run: few enough that the automatic choice begins with `procmem`, or too many.
crate::pages::pages! { few: 3 keys, 4 sites, every 18 pages, at 0 }
crate::pages::pages! { many: 3 keys, 18 sites, every 18 pages, at 4093 }

/// All system calls that the patcher makes.
pub const CALLS: [Call; 10] = [
    libc::SYS_mprotect,
    libc::SYS_madvise,
    libc::SYS_pwrite64,
    libc::SYS_openat,
    libc::SYS_mremap,
    MMAP,
    libc::SYS_membarrier,
    libc::SYS_ioctl,
    libc::SYS_pread64,
    STATUS,
];

#[derive(Clone, Copy)]
struct Case {
    sites: Pages,
    writer: Option<WriterKind>,
    call: Call,
    ordinal: u32,
    /// All later calls of the kind fail, too.
    lasting: bool,
    /// The process has flipped before.
    used: bool,
    /// Sites that are primed already.
    primed: bool,
    /// A second thread is there.
    threads: bool,
}

impl Case {
    /// Runs in a child of its own. Returns whether all was well, and whether the fault was met.
    fn run(self, faults: Faults) -> (bool, bool) {
        let child = fork(|| {
            let (there, done) = (Barrier::new(2), Barrier::new(2));
            std::thread::scope(|scope| {
                if self.threads {
                    scope.spawn(|| (there.wait(), done.wait()));
                    there.wait();
                }
                let judged = std::panic::catch_unwind(|| self.judge(faults));
                if judged.is_err() {
                    let Case { writer, call, ordinal, lasting, used, primed, threads, .. } = self;
                    println!(
                        "^ {writer:?}, call {call} number {ordinal}, lasting {lasting}, used {used}, primed {primed}, \
                         threads {threads}"
                    );
                }
                if self.threads {
                    done.wait();
                }
                judged.is_ok()
            })
        });
        (wait_for(child).success(), faults.fired() > 0)
    }

    fn judge(self, faults: Faults) {
        let sites = self.sites;
        let watch = Watch::new(sites.raw());
        set_writer(self.writer);
        if self.used {
            sites.set(true).unwrap();
            if self.primed { sites.set(false).map(drop).unwrap() } else { sites.restore_pristine() }
        }
        let before = watch.state();

        faults.arm(
            self.call,
            self.ordinal,
            if self.lasting { u32::MAX } else { self.ordinal },
            Fault::Errno(libc::EPERM),
        );
        let result = sites.set(true);
        let fired = faults.disarm() > 0;

        let after = watch.state();
        match result {
            Ok(outcome) => {
                assert!(sites.all(true) && sites.agree(), "{outcome:?}");
                assert_eq!(is_open(&after.map), outcome.warnings.left_writable, "{outcome:?}");
                // The outcome reports a refused core sync, unless another way was found.
                let another = cfg!(target_arch = "riscv64"); // riscv_flush_icache
                if self.call == libc::SYS_membarrier
                    && !another
                    && fired
                    && self.lasting
                    && outcome.writer != Some(WriterKind::Remap)
                {
                    assert_eq!(outcome.visibility, Visibility::Eventual);
                }
            }
            Err(Error::RollbackFailed { address }) => {
                assert!(self.lasting && self.writer.is_some(), "another call or writer could have undone it");
                assert!(before.map == after.map && before != after && address != 0);
            }
            Err(error) => {
                assert!(fired, "{error:?} without a fault");
                // If the system refuses to close what it let be opened, the page stays open.
                let stuck_open = self.call == libc::SYS_mprotect && self.lasting;
                // Where core sync fails between two steps, sites stay halfway to primed, which does what pristine does.
                let halfway = self.call == libc::SYS_membarrier && before.behaviour() == after.behaviour();
                assert!(before == after || stuck_open || halfway, "{error:?}: {after:x?} instead of {before:x?}");
                let no_memory = self.call == MMAP && error == Error::OutOfMemory;
                assert!(self.writer.is_some() || no_memory, "{error:?}: no other writer was tried");
            }
        }

        // The cause is gone.
        set_writer(self.writer);
        for on in [true, false] {
            let outcome = sites.set(on).unwrap();
            assert!(sites.all(on) && sites.agree(), "{on} {outcome:?}");
        }
        assert!(!is_open(&watch.map()), "text is writable for ever");
        assert_eq!(watch.map(), before.map);
    }
}

/// All cases of one writer, k = 1, 2, ... until the flip makes fewer calls.
fn every_call(sites: Pages, writer: Option<WriterKind>) {
    let faults = Faults::new(&CALLS);
    let mut met = [0; CALLS.len()];
    let mut failed = 0;
    // Each case is a process: a slow machine gets every third.
    let stride = if slowness() > 1 { 3 } else { 1 };
    for (met, call) in met.iter_mut().zip(CALLS) {
        for (lasting, threads) in [(false, false), (true, true)] {
            for (used, primed) in [(false, false), (true, false), (true, true)] {
                for ordinal in (1..).step_by(stride) {
                    let case = Case { sites, writer, call, ordinal, lasting, used, primed, threads };
                    let (well, fired) = case.run(faults);
                    failed += i32::from(!well);
                    if !fired {
                        break;
                    }
                    *met += 1;
                }
            }
        }
    }
    println!("{writer:?}: faults met of each kind {met:?}");
    assert!(failed == 0, "{failed} cases failed");
    assert!(met.iter().sum::<i32>() > 50 / stride as i32, "the faults hardly reach the patcher");
}

#[test]
fn automatic() {
    passes(|| every_call(few(), None));
}

#[test]
fn automatic_with_many_sites() {
    passes(|| every_call(many(), None));
}

#[test]
fn procmem() {
    passes(|| every_call(few(), Some(WriterKind::Procmem)));
}

#[test]
fn mprotect() {
    passes(|| every_call(few(), Some(WriterKind::Mprotect)));
}

#[test]
fn remap() {
    passes(|| every_call(few(), Some(WriterKind::Remap)));
}
