//! libjumplabel-agent, which gives C programs what `jumplabel_agent` gives Rust programs: tests/c/operated.c.

use std::io::{BufRead, BufReader, Lines, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::compiler::{Compiler, Language};
use crate::prefix::{file, prefix, printed, scratch, succeeds};
use crate::versions::exported;

/// The ways to link: both libraries shared; a copy of libjumplabel in the program; the archive that contains both, also in programs without a loader.
const LIBRARIES: [(&str, &str); 5] = [
    ("", "-ljumplabel-agent -ljumplabel"),
    ("", "-ljumplabel-agent -l:libjumplabel.a"),
    ("", "-l:libjumplabel-agent.a -ldl -lm"),
    ("-static", "-ljumplabel-agent -ljumplabel"),
    ("-static-pie -fPIE", "-ljumplabel-agent -ljumplabel"),
];

fn each_program(test: impl Fn(&Path)) {
    let program = scratch("agent").join(format!("operated-{:?}", std::thread::current().id()));
    for compiler in Compiler::ALL {
        for language in [Language::C, Language::Cxx] {
            for (flags, libraries) in LIBRARIES {
                compiler.build(language, &format!("-O2 {flags}"), &["operated.c"], libraries, &program);
                test(&program);
            }
        }
    }
}

/// A running program.
struct Running {
    child: Child,
    stdin: Option<ChildStdin>,
    said: Lines<BufReader<ChildStdout>>,
}

impl Running {
    fn new(command: &mut Command) -> Running {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let said = BufReader::new(child.stdout.take().unwrap()).lines();
        Running { stdin: child.stdin.take(), said, child }
    }

    fn line(&mut self) -> String {
        self.said.next().unwrap().unwrap()
    }

    fn checks(&mut self) -> String {
        self.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
        self.line()
    }

    fn ends(mut self) {
        drop(self.stdin.take());
        assert!(self.child.wait().unwrap().success());
    }
}

/// A directory for sockets, which is removed when this is dropped. It is not below the target directory, because a socket's path has at most 107
/// bytes.
pub struct Directory(pub PathBuf);

impl Directory {
    pub fn new() -> Directory {
        let name = format!("jumplabel-capi-{}-{:?}", std::process::id(), std::thread::current().id());
        Directory(std::env::temp_dir().join(name.replace(['(', ')'], "")))
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub fn ask(socket: &Path, request: &str) -> String {
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.write_all(format!("{request}\n").as_bytes()).unwrap();
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).unwrap();
    answer
}

#[test]
fn set_before_main() {
    each_program(|program| {
        let run = |variable: &str| {
            let mut running = Running::new(Command::new(program).env("JUMPLABEL", variable));
            let start = running.line();
            let checks = running.checks();
            running.ends();
            (start, checks)
        };
        assert_eq!(run(""), ("at the start: 0".into(), "0 1 1 0 1".into()));
        assert_eq!(run("net.*=on,policy=2"), ("at the start: 1".into(), "1 1 1 0 2".into()));
        assert_eq!(run("net.hooks[1]=off").1, "0 1 0 0 1");
        assert_eq!(run("file:operated.c=on,net.hooks*=off").1, "1 0 0 1 1");
        let help = printed(&succeeds(Command::new(program).env("JUMPLABEL", "help")));
        let names: Vec<_> = help.lines().filter_map(|line| line.split_whitespace().next()).collect();
        assert_eq!(names, ["KEY", "auth.secret", "net.hooks[0]", "net.hooks[1]", "net.trace", "policy"]);
    });
}

#[test]
fn agent() {
    let directory = Directory::new();
    each_program(|program| {
        let words = format!("name=c,dir={}", directory.0.display());
        let mut running = Running::new(Command::new(program).args([&words, "auth.*"]));
        assert_eq!([running.line(), running.line()], ["start: 0", "at the start: 0"]);
        let socket = directory.0.join(format!("c.{}.sock", running.child.id()));
        assert!(ask(&socket, "list").contains(r#""key":"net.hooks[1]""#));
        assert!(ask(&socket, "set net.*=off,policy=2").contains(r#""key":"net.hooks[0]""#));
        let logged = running.line();
        assert!(logged.starts_with("log: ") && logged.contains("net.hooks[0] on -> off"), "{logged}");
        assert_eq!(running.checks(), "0 0 0 0 2");
        assert!(ask(&socket, "set auth.secret=on").contains("lets nobody change it from outside"));
        assert!(running.line().starts_with("log: refused"));
        assert_eq!(running.checks(), "0 0 0 0 2");
        running.ends();
        assert!(!socket.exists());
    });
}

/// The program is told which keys an operator changes, and who it was. A flip by libjumplabel-agent's instance also calls functions that another
/// instance has registered, and the other way round. An operator is told the program's reason for a refusal.
#[test]
fn hears() {
    let directory = Directory::new();
    each_program(|program| {
        let words = format!("name=c,dir={}", directory.0.display());
        let mut running = Running::new(Command::new(program).args([&words, "auth.*", "net.trace", "not by day"]));
        assert_eq!([running.line(), running.line()], ["start: 0", "at the start: 0"]);
        let socket = directory.0.join(format!("c.{}.sock", running.child.id()));
        assert!(ask(&socket, "set net.*=on,policy=2").contains(r#""key":"net.trace""#));
        assert_eq!(running.line(), "log: net.trace 1, by 2 1");
        assert!(running.line().contains("net.trace off -> on"));
        assert!(ask(&socket, "set auth.secret=on").contains("(`auth.*`: not by day)"));
        assert!(running.line().starts_with("log: refused"));
        running.ends();
    });
}

/// A file without sites: its keys still have names, for the variable and for an agent.
#[test]
fn without_sites() {
    let directory = Directory::new();
    let program = scratch("agent").join("without-sites");
    for compiler in Compiler::ALL {
        for language in [Language::C, Language::Cxx] {
            let libraries = "-ljumplabel-agent -ljumplabel";
            compiler.build(language, "-O2 -DJUMPLABEL_FALLBACK", &["operated.c"], libraries, &program);
            let help = printed(&succeeds(Command::new(&program).env("JUMPLABEL", "help")));
            let names: Vec<_> = help.lines().filter_map(|line| line.split_whitespace().next()).collect();
            assert_eq!(names, ["KEY", "auth.secret", "net.hooks[0]", "net.hooks[1]", "net.trace"]);
            let words = format!("name=c,dir={}", directory.0.display());
            let mut running = Running::new(Command::new(&program).arg(&words).env("JUMPLABEL", "net.trace=on"));
            assert_eq!([running.line(), running.line()], ["start: 0", "at the start: 1"]);
            let socket = directory.0.join(format!("c.{}.sock", running.child.id()));
            assert!(ask(&socket, "set net.hooks*=off").contains(r#""key":"net.hooks[0]""#));
            assert!(running.line().contains("net.hooks[0] on -> off"));
            assert_eq!(running.checks(), "1 0 0 0 1");
            running.ends();
        }
    }
}

/// The bytes of a C string need not be UTF-8. For all readers, a name ends before the first byte that is not.
#[test]
fn names_that_are_not_utf_8() {
    let directory = Directory::new();
    let [source, program] = ["latin.c", "latin"].map(|name| scratch("agent").join(name));
    let text = std::fs::read_to_string(file("tests/c/operated.c")).unwrap();
    assert!(text.contains(r#""net.trace""#));
    std::fs::write(&source, text.replace(r#""net.trace""#, r#""net.trace\351 and more""#)).unwrap();
    for flags in ["-O2", "-O2 -DJUMPLABEL_FALLBACK"] {
        let libraries = "-ljumplabel-agent -ljumplabel";
        Compiler::ALL[0].build(Language::C, flags, &[source.to_str().unwrap()], libraries, &program);
        let help = printed(&succeeds(Command::new(&program).env("JUMPLABEL", "help")));
        let names: Vec<_> = help.lines().filter_map(|line| line.split_whitespace().next()).collect();
        assert!(names.contains(&"net.trace"), "{help}");
        let words = format!("name=c,dir={}", directory.0.display());
        let mut running = Running::new(Command::new(&program).arg(&words).env("JUMPLABEL", "net.trace=on"));
        assert_eq!([running.line(), running.line()], ["start: 0", "at the start: 1"]);
        let socket = directory.0.join(format!("c.{}.sock", running.child.id()));
        assert!(ask(&socket, "set net.trace=off").contains(r#""key":"net.trace""#));
        assert!(running.line().contains("net.trace on -> off"));
        running.ends();
    }
}

/// Errors are reported, and the program goes on.
#[test]
fn refused() {
    each_program(|program| {
        let mut running =
            Running::new(Command::new(program).args(["dir=/proc/none", "nothing.*"]).stderr(Stdio::null()));
        assert_eq!(running.line(), "no_remote is refused");
        let line = running.line();
        assert!(line.starts_with("log: no agent: /proc/none"), "{line}");
        assert_eq!(running.line(), "start: -2");
        running.ends();
        let mut running = Running::new(Command::new(program).arg("sometimes"));
        assert!(running.line().contains("read-only, children, verify=SECONDS, name=NAME"));
        assert_eq!(running.line(), "start: -22");
        running.ends();
    });
}

/// The library exports exactly these symbols.
#[test]
fn exported_symbols() {
    let library = prefix().join("lib/libjumplabel-agent.so");
    let functions = ["no_remote", "no_remote_because", "on_change", "pause", "resume", "serve", "start"]
        .map(|name| format!("jumplabel_agent_{name}"));
    assert_eq!(exported(&library), [&functions[..], &["jumplabel_startup".to_owned()]].concat());
    let dynamic = printed(&succeeds(Command::new("readelf").arg("-dW").arg(library)));
    assert!(dynamic.contains("Library soname: [libjumplabel-agent.so.0]"), "{dynamic}");
}
