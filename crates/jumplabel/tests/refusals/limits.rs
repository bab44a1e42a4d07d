//! Systems that do not allow what a writer needs: limits on descriptors and memory, no /proc, no right to one's own memory, MDWE, sealed pages. A
//! writer that is set by name is refused; the automatic choice finds another one.

#[path = "limits/rights.rs"]
mod rights;
#[path = "limits/shared.rs"]
mod shared;
#[path = "limits/stores.rs"]
mod stores;

use std::os::unix::process::CommandExt;

use jumplabel::{Error, Refusal, WriterKind, for_each_site, set_writer, text_reserved};

use crate::pages::PAGE;
use crate::scenario::passes;
use crate::state::{Watch, is_open};

crate::pages::pages! { sites: 3 keys, 6 sites, every 18 pages, at 4094 }

const MPROTECT: Option<WriterKind> = Some(WriterKind::Mprotect);
const PROCMEM: Option<WriterKind> = Some(WriterKind::Procmem);
const REMAP: Option<WriterKind> = Some(WriterKind::Remap);

fn denied(writer: Option<WriterKind>, errno: i32) -> impl Fn(Error) -> bool {
    move |error| {
        let Error::Denied { refused } = error else { return false };
        refused.iter().eq(writer.map(|writer| (writer, Refusal::errno(errno))))
    }
}

/// While `cause` lasts, the writers in `refused` are refused with these errors and the automatic choice takes `other`; when
/// it is gone, all work. First with sites and writers as the process starts with them, then with used ones.
fn refuses(refused: &[(Option<WriterKind>, i32)], other: Option<WriterKind>, begin: impl Fn(), end: Option<&dyn Fn()>) {
    let sites = sites();
    let watch = Watch::new(sites.raw());
    let map = watch.map();
    for _ in 0..2 {
        begin();
        for &(writer, errno) in refused {
            set_writer(writer);
            let error = watch.refused(|| sites.set(true));
            assert!(denied(writer, errno)(error), "{error:?}");
            assert!(denied(writer, errno)(watch.refused(|| sites.keys[0].inc())));
            assert!(sites.all(false));
        }
        set_writer(None);
        for on in [true, false] {
            let outcome = sites.set(on).unwrap();
            assert!(outcome.writer == other && sites.all(on), "{outcome:?}");
        }
        let Some(end) = end else { break };
        end();
        for writer in [MPROTECT, PROCMEM, REMAP] {
            set_writer(writer);
            for on in [true, false] {
                assert_eq!(sites.set(on).unwrap().writer, writer);
                assert!(sites.all(on));
            }
        }
    }
    assert!(!is_open(&watch.map()));
    assert_eq!(watch.map(), map);
}

fn limit(resource: u32, soft: Option<u64>) {
    // SAFETY: plain numbers.
    unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        assert_eq!(libc::getrlimit(resource as _, &raw mut limit), 0);
        limit.rlim_cur = soft.map_or(limit.rlim_max, |soft| soft as _);
        assert_eq!(libc::setrlimit(resource as _, &raw const limit), 0);
    }
}

#[test]
fn no_descriptors() {
    passes(|| {
        let begin = || limit(libc::RLIMIT_NOFILE, Some(0));
        let end = || limit(libc::RLIMIT_NOFILE, None);
        refuses(&[(PROCMEM, libc::EMFILE), (REMAP, libc::EMFILE)], MPROTECT, begin, Some(&end));
    });
}

/// The table of descriptors is full but for one: a writer that needs one works, and gives it back.
#[test]
fn one_descriptor_left() {
    passes(|| {
        let sites = sites();
        let watch = Watch::new(sites.raw());
        let first_free = std::os::fd::AsRawFd::as_raw_fd(&std::fs::File::open("/dev/null").unwrap());
        limit(libc::RLIMIT_NOFILE, Some(first_free as u64 + 1));
        for writer in [PROCMEM, MPROTECT, None] {
            set_writer(writer);
            for on in [true, false, true, false] {
                sites.set(on).unwrap();
                assert!(sites.all(on));
            }
        }
        // This writer needs two at a time: the map and the file.
        set_writer(REMAP);
        assert!(denied(REMAP, libc::EMFILE)(watch.refused(|| sites.set(true))));
        limit(libc::RLIMIT_NOFILE, Some(first_free as u64 + 2));
        sites.set(true).unwrap();
        assert!(sites.all(true));
    });
}

