//! A root directory that has something else in the place of the kernel's /proc: a write there changes nothing, and a read there is not about this
//! process. The process enters it after its first flip, or before.

use std::fmt::Write;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use jumplabel::platform::{self, Writer, core_sync_by_signal, core_sync_handler};
use jumplabel::{Error, Refusal, Visibility, WriterKind, set_writer};

use crate::pages::PAGE;
use crate::scenario::{Scenario, passes, skip};
use crate::seccomp::{CORE_SYNC, deny};
use crate::state::{Watch, is_open};
use crate::twin::{Twin, install};

crate::pages::pages! { sites: 2 keys, 4 sites, every 1 pages, at 4093 }

/// A false root directory, and the way back out of it.
struct FalseRoot {
    directory: PathBuf,
    root: std::fs::File,
}

fn is_possible() -> bool {
    // SAFETY: a number.
    let possible = unsafe { libc::geteuid() } == 0 && std::path::Path::new("/dev/shm").is_dir();
    if !possible {
        println!("skipped: not root, or no /dev/shm");
    }
    possible
}

impl FalseRoot {
    /// Makes the directory with an empty `/proc/self` and `/proc/thread-self`, on a file system whose files can be as long as addresses are large.
    fn new() -> FalseRoot {
        let directory = PathBuf::from(format!("/dev/shm/jumplabel-{}", std::process::id()));
        if !is_possible() {
            skip();
        }
        for empty in ["proc/self", "proc/thread-self"] {
            std::fs::create_dir_all(directory.join(empty)).unwrap();
        }
        FalseRoot { directory, root: std::fs::File::open("/").unwrap() }
    }

    fn put(&self, file: &str, content: &str) {
        std::fs::write(self.directory.join("proc").join(file), content).unwrap();
    }

    fn enter(&self) {
        let path = std::ffi::CString::new(self.directory.to_str().unwrap()).unwrap();
        // SAFETY: changes this process's root.
        unsafe {
            assert_eq!(libc::chroot(path.as_ptr()), 0);
            assert_eq!(libc::chdir(c"/".as_ptr()), 0);
        }
    }

    fn leave(&self) {
        // SAFETY: changes it back, by a descriptor from outside.
        unsafe {
            assert_eq!(libc::fchdir(self.root.as_raw_fd()), 0);
            assert_eq!(libc::chroot(c".".as_ptr()), 0);
        }
    }
}

