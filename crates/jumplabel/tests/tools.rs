//! Programs that look into this one while it flips: a debugger that stops it and sets breakpoints on sites, a profiler
//! that wants to name the code that runs. Skipped, with a message, where a tool is missing.
#![cfg(all(target_os = "linux", target_arch = "x86_64", jumplabel_sites))]

use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use jumplabel::{Error, WriterKind, set_writer};
use jumplabel_testing::{pages, scenario};
use scenario::{passes, skip};

pages::pages! { sites: 2 keys, 4 sites, every 1 pages, at 0 }

const WRITERS: [Option<WriterKind>; 4] =
    [None, Some(WriterKind::Procmem), Some(WriterKind::Mprotect), Some(WriterKind::Swap)];

/// Skips the scenario where `tool` cannot be started.
fn need(tool: &str) {
    if Command::new(tool).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_err() {
        println!("skipped: no {tool} here");
        skip();
    }
}

/// gdb, attached to this process; it says `attached` when it is there.
struct Gdb(Child, std::fs::File);

impl Gdb {
    fn attach() -> Gdb {
        need("gdb");
        // Where only ancestors may attach, everybody may for now.
        // SAFETY: allows something to others.
        unsafe { libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY, 0, 0, 0) };
        let log = std::env::temp_dir().join(format!("jumplabel-gdb-{}", std::process::id()));
        let output = std::fs::File::options().create(true).truncate(true).read(true).write(true).open(&log).unwrap();
        std::fs::remove_file(&log).unwrap();
        let mut gdb = Command::new("gdb");
        gdb.args(["-q", "-nx", "-nh", "-iex", "set auto-load off", "-iex", "set debuginfod enabled off"]);
        gdb.args(["-ex", "set confirm off", "-ex", "set pagination off", "-ex", "set auto-solib-add off"]);
        gdb.args(["-ex", "handle SIGUSR1 stop nopass", "-p", &std::process::id().to_string()]);
        gdb.stdin(Stdio::piped()).stdout(output.try_clone().unwrap()).stderr(output.try_clone().unwrap());
        // gdb is stopped while this process is; nobody waits for it but the deadline of the scenario.
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

/// There and back with each writer.
fn flip() {
    for writer in WRITERS {
        set_writer(writer);
        for on in [true, false] {
            sites().set(on).unwrap();
            assert!(sites().all(on) && sites().agree());
        }
    }
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

jumplabel::static_call! { static LED: extern "C" fn(u32) -> u32 = where_it_led_at_first; }

extern "C" fn where_it_led_at_first(x: u32) -> u32 {
    x
}

#[inline(never)]
extern "C" fn where_it_leads_now(x: u32) -> u32 {
    std::hint::black_box(x) + 1
}

/// What a backtrace is to name: it has more to do when the call returns.
#[inline(never)]
fn who_calls(x: u32) -> u32 {
    std::hint::black_box(LED(x)) + 1
}

/// In a trampoline that was patched, and in the target behind it: the caller is found, and the trampoline has a name.
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

/// The mapping with the sites still names the program's file, at the right offset: profilers find their symbols by that.
#[test]
fn the_map_names_the_file() {
    passes(|| {
        let program = std::env::current_exe().unwrap();
        let entry = |address: usize| {
            let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
            let line = maps.lines().find_map(|line| {
                let (range, rest) = line.split_once(' ')?;
                let (start, end) = range.split_once('-')?;
                let number = |text| usize::from_str_radix(text, 16).unwrap();
                let words: Vec<&str> = rest.split_whitespace().collect();
                let offset = address.wrapping_sub(number(start)) + number(words[1]);
                (number(start)..number(end))
                    .contains(&address)
                    .then(|| (words[0].to_string(), offset, words[4].to_string()))
            });
            line.unwrap()
        };
        let before: Vec<_> = (0..4).map(|number| entry(sites().site(number))).collect();
        assert!(before.iter().all(|(protection, _, path)| protection == "r-xp" && *path == *program.to_string_lossy()));
        for writer in WRITERS {
            set_writer(writer);
            for on in [true, false] {
                sites().set(on).unwrap();
                let after: Vec<_> = (0..4).map(|number| entry(sites().site(number))).collect();
                assert_eq!(after, before, "{writer:?}");
            }
        }
    });
}

/// What perf is to find.
#[inline(never)]
fn the_hot_loop(deadline: Instant) -> usize {
    let mut on = 0;
    while Instant::now() < deadline {
        for _ in 0..10_000 {
            on += usize::from(jumplabel::static_branch_unlikely!(HOT));
            std::hint::black_box(&mut on);
        }
    }
    on
}

jumplabel::static_key! { static HOT: false; }

#[test]
fn perf_names_what_runs() {
    passes(|| {
        need("perf");
        let data = std::env::temp_dir().join(format!("jumplabel-perf-{}", std::process::id()));
        for writer in WRITERS {
            set_writer(writer);
            HOT.enable().unwrap();
            HOT.disable().unwrap();
            HOT.enable().unwrap();
            let mut perf = Command::new("perf");
            perf.args(["record", "-q", "-e", "cpu-clock", "-F", "500", "-o"]).arg(&data);
            perf.args(["-p", &std::process::id().to_string()]).stdout(Stdio::null()).stderr(Stdio::null());
            let mut perf = perf.spawn().unwrap();
            assert!(the_hot_loop(Instant::now() + Duration::from_secs(1)) > 0);
            // SAFETY: asks a child of ours to end.
            unsafe { libc::kill(perf.id() as i32, libc::SIGINT) };
            perf.wait().unwrap();
            let script = Command::new("perf").args(["script", "-F", "ip,sym", "-i"]).arg(&data).output().unwrap();
            let script = String::from_utf8_lossy(&script.stdout).into_owned();
            let samples = script.lines().count();
            let named = script.lines().filter(|line| line.contains("the_hot_loop")).count();
            let unknown = script.lines().filter(|line| line.contains("[unknown]")).count();
            println!("{writer:?}: {samples} samples, {named} in the loop, {unknown} unknown");
            HOT.disable().unwrap();
            if samples == 0 {
                println!("skipped: perf cannot sample here");
                break;
            }
            assert!(named > 0 && unknown * 10 < samples, "the names are gone after {writer:?}:\n{script}");
        }
        let _ = std::fs::remove_file(&data);
    });
}
