//! Sites that something outside the library has changed.

use std::os::unix::fs::FileExt;

use super::busy::{BACK, Busy, THERE, Told, busy_site, tool};

/// While all threads stand, so that none is in what changes.
fn written(busy: &Busy, site: u64, bytes: &[u8]) -> Vec<u8> {
    let memory = std::fs::OpenOptions::new().read(true).write(true).open(format!("/proc/{}/mem", busy.pid)).unwrap();
    let mut old = vec![0; bytes.len()];
    let signal = |signal| {
        // SAFETY: of a child.
        assert_eq!(unsafe { libc::kill(busy.pid.cast_signed(), signal) }, 0);
    };
    signal(libc::SIGSTOP);
    while !std::fs::read_to_string(format!("/proc/{}/stat", busy.pid)).unwrap().contains(") T ") {
        std::thread::yield_now();
    }
    memory.read_exact_at(&mut old, site).unwrap();
    memory.write_all_at(bytes, site).unwrap();
    signal(libc::SIGCONT);
    old
}

fn repaired(busy: &Busy, words: &[&str]) -> Told {
    tool(&["check", "--force", "--repair"], busy.pid, words, None)
}

/// The bytes of the file come back, as they do when a page of the text is read again, or a probe is removed.
#[test]
fn strayed() {
    let busy = Busy::start();
    let site = busy_site(&busy);
    assert_eq!(repaired(&busy, &[]).done(), "0 sites repaired\n");
    let mut of_file = vec![0; 5];
    let memory = std::fs::File::open(format!("/proc/{}/mem", busy.pid)).unwrap();
    memory.read_exact_at(&mut of_file, site).unwrap();
    for (words, back) in [(THERE, false), (BACK, true), (THERE, false)] {
        busy.set(&words).done();
        if back {
            assert_eq!(repaired(&busy, &[]).done(), "0 sites repaired\n");
            continue;
        }
        let ours = written(&busy, site, &of_file);
        assert_ne!(ours, of_file);
        assert_eq!(busy.check().code, Some(4));
        // Of another key, it is nobody's.
        assert_eq!(repaired(&busy, &["busy.hot=off"]).done(), "0 sites repaired\n");
        assert_eq!(repaired(&busy, &["busy.cold=on", "busy.hot"]).done(), "1 site repaired\n");
        busy.check().done();
        let mut now = vec![0; 5];
        memory.read_exact_at(&mut now, site).unwrap();
        assert_eq!(now, ours);
        let told = repaired(&busy, &["busy.cold=off"]);
        assert_eq!((told.code, &*told.out), (Some(1), "0 sites repaired\nbusy.cold is on, not off\n"));
    }
    // What is none of its instructions stays: here another nop.
    let old = written(&busy, site, &[0x66, 0x66, 0x66, 0x66, 0x90]);
    repaired(&busy, &[]).refused(4, "holds foreign bytes");
    repaired(&busy, &["busy.nothing"]).refused(1, "nothing matches `busy.nothing`");
    written(&busy, site, &old);
    assert_eq!(repaired(&busy, &[]).done(), "0 sites repaired\n");
}
