//! Writes that are refused for good in mid-batch, that lie, and that stop halfway; protections that cannot be given back.
//! And a writer that does not undo, which must be found out.

#[path = "writes/two_writers.rs"]
mod two_writers;

use std::sync::atomic::{AtomicBool, Ordering};

use jumplabel::arch::Native;
use jumplabel::platform::{Write, Writer};
use jumplabel::{Error, Refusal, WriterKind, set_writer};
use jumplabel_format::Arch;

use crate::pages::Pages;
use crate::scenario::{Scenario, passes};
use crate::seccomp::{Call, Fault, Faults, MMAP};
use crate::state::{Watch, is_open};
use crate::twin::{Twin, install};

crate::pages::pages! { sites: 3 keys, 6 sites, every 18 pages, at 0 }
crate::pages::pages! { crossing: 2 keys, 4 sites, every 2 pages, at 4093 }

const CALLS: [Call; 6] =
    [libc::SYS_pwrite64, libc::SYS_mprotect, libc::SYS_openat, libc::SYS_mremap, MMAP, libc::SYS_membarrier];

/// Turns all keys off, primed or pristine.
fn off(pages: Pages, primed: bool) {
    if primed {
        pages.set(false).unwrap();
    } else {
        pages.restore_pristine();
    }
}

/// From the k-th write on no write is allowed: the way back is refused, too. The count stays as it was, and a later flip that may write, in either
/// direction, puts the sites right.
#[test]
fn no_way_back() {
    passes(|| {
        let sites = sites();
        let watch = Watch::new(sites.raw());
        let faults = Faults::new(&CALLS);
        set_writer(Some(WriterKind::Procmem));
        sites.set(true).unwrap();
        for primed in [true, false] {
            for repair in [true, false] {
                let mut stuck = 0;
                for ordinal in 1.. {
                    off(sites, primed);
                    let before = watch.state();
                    faults.arm(libc::SYS_pwrite64, ordinal, u32::MAX, Fault::Errno(libc::EIO));
                    let result = sites.set(true);
                    if faults.disarm() == 0 {
                        break;
                    }
                    if let Err(Error::RollbackFailed { address }) = result {
                        assert!((0..sites.count).any(|number| sites.site(number) == address));
                        assert!(sites.keys.iter().all(|key| !key.is_enabled()));
                        stuck += 1;
                    } else {
                        let Err(Error::Denied { refused }) = result else { panic!("{result:?}") };
                        assert!(refused.iter().eq([(WriterKind::Procmem, Refusal::errno(libc::EIO))]), "{refused:?}");
                        assert_eq!(watch.state(), before);
                    }
                    sites.set(repair).unwrap();
                    assert!(sites.all(repair) && sites.agree(), "k = {ordinal}, repaired by {repair}: not repaired");
                }
                assert!(stuck >= 5, "RollbackFailed was hardly reached");
            }
        }
    });
}

/// From the k-th call of a kind on no call works, not even core sync: whatever the error says is true.
#[test]
fn nothing_works() {
    passes(|| {
        let faults = Faults::new(&CALLS);
        let sites = sites();
        let watch = Watch::new(sites.raw());
        sites.set(true).unwrap();
        let kinds = [WriterKind::Procmem, WriterKind::Mprotect, WriterKind::Remap];
        for writer in [None, Some(kinds[0]), Some(kinds[1]), Some(kinds[2])] {
            for call in [libc::SYS_pwrite64, libc::SYS_mremap, libc::SYS_membarrier] {
                for primed in [true, false] {
                    for ordinal in 1.. {
                        set_writer(writer);
                        off(sites, primed);
                        let before = watch.state();
                        faults.arm(call, ordinal, ordinal, Fault::Everything(libc::EIO));
                        let result = sites.set(true);
                        if faults.disarm() == 0 {
                            break;
                        }
                        match result {
                            Ok(_) => assert!(sites.all(true)),
                            Err(Error::RollbackFailed { .. }) => {
                                assert!(sites.keys.iter().all(|key| !key.is_enabled()))
                            }
                            Err(error) => assert_eq!(
                                (before.behaviour(), sites.all(false)),
                                (watch.state().behaviour(), true),
                                "{error:?}, {writer:?}, call {call} number {ordinal}, primed {primed}"
                            ),
                        }
                        for on in [false, true] {
                            sites.set(on).unwrap();
                            assert!(sites.all(on) && sites.agree(), "{result:?}, call {call} number {ordinal}");
                        }
                        // `mprotect` cannot close pages if no call works. It says so, or the next flip closes them.
                        assert!(!is_open(&watch.map()), "{result:?}");
                    }
                }
            }
        }
    });
}

