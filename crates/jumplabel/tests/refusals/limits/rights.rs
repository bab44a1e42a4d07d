//! Processes with other rights: nobody may look into them, or they have the rights of another user.

use std::ffi::CStr;
use std::os::unix::process::CommandExt;

use super::{MPROTECT, PROCMEM, REMAP, refuses, sites};
use crate::scenario::passes;

fn is_root() -> bool {
    // SAFETY: a number.
    let root = unsafe { libc::geteuid() } == 0;
    if !root {
        println!("skipped: not root");
    }
    root
}

/// An empty root directory: no /proc, and the program's own file is not to be found.
#[test]
fn no_proc() {
    passes(|| {
        if !is_root() {
            return;
        }
        let empty = std::env::temp_dir().join(format!("jumplabel-{}", std::process::id()));
        std::fs::create_dir_all(&empty).unwrap();
        let root = std::fs::File::open("/").unwrap();
        let call = |result: i32| assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
        // SAFETY: changes this process's root, and back by a descriptor from outside.
        let begin = || unsafe {
            let path = std::ffi::CString::new(empty.as_os_str().as_encoded_bytes()).unwrap();
            call(libc::chroot(path.as_ptr()));
            call(libc::chdir(c"/".as_ptr()));
        };
        // SAFETY: as above.
        let end = || unsafe {
            call(libc::fchdir(std::os::fd::AsRawFd::as_raw_fd(&root)));
            call(libc::chroot(c".".as_ptr()));
        };
        refuses(&[(PROCMEM, libc::ENOENT), (REMAP, libc::ENOENT)], MPROTECT, begin, Some(&end));
        std::fs::remove_dir(&empty).unwrap();
    });
}

const NOBODY: u32 = 65534;

/// A process that must not be looked into may not open its own memory, which belongs to root then. Its map is for all to
/// read.
#[test]
fn not_dumpable() {
    passes(|| {
        if !is_root() {
            return;
        }
        let dumpable = |on: i32| {
            // SAFETY: a flag of this process.
            assert_eq!(unsafe { libc::prctl(libc::PR_SET_DUMPABLE, on, 0, 0, 0) }, 0);
        };
        // SAFETY: no pointers; drops this process's rights.
        unsafe {
            assert_eq!(libc::setresgid(NOBODY, NOBODY, NOBODY), 0);
            assert_eq!(libc::setresuid(NOBODY, NOBODY, NOBODY), 0);
        }
        dumpable(1);
        // The program's file may lie where nobody may look: then `remap` cannot work afterwards either.
        let file = std::fs::File::open(std::env::current_exe().unwrap());
        let end = || dumpable(1);
        let end: Option<&dyn Fn()> = if file.is_ok() { Some(&end) } else { None };
        refuses(&[(PROCMEM, libc::EACCES)], MPROTECT, || dumpable(0), end);
    });
}

/// A program that runs with its owner's rights does not listen to its user's environment.
#[test]
fn setuid_ignores_the_environment() {
    passes(|| {
        if !is_root() {
            return;
        }
        let copy = std::env::temp_dir().join(format!("jumplabel-setuid-{}", std::process::id()));
        jumplabel_testing::programs::copy(&std::env::current_exe().unwrap(), &copy).unwrap();
        let path = std::ffi::CString::new(copy.as_os_str().as_encoded_bytes()).unwrap();
        let chmod = |path: &CStr, mode| {
            // SAFETY: a file of ours. Its owner is neither its user nor root.
            unsafe { assert!(libc::chown(path.as_ptr(), 1, 1) == 0 && libc::chmod(path.as_ptr(), mode) == 0) };
        };
        let run = || {
            let mut program = std::process::Command::new(&copy);
            program.args(["--exact", "limits::rights::flips_with_a_bogus_writer", "--ignored", "--nocapture"]);
            program.env("JUMPLABEL_WRITER", "bogus").uid(NOBODY).gid(NOBODY).current_dir("/");
            program.output().unwrap()
        };
        chmod(&path, 0o755);
        let plain = run();
        chmod(&path, 0o4755);
        let setuid = run();
        std::fs::remove_file(&copy).unwrap();
        let text = |output: &std::process::Output| String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text(&plain).contains("Err(UnknownWriter)"), "{plain:?}");
        if text(&setuid).contains("secure: false") {
            println!("skipped: {} is on a file system without setuid", copy.display());
        } else {
            assert!(text(&setuid).contains("secure: true, Ok("), "{setuid:?}");
        }
    });
}

/// The part of the test above that runs as another user.
#[test]
#[ignore = "only of use to setuid_ignores_the_environment"]
fn flips_with_a_bogus_writer() {
    // SAFETY: reads the auxiliary vector.
    let secure = unsafe { libc::getauxval(libc::AT_SECURE) } != 0;
    println!("secure: {secure}, {:?}", sites().set(true));
}
