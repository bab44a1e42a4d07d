//! Core sync is refused on the way back: then the step before is not undone, because a thread may not have seen that step.
#![cfg(any(target_arch = "x86_64", target_arch = "x86"))] // where there are several steps

use std::sync::atomic::{AtomicU32, Ordering};

use jumplabel::platform::Writer;
use jumplabel::{Error, Refusal, WriterKind, set_writer};

use crate::scenario::passes;
use crate::twin::{self, Twin};

crate::pages::pages! { sites: 1 keys, 1 sites, every 1 pages, at 0 }

/// The first core sync succeeds, and no other while this is not 0.
static ASKED: AtomicU32 = AtomicU32::new(0);

struct Once;

impl Twin for Once {
    fn sync(&self, writer: &mut dyn Writer) -> Result<(), Refusal> {
        match ASKED.load(Ordering::Relaxed) {
            0 => writer.sync(),
            1 => {
                ASKED.store(2, Ordering::Relaxed);
                writer.sync()
            }
            _ => Err(Refusal::errno(libc::EPERM)),
        }
    }
}

#[test]
fn no_step_is_undone_unseen() {
    passes(|| {
        twin::install(Once);
        let sites = sites();
        set_writer(Some(WriterKind::Procmem));
        jumplabel::probe().unwrap();
        let first = || {
            // SAFETY: a site.
            unsafe { (sites.site(0) as *const u8).read_volatile() }
        };
        let pristine = first();
        ASKED.store(1, Ordering::Relaxed);
        let error = sites.set(true).unwrap_err();
        assert!(matches!(error, Error::MultiThreaded { .. }), "{error:?}");
        assert!(first() != pristine && !sites.check(0), "the first step was undone without a core sync");
        ASKED.store(0, Ordering::Relaxed);
        for on in [true, false] {
            sites.set(on).unwrap();
            assert!(sites.all(on));
        }
    });
}