/// Some emulators report success of `pwrite` and change nothing. The self-test finds out before any site is touched.
#[test]
fn writes_that_lie() {
    passes(|| {
        let sites = sites();
        let watch = Watch::new(sites.raw());
        let faults = Faults::new(&CALLS);
        faults.arm(libc::SYS_pwrite64, 1, u32::MAX, Fault::Lie);
        set_writer(Some(WriterKind::Procmem));
        let error = watch.refused(|| sites.set(true));
        assert!(
            matches!(error, Error::Denied { refused } if refused.of(WriterKind::Procmem) == Refusal::NO_EFFECT),
            "{error:?}"
        );
        set_writer(None);
        let outcome = sites.set(true).unwrap();
        assert!(outcome.writer == Some(WriterKind::Mprotect) && sites.all(true));
        // A writer that has lied once is never asked again.
        faults.disarm();
        assert_eq!(sites.set(false).unwrap().writer, Some(WriterKind::Mprotect));
        assert!(sites.all(false));
    });
}

/// A write of four bytes ends after one, two or three of them, because the next page is refused: the written bytes are taken back, too. If that is
/// refused at once, the flip does it on the way back.
#[test]
fn writes_that_stop_halfway() {
    passes(|| {
        let faults = Faults::new(&CALLS);
        for pages in [crossing(), sites()] {
            let watch = Watch::new(pages.raw());
            set_writer(Some(WriterKind::Procmem));
            pages.set(true).unwrap();
            for fault in (1..4).flat_map(|missing| [Fault::Short(missing), Fault::Torn(missing)]) {
                for ordinal in 1.. {
                    off(pages, false);
                    let before = watch.state();
                    faults.arm(libc::SYS_pwrite64, ordinal, ordinal, fault);
                    let result = pages.set(true);
                    let fired = faults.disarm() > 0;
                    match result {
                        Err(error) => assert_eq!(watch.state(), before, "{error:?}, {fault:?}"),
                        Ok(_) => assert!(pages.all(true)),
                    }
                    pages.set(true).unwrap();
                    assert!(pages.all(true) && pages.agree());
                    // Only writes of several bytes are cut short.
                    if !fired && ordinal > 100 {
                        break;
                    }
                }
            }
        }
    });
}

/// From the k-th call on, no protection can be changed: if pages were opened and cannot be closed, the flip has happened and a warning says so. The
/// next flip closes them, whichever writer it takes.
#[test]
fn left_writable() {
    passes(|| {
        let sites = sites();
        let watch = Watch::new(sites.raw());
        let faults = Faults::new(&CALLS);
        sites.set(true).unwrap();
        for next in [WriterKind::Procmem, WriterKind::Mprotect, WriterKind::Remap] {
            let mut warned = 0;
            for ordinal in 1.. {
                let (closed, on) = (watch.map(), !sites.keys[0].is_enabled());
                set_writer(Some(WriterKind::Mprotect));
                faults.arm(libc::SYS_mprotect, ordinal, u32::MAX, Fault::Errno(libc::ENOMEM));
                let result = sites.set(on);
                if faults.disarm() == 0 {
                    break;
                }
                match result {
                    Ok(outcome) => {
                        assert!(sites.all(on) && outcome.warnings.left_writable && is_open(&watch.map()));
                        warned += 1;
                    }
                    Err(_) => assert!(sites.all(!on)),
                }
                set_writer(Some(next));
                sites.set(!on).unwrap();
                let outcome = sites.set(on).unwrap();
                assert!(sites.all(on) && !outcome.warnings.left_writable);
                assert_eq!(watch.map(), closed, "still writable after {next:?}");
            }
            assert!(warned >= 6, "the warning was hardly reached: {warned} times after {next:?}");
        }
    });
}

/// A platform that reports an undo that it has not made.
struct Careless;

static REFUSED: AtomicBool = AtomicBool::new(false);

impl Twin for Careless {
    fn write(&self, writer: &mut dyn Writer, writes: &[Write]) -> Result<(), (usize, Refusal)> {
        // Writes after a refusal take back what was written.
        if REFUSED.load(Ordering::Relaxed) {
            return Ok(());
        }
        // SAFETY: called as `Writer::write` is.
        unsafe { writer.write(writes) }.inspect_err(|_| REFUSED.store(true, Ordering::Relaxed))
    }
}

/// The write of the fourth of six sites in the last step; before the first step, one goes to each of their pages.
const FOURTH: u32 = 6 * Native::STEPS as u32 + 4;

/// The k-th write is refused; after it, all must be as before.
fn refused_in_mid_batch(ordinal: u32) {
    let watch = Watch::new(sites().raw());
    set_writer(Some(WriterKind::Procmem));
    sites().set(true).unwrap(); // proves the writer
    sites().restore_pristine();
    let faults = Faults::new(&CALLS);
    faults.arm(libc::SYS_pwrite64, ordinal, ordinal, Fault::Errno(libc::EIO));
    watch.refused(|| sites().set(true));
    assert_eq!(faults.disarm(), 1);
}

#[test]
fn undone() {
    passes(|| refused_in_mid_batch(FOURTH));
}

#[test]
fn broken_twin_does_not_undo() {
    Scenario::new().fails("changed something", || {
        install(Careless);
        refused_in_mid_batch(FOURTH);
    });
}
