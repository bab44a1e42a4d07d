//! gdb attaches and detaches, has a breakpoint on a site, and finds the caller of a call through a trampoline.

use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use jumplabel::{Error, set_writer};
use jumplabel_testing::scenario::{passes, skip};

use super::{CHECKED, WRITERS, flip, is_checked, need, sites};
#[cfg(jumplabel_trampolines)]
use super::{LED, where_it_leads_now, who_calls};

/// gdb, attached to this process; it says `attached` when it is there.
struct Gdb(Child, std::fs::File);

impl Gdb {
    fn attach() -> Gdb {
        need("gdb");
        // If only ancestors may attach, this lets everybody do so. SAFETY: allows something to others.
        unsafe { libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY, 0, 0, 0) };
        let log = std::env::temp_dir().join(format!("jumplabel-gdb-{}", std::process::id()));
        let output = std::fs::File::options().create(true).truncate(true).read(true).write(true).open(&log).unwrap();
        std::fs::remove_file(&log).unwrap();
        let mut gdb = Command::new("gdb");
        gdb.args(["-q", "-nx", "-nh", "-iex", "set auto-load off", "-iex", "set debuginfod enabled off"]);
        gdb.args(["-ex", "set confirm off", "-ex", "set pagination off", "-ex", "set auto-solib-add off"]);
        gdb.args(["-ex", "handle SIGUSR1 stop nopass", "-p", &std::process::id().to_string()]);
        gdb.stdin(Stdio::piped()).stdout(output.try_clone().unwrap()).stderr(output.try_clone().unwrap());
        // gdb is stopped while this process is; only the deadline of the scenario waits for it.
        Gdb(gdb.spawn().unwrap(), output)
    }

    fn tell(&mut self, command: &str) {
        writeln!(self.0.stdin.as_mut().unwrap(), "{command}").unwrap();
    }

    fn log(&self) -> String {
        let mut text = vec![0; 1 << 16];
        let length = std::os::unix::fs::FileExt::read_at(&self.1, &mut text, 0).unwrap();
        String::from_utf8_lossy(&text[..length]).into_owned()
    }

    /// Goes on flipping until gdb has said `word`.
    fn wait_for(&self, word: &str, mut meanwhile: impl FnMut()) {
        let start = Instant::now();
        while !self.log().lines().any(|line| line.trim_start_matches("(gdb) ") == word) {
            if self.log().contains("ptrace: Operation not permitted") {
                println!("skipped: ptrace is forbidden here");
                skip();
            }
            assert!(start.elapsed() < Duration::from_secs(60), "gdb did not say {word}:\n{}", self.log());
            meanwhile();
        }
    }
}

