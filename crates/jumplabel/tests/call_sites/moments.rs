//! Calls that are looked at, processes that are forked, and writes that are refused, at each step of an update.

use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use jumplabel::platform::{Write, Writer};
use jumplabel::{Error, Outcome, Refusal, WriterKind, set_writer};
use jumplabel_testing::scenario::{Scenario, end, passes, reap};
use jumplabel_testing::twin::{Twin, install};

use super::{Function, HOOK, Site, lead_to, sites, targets, trampoline};

/// A platform that acts at each moment of an update: before and after each write, and after each core sync.
struct AtMoments {
    /// The broken twin: writes byte by byte.
    tears: bool,
}

/// The number of moments until [`ACT`] happens; below 0, it does not happen.
static MOMENTS: AtomicI64 = AtomicI64::new(-1);
static ACT: AtomicUsize = AtomicUsize::new(0);
const LOOK: usize = 1;
const CLONE: usize = 2;
const REFUSE_WRITE: usize = 3;
/// The addresses to which sites may lead now: the old target, and the new one.
static LEGAL: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

fn is_legal(site: &Site) -> bool {
    let leads_to = site.leads_to();
    leads_to == trampoline() || LEGAL.iter().any(|legal| legal.load(Ordering::Relaxed) == leads_to)
}

fn now(act: usize) -> bool {
    ACT.load(Ordering::Relaxed) == act && MOMENTS.fetch_sub(1, Ordering::Relaxed) == 0
}

fn moment() {
    if ACT.load(Ordering::Relaxed) == LOOK {
        for site in sites() {
            assert!(is_legal(site), "a call in mid-update leads to {:#x}", site.leads_to());
            let result = (site.function)(0);
            let legal = targets().into_iter().filter(|target| {
                LEGAL.iter().any(|legal| legal.load(Ordering::Relaxed) == target.1 as *const () as usize)
            });
            assert!(legal.map(|target| target.0).any(|number| number == result), "{result} in mid-update");
        }
    }
    if now(CLONE) {
        // SAFETY: as fork, on a copy of this stack.
        match unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) } {
            0 => end(|| {
                let whole = sites().iter().all(is_legal);
                let elsewhere = [1, 0].into_iter().all(|at| {
                    let (number, target) = targets()[at];
                    HOOK.update(target).is_ok() && sites().iter().all(|site| (site.function)(0) == number)
                });
                whole && elsewhere
            }),
            child => reap(child as i32),
        }
    }
}

impl Twin for AtMoments {
    fn write(&self, writer: &mut dyn Writer, writes: &[Write]) -> Result<(), (usize, Refusal)> {
        moment();
        if now(REFUSE_WRITE) {
            return Err((0, Refusal::errno(libc::EPERM)));
        }
        for write in writes {
            let parts = write.bytes().chunks(if self.tears { 1 } else { 15 });
            for (part, address) in parts.zip(write.address..) {
                let write = Write::new(address, part, write.is_single_store() && !self.tears);
                // SAFETY: a part of what is passed on.
                unsafe { writer.write(&[write]) }?;
                moment();
            }
        }
        Ok(())
    }
    fn sync(&self, writer: &mut dyn Writer) -> Result<(), Refusal> {
        let result = writer.sync();
        moment();
        result
    }
}

/// Leads the call from each target to each other one, while `act` happens at moment `at`, for each such moment. Returns how many there were.
fn at_each_moment(act: usize, then: impl Fn(Result<Outcome, Error>, [(u64, Function); 2])) -> usize {
    let mut happened = 0;
    for from in targets() {
        for to in targets().into_iter().filter(|to| to.0 != from.0) {
            for at in 0.. {
                ACT.store(0, Ordering::Relaxed);
                HOOK.update(from.1).unwrap();
                for (legal, (_, target)) in LEGAL.iter().zip([from, to]) {
                    legal.store(target as *const () as usize, Ordering::Relaxed);
                }
                MOMENTS.store(at, Ordering::Relaxed);
                ACT.store(act, Ordering::Relaxed);
                let result = HOOK.update(to.1);
                ACT.store(0, Ordering::Relaxed);
                then(result, [from, to]);
                if MOMENTS.load(Ordering::Relaxed) >= 0 || act == LOOK {
                    break;
                }
                happened += 1;
            }
        }
    }
    happened
}

fn look(tears: bool) {
    sites();
    targets();
    install(AtMoments { tears });
    set_writer(Some(WriterKind::Mprotect)); // which writes to the sites themselves
    at_each_moment(LOOK, |result, [_, to]| {
        result.unwrap();
        lead_to(to, sites());
    });
}

/// Each site leads to the old target, to the new one, or to the trampoline, which leads to one of them.
#[test]
fn at_each_step() {
    passes(|| look(false));
}

#[test]
fn broken_twin_tears_displacements() {
    Scenario::new().fails("a call in mid-update leads to", || look(true));
}

#[test]
fn a_raw_clone_at_each_step() {
    passes(|| {
        sites();
        targets();
        install(AtMoments { tears: false });
        let clones = at_each_moment(CLONE, |result, [_, to]| {
            result.unwrap();
            lead_to(to, sites());
        });
        println!("{clones} clones");
        assert!(clones > 30);
    });
}

#[test]
fn a_write_refused_at_each_step() {
    passes(|| {
        sites();
        targets();
        install(AtMoments { tears: false });
        for writer in [Some(WriterKind::Mprotect), Some(WriterKind::Remap)] {
            set_writer(writer);
            let refused = at_each_moment(REFUSE_WRITE, |result, [from, to]| match result {
                // Sites that were on the trampoline stayed there.
                Ok(_) => assert!(sites().iter().all(|site| (site.function)(0) == to.0)),
                Err(Error::Denied { .. }) => lead_to(from, sites()),
                Err(error) => panic!("{error:?} from {} to {}", from.0, to.0),
            });
            println!("{refused} refused");
            assert!(refused > 6);
        }
    });
}
