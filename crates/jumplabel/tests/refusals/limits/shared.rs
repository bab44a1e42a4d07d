//! Text that is mapped `MAP_SHARED`: a write goes to the file, and to every process that maps it.

use jumplabel::{WriterKind, set_writer};

use super::{MPROTECT, REMAP, denied, sites};
use crate::pages::PAGE;
use crate::scenario::passes;
use crate::seccomp::{Fault, Faults};
use crate::state::Watch;

/// Maps a file with the same bytes in the place of the pages of the sites. Returns the file.
fn share(flags: i32) -> (i32, usize) {
    let start = sites().site(0) & !(PAGE - 1);
    let bytes = sites().stride * sites().count;
    // SAFETY: code of this test, which nobody runs meanwhile, and which stays the same.
    unsafe {
        let file = libc::memfd_create(c"shared".as_ptr(), libc::MFD_CLOEXEC);
        assert_eq!(libc::write(file, start as *const _, bytes), bytes as isize);
        let protection = libc::PROT_READ | libc::PROT_EXEC;
        let mapped = libc::mmap(start as *mut _, bytes, protection, flags | libc::MAP_FIXED, file, 0);
        assert_eq!(mapped as usize, start);
        (file, bytes)
    }
}

/// Whether the file has the bytes that the sites' pages had before.
fn content((file, bytes): (i32, usize)) -> Vec<u8> {
    let mut content = vec![0; bytes];
    // SAFETY: reads the file.
    assert_eq!(unsafe { libc::pread64(file, content.as_mut_ptr().cast(), bytes, 0) }, bytes as isize);
    content
}

/// Flips of shared text are refused, with /proc and without it.
#[test]
fn shared_text() {
    passes(|| {
        let faults = Faults::new(&[libc::SYS_openat]);
        let file = share(libc::MAP_SHARED);
        let before = content(file);
        let watch = Watch::new(sites().raw());
        for has_proc in [true, false] {
            if !has_proc {
                faults.arm(libc::SYS_openat, 1, u32::MAX, Fault::Errno(libc::ENOENT));
            }
            for writer in [MPROTECT, REMAP] {
                set_writer(writer);
                let errno = if !has_proc && writer == REMAP { libc::ENOENT } else { libc::EACCES };
                let error = watch.refused(|| sites().set(true));
                assert!(denied(writer, errno)(error), "{has_proc} {error:?}");
                assert!(content(file) == before);
            }
        }
    });
}

/// Flips of the same text in a private mapping succeed.
#[test]
fn private_text() {
    passes(|| {
        let faults = Faults::new(&[libc::SYS_openat]);
        let file = share(libc::MAP_PRIVATE);
        let before = content(file);
        faults.arm(libc::SYS_openat, 1, u32::MAX, Fault::Errno(libc::ENOENT));
        set_writer(Some(WriterKind::Mprotect));
        for on in [true, false] {
            sites().set(on).unwrap();
            assert!(sites().all(on) && content(file) == before);
        }
    });
}
