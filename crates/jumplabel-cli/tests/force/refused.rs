//! What is refused, with words that say why; nothing is changed then.

use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use jumplabel_testing::cargo::Build;
use jumplabel_testing::programs::{first_thread_has_ended, wait_until_begun};

use super::busy::{Busy, THERE, busy_site, tool};

#[test]
fn keys() {
    let mut busy = Busy::start();
    assert_eq!(busy.ask("seal"), "done");
    busy.set(&["busy.sealed=on", "busy.cold=on"]).refused(4, "busy.sealed: ");
    busy.set(&["busy.nothing=on"]).refused(1, "nothing matches `busy.nothing=on`");
    busy.set(&["busy.rigt=on"]).refused(1, "nothing matches `busy.rigt=on`; did you mean busy.");
    busy.set(&["busy.cold=on", "busy.cold+1"]).refused(2, "chosen twice");
    busy.set(&["--for", "3", "busy.cold=on"]).refused(2, "--for needs an agent");
    busy.set(&["busy.cold=7"]).refused(2, "=on, =off, +1, -1");
    tool(&["check", "--force"], busy.pid, &["busy.cold=off", "busy.hot=on"], None).done();
}

#[test]
fn processes() {
    let mut gone = Busy::start();
    gone.child.kill().unwrap();
    gone.child.wait().unwrap();
    gone.set(&THERE).refused(3, "there is no such process");
    let mut sleep = Command::new("sleep").arg("1000").spawn().unwrap();
    wait_until_begun(sleep.id());
    tool(&["set", "--force"], sleep.id(), &THERE, None).refused(3, "no keys");
    sleep.kill().unwrap();
    sleep.wait().unwrap();
    let told = Command::new(env!("CARGO_BIN_EXE_jumplabel")).args(["set", "--force", "@web", "a=on"]).output().unwrap();
    assert_eq!(told.status.code(), Some(2));
}

/// test-crates/operated, as it serves, with these variables.
struct Served {
    child: std::process::Child,
    runtime: PathBuf,
}

impl Served {
    fn start(name: &str, agent: &str) -> Served {
        Served::start_with(name, agent, &[])
    }

