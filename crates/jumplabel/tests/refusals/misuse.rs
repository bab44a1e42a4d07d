//! Refusals that have nothing to do with the system: counts, seals, full batches, re-entry; foreign bytes, damaged tables.

#[path = "misuse/damaged_tables.rs"]
mod damaged_tables;
#[path = "misuse/foreign_bytes.rs"]
mod foreign_bytes;
#[path = "misuse/table.rs"]
mod table;

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use jumplabel::platform::{Write, Writer};
use jumplabel::{Batch, Error, RawKey, Refusal, WriterKind, for_each_site, prepare, probe, set_writer, static_key};

use crate::scenario::{fork, passes, reap};
use crate::state::Watch;
use crate::twin::{Twin, install};

crate::pages::pages! { sites: 4 keys, 8 sites, every 1 pages, at 0 }

const WRITERS: [Option<WriterKind>; 4] =
    [None, Some(WriterKind::Procmem), Some(WriterKind::Mprotect), Some(WriterKind::Remap)];

/// The word of a key, to give it at once the value that 2^31 calls of `inc` would give it.
fn word(key: &'static RawKey) -> &'static AtomicI32 {
    // SAFETY: a RawKey begins with its word, and nobody else is there.
    unsafe { &*std::ptr::from_ref(key).cast() }
}

#[test]
fn counts_and_seals() {
    passes(|| {
        let [a, b, c, d] = [0, 1, 2, 3].map(|at| -> &'static RawKey { &sites().keys[at] });
        let watch = Watch::new(sites().raw());

        assert_eq!(watch.refused(|| a.dec()), Error::Underflow);
        a.inc().unwrap();
        word(a).store(i32::MAX, Ordering::SeqCst);
        assert_eq!(watch.refused(|| a.inc()), Error::Overflow);
        assert_eq!(a.seal(), Err(Error::Overflow));
        assert!(!a.fast_inc_not_disabled() && a.count() == i32::MAX);
        a.dec().unwrap();
        a.inc().unwrap();
        assert_eq!(watch.refused(|| a.disable()), Error::Counted { count: i32::MAX });
        // If one key of a batch is refused, nothing of the batch happens, wherever in the batch the key is.
        b.enable().unwrap();
        let batch = || Batch::new().disable(b).enable(c).disable(a).enable(d).commit();
        assert_eq!(watch.refused(batch), Error::Counted { count: i32::MAX });
        word(a).store(1, Ordering::SeqCst);
        batch().unwrap();
        assert!(!a.is_enabled() && !b.is_enabled() && c.is_enabled() && d.is_enabled() && sites().agree());

        d.seal().unwrap();
        assert_eq!(watch.refused(|| d.dec()), Error::Sealed);
        assert_eq!(watch.refused(|| Batch::new().disable(c).disable(d).commit()), Error::Sealed);
        assert_eq!(
            watch.refused(|| Batch::<1>::with_capacity().disable(c).enable(a).commit()),
            Error::BatchFull { capacity: 1 }
        );
        Batch::new().disable(c).enable(d).commit().unwrap();
        assert!(sites().agree());
    });
}

/// The calls that are refused to this thread while it is in the middle of a flip.
fn refused_in_mid_flip() {
    let keys = sites().keys;
    assert_eq!(keys[0].enable(), Err(Error::Reentrant));
    assert_eq!(sites().set(true), Err(Error::Reentrant));
    assert_eq!(keys[0].seal(), Err(Error::Reentrant));
    assert_eq!(jumplabel::restore_pristine(&keys[0]), Err(Error::Reentrant));
    assert_eq!(for_each_site(&keys[1], |_| ()), Err(Error::Reentrant));
    assert_eq!(jumplabel::text_reserved(0..1), Err(Error::Reentrant));
}

/// A platform whose writer flips.
struct Nested;

impl Twin for Nested {
    fn write(&self, writer: &mut dyn Writer, writes: &[Write]) -> Result<(), (usize, Refusal)> {
        refused_in_mid_flip();
        // SAFETY: called as `Writer::write` is.
        unsafe { writer.write(writes) }
    }
}

#[test]
fn reentry() {
    passes(|| {
        install(Nested);
        for on in [true, false] {
            sites().set(on).unwrap();
            assert!(sites().all(on) && sites().agree());
        }
    });
}

/// Functions that visit sites may flip, and may panic.
#[test]
fn visitors() {
    passes(|| {
        let keys = sites().keys;
        assert_eq!(for_each_site(&keys[0], |_| assert!(keys[0].inc().is_ok())), Ok(2));
        assert!(keys[0].count() == 2 && sites().agree());
        let panicked = std::panic::catch_unwind(|| for_each_site(&keys[0], |_| panic!("on purpose")));
        assert!(panicked.is_err());
        keys[0].dec().and_then(|_| keys[0].dec()).unwrap();
        assert!(sites().all(false));
    });
}

/// Handlers of `fork` that were registered before the patcher's run while the patcher's hold the lock. In the child the lock is free from the
/// start.
#[test]
fn handlers_of_fork() {
    passes(|| {
        sites().set(true).unwrap();
        IN_FORK.store(true, Ordering::SeqCst);
        let flips = || {
            sites().set(false).unwrap();
            sites().all(false)
        };
        reap(fork(flips));
        IN_FORK.store(false, Ordering::SeqCst);
        assert_eq!(REFUSED.load(Ordering::SeqCst), 2, "prepare, parent");
        assert!(sites().all(true) && flips());
    });
}

static IN_FORK: AtomicBool = AtomicBool::new(false);
static REFUSED: AtomicI32 = AtomicI32::new(0);

extern "C" fn flip_in_fork() {
    if IN_FORK.load(Ordering::SeqCst) {
        refused_in_mid_flip();
        REFUSED.fetch_add(1, Ordering::SeqCst);
    }
}

extern "C" fn register_before_all() {
    // SAFETY: handlers as long-lived as the program.
    unsafe { libc::pthread_atfork(Some(flip_in_fork), Some(flip_in_fork), None) };
}

#[used]
#[unsafe(link_section = ".preinit_array")]
static REGISTER: extern "C" fn() = register_before_all;

#[test]
fn writer_forced_by_an_unknown_name() {
    crate::scenario::Scenario::new().env("JUMPLABEL_WRITER", "bogus").passes(|| {
        let watch = Watch::new(sites().raw());
        assert_eq!(watch.refused(|| sites().set(true)), Error::UnknownWriter);
        assert_eq!(watch.refused(|| sites().keys[0].enable()), Error::UnknownWriter);
        assert_eq!(prepare().map(drop), Err(Error::UnknownWriter));
        assert_eq!(probe(), Err(Error::UnknownWriter));
        for name in ["bogus", "", "custom", "Remap", "remap "] {
            assert_eq!(WriterKind::named(name), Err(Error::UnknownWriter), "{name:?}");
        }
        for kind in WRITERS {
            assert_eq!(WriterKind::named(kind.map_or("auto", WriterKind::name)), Ok(kind));
        }
        // Calls that need no writer work.
        static_key! { static LONELY: false; }
        LONELY.enable().unwrap();
        set_writer(None);
        sites().set(true).unwrap();
        assert!(sites().all(true));
    });
}