impl Drop for FalseRoot {
    fn drop(&mut self) {
        self.leave();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// Flips by `procmem` into a file. `used`: the writer was proven before.
fn memory_is_a_file(used: bool) {
    let root = FalseRoot::new();
    root.put("thread-self/mem", "");
    set_writer(Some(WriterKind::Procmem));
    for on in [used, false] {
        sites().set(on).unwrap();
    }
    let watch = Watch::new(sites().raw());
    root.enter();
    for flip in [|| sites().set(true), || sites().keys[0].inc()] {
        let result = flip();
        assert!(result.is_err() || sites().all(true), "said that it had flipped");
        let error = result.expect_err("was not refused");
        assert!(
            matches!(error, Error::Denied { refused } if refused.of(WriterKind::Procmem) == Refusal::NO_EFFECT),
            "{error:?}"
        );
        assert!(sites().all(false) && sites().agree() && sites().keys.iter().all(|key| !key.is_enabled()));
    }
    let before = watch.state();
    set_writer(None);
    for on in [true, false] {
        assert_eq!(sites().set(on).unwrap().writer, Some(WriterKind::Mprotect));
        assert!(sites().all(on));
    }
    assert_eq!(watch.state().behaviour(), before.behaviour());
    root.leave();
    // A writer that has lied once is never asked again.
    assert_eq!(sites().set(true).unwrap().writer, Some(WriterKind::Mprotect));
    assert!(sites().all(true));
}

#[test]
fn memory_is_a_file_later() {
    passes(|| memory_is_a_file(true));
}

#[test]
fn memory_is_a_file_from_the_start() {
    passes(|| memory_is_a_file(false));
}

/// A platform that takes a write to a file for one to memory.
struct Credulous;

impl Twin for Credulous {
    fn write(&self, writer: &mut dyn Writer, writes: &[platform::Write]) -> Result<(), (usize, Refusal)> {
        // SAFETY: called as `Writer::write` is.
        match unsafe { writer.write(writes) } {
            Err((_, Refusal::NO_EFFECT)) => Ok(()),
            result => result,
        }
    }
}

#[test]
fn broken_twin_believes() {
    if !is_possible() {
        return;
    }
    Scenario::new().fails("said that it had flipped", || {
        install(Credulous);
        memory_is_a_file(true);
    });
}

/// A map that says that the sites' pages are writable, and one that has much more than these pages: a library that believes it leaves the pages
/// writable, or takes the right to write from data.
fn map_is_a_file(place: &str) {
    let watch = Watch::new(sites().raw());
    let text = sites().site(0) & !(PAGE - 1);
    let map = watch.map();
    for (start, end, protection) in [(text, text + 16 * PAGE, "rwxp"), (PAGE, usize::MAX & !(PAGE - 1), "r-xp")] {
        let root = FalseRoot::new();
        let mut lie = String::new();
        writeln!(lie, "{start:x}-{end:x} {protection} 00000000 00:00 0 ").unwrap();
        root.put(place, &lie);
        root.enter();
        set_writer(Some(WriterKind::Mprotect));
        for on in [true, false] {
            sites().set(on).unwrap();
            assert!(sites().all(on));
        }
        set_writer(Some(WriterKind::Remap));
        let error = watch.refused(|| sites().set(true));
        assert!(
            matches!(error, Error::Denied { refused } if refused.of(WriterKind::Remap) == Refusal::errno(libc::ENOTTY)),
            "{error:?}"
        );
        assert!(!is_open(&watch.map()), "left writable");
        assert_eq!(watch.map(), map);
    }
}

#[test]
fn map_of_the_process_is_a_file() {
    passes(|| map_is_a_file("self/maps"));
}

#[test]
fn map_of_the_thread_is_a_file() {
    passes(|| map_is_a_file("thread-self/maps"));
}

/// A pipe whose other end nobody has: to open it waits for ever, with all signals blocked.
#[test]
fn map_is_a_pipe() {
    passes(|| {
        let root = FalseRoot::new();
        let path = root.directory.join("proc/thread-self/maps");
        let path = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
        // SAFETY: a path.
        assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o600) }, 0);
        root.enter();
        for on in [true, false] {
            sites().set(on).unwrap();
            assert!(sites().all(on));
        }
        set_writer(Some(WriterKind::Remap));
        let error = sites().set(true).expect_err("without a map");
        assert!(
            matches!(error, Error::Denied { refused } if refused.of(WriterKind::Remap) == Refusal::errno(libc::ENOTTY)),
            "{error:?}"
        );
    });
}

/// Denies membarrier, and flips sites that an earlier flip has primed, while another thread runs. Returns the visibility that is reported.
fn without_membarrier() -> Visibility {
    deny(CORE_SYNC, libc::EPERM);
    set_writer(Some(WriterKind::Mprotect));
    let outcome = sites().set(false).unwrap();
    assert!(sites().all(false));
    outcome.visibility
}

/// A directory with one directory in it, like that of a process with one thread.
#[test]
fn one_thread_in_a_false_directory() {
    passes(|| {
        let root = FalseRoot::new();
        sites().set(true).unwrap();
        root.enter();
        let flip = || without_membarrier();
        assert_eq!(std::thread::scope(|scope| scope.spawn(flip).join().unwrap()), Visibility::Eventual);
    });
}

/// A directory that has only the flipping thread in it, although a flip must wait for the other.
#[test]
fn no_others_in_a_false_directory() {
    static ANSWERS: AtomicU32 = AtomicU32::new(0);
    extern "C" fn handler(_: i32) {
        ANSWERS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: in a handler of the signal.
        unsafe { core_sync_handler() };
    }
    passes(|| {
        let root = FalseRoot::new();
        sites().set(true).unwrap();
        // SAFETY: the handler calls `core_sync_handler`, and nothing else sends the signal.
        unsafe {
            libc::signal(libc::SIGUSR2, handler as extern "C" fn(i32) as libc::sighandler_t);
            core_sync_by_signal(libc::SIGUSR2);
        }
        let flip = || {
            // SAFETY: a number.
            let me = unsafe { libc::gettid() };
            std::fs::create_dir_all(root.directory.join(format!("proc/{me}"))).unwrap();
            root.enter();
            without_membarrier()
        };
        let seen = std::thread::scope(|scope| scope.spawn(flip).join().unwrap());
        assert_eq!((seen, ANSWERS.load(Ordering::Relaxed)), (Visibility::Eventual, 0));
    });
}
