//! A program with 10,000 sites: what it costs to look at it and to change it, as counts; and as times, if they are asked for.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use jumplabel_agent::protocol::Answer;
use jumplabel_testing::cargo::Build;
use jumplabel_testing::stop::Stop;

use super::busy::tool;

/// A running one.
struct Many {
    child: Child,
    runtime: PathBuf,
}

impl Many {
    /// With these words of `JUMPLABEL_AGENT`, and an argument; its threads run through all sites if there is none.
    fn start(name: &str, agent: &str, arguments: &[&str]) -> Many {
        static BUILT: OnceLock<PathBuf> = OnceLock::new();
        let program = BUILT.get_or_init(|| Build::of("many").results_in("native", &["many"]).remove(0));
        let runtime = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("many-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&runtime).unwrap();
        let mut command = Command::new(program);
        command.args(arguments).env("XDG_RUNTIME_DIR", &runtime).env("JUMPLABEL_AGENT", agent);
        let many = Many { child: command.stderr(Stdio::null()).spawn().unwrap(), runtime };
        jumplabel_testing::programs::wait_until_begun(many.child.id());
        while agent != "0" && UnixStream::connect(many.socket()).is_err() {
            std::thread::yield_now();
        }
        many
    }

    fn socket(&self) -> PathBuf {
        self.runtime.join(format!("jumplabel/many.{}.sock", self.child.id()))
    }

    fn proc(&self, file: &str) -> PathBuf {
        Path::new("/proc").join(self.child.id().to_string()).join(file)
    }

    fn threads(&self) -> usize {
        std::fs::read_dir(self.proc("task")).unwrap().count()
    }

    /// How often its threads have gone to sleep.
    fn sleeps(&self) -> u64 {
        let tasks = std::fs::read_dir(self.proc("task")).unwrap().map(|task| task.unwrap().path().join("status"));
        tasks.map(|status| field(&status, "voluntary_ctxt_switches:")).sum()
    }

    /// KiB of memory that are its own.
    fn own(&self) -> u64 {
        field(&self.proc("smaps_rollup"), "Anonymous:")
    }
}

impl Drop for Many {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.runtime);
    }
}

