//! The end of a process, beside flips and beside what loads.

use std::io::{Read, Seek};
use std::os::fd::{AsRawFd, FromRawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::in_child;
use crate::pace::rounds;
use crate::plugin::Plugin;

/// A thread goes on flipping while the process ends: whatever the destructors of the plugin have done, a flip reaches its
/// sites, or fails.
pub fn exit() {
    let plugin: &Plugin = Box::leak(Box::new(Plugin::load("plugin")));
    plugin.flip(true);
    let lingers = [Plugin::load("linger")];
    let flipping: &AtomicBool = Box::leak(Box::new(AtomicBool::new(false)));
    std::thread::spawn(move || {
        for on in [true, false].into_iter().cycle() {
            let (flipped, state) = (plugin.try_flip(on), plugin.check());
            if flipped == 0 && state != u32::from(on) {
                eprintln!("the flip to {on} returned Ok, and the check says {state}");
                // SAFETY: ends the process.
                unsafe { libc::_exit(3) };
            }
            flipping.store(true, Ordering::Relaxed);
        }
    });
    while !flipping.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(1));
    }
    std::mem::forget(lingers);
}

/// Children of fork end by `exit` while another thread of their parent loads and unloads: what the loader knows is copied in the
/// middle of that. Nothing of ours may ask it for anything then. glibc itself reads that copy at its end, in `dl-fini.c`: now and
/// then it hangs, and is ended, or ends the child by an assertion of its own. No other assertion passes. On i686 it also meets a bad
/// address there, in 1 of 100 children of a program in C that has no instance of the library.
pub fn exit_in_children() {
    let plugin = Plugin::load("plugin");
    plugin.flip(true);
    let stop = AtomicBool::new(false);
    let mut ended_well = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                Plugin::load("second").unload();
            }
        });
        for number in 0..rounds(200) {
            let said = Said::new();
            // SAFETY: a deadline, and the end of the child.
            let status = in_child(|| unsafe {
                said.takes_stderr();
                libc::alarm(1);
                libc::exit(0)
            });
            let was_ended = libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGALRM;
            let said = said.text();
            let by_the_loader_itself =
                libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 127 && said.contains(": dl-fini.c: ");
            let died =
                cfg!(target_arch = "x86") && libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGSEGV;
            ended_well += u32::from(status == 0);
            assert!(status == 0 || was_ended || by_the_loader_itself || died, "child {number}: {status:#x}: {said}");
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(ended_well > 0);
}

/// What a child writes to its standard error.
struct Said(std::fs::File);

impl Said {
    fn new() -> Self {
        // SAFETY: a string with an end; the new descriptor is owned by the file.
        Self(unsafe { std::fs::File::from_raw_fd(libc::memfd_create(c"said".as_ptr(), libc::MFD_CLOEXEC)) })
    }

    /// From now on this process writes to it.
    fn takes_stderr(&self) {
        // SAFETY: both are descriptors of ours.
        unsafe { libc::dup2(self.0.as_raw_fd(), libc::STDERR_FILENO) };
    }

    fn text(mut self) -> String {
        let mut bytes = Vec::new();
        self.0.rewind().unwrap();
        self.0.read_to_end(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}