/// No more data pages: private file mappings may not become writable, nor may the patcher map memory of its own.
#[test]
fn no_data() {
    passes(|| {
        sites().set(true).unwrap(); // the patcher's memory, once
        sites().set(false).unwrap();
        let begin = || limit(libc::RLIMIT_DATA, Some(PAGE as u64)); // 0 means no limit to some kernels
        let end = || limit(libc::RLIMIT_DATA, None);
        refuses(&[(MPROTECT, libc::ENOMEM), (REMAP, libc::ENOMEM)], PROCMEM, begin, Some(&end));
    });
}

/// No memory for the lock, then for the index, then for the list of changes.
#[test]
fn no_memory() {
    passes(|| {
        let sites = sites();
        let refused = || {
            limit(libc::RLIMIT_AS, Some(0));
            assert_eq!(sites.set(true), Err(Error::OutOfMemory));
            assert_eq!(sites.keys[0].inc(), Err(Error::OutOfMemory));
            assert!(sites.all(false) && sites.agree() && sites.keys.iter().all(|key| key.count() == 0));
            limit(libc::RLIMIT_AS, None);
        };
        refused();
        text_reserved(0..1).unwrap();
        refused();
        for_each_site(&sites.keys[0], |_| ()).unwrap();
        let watch = Watch::new(sites.raw());
        let before = watch.state();
        refused();
        assert_eq!(watch.state(), before);
        for on in [true, false] {
            sites.set(on).unwrap();
            assert!(sites.all(on));
        }
        // The library has all its memory now: a flip needs no more.
        limit(libc::RLIMIT_AS, Some(0));
        sites.set(true).unwrap();
        limit(libc::RLIMIT_AS, None);
        assert!(sites.all(true));
    });
}

/// Memory is never made both writable and executable, nor executable later.
#[test]
fn mdwe() {
    passes(|| {
        const PR_SET_MDWE: i32 = 65;
        let begin = || {
            // SAFETY: forbids this process something.
            if unsafe { libc::prctl(PR_SET_MDWE, 1, 0, 0, 0) } != 0 {
                println!("skipped: no MDWE here ({})", std::io::Error::last_os_error());
                crate::scenario::skip();
            }
        };
        refuses(&[(MPROTECT, libc::EACCES), (REMAP, libc::EACCES)], PROCMEM, begin, None);
    });
}

/// A page in the middle of a batch is sealed for ever.
#[test]
fn sealed_page() {
    passes(|| {
        const SYS_MSEAL: libc::c_long = 462;
        let page = sites().site(3) & !(PAGE - 1);
        let begin = || {
            // SAFETY: seals a page of code, which nobody unmaps.
            if unsafe { libc::syscall(SYS_MSEAL, page, PAGE, 0) } != 0 {
                println!("skipped: no mseal here ({})", std::io::Error::last_os_error());
                crate::scenario::skip();
            }
        };
        refuses(&[(MPROTECT, libc::EPERM), (REMAP, libc::EPERM)], PROCMEM, begin, None);
        // Flips of keys without a site on that page succeed.
        for writer in [MPROTECT, REMAP] {
            set_writer(writer);
            sites().keys[1].enable().unwrap();
            sites().keys[1].disable().unwrap();
        }
    });
}