    fn start_with(name: &str, agent: &str, arguments: &[&str]) -> Served {
        let runtime = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("force-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&runtime).unwrap();
        static BUILT: OnceLock<PathBuf> = OnceLock::new();
        let build = || Build::of("operated").args(&["--bin", "operated"]).results_in("force", &["operated"]).remove(0);
        let program = BUILT.get_or_init(build);
        let mut served = Command::new(program);
        served.arg("serve").args(arguments).env("XDG_RUNTIME_DIR", &runtime);
        served.env("JUMPLABEL_AGENT", agent.replace("RUNTIME", runtime.to_str().unwrap()));
        let child = served.stderr(std::fs::File::create(runtime.join("stderr")).unwrap()).spawn().unwrap();
        wait_until_begun(child.id());
        Served { child, runtime }
    }

    /// `set --force`: the exit code, and both streams.
    fn set(&self, items: &[&str]) -> (Option<i32>, String) {
        let mut tool = Command::new(env!("CARGO_BIN_EXE_jumplabel"));
        // Not where the agent is.
        tool.env("XDG_RUNTIME_DIR", self.runtime.join("elsewhere"));
        let output = tool.args(["set", "--force", &self.child.id().to_string()]).args(items).output().unwrap();
        (output.status.code(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.runtime.join("stderr")).unwrap()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.runtime);
    }
}

/// One that has an agent is asked, wherever that listens: it counts, and takes back what is for a time.
#[test]
fn agents() {
    let served = Served::start("agent", "dir=RUNTIME/own");
    while !served.runtime.join("own").is_dir() || std::fs::read_dir(served.runtime.join("own")).unwrap().count() == 0 {
        std::thread::yield_now();
    }
    let (code, text) = served.set(&["net.trace=on", "--for", "1000"]);
    assert!(code == Some(0) && text.contains("by itself in 1000 s"), "{code:?} {text}");
    assert!(served.log().contains("net.trace off -> on by uid "), "{}", served.log());
    let (code, text) = served.set(&["operated::HOOKS[2]=on"]);
    assert!(code == Some(4) && text.contains("lets nobody change it from outside"), "{code:?} {text}");
    drop(served);
    let served = Served::start("read-only", "read-only");
    while std::fs::read_dir(served.runtime.join("jumplabel")).map_or(0, Iterator::count) == 0 {
        std::thread::yield_now();
    }
    let (code, text) = served.set(&["net.trace=on"]);
    assert!(code == Some(4) && text.contains("read-only"), "{code:?} {text}");
}

/// The first thread has ended, and the agent is asked all the same.
#[test]
fn agents_without_the_first_thread() {
    let served = Served::start_with("leaves", "dir=RUNTIME/own", &["leaves"]);
    while !first_thread_has_ended(served.child.id())
        || std::fs::read_dir(served.runtime.join("own")).map_or(0, Iterator::count) == 0
    {
        std::thread::yield_now();
    }
    let (code, text) = served.set(&["net.trace=on"]);
    assert!(code == Some(0) && text.contains("net.trace"), "{code:?} {text}");
    assert!(served.log().contains("net.trace off -> on by uid "), "{}", served.log());
}

/// What `startup!` protects is protected where no agent runs, too.
#[test]
fn no_remote() {
    let served = Served::start("none", "0");
    for items in [&["operated::HOOKS[2]=on"][..], &["net.trace=on", "operated::HOOKS*=on"]] {
        let (code, text) = served.set(items);
        let why =
            "operated::HOOKS[2]: the program lets nobody change it from outside (`operated::HOOKS[2]`): nothing is set";
        assert!(code == Some(4) && text.contains(why), "{code:?} {text}");
    }
    let listed = tool(&["list", "--force"], served.child.id(), &["operated::HOOKS*"], None).done();
    let notes: Vec<bool> = listed.lines().skip(1).map(|line| line.contains("not from outside")).collect();
    assert_eq!(notes, [false, false, true], "{listed}");
    tool(&["check", "--force"], served.child.id(), &["net.trace=off", "operated::HOOKS*=off"], None).done();
    // It is that selector, nothing else.
    assert_eq!(served.set(&["operated::HOOKS[1]=on", "operated::HOOKS[0]=on"]).0, Some(0));
    let (code, text) = served.set(&["net.trace=on", "--for", "1000"]);
    assert!(code == Some(2) && text.contains("--for needs an agent"), "{code:?} {text}");
}

/// Another user's process; nobody but root may trace it.
#[test]
fn users() {
    // SAFETY: asks for a number.
    if unsafe { libc::geteuid() } != 0 {
        return eprintln!("skipped: only root can be another user");
    }
    let busy = Busy::start();
    // The tool itself must be within that user's reach.
    let open = std::env::temp_dir().join(format!("jumplabel-{}", std::process::id()));
    jumplabel_testing::programs::copy(std::path::Path::new(env!("CARGO_BIN_EXE_jumplabel")), &open).unwrap();
    let run = |command: &str, item: &str| {
        let mut tool = Command::new("setpriv");
        tool.args(["--reuid=65534", "--clear-groups"]).arg(&open).args([
            command,
            "--force",
            &busy.pid.to_string(),
            item,
        ]);
        let output = tool.output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    for (command, item) in [("set", "busy.cold=on"), ("list", "busy.cold"), ("check", "busy.cold")] {
        let (code, err) = run(command, item);
        assert!(code == Some(3) && err.contains("it belongs to user 0: be that user, or root"), "{command}: {err}");
    }
    std::fs::remove_file(&open).unwrap();
    busy.check().done();
}

/// One that a debugger holds.
#[test]
fn traced() {
    let busy = Busy::start();
    let pid = busy.pid.cast_signed();
    // SAFETY: of our child, which lets anybody trace it.
    assert_eq!(unsafe { libc::ptrace(libc::PTRACE_SEIZE, pid, 0, 0) }, 0);
    busy.set(&THERE).refused(3, "traces it already (a debugger, strace, another `jumplabel --force`)");
    // SAFETY: as above.
    unsafe {
        libc::ptrace(libc::PTRACE_INTERRUPT, pid, 0, 0);
        libc::waitpid(pid, std::ptr::null_mut(), libc::__WALL);
        assert_eq!(libc::ptrace(libc::PTRACE_DETACH, pid, 0, 0), 0);
    }
    busy.set(&THERE).done();
}

/// A breakpoint of somebody's in a site.
#[test]
fn breakpoints() {
    let busy = Busy::start();
    // SAFETY: stops our child, so that nobody runs into it.
    unsafe { libc::kill(busy.pid.cast_signed(), libc::SIGSTOP) };
    let site = busy_site(&busy);
    let memory = std::fs::OpenOptions::new().read(true).write(true).open(format!("/proc/{}/mem", busy.pid)).unwrap();
    let mut old = [0];
    memory.read_exact_at(&mut old, site).unwrap();
    memory.write_all_at(&[0xcc], site).unwrap();
    busy.set(&THERE).refused(4, "holds foreign bytes");
    assert_eq!(busy.check().code, Some(4));
    memory.write_all_at(&old, site).unwrap();
    busy.check().done();
    busy.set(&THERE).done();
}

/// A child in the same memory would not be stopped.
#[test]
fn shared_memory() {
    let mut busy = Busy::start();
    let child: i32 = busy.ask("share").parse().unwrap();
    busy.set(&THERE).refused(4, &format!("process {child} runs in the same memory"));
    busy.check().done();
    // SAFETY: our grandchild.
    unsafe { libc::kill(child, libc::SIGKILL) };
    while busy.set(&THERE).code != Some(0) {
        std::thread::yield_now();
    }
}

/// A program of 32 bits.
#[test]
fn of_32_bits() {
    let directory = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("i386-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let (source, object, program) = (directory.join("pause.s"), directory.join("pause.o"), directory.join("pause"));
    std::fs::write(&source, ".globl _start\n_start: mov $29, %eax\nint $0x80\njmp _start\n").unwrap();
    let run = |command: &mut Command| assert!(command.status().unwrap().success(), "{command:?}");
    run(Command::new("as").arg("--32").arg("-o").arg(&object).arg(&source));
    run(Command::new("ld").args(["-m", "elf_i386", "-o"]).arg(&program).arg(&object));
    let mut child = Command::new(&program).spawn().unwrap();
    wait_until_begun(child.id());
    tool(&["set", "--force"], child.id(), &THERE, None).refused(3, "a process of i686");
    child.kill().unwrap();
    child.wait().unwrap();
    std::fs::remove_dir_all(&directory).unwrap();
}
