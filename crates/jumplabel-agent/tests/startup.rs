//! This program, started with the variable.
#![cfg(target_os = "linux")]

use std::fmt::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use jumplabel::{modes, static_branch_unlikely, static_call, static_key, static_mode, static_switch};

jumplabel_agent::startup!();

static_key! {
    #[key(name = "net.trace")]
    static TRACE: false;
    #[key(name = "net.packets")]
    static PACKETS: false;
}
static_key! {
    #[key(name = "sealed.by_constructor")]
    static SEALED: false;
}
modes! {
    enum Mode { Fast, Checked, Traced }
}
static_mode! {
    static MODE: Mode = Checked;
}
fn plain(number: u32) -> u32 {
    number + 1
}
static_call! {
    static HASH: fn(u32) -> u32 = plain;
}

/// The line of the first declaration above.
const LINE: u32 = 15;

fn mode() -> u32 {
    static_switch!(MODE, { Fast => 0, Checked => 1, Traced => 2 })
}

/// What the program's own constructor sees, which is run before `main`: what sites do, and counts.
static SEEN: OnceLock<String> = OnceLock::new();

#[used]
#[unsafe(link_section = ".init_array.00101")]
static OWN: extern "C" fn() = {
    extern "C" fn own() {
        let mut seen = String::new();
        let (trace, packets) = (static_branch_unlikely!(TRACE), static_branch_unlikely!(PACKETS));
        let (count, sealed) = (PACKETS.count(), static_branch_unlikely!(SEALED));
        write!(seen, "trace {trace} packets {packets} count {count} sealed {sealed} mode {}", mode()).unwrap();
        SEEN.set(seen).unwrap();
    }
    own
};

/// Before the variable is looked at.
#[used]
#[unsafe(link_section = ".init_array.00050")]
static EARLY: extern "C" fn() = {
    extern "C" fn early() {
        if std::env::var_os("SEAL").is_some() {
            SEALED.seal().unwrap();
            // Of modes that no code sets there is no record.
            MODE.set(Mode::Checked).unwrap();
        }
    }
    early
};

/// What a child prints.
#[test]
fn child() {
    let count = PACKETS.count();
    jumplabel_agent::startup(); // The second call finds nothing new.
    assert_eq!(PACKETS.count(), count);
    if let Ok(key) = jumplabel::find_key("wal.fsync") {
        println!("library: {}", key.enabled);
    }
    // SAFETY: no condition.
    let secure = unsafe { libc::getauxval(libc::AT_SECURE) };
    println!("seen: {} hash {} secure {secure}", SEEN.get().unwrap(), HASH(1));
}

struct Ran {
    status: Option<i32>,
    seen: String,
    out: String,
    err: Vec<String>,
}

fn run(mut command: Command, value: &str) -> Ran {
    let command = command.args(["--exact", "child", "--nocapture"]).env("JUMPLABEL", value).stdin(Stdio::null());
    let output = command.output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    let seen = out.lines().find_map(|line| Some(line.split_once("seen: ")?.1)).unwrap_or_default().to_owned();
    let err = String::from_utf8(output.stderr).unwrap();
    Ran { status: output.status.code(), seen, out, err: err.lines().map(str::to_owned).collect() }
}

fn this() -> Command {
    jumplabel_testing::scenario::this_program()
}

/// What the constructor saw, and what was on standard error.
fn with(value: &str) -> (String, Vec<String>) {
    let ran = run(this(), value);
    assert_eq!(ran.status, Some(0), "{value}: {:?}", ran.err);
    (ran.seen, ran.err)
}

const OFF: &str = "trace false packets false count 0 sealed false mode 1 hash 2 secure 0";

