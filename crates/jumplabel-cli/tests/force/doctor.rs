//! `doctor`: what it finds of a system, a file and a process, and what it does not when all is well.

use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr::null;

use super::busy::{Busy, Told, busy_site, program, tool};

/// What it says of a process, without those lines that depend on this system alone.
fn doctor(busy: &Busy) -> Told {
    tool(&["doctor"], busy.pid, &[], None)
}

fn stopped(busy: &Busy) -> std::fs::File {
    // SAFETY: stops our child, so that nobody runs into what is written.
    unsafe { libc::kill(busy.pid.cast_signed(), libc::SIGSTOP) };
    std::fs::OpenOptions::new().read(true).write(true).open(format!("/proc/{}/mem", busy.pid)).unwrap()
}

/// From here on, this process and its children may not call `membarrier`.
fn without_membarrier() -> io::Result<()> {
    const LOAD_NUMBER: u16 = 0x20;
    const JUMP_IF_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    const REFUSED: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
    let step = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let mut filter = [
        step(LOAD_NUMBER, 0, 0, 0),
        step(JUMP_IF_EQUAL, 0, 1, libc::SYS_membarrier as u32),
        step(RETURN, 0, 0, REFUSED),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the program lives until the call returns.
    let done = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program)
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

fn alone(filtered: bool, words: &[&str]) -> Told {
    let mut tool = Command::new(env!("CARGO_BIN_EXE_jumplabel"));
    tool.arg("doctor").args(words);
    if filtered {
        // SAFETY: the function only makes system calls.
        unsafe { tool.pre_exec(without_membarrier) };
    }
    let output = tool.output().unwrap();
    Told { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

#[test]
fn system() {
    let said = alone(false, &[]).done();
    assert!(said.starts_with("ok    kernel      Linux "), "{said}");
    assert!(said.contains("\nok    writers     "), "{said}");
    assert!(said.contains("ok    membarrier  has the core sync"), "{said}");
    let refused = alone(true, &[]).done();
    assert!(refused.contains("note  membarrier  is refused, or has no core sync\n"), "{refused}");
    let json: serde_json::Value = serde_json::from_str(&alone(true, &["--json"]).done()).unwrap();
    let found = json["findings"].as_array().unwrap().iter().find(|one| one["about"] == "membarrier").unwrap();
    assert!(json["version"] == 1 && found["level"] == "note" && found["cure"].is_string(), "{json}");
}

#[test]
fn file() {
    let path = program().to_str().unwrap();
    let said = alone(false, &[path]).done();
    assert!(said.starts_with(&format!("ok    table       {path}: x86_64, ")), "{said}");
    assert!(said.contains("3 sites load their keys until they are prepared"), "{said}");
    let form = alone(false, &[path, "--report"]).done();
    assert!(form.starts_with("# Bug report\n") && form.contains(said.trim_end()) && form.contains(path), "{form}");
    assert!(!["TARGET", "FINDINGS", "VERSION"].iter().any(|left| form.contains(left)), "{form}");
    alone(false, &["/dev/null"]).refused(3, "/dev/null");
    alone(false, &["./nothing"]).refused(3, "./nothing");
    alone(false, &["4194304"]).refused(3, "there is no such process");
}

#[test]
fn process() {
    let mut busy = Busy::start();
    let said = doctor(&busy).done();
    for line in [
        "ok    seccomp     no filter\n",
        "ok    text        mapped as linkers have it\n",
        "ok    sites       all do what their keys say\n",
        "3 sites load their keys still: nobody has prepared them\n",
        "note  agent       none\n",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }
    assert!(said.contains("/busy: table format 1\n") && !said.contains("BAD"), "{said}");
    assert_eq!(busy.report().unwrap()[1], 0);
}

/// The environment forces a writer: the tool says so of a process, and of its own.
#[test]
fn chosen_writer() {
    for (name, done, code, line) in [
        (
            "coffee",
            false,
            1,
            "BAD   writers     JUMPLABEL_WRITER=coffee: there is no such writer, so each flip fails\n",
        ),
        ("remap", true, 0, "note  writers     JUMPLABEL_WRITER=remap: no other is tried\n"),
        ("auto", true, 0, ""),
    ] {
        let mut busy = Busy::run(Command::new(program()).env("JUMPLABEL_WRITER", name));
        assert_eq!(busy.ask("flip busy.cold on") == "done", done, "{name}");
        let mut own = Command::new(env!("CARGO_BIN_EXE_jumplabel"));
        let own = own.arg("doctor").env("JUMPLABEL_WRITER", name).output().unwrap();
        for (said, was) in [(doctor(&busy).out, doctor(&busy).code), (text(own.stdout), own.status.code())] {
            assert!(was == Some(code) && said.contains(line), "{name}: {said}");
            assert_eq!(said.contains("JUMPLABEL_WRITER"), !line.is_empty(), "{name}: {said}");
        }
        // What the tool's own environment says matters to the tool only.
        let mut other = Command::new(env!("CARGO_BIN_EXE_jumplabel"));
        let other = other.args(["doctor", &std::process::id().to_string()]).env("JUMPLABEL_WRITER", name);
        assert_eq!(other.output().unwrap().status.code(), Some(0), "{name}");
    }
}

/// Without a file system `/proc`, and without the right to make memory executable.
#[test]
fn sandboxes() {
    let without_proc = || {
        // SAFETY: the calls get texts that end with 0, and null where nothing is given.
        let done = unsafe {
            libc::unshare(libc::CLONE_NEWNS) == 0
                && libc::mount(c"none".as_ptr(), c"/".as_ptr(), null(), libc::MS_REC | libc::MS_PRIVATE, null()) == 0
                && libc::mount(c"none".as_ptr(), c"/proc".as_ptr(), c"tmpfs".as_ptr(), 0, null()) == 0
        };
        if done { Ok(()) } else { Err(io::Error::last_os_error()) }
    };
    let without_execution = || {
        const PR_SET_MDWE: libc::c_int = 65;
        // SAFETY: numbers.
        let result = unsafe { libc::prctl(PR_SET_MDWE, 1_u64, 0_u64, 0_u64, 0_u64) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    };
    let run = |before: fn() -> io::Result<()>, lines: &[&str]| {
        let mut tool = Command::new(env!("CARGO_BIN_EXE_jumplabel"));
        // SAFETY: the function only makes system calls.
        unsafe { tool.arg("doctor").pre_exec(before) };
        let output = match tool.output() {
            Err(error) => return println!("left out: {lines:?}: {error}"),
            Ok(output) => output,
        };
        let said = text(output.stdout);
        assert!(output.status.success() && lines.iter().all(|line| said.contains(line)), "{lines:?}: {said}");
    };
    run(
        without_proc,
        &["note  /proc       is not mounted\n", "note  writers     procmem: ", "ok    writers     mprotect;"],
    );
    let mdwe = "note  mdwe        this tool inherits it";
    run(
        without_execution,
        &[mdwe, "note  writers     mprotect: ", "note  writers     remap: ", "ok    writers     procmem;"],
    );
    assert!(!alone(false, &[]).done().contains(mdwe));
}

/// Text that is writable, cannot be read, or whose file has gone: in this process, which maps a file so.
#[test]
fn mapped_otherwise() {
    let map = |path: &std::path::Path, how| {
        let file = std::fs::File::open(path).unwrap();
        // SAFETY: a new mapping of one page, which stays until this process ends.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), 4096, how, libc::MAP_PRIVATE, file.as_raw_fd(), 0) };
        assert_ne!(at, libc::MAP_FAILED, "{}", io::Error::last_os_error());
    };
    let me = std::process::id();
    assert!(tool(&["doctor"], me, &[], None).done().contains("ok    text        mapped as linkers have it\n"));
    map(program(), libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC);
    map(program(), libc::PROT_EXEC);
    let gone = program().with_file_name("gone");
    std::fs::copy(program(), &gone).unwrap();
    map(&gone, libc::PROT_READ | libc::PROT_EXEC);
    std::fs::remove_file(&gone).unwrap();
    let said = tool(&["doctor"], me, &[], None).done();
    for line in ["is writable: ", "cannot be read: ", "has a file that was replaced: "] {
        assert!(said.contains(&format!("note  text        {line}")), "{line}: {said}");
    }
}

#[test]
fn traced() {
    let busy = Busy::start();
    let pid = busy.pid.cast_signed();
    // SAFETY: the call takes numbers. It ends with this thread, or with the process.
    assert_eq!(unsafe { libc::ptrace(libc::PTRACE_SEIZE, pid, 0, 0) }, 0);
    // SAFETY: the call takes nothing. The system names the thread that traces.
    let line = format!("note  tracer      process {} traces it\n", unsafe { libc::gettid() });
    let said = doctor(&busy).done();
    assert!(said.contains(&line), "{said}");
    // SAFETY: numbers. A thread must stand still to be let go; one that is killed is gone anyway.
    unsafe { libc::kill(pid, libc::SIGKILL) };
}

/// A process that has ended, while its parent has not taken notice, is none.
#[test]
fn ended() {
    let mut child = Command::new("true").spawn().unwrap();
    let mut info = std::mem::MaybeUninit::<libc::siginfo_t>::zeroed();
    let how = libc::WEXITED | libc::WNOWAIT;
    // SAFETY: waits until the child has ended and leaves it as it is; `info` is a place for the news.
    assert_eq!(unsafe { libc::waitid(libc::P_PID, child.id(), info.as_mut_ptr(), how) }, 0);
    tool(&["doctor"], child.id(), &[], None).refused(3, "there is no such process");
    child.wait().unwrap();
}

#[test]
fn filtered() {
    let mut command = Command::new(program());
    // SAFETY: the function only makes system calls.
    unsafe { command.pre_exec(without_membarrier) };
    let said = doctor(&Busy::run(&mut command)).done();
    assert!(said.contains("note  seccomp     mode 2, 1 filters\n"), "{said}");
}

/// A site that somebody else has changed, and another version of the library.
#[test]
fn ill() {
    let busy = Busy::start();
    let (memory, site) = (stopped(&busy), busy_site(&busy));
    let mut old = [0];
    memory.read_exact_at(&mut old, site).unwrap();
    memory.write_all_at(&[0xcc], site).unwrap();
    let said = doctor(&busy);
    assert!(said.code == Some(1) && said.out.contains("BAD   sites       busy.cold: the site at "), "{said:?}");
    memory.write_all_at(&old, site).unwrap();
    doctor(&busy).done();
    // The version stands behind the words that begin the record.
    let words = jumplabel_format::layout::MAGIC.map(u32::to_ne_bytes).concat();
    let (head, mut found) = ([&words[..], &1_u32.to_ne_bytes()].concat(), 0);
    let maps = std::fs::read_to_string(format!("/proc/{}/maps", busy.pid)).unwrap();
    for line in maps.lines().filter(|line| line.contains("/busy") && line.contains("rw")) {
        let (start, end) = line.split_whitespace().next().unwrap().split_once('-').unwrap();
        let [start, end] = [start, end].map(|number| u64::from_str_radix(number, 16).unwrap());
        let mut data = vec![0; (end - start) as usize];
        memory.read_exact_at(&mut data, start).unwrap();
        for at in (0..data.len() - head.len()).step_by(8).filter(|&at| data[at..].starts_with(&head)) {
            memory.write_all_at(&7_u32.to_ne_bytes(), start + at as u64 + words.len() as u64).unwrap();
            found += 1;
        }
    }
    assert_eq!(found, 1);
    let said = doctor(&busy);
    assert!(said.code == Some(1) && said.out.contains("/busy: table format 7, and this tool has 1\n"), "{said:?}");
}
