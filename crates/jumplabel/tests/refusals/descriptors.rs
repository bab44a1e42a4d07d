//! Programs that closed their standard input, output and error: no descriptor that the library opens gets their numbers, because the output of
//! another thread would go into it.

use jumplabel::platform::{core_sync_by_signal, core_sync_handler};
use jumplabel::{WriterKind, set_writer};

use crate::scenario::passes;
use crate::seccomp::{CORE_SYNC, Faults, OF_DESCRIPTORS, deny};

crate::pages::pages! { sites: 2 keys, 4 sites, every 18 pages, at 0 }

/// Whether the standard descriptors are closed.
fn are_closed() -> bool {
    // SAFETY: asks for a flag.
    (0..=2).all(|number| unsafe { libc::fcntl(number, libc::F_GETFD) } == -1)
}

extern "C" fn handler(_: i32) {
    // SAFETY: installed below, for a signal that nothing else sends.
    unsafe { core_sync_handler() };
}

#[test]
fn none_is_a_standard_one() {
    passes(|| {
        let faults = Faults::new(OF_DESCRIPTORS);
        // SAFETY: nothing in this process needs them; the handler does nothing but what it is for.
        unsafe {
            let handler: extern "C" fn(i32) = handler;
            libc::signal(libc::SIGUSR1, handler as libc::sighandler_t);
            (0..=2).for_each(|number| assert_eq!(libc::close(number), 0));
        }
        let flip = || {
            for writer in [None, Some(WriterKind::Procmem), Some(WriterKind::Mprotect), Some(WriterKind::Remap)] {
                set_writer(writer);
                for on in [true, false] {
                    sites().set(on).unwrap();
                    assert!(sites().all(on) && are_closed());
                }
            }
        };
        flip();
        // Without membarrier, the other threads are signalled: the one that answers for the filter, and that of the test's harness.
        // SAFETY: the handler is there.
        unsafe { core_sync_by_signal(libc::SIGUSR1) };
        deny(CORE_SYNC, libc::EPERM);
        flip();
        assert!((3..100).contains(&faults.lowest()), "{}", faults.lowest());
    });
}
