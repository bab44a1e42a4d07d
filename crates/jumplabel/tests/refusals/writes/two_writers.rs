//! The next writer begins with the bytes that the one before has left.

use std::sync::atomic::{AtomicU32, Ordering};

use jumplabel::arch::Native;
use jumplabel::platform::{Held, Summary, Write, Writer, WriterList};
use jumplabel::{Error, Refusal, WriterKind, for_each_site, set_writer};
use jumplabel_format::Arch;

use super::{CALLS, sites};
use crate::scenario::passes;
use crate::seccomp::{Fault, Faults, deny};
use crate::twin::{Twin, install};

/// Two writers in turn: the first is refused in the last step, and core sync on the way back; the second is refused its first core sync. The second
/// begins with the bytes that the first leaves.
struct Unlucky;

/// The number of writers that were opened, and the numbers of writes and core syncs of the last one.
static OPENED: AtomicU32 = AtomicU32::new(0);
static WRITES: AtomicU32 = AtomicU32::new(0);
static SYNCS: AtomicU32 = AtomicU32::new(0);

impl Twin for Unlucky {
    fn writers(&self, summary: &Summary, _: &mut Held) -> WriterList {
        OPENED.store(0, Ordering::Relaxed);
        if summary.unsynced {
            WriterList::default()
        } else {
            WriterList::of(&[WriterKind::Procmem, WriterKind::Mprotect])
        }
    }
    fn begin(&self) {
        OPENED.fetch_add(1, Ordering::Relaxed);
        WRITES.store(0, Ordering::Relaxed);
        SYNCS.store(0, Ordering::Relaxed);
    }
    fn write(&self, writer: &mut dyn Writer, writes: &[Write]) -> Result<(), (usize, Refusal)> {
        // Allowed are one write in each of the steps before the last, one of six in the last step, and the way back.
        let calls = WRITES.fetch_add(1, Ordering::Relaxed);
        if OPENED.load(Ordering::Relaxed) == 1 && calls == u32::from(Native::STEPS) - 1 {
            // SAFETY: a part of what the writer was opened for.
            unsafe { writer.write(&writes[..1]) }?;
            return Err((1, Refusal::errno(libc::EIO)));
        }
        // SAFETY: called as `Writer::write` is.
        unsafe { writer.write(writes) }
    }
    fn sync(&self, writer: &mut dyn Writer) -> Result<(), Refusal> {
        let calls = SYNCS.fetch_add(1, Ordering::Relaxed);
        let allowed = if OPENED.load(Ordering::Relaxed) == 1 { u32::from(Native::STEPS) - 1 } else { 0 };
        if calls < allowed { writer.sync() } else { Err(Refusal::errno(libc::EPERM)) }
    }
}

#[test]
fn what_one_writer_leaves_is_what_the_next_begins_at() {
    passes(|| {
        install(Unlucky);
        let error = sites().set(true).unwrap_err();
        assert!(matches!(error, Error::MultiThreaded { .. } | Error::Denied { .. }) || Native::STEPS == 1, "{error:?}");
        for key in &sites().keys[..3] {
            for_each_site(key, |site| assert!(site.state.is_some(), "{site}")).unwrap();
        }
        assert!(sites().all(false) && sites().agree());
    });
}

struct ProcmemThenRemap;

impl Twin for ProcmemThenRemap {
    fn writers(&self, _: &Summary, _: &mut Held) -> WriterList {
        WriterList::of(&[WriterKind::Procmem, WriterKind::Remap])
    }
}

/// The built-in writers, and real refusals: of the third write and of its undo, and then of the move that puts the copy in place in which
/// `remap` has undone the rest. All other patterns are in `turns`.
#[test]
fn an_undo_in_a_copy_counts_when_the_copy_is_in_place() {
    passes(|| {
        let (sites, faults) = (sites(), Faults::new(&CALLS));
        for (writer, on) in [(WriterKind::Procmem, true), (WriterKind::Remap, false)] {
            set_writer(Some(writer));
            sites.set(on).unwrap(); // proves the writer
        }
        install(ProcmemThenRemap);
        deny(&[libc::SYS_mremap], libc::EPERM);
        // Before the first write, one goes to each of the six pages.
        faults.arm(libc::SYS_pwrite64, 6 + 3, 6 + 4, Fault::Errno(libc::EPERM));
        let result = sites.set(true);
        assert_eq!(faults.disarm(), 2);
        assert!(!sites.all(false) && !sites.keys[0].is_enabled());
        assert!(matches!(result, Err(Error::RollbackFailed { .. })), "{result:?}");
        jumplabel::text_reserved(0..1).unwrap(); // takes the lock
        assert!(sites.all(false));
    });
}
