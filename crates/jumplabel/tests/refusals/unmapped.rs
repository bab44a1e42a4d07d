//! Pages with sites that the program has unmapped. Flips say so before they read or write anything, even without /proc, and even if a filter keeps
//! the library from asking in its usual way. Other keys flip.

use std::os::unix::process::ExitStatusExt;

use jumplabel::{Error, Lock, RawKey, WriterKind, for_each_site, set_writer, static_call};

use crate::pages::{PAGE, Pages};
use crate::scenario::{emulator, fork, passes, wait_for};
use crate::seccomp::{Call, Fault, Faults};
use crate::twin::{Twin, install};

// More pages than the library asks for one by one, and as many sites of one key as it asks for one by one.
crate::pages::pages! { many: 2 keys, 24 sites, every 1 pages, at 0 }
crate::pages::pages! { crossing: 2 keys, 4 sites, every 2 pages, at 4093 }

const WRITERS: [Option<WriterKind>; 4] =
    [None, Some(WriterKind::Procmem), Some(WriterKind::Mprotect), Some(WriterKind::Remap)];

/// Calls `body` while nothing is mapped at the page of `address`.
fn unmapped<T>(address: usize, body: impl FnOnce() -> T) -> T {
    let page = (address & !(PAGE - 1)) as *mut libc::c_void;
    // SAFETY: code of this test, which nobody runs meanwhile, and which comes back as a copy.
    unsafe {
        let code = std::slice::from_raw_parts(page.cast::<u8>(), PAGE).to_vec();
        assert_eq!(libc::munmap(page, PAGE), 0);
        let result = body();
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        assert_eq!(libc::mmap(page, PAGE, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0), page);
        page.cast::<u8>().copy_from(code.as_ptr(), PAGE);
        assert_eq!(libc::mprotect(page, PAGE, libc::PROT_READ | libc::PROT_EXEC), 0);
        result
    }
}

/// Every call that reads the sites of a key is refused while one of them is gone. The other key flips, if a writer works.
fn is_refused(pages: Pages, number: usize, page: usize, works: bool) {
    let [key, other]: [&RawKey; 2] = [&pages.keys[number % 2], &pages.keys[1 - number % 2]];
    let expected = Error::Unreadable { address: pages.site(number) };
    let on = key.is_enabled();
    unmapped(page, || {
        for anew in [false, true] {
            if anew {
                Lock::take().unwrap().read_tables_anew();
            }
            assert_eq!(pages.set(!on).err(), Some(expected));
            assert_eq!(for_each_site(key, |_| ()), Err(expected));
            assert!(key.is_enabled() == on && key.count() == i32::from(on));
        }
        for to in [!on, on] {
            let result = if to { other.enable() } else { other.disable() };
            assert!(result.is_ok() || !works && matches!(result, Err(Error::Denied { .. })), "{result:?}");
        }
    });
    assert!(pages.agree());
}

/// A static call goes to code of an object without a table, while some calls are refused, as if nothing were mapped there: the kernel's answer
/// about the mapping is that, or the answer is read from the text of the file, and reading fails for want of memory.
#[test]
fn mapped_but_refused() {
    static_call! { static LENGTH: unsafe extern "C" fn(*const libc::c_char) -> usize = nothing; }
    unsafe extern "C" fn nothing(_: *const libc::c_char) -> usize {
        0
    }
    passes(|| {
        let calls = [libc::SYS_ioctl, libc::SYS_pread64, libc::SYS_openat, libc::SYS_fstatfs, libc::SYS_msync];
        let faults = Faults::new(&calls);
        let mut met = 0;
        for (call, errno) in calls
            .into_iter()
            .flat_map(|call| [libc::ENOMEM, libc::ENOENT, libc::EPERM, libc::EINVAL].map(|errno| (call, errno)))
        {
            for (first, last) in [(1, 1), (2, 2), (1, u32::MAX)] {
                faults.arm(call, first, last, Fault::Errno(errno));
                let result = LENGTH.update(libc::strlen);
                met += faults.disarm();
                assert!(!matches!(result, Err(Error::NotCode { .. })), "{call} {errno}: {result:?}");
                LENGTH.reset().unwrap();
                LENGTH.update(libc::strlen).unwrap();
                // SAFETY: a text.
                assert_eq!(unsafe { LENGTH(c"four".as_ptr()) }, 4);
                LENGTH.reset().unwrap();
            }
        }
        assert!(met > 0);
    });
}

/// Runs the test with each writer, while all calls with this number are refused.
fn each_writer(pages: Pages, refused: Option<Call>, halves: &[usize]) {
    let faults = refused.map(|call| (call, Faults::new(&[call])));
    for writer in WRITERS {
        for on in [true, false] {
            set_writer(writer);
            if let Some((call, faults)) = faults {
                faults.arm(call, 1, u32::MAX, Fault::Errno(libc::ENOENT));
            }
            for number in (0..pages.count).step_by(5) {
                halves.iter().for_each(|half| is_refused(pages, number, pages.site(number) + half, refused.is_none()));
            }
            if let Some((_, faults)) = faults {
                faults.disarm();
            }
            set_writer(None);
            pages.set(on).unwrap();
            assert!(pages.all(on));
        }
    }
}

#[test]
fn sites_are_gone() {
    passes(|| each_writer(many(), None, &[0]));
}

#[test]
fn sites_are_gone_and_there_is_no_proc() {
    passes(|| each_writer(many(), Some(libc::SYS_openat), &[0]));
}

#[cfg(target_arch = "x86_64")]
#[test]
fn halves_of_sites_are_gone() {
    passes(|| {
        each_writer(crossing(), None, &[0, PAGE]);
        each_writer(crossing(), Some(libc::SYS_openat), &[0, PAGE]);
    });
}

/// A filter looks at the arguments of `rt_sigprocmask`, and refuses one that does not exist: so the library learns nothing from the call.
#[test]
fn sites_are_gone_and_the_question_is_refused() {
    passes(|| {
        crate::arguments::deny_unknown_masks(libc::EPERM);
        each_writer(many(), None, &[0]);
    });
}

/// The broken twin: a platform that says that all code is there.
struct Careless;

impl Twin for Careless {
    fn readable(&self, _: std::ops::Range<usize>) -> std::ops::Range<usize> {
        0..usize::MAX
    }
}

#[test]
fn broken_twin_reads_all_the_same() {
    if emulator().is_some() {
        return; // An emulator dies in its own way.
    }
    passes(|| {
        install(Careless);
        let child = fork(|| unmapped(many().site(0), || many().set(true).is_err()));
        assert_eq!(wait_for(child).signal(), Some(libc::SIGSEGV));
    });
}
