//! A filter that asks a handler of SIGSYS, as sandboxes with a broker do: the handler runs in the middle of a flip, and refuses.

use std::sync::atomic::{AtomicUsize, Ordering};

use jumplabel::{Error, WriterKind, set_writer};

use crate::scenario::passes;
use crate::seccomp::{Call, trap};
use crate::state::Watch;

crate::pages::pages! { sites: 3 keys, 6 sites, every 18 pages, at 4094 }

static ASKED: AtomicUsize = AtomicUsize::new(0);

/// The system call returns EPERM.
extern "C" fn refuse(_signal: i32, _info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    ASKED.fetch_add(1, Ordering::Relaxed);
    // SAFETY: what the kernel hands to a handler.
    let context = unsafe { &mut *context.cast::<libc::ucontext_t>() };
    context.uc_mcontext.gregs[libc::REG_RAX as usize] = -i64::from(libc::EPERM);
}

fn ask(calls: &[Call]) {
    // SAFETY: a handler that does nothing but change its own frame.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = refuse as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO;
        assert_eq!(libc::sigaction(libc::SIGSYS, &raw const action, std::ptr::null_mut()), 0);
    }
    trap(calls);
}

#[test]
fn the_next_writer_is_tried() {
    passes(|| {
        let sites = sites();
        let watch = Watch::new(sites.raw());
        ask(&[libc::SYS_pwrite64]);
        let outcome = sites.set(true).unwrap();
        assert!(outcome.writer != Some(WriterKind::Procmem) && sites.all(true), "{outcome:?}");
        assert!(ASKED.load(Ordering::Relaxed) > 0);
        set_writer(Some(WriterKind::Procmem));
        let error = watch.refused(|| sites.set(false));
        assert!(matches!(error, Error::Denied { .. }), "{error:?}");
        ask(&[libc::SYS_mprotect, libc::SYS_mremap]);
        set_writer(None);
        assert!(matches!(sites.set(false), Err(Error::Denied { .. })));
        assert!(sites.all(true));
    });
}
