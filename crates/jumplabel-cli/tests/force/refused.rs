//! What is refused, with words that say why; nothing is changed then.

use std::os::unix::fs::FileExt;
use std::process::Command;

use super::busy::{Busy, THERE, program, tool};

#[test]
fn keys() {
    let mut busy = Busy::start();
    assert_eq!(busy.ask("seal"), "done");
    busy.set(&["busy.sealed=on", "busy.cold=on"]).refused(4, "busy.sealed: ");
    busy.set(&["busy.nothing=on"]).refused(1, "nothing matches `busy.nothing=on`");
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
    tool(&["set", "--force"], sleep.id(), &THERE, None).refused(3, "no keys");
    sleep.kill().unwrap();
    sleep.wait().unwrap();
    let told = Command::new(env!("CARGO_BIN_EXE_jumplabel")).args(["set", "--force", "@web", "a=on"]).output().unwrap();
    assert_eq!(told.status.code(), Some(2));
}

/// One that has an agent says by that what may be changed.
#[test]
fn agents() {
    let runtime = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("force-{}", std::process::id()));
    std::fs::create_dir_all(&runtime).unwrap();
    let program = jumplabel_testing::cargo::Build::of("operated").args(&["--bin", "operated"]);
    let program = program.results_in("force", &["operated"]).remove(0);
    let mut served = Command::new(program);
    served.arg("serve").env("XDG_RUNTIME_DIR", &runtime).env("JUMPLABEL_AGENT", "1");
    let mut served = served.spawn().unwrap();
    let run = |words: &[&str]| {
        let mut tool = Command::new(env!("CARGO_BIN_EXE_jumplabel"));
        tool.args(words).env("XDG_RUNTIME_DIR", &runtime).output().unwrap()
    };
    let pid = served.id().to_string();
    while run(&["list", &pid]).status.code() == Some(3) {
        std::thread::yield_now();
    }
    let told = run(&["set", "--force", &pid, "net.trace=on"]);
    let err = String::from_utf8(told.stderr).unwrap();
    assert!(told.status.code() == Some(4) && err.contains("it has an agent"), "{err}");
    served.kill().unwrap();
    served.wait().unwrap();
    std::fs::remove_dir_all(&runtime).unwrap();
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
    busy.set(&THERE).refused(3, "traces it already (a debugger, strace)");
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

/// The address of a site of `busy.cold` in the process.
fn busy_site(busy: &Busy) -> u64 {
    let mut sites = Command::new(env!("CARGO_BIN_EXE_jumplabel"));
    let listed = sites.arg("sites").arg(program()).arg("busy.cold").output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let address = listed.lines().nth(1).and_then(|line| line.split_whitespace().next()).unwrap();
    let maps = std::fs::read_to_string(format!("/proc/{}/maps", busy.pid)).unwrap();
    let base = maps.lines().next().and_then(|line| line.split('-').next()).unwrap();
    let number = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap();
    number(base) + number(address)
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
    tool(&["set", "--force"], child.id(), &THERE, None).refused(3, "a process of i686");
    child.kill().unwrap();
    child.wait().unwrap();
    std::fs::remove_dir_all(&directory).unwrap();
}