#[test]
fn set_before_main() {
    for (value, changes) in [
        ("", vec![]),
        (" , ,", vec![]),
        ("net.trace=on", vec![("trace false", "trace true")]),
        ("net.*=on", vec![("trace false", "trace true"), ("packets false count 0", "packets true count 1")]),
        ("net.*=on, net.trace=off", vec![("packets false count 0", "packets true count 1")]),
        ("net.packets+1,net.packets+1", vec![("packets false count 0", "packets true count 2")]),
        ("net.packets+1,net.packets+1,net.packets-1", vec![("packets false count 0", "packets true count 1")]),
        (
            "net.*+1,net.packets+1",
            vec![("trace false", "trace true"), ("packets false count 0", "packets true count 2")],
        ),
        ("startup::MODE=2", vec![("mode 1", "mode 2")]),
        ("*::MODE=0,net.trace=on", vec![("mode 1", "mode 0"), ("trace false", "trace true")]),
        // The first declaration: two keys. What else is in the file is no key, or not in these lines.
        (
            &format!("file:startup.rs:{LINE}=on"),
            vec![("trace false", "trace true"), ("packets false count 0", "packets true count 1")],
        ),
        (
            "obj:startup-*=on",
            vec![
                ("trace false", "trace true"),
                ("packets false count 0", "packets true count 1"),
                ("sealed false", "sealed true"),
            ],
        ),
    ] {
        let expected = changes.iter().fold(OFF.to_owned(), |state, (from, to)| state.replace(from, to));
        assert_eq!(with(value), (expected, vec![]), "{value}");
    }
}

/// Each is one line, and what follows is done.
#[test]
fn complaints() {
    let on = OFF.replace("trace false", "trace true");
    for (item, message) in [
        ("nobody.*=on", "jumplabel: `nobody.*=on`: nothing matches; JUMPLABEL=help lists"),
        ("net.trcae=on", "jumplabel: `net.trcae=on`: nothing matches; did you mean net.trace? JUMPLABEL=help lists"),
        ("obj:libnobody.so=on", "nothing matches"),
        ("net.packets", "say what it is to be"),
        ("net.packets=", "a value is missing"),
        ("file:a.rs:9-7=on", "in front of the first"),
        ("fn:receive=on", "the process does not know functions"),
        ("net.packets=fast", "net.packets is a key"),
        ("startup::MODE=3", "startup::MODE is a mode: it can be a number from =0 to =2"),
        ("startup::MODE=on", "is a mode"),
        ("startup::MODE=+1", "is a mode"),
        ("startup::HASH=plain", "startup::HASH is a static call"),
        ("net.packets-1", "net.packets: the key is off"),
        ("net.*-1", "none of these 2 keys is set: the key is off"),
        ("x\u{1b}[2J\ny=on", "`x\u{fffd}[2J\u{fffd}y=on`"),
        ("help", "say what it is to be"),
    ] {
        let (seen, err) = with(&format!("{item},net.trace=on"));
        assert_eq!(seen, on, "{item}");
        assert!(err.len() == 1 && err[0].starts_with("jumplabel: `") && err[0].contains(message), "{item}: {err:?}");
    }
}

/// Refused for one key: none that the selector chooses is set.
#[test]
fn refused() {
    let mut command = this();
    command.env("SEAL", "1");
    let ran = run(command, "*=on,net.trace=on");
    assert_eq!((ran.status, &*ran.seen), (Some(0), &*OFF.replace("trace false", "trace true")));
    assert!(ran.err.len() == 1 && ran.err[0].contains("keys is set: it is sealed"), "{:?}", ran.err);
}

#[test]
fn help() {
    let ran = run(this(), "help");
    assert_eq!((ran.status, ran.err), (Some(0), vec![]));
    let rows: Vec<Vec<_>> = ran.out.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["KEY", "STATE", "SITES", "DECLARED"]);
    let place = format!("{}:{LINE}", file!());
    let row = |name: &str| rows.iter().find(|row| row[0] == name).unwrap_or_else(|| panic!("no {name}: {rows:?}"));
    assert!(row("net.trace")[1] == "off" && row("net.trace")[3] == place, "{rows:?}");
    assert_eq!(row("startup::MODE")[1], "1/3");
    assert_eq!(row("startup::HASH")[1], "default");
    assert!(ran.seen.is_empty() && !ran.out.contains("running"), "{}", ran.out);
}

