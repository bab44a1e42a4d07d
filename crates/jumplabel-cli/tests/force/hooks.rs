//! Somebody has hooked the function that a site lies in.

use std::os::unix::fs::FileExt;

use super::busy::{Busy, THERE, busy_site};

/// A jump that hooks a function and ends with the prefix of a site: the site's own bytes stay, and nobody runs them.
#[test]
fn at_its_prefix() {
    let busy = Busy::start();
    // SAFETY: stops our child, so that nobody runs into it.
    unsafe { libc::kill(busy.pid.cast_signed(), libc::SIGSTOP) };
    let (prefix, hook) = (busy_site(&busy) - 1, [0x01]);
    let memory = std::fs::OpenOptions::new().read(true).write(true).open(format!("/proc/{}/mem", busy.pid)).unwrap();
    let mut old = [0];
    memory.read_exact_at(&mut old, prefix).unwrap();
    memory.write_all_at(&hook, prefix).unwrap();
    busy.set(&THERE).refused(4, "somebody has hooked the function");
    let check = busy.check();
    assert!(check.code == Some(4) && check.out.contains("is not run: somebody has hooked"), "{check:?}");
    // A breakpoint there is none of this.
    memory.write_all_at(&[0xcc], prefix).unwrap();
    busy.check().done();
    memory.write_all_at(&old, prefix).unwrap();
    busy.set(&THERE).done();
}

/// A hook that has moved more instructions than its jump overwrites: the site and what is right in front of it stay, and nobody runs them.
#[test]
fn in_front() {
    let busy = Busy::start();
    // SAFETY: stops our child, so that nobody runs into it.
    unsafe { libc::kill(busy.pid.cast_signed(), libc::SIGSTOP) };
    let start = busy_site(&busy) - 1;
    let memory = std::fs::OpenOptions::new().read(true).write(true).open(format!("/proc/{}/mem", busy.pid)).unwrap();
    let replaced = |at: u64, new: &[u8], then: &dyn Fn()| {
        let mut old = vec![0; new.len()];
        memory.read_exact_at(&mut old, at).unwrap();
        memory.write_all_at(new, at).unwrap();
        then();
        memory.write_all_at(&old, at).unwrap();
    };
    let jump = [0xe9, 0x11, 0x22, 0x33, 0x44];
    for far in [7, 14] {
        replaced(start - far, &jump, &|| {
            busy.set(&THERE).refused(4, "somebody has hooked the function");
            let check = busy.check();
            assert!(check.code == Some(4) && check.out.contains("with a jump in front of the site"), "{check:?}");
        });
    }
    // A breakpoint is none of this, nor is a hook too far in front to have moved the site.
    replaced(start - 7, &[0xcc], &|| drop(busy.check().done()));
    replaced(start - 18, &jump, &|| drop(busy.check().done()));
    busy.check().done();
    busy.set(&THERE).done();
}