fn field(file: &Path, name: &str) -> u64 {
    let text = std::fs::read_to_string(file).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Nothing but sites is written. Meanwhile the system can set or remove a uprobe beside a site: here this process does so. If the
/// tool wrote it back as it had read it, a probe would be lost or, worse, a breakpoint would stay.
#[test]
fn writes_sites_alone() {
    let many = Many::start("writes", "0", &["sleep"]);
    let pid = many.child.id();
    let set = |words: &[&str], value: &str| tool(words, pid, &[&format!("many*={value}")], None);
    let sites = tool(&["sites", "--json"], pid, &["many[50]"], None).done();
    let sites: serde_json::Value = serde_json::from_str(&sites).unwrap();
    let address = sites["sites"][50]["address"].as_str().unwrap().strip_prefix("0x").unwrap();
    let maps = std::fs::read_to_string(many.proc("maps")).unwrap();
    let [base, site] = [maps.split('-').next().unwrap(), address].map(|word| u64::from_str_radix(word, 16).unwrap());
    // The prefix in front of the site.
    let beside = base + site - 1;
    let memory = std::fs::File::options().read(true).write(true).open(many.proc("mem")).unwrap();
    let (stop, byte) = (AtomicBool::new(false), || {
        let mut byte = [0];
        memory.read_exact_at(&mut byte, beside).unwrap();
        byte
    });
    let first = byte();
    assert_eq!(first, [0x40]);
    std::thread::scope(|scope| {
        let others = scope.spawn(|| {
            let (mut last, mut writes) = (first, 0_u64);
            while !stop.load(Ordering::Relaxed) {
                assert_eq!(byte(), last, "somebody else wrote it, too");
                last[0] = if last[0] == 0x40 { 0xcc } else { 0x40 };
                memory.write_all_at(&last, beside).unwrap();
                writes += 1;
            }
            writes
        });
        let stopped = Stop(&stop);
        let answer: Answer = serde_json::from_str(&set(&["set", "--force", "--json"], "on").done()).unwrap();
        let done = answer.set.unwrap();
        assert_eq!(done.changes.iter().map(|change| change.sites).sum::<usize>(), 10_000);
        assert!((10..100).contains(&done.pages), "{}", done.pages);
        set(&["check", "--force"], "on").done();
        // Killed on its way, and put right.
        set(&["set", "--force", "--dies=20"], "off").refused(4, "signal 9 ended the change on its way");
        tool(&["check", "--force"], pid, &[], None).done();
        set(&["set", "--force"], "off").done();
        drop(stopped);
        assert!(others.join().unwrap() > 0);
    });
    set(&["check", "--force"], "off").done();
}

/// The processor's time for `check --force` that finds keys in this state, in us.
#[allow(clippy::zombie_processes)] // wait4 waits for it.
fn check(pid: u32, state: &str) -> i64 {
    let mut tool = Command::new(env!("CARGO_BIN_EXE_jumplabel"));
    let child = tool.args(["check", "--force", &pid.to_string(), &format!("many*={state}")]).spawn().unwrap();
    let (mut status, mut usage) = (0, std::mem::MaybeUninit::<libc::rusage>::zeroed());
    // SAFETY: a child of this process that nobody else waits for; both places are this function's.
    let waited = unsafe { libc::wait4(child.id().cast_signed(), &mut status, 0, usage.as_mut_ptr()) };
    assert_eq!((waited, status), (child.id().cast_signed(), 0));
    // SAFETY: the kernel has filled it in; zeros are one, too.
    let usage = unsafe { usage.assume_init() };
    usage.ru_utime.tv_sec * 1_000_000 + usage.ru_utime.tv_usec
}

/// A site that is on differs from the file, and is in front of the next site, which is looked at closely then: not at the price of a
/// look at all others, which is that of 10,000.
#[test]
fn sites_that_differ_from_the_file() {
    let many = Many::start("differ", "0", &["sleep"]);
    let pid = many.child.id();
    let off = (0..3).map(|_| check(pid, "off")).min().unwrap();
    tool(&["set", "--force"], pid, &["many*=on"], None).done();
    let on = (0..3).map(|_| check(pid, "on")).min().unwrap();
    assert!(on < 5 * off, "{on} us with sites that are on, {off} us with sites that are off");
}

/// No thread until somebody asks for the agent; then one.
#[test]
fn threads() {
    for (agent, threads) in [("0", 1), ("1", 2)] {
        assert_eq!(Many::start(&format!("threads-{agent}"), agent, &["sleep"]).threads(), threads);
    }
}

/// The least, the one in the middle, and that which one of a hundred is above; in us.
fn sorted(mut times: Vec<Duration>) -> String {
    times.sort_unstable();
    let of = |at: usize| times[at].as_secs_f64() * 1e6;
    format!("{:.0} us, p50 {:.0}, p99 {:.0}", of(0), of(times.len() / 2), of(times.len() * 99 / 100))
}

/// The figures of docs/operating.md.
#[test]
#[ignore = "measures: run it alone"]
fn figures() {
    let quiet = Many::start("quiet", "0", &["sleep"]);
    let many = Many::start("figures", "1", &["sleep"]);
    println!(
        "agent idle: {} KiB more, {} threads more",
        many.own().saturating_sub(quiet.own()),
        many.threads() - quiet.threads()
    );
    // It has seen by then that the client which waited for it has gone.
    let mut before = many.sleeps();
    loop {
        std::thread::sleep(Duration::from_secs(1));
        match many.sleeps() {
            now if now == before => break,
            now => before = now,
        }
    }
    std::thread::sleep(Duration::from_secs(10));
    println!("agent idle: {} wake-ups in 10 s", many.sleeps() - before);

    let pid = many.child.id().to_string();
    let list = || {
        let mut tool = Command::new(env!("CARGO_BIN_EXE_jumplabel"));
        let start = Instant::now();
        assert!(tool.args(["list", &pid]).env("XDG_RUNTIME_DIR", &many.runtime).output().unwrap().status.success());
        start.elapsed()
    };
    println!("list of 10,000 sites, the tool's start included: {}", sorted((0..200).map(|_| list()).collect()));

    let mut stream = BufReader::new(UnixStream::connect(many.socket()).unwrap());
    let (mut whole, mut without) = (Vec::new(), Vec::new());
    for number in 0..2000 {
        let (value, mut line) = (["on", "off"][number % 2], String::new());
        let start = Instant::now();
        stream.get_mut().write_all(format!("set many[7]={value}\n").as_bytes()).unwrap();
        stream.read_line(&mut line).unwrap();
        let time = start.elapsed();
        let answer: Answer = serde_json::from_str(&line).unwrap();
        whole.push(time);
        without.push(time.saturating_sub(Duration::from_nanos(answer.set.unwrap().nanoseconds)));
    }
    println!("set of 100 sites over the socket: {}; without the flip: {}", sorted(whole), sorted(without));

    let busy = Many::start("busy", "0", &[]);
    let mut pauses = Vec::new();
    for value in ["on", "off"].repeat(50) {
        let set = tool(&["set", "--force", "--json"], busy.child.id(), &[&format!("many*={value}")], None).done();
        let answer: Answer = serde_json::from_str(&set).unwrap();
        pauses.push(Duration::from_nanos(answer.set.unwrap().nanoseconds));
    }
    println!("set --force of 10,000 sites: threads stand for {}", sorted(pauses));
}