/// A directory that others may read.
fn directory(name: &str) -> PathBuf {
    let directory = std::env::temp_dir().join(format!("jumplabel-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::set_permissions(&directory, std::fs::Permissions::from_mode(0o755)).unwrap();
    directory
}

#[test]
fn from_a_file() {
    let directory = directory("startup-file");
    let path = directory.join("keys.conf");
    std::fs::write(&path, "# all of the net\n\n  net.*=on\r\n  # not this one\nnet.packets=off\nnobody=on\n").unwrap();
    let (seen, err) = with(&format!("@{}", path.display()));
    assert_eq!(seen, OFF.replace("trace false", "trace true"));
    assert_eq!(err.len(), 1, "{err:?}");
    assert!(err[0].starts_with(&format!("jumplabel: {}:6: `nobody=on`: nothing", path.display())), "{err:?}");

    let (seen, err) = with(&format!("@{}/missing", directory.display()));
    assert_eq!(seen, OFF);
    assert!(err.len() == 1 && err[0].contains("/missing: No such file"), "{err:?}");
    std::fs::write(&path, "net.trace=on\n".repeat(100_000)).unwrap();
    let (seen, err) = with(&format!("@{}", path.display()));
    assert!(seen == OFF && err.len() == 1 && err[0].contains("longer than 1 MiB: nothing"), "{err:?}");
    std::fs::remove_dir_all(&directory).unwrap();
}

/// What has no end, or no beginning until somebody writes, is not read.
#[test]
fn no_file() {
    let directory = directory("startup-pipe");
    let pipe = directory.join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    for path in ["/dev/zero", "/dev/tty", "/", pipe.to_str().unwrap()] {
        let (seen, err) = with(&format!("@{path}"));
        assert_eq!(seen, OFF, "{path}");
        assert!(err.len() == 1 && err[0].contains(&format!("{path}: not a regular file: nothing")), "{err:?}");
    }
    // Of the kernel's messages there may be some, or none; either way it ends.
    if std::fs::metadata("/proc/kmsg").is_ok() {
        let (_, err) = with("@/proc/kmsg");
        assert!(!err.is_empty(), "{err:?}");
    }
    std::fs::remove_dir_all(&directory).unwrap();
}

/// A program that belongs to somebody else and runs with their rights.
#[test]
fn ignored_with_more_rights() {
    // SAFETY: no condition.
    if unsafe { libc::geteuid() } != 0 || jumplabel_testing::scenario::emulator().is_some() {
        return eprintln!("skipped: only root can start a program as one user that belongs to another");
    }
    let directory = directory("startup-rights");
    let program = directory.join("program");
    jumplabel_testing::programs::copy(&std::env::current_exe().unwrap(), &program).unwrap();
    let start = |mode: u32, value: &str| {
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(mode)).unwrap();
        let mut command = Command::new(&program);
        command.uid(65534).gid(65534).current_dir("/");
        run(command, value)
    };
    let ran = start(0o755, "net.trace=on");
    assert_eq!(ran.seen, OFF.replace("trace false", "trace true"), "{:?}", ran.err);
    let ran = start(0o4755, "net.trace=on");
    if ran.seen.ends_with("secure 0") {
        eprintln!("skipped: {} is mounted without setuid", directory.display());
    } else {
        let off = OFF.replace("secure 0", "secure 1");
        for value in ["net.trace=on", "help", "nobody=on", "@/missing"] {
            let ran = start(0o4755, value);
            assert_eq!((ran.status, &*ran.seen, ran.err), (Some(0), &*off, vec![]), "{value}");
        }
    }
    std::fs::remove_dir_all(&directory).unwrap();
}

/// Keys of a library that is loaded with the program, by the object that they are in.
#[test]
fn of_a_library() {
    if cfg!(jumplabel_fallback) || jumplabel_testing::scenario::emulator().is_some() {
        return eprintln!("skipped: the library is built for this machine, with sites");
    }
    let built = jumplabel_testing::cargo::Build::of("operated").results_in("preloaded", &["liboperated.so"]);
    for (value, state) in [("obj:liboperated.so=off", "library: false"), ("obj:startup-*=off", "library: true")] {
        let mut command = this();
        command.env("LD_PRELOAD", &built[0]);
        let ran = run(command, value);
        assert_eq!((ran.status, ran.err), (Some(0), vec![]), "{value}");
        assert!(ran.out.contains(state), "{value}: {}", ran.out);
    }
}