impl Drop for Gdb {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Stops this process until gdb has read on: it takes the signal for itself.
fn stop_for_gdb() {
    // SAFETY: a signal that does not come through.
    unsafe { libc::raise(libc::SIGUSR1) };
}

#[test]
fn gdb_attaches_and_detaches() {
    passes(|| {
        let mut gdb = Gdb::attach();
        gdb.tell("info threads");
        gdb.tell("echo attached\\n");
        gdb.tell("continue");
        gdb.tell("echo stopped\\n");
        gdb.tell("continue");
        gdb.tell("detach");
        gdb.tell("echo detached\\n");
        gdb.wait_for("attached", flip);
        flip();
        stop_for_gdb();
        gdb.wait_for("stopped", flip);
        flip();
        stop_for_gdb();
        gdb.wait_for("detached", flip);
        flip();
    });
}

/// gdb keeps its breakpoints in the code: the flip is refused and says what is there, and works when it is gone.
#[test]
fn gdb_breakpoint_on_a_site() {
    passes(|| {
        flip();
        let address = sites().site(2);
        let mut gdb = Gdb::attach();
        gdb.tell(&format!("break *{address:#x}"));
        gdb.tell("echo attached\\n");
        gdb.tell("continue");
        gdb.tell("delete breakpoints");
        gdb.tell("detach");
        gdb.tell("echo detached\\n");
        gdb.wait_for("attached", || std::thread::sleep(Duration::from_millis(5)));
        // SAFETY: a byte of code.
        let first = || unsafe { (address as *const u8).read_volatile() };
        assert_eq!(first(), 0xcc, "gdb did not set its breakpoint:\n{}", gdb.log());
        for writer in WRITERS {
            set_writer(writer);
            let Err(Error::ForeignBytes { address: reported, found, .. }) = sites().set(true) else {
                panic!("a breakpoint was overwritten")
            };
            assert!(reported == address && found[0] == 0xcc && first() == 0xcc);
            // The other key has no site there.
            sites().keys[1].enable().unwrap();
            assert!(sites().check(1) && sites().check(3));
            sites().keys[1].disable().unwrap();
        }
        stop_for_gdb();
        gdb.wait_for("detached", || std::thread::sleep(Duration::from_millis(5)));
        flip();
    });
}

/// In a trampoline that was patched, and in its target: gdb finds the caller, and the trampoline has a name.
#[test]
#[cfg(jumplabel_trampolines)]
fn gdb_backtrace_through_a_trampoline() {
    passes(|| {
        LED.update(where_it_leads_now).unwrap();
        let trampoline = *LED as *const () as usize;
        let target = where_it_leads_now as *const () as usize;
        let mut gdb = Gdb::attach();
        for stop in [trampoline, target] {
            gdb.tell(&format!("break *{stop:#x}"));
        }
        gdb.tell("echo attached\\n");
        gdb.tell("continue");
        for command in ["bt 2", "continue", "bt 2", "delete breakpoints", "detach", "echo detached\\n"] {
            gdb.tell(command);
        }
        gdb.wait_for("attached", || std::thread::sleep(Duration::from_millis(5)));
        assert_eq!(who_calls(1), 3);
        gdb.wait_for("detached", || std::thread::sleep(Duration::from_millis(5)));
        let log = gdb.log();
        let frames = |number: &str, name: &str| {
            let is_it = |line: &&str| line.trim_start_matches("(gdb) ").starts_with(number) && line.contains(name);
            log.lines().filter(is_it).count()
        };
        let found = (frames("#0", "__trampoline"), frames("#0", "where_it_leads_now"), frames("#1", "who_calls"));
        assert!(found.0 >= 1 && found.1 >= 1 && found.2 == 2, "{found:?}: no backtrace through the trampoline:\n{log}");
    });
}

/// A breakpoint where a check begins is on the byte in front of its site, which no flip reads or writes: flips succeed meanwhile.
#[test]
fn gdb_breakpoint_on_a_check() {
    passes(|| {
        let mut site = 0;
        jumplabel::for_each_site(&CHECKED, |found| site = found.address).unwrap();
        let front = site - 1;
        // SAFETY: a byte of code.
        let first = || unsafe { (front as *const u8).read_volatile() };
        let prefix = first();
        let mut gdb = Gdb::attach();
        gdb.tell(&format!("break *{front:#x}"));
        for word in ["attached", "hit", "stopped"] {
            gdb.tell(&format!("echo {word}\\n"));
            gdb.tell("continue");
        }
        for command in ["delete breakpoints", "detach", "echo detached\\n"] {
            gdb.tell(command);
        }
        gdb.wait_for("attached", || std::thread::sleep(Duration::from_millis(5)));
        assert_eq!(first(), 0xcc, "gdb did not set its breakpoint:\n{}", gdb.log());
        for writer in WRITERS {
            set_writer(writer);
            CHECKED.enable().unwrap();
            CHECKED.disable().unwrap();
        }
        CHECKED.enable().unwrap();
        // gdb steps over the breakpoint with the bytes that are in memory now: it takes the present arm.
        assert!(is_checked());
        gdb.wait_for("hit", || std::thread::sleep(Duration::from_millis(5)));
        CHECKED.disable().unwrap();
        assert!(!is_checked());
        gdb.wait_for("stopped", || std::thread::sleep(Duration::from_millis(5)));
        stop_for_gdb();
        gdb.wait_for("detached", || std::thread::sleep(Duration::from_millis(5)));
        assert_eq!((first(), is_checked()), (prefix, false));
        flip();
    });
}