/// The program writes to a page of code: its writes while the page is copied would be lost.
#[test]
fn writable_page() {
    passes(|| {
        let sites = sites();
        let page = sites.site(3) & !(PAGE - 1);
        let protect = |protection| {
            // SAFETY: a page of code, which stays readable and executable.
            assert_eq!(unsafe { libc::mprotect(page as *mut _, PAGE, protection) }, 0);
        };
        protect(libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC);
        let watch = Watch::new(sites.raw());
        set_writer(REMAP);
        assert!(denied(REMAP, libc::EACCES)(watch.refused(|| sites.set(true))));
        sites.keys[1].enable().unwrap(); // No site there.
        sites.keys[1].disable().unwrap();
        for writer in [MPROTECT, PROCMEM, None] {
            set_writer(writer);
            for on in [true, false] {
                sites.set(on).unwrap();
                assert!(sites.all(on));
            }
        }
        assert!(is_open(&watch.map()), "closed what the program had opened");
        protect(libc::PROT_READ | libc::PROT_EXEC);
        set_writer(REMAP);
        sites.set(true).unwrap();
        assert!(sites.all(true));
    });
}

/// An upgrade: the program's file has lost its name while the program runs.
#[test]
fn replaced_program() {
    if crate::scenario::emulator().is_some() {
        return; // Under an emulator, the process's own file is the emulator's.
    }
    passes(|| {
        let (program, name) = (std::env::current_exe().unwrap(), format!("replaced-{}", std::process::id()));
        let upgraded = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(&name);
        if !program.ends_with(&name) {
            std::fs::hard_link(program, &upgraded).unwrap();
            panic!("{}", std::process::Command::new(upgraded).args(std::env::args_os().skip(1)).exec());
        }
        std::fs::remove_file(program).unwrap();
        let sites = sites();
        for writer in [REMAP, MPROTECT, PROCMEM, None] {
            set_writer(writer);
            for on in [true, false] {
                sites.set(on).unwrap();
                assert!(sites.all(on));
            }
        }
    });
}

/// Gives up root's right to lock memory, so that RLIMIT_MEMLOCK counts.
fn give_up_locking() {
    const VERSION_3: u32 = 0x2008_0522;
    const IPC_LOCK: u32 = 14;
    let head = [VERSION_3, 0];
    let mut sets = [0_u32; 6]; // effective, permitted and inheritable; then the same of rights above 31
    // SAFETY: the arrays are as the version says: two words, and twice three.
    unsafe {
        assert_eq!(libc::syscall(libc::SYS_capget, head.as_ptr(), sets.as_mut_ptr()), 0);
        sets[0] &= !(1 << IPC_LOCK);
        assert_eq!(libc::syscall(libc::SYS_capset, head.as_ptr(), sets.as_ptr()), 0);
    }
}

/// New mappings are locked, and no more memory may be locked. The system says EAGAIN then, with which `remap` tells of something else.
#[test]
fn no_locked_memory() {
    passes(|| {
        let sites = sites();
        let watch = Watch::new(sites.raw());
        sites.set(true).unwrap();
        sites.set(false).unwrap();
        // The heap has room for what this test allocates while no memory may be mapped.
        drop(std::hint::black_box(vec![1_u8; 100 << 10]));
        give_up_locking();
        limit(libc::RLIMIT_MEMLOCK, Some(1));
        // SAFETY: plain numbers.
        assert_eq!(unsafe { libc::mlockall(libc::MCL_FUTURE) }, 0);
        set_writer(REMAP);
        // The list of copies needs some pages, and then each copy. The limit forbids one after the other.
        for pages in 0..6 {
            limit(libc::RLIMIT_MEMLOCK, Some(pages * PAGE as u64));
            let error = watch.refused(|| sites.set(true));
            assert!(denied(REMAP, libc::ENOMEM)(error), "{pages} pages: {error:?}");
            assert!(sites.all(false));
        }
        // SAFETY: takes back what `mlockall` did.
        assert_eq!(unsafe { libc::munlockall() }, 0);
        assert!(sites.set(true).unwrap().writer == REMAP && sites.all(true));
    });
}
