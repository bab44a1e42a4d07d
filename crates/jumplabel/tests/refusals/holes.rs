//! Pages that cannot be read although the rest of their mapping can: guards, and pages after the end of a file that was truncated. A load from such
//! a page ends the process, and no protection tells of it.

use std::ops::Range;
use std::os::unix::process::ExitStatusExt;

use jumplabel::platform::builtin;
use jumplabel::{Error, Lock, WriterKind, set_writer, verify};

use crate::pages::{PAGE, Pages};
use crate::scenario::{emulator, fork, passes, reap, wait_for};
use crate::seccomp::{Fault, Faults, deny};
use crate::twin::{Twin, install};

// One key with more sites than the library asks for page by page, close together and apart; several keys.
crate::pages::pages! { close: 1 keys, 40 sites, every 1 pages, at 0 }
crate::pages::pages! { apart: 1 keys, 36 sites, every 5 pages, at 0 }
crate::pages::pages! { several: 3 keys, 30 sites, every 1 pages, at 0 }
// A key on so many pages that the library asks which of them are there.
crate::pages::pages! { wide: 1 keys, 90 sites, every 1 pages, at 0 }

const ALL: [fn() -> Pages; 4] = [close, apart, several, wide];

const WRITERS: [Option<WriterKind>; 4] =
    [None, Some(WriterKind::Procmem), Some(WriterKind::Mprotect), Some(WriterKind::Remap)];

/// Guards the page of `address`, or removes the guard, and with it everything that was written to the page. False if the system has no guards for
/// files.
fn guard(address: usize, on: bool) -> bool {
    const INSTALL: i32 = 102;
    const REMOVE: i32 = 103;
    let (page, advice) = ((address & !(PAGE - 1)) as *mut libc::c_void, if on { INSTALL } else { REMOVE });
    // SAFETY: a page of code of this test, which nobody runs meanwhile.
    unsafe { libc::madvise(page, PAGE, advice) == 0 }
}

fn demand_guards() {
    if !guard(close().site(0), true) {
        println!("skipped: no guards in mappings of files here ({})", std::io::Error::last_os_error());
        crate::scenario::skip();
    }
    guard(close().site(0), false);
}

/// Asserts that every call that reads the sites is refused, and names `site`.
fn is_refused(pages: Pages, site: usize) {
    let expected = Error::Unreadable { address: site };
    let on = pages.keys[0].is_enabled();
    for anew in [false, true] {
        if anew {
            Lock::take().unwrap().read_tables_anew();
        }
        assert_eq!(pages.set(!on), Err(expected));
        assert_eq!(verify(), Err(expected));
    }
    assert!(pages.keys.iter().all(|key| key.is_enabled() == on));
}

#[test]
fn guards() {
    passes(|| {
        demand_guards();
        for (writer, pages) in WRITERS.into_iter().flat_map(|writer| ALL.map(|pages| (writer, pages()))) {
            set_writer(writer);
            for on in [true, false] {
                for number in (0..pages.count).step_by(3).chain([pages.count - 1]) {
                    assert!(guard(pages.site(number), true));
                    is_refused(pages, pages.site(number));
                    assert!(guard(pages.site(number), false));
                }
                // The writes to these pages have gone with the guards.
                verify().unwrap();
                pages.set(on).unwrap();
                assert!(pages.all(on));
            }
        }
    });
}

/// A guard between the sites, where the library reads nothing.
#[test]
fn guards_elsewhere() {
    passes(|| {
        demand_guards();
        let pages = apart();
        for (number, page) in [(0, 1), (7, 2), (pages.count - 2, 4)] {
            assert!(guard(pages.site(number) + page * PAGE, true));
        }
        for (writer, on) in WRITERS.into_iter().flat_map(|writer| [(writer, true), (writer, false)]) {
            set_writer(writer);
            pages.set(on).unwrap();
            verify().unwrap();
            assert!(pages.all(on));
        }
    });
}

/// The file of the pages is truncated: in the middle, and in front of the last page. Also where the system does not know the question about
/// many pages.
#[test]
fn truncated_file() {
    passes(|| {
        for pages in ALL.map(|pages| pages()) {
            let cases = [(pages.count / 2, None), (pages.count - 1, Some(WriterKind::Mprotect))];
            for ((number, writer), is_old) in cases.into_iter().flat_map(|case| [(case, false), (case, true)]) {
                reap(fork(|| {
                    set_writer(writer);
                    if is_old {
                        deny(&[libc::SYS_madvise, libc::SYS_ioctl], libc::EINVAL);
                    }
                    let (start, bytes) = (pages.site(0), pages.stride * pages.count);
                    // SAFETY: code of this test, which nobody runs meanwhile; a file that nobody else has.
                    let truncate = unsafe {
                        let file = libc::memfd_create(c"truncated".as_ptr(), libc::MFD_CLOEXEC);
                        assert_eq!(libc::write(file, start as *const _, bytes), bytes as isize);
                        let (protection, flags) =
                            (libc::PROT_READ | libc::PROT_EXEC, libc::MAP_PRIVATE | libc::MAP_FIXED);
                        let mapped = libc::mmap(start as *mut _, bytes, protection, flags, file, 0);
                        assert_eq!(mapped as usize, start);
                        move |bytes: usize| assert_eq!(libc::ftruncate(file, bytes as i64), 0)
                    };
                    truncate(pages.stride * number);
                    is_refused(pages, pages.site(number));
                    true
                }));
            }
        }
    });
}

/// Whether the kernel says which pages are there: since Linux 6.11 it also says to which mapping they belong.
fn scans() -> bool {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release.split(['.', '-']).map_while(|number| number.parse::<u32>().ok());
    PAGE == 4096 && emulator().is_none() && (numbers.next(), numbers.next()) >= (Some(6), Some(11))
}

/// The number of questions to the system: not one for each page if sites lie close together.
#[test]
fn few_questions() {
    passes(|| {
        let faults = Faults::new(&[libc::SYS_rt_sigprocmask, libc::SYS_madvise]);
        set_writer(Some(WriterKind::Procmem));
        close().set(true).unwrap(); // proves the writer
        for (call, most) in [(libc::SYS_rt_sigprocmask, 2 + 2), (libc::SYS_madvise, 2)] {
            faults.count(call);
            close().set(call != libc::SYS_rt_sigprocmask).unwrap();
            assert!(PAGE > 4096 || faults.seen() <= most, "{} calls", faults.seen());
            faults.disarm();
        }
        // A system that does not know the question about many pages, and one that refuses it.
        for errno in [libc::EINVAL, libc::EPERM] {
            faults.arm(libc::SYS_madvise, 1, u32::MAX, Fault::Errno(errno));
            for on in [false, true] {
                close().set(on).unwrap();
                verify().unwrap();
                assert!(close().all(on) && faults.fired() > 0);
            }
        }
        // The library need not ask for pages that are there. It asks for a page that is not there, and for those after it.
        let absent = |number: usize| {
            // SAFETY: a page of code of this test, which gets the file's bytes back.
            assert_eq!(unsafe { libc::madvise(wide().site(number) as *mut _, PAGE, libc::MADV_DONTNEED) }, 0);
        };
        wide().set(true).unwrap();
        for on in [false, true] {
            for number in [0, 45, wide().count - 1] {
                faults.disarm();
                absent(number);
                faults.count(libc::SYS_madvise);
                wide().set(on).unwrap();
                assert!(wide().all(on) && faults.seen() <= 1, "{} calls", faults.seen());
            }
            faults.count(libc::SYS_madvise);
            wide().set(!on).unwrap();
            assert!(wide().all(!on) && (faults.seen() == 0 || !scans()), "{} calls", faults.seen());
            faults.disarm();
        }
    });
}

/// The broken twin: a platform that expects all pages of a mapping to be like the first one at which it looks.
struct OfMapping;

impl Twin for OfMapping {
    fn readable(&self, addresses: Range<usize>) -> Range<usize> {
        if builtin().readable(addresses).is_empty() { 0..0 } else { 0..usize::MAX }
    }
}

#[test]
fn broken_twin_reads_what_is_guarded() {
    if emulator().is_some() {
        return; // An emulator dies in its own way.
    }
    passes(|| {
        demand_guards();
        install(OfMapping);
        let child = fork(|| guard(close().site(20), true) && close().set(true).is_err());
        assert_eq!(wait_for(child).signal(), Some(libc::SIGSEGV));
    });
}
