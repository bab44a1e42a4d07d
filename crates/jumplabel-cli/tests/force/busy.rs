//! The program, and what it says.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::OnceLock;

use jumplabel_testing::cargo::Build;

/// Changes all keys that its threads look at, and back.
pub const THERE: [&str; 4] = ["busy.cold=on", "busy.hot=off", "busy.loads=on", "busy.naked=on"];
pub const BACK: [&str; 4] = ["busy.cold=off", "busy.hot=on", "busy.loads=off", "busy.naked=off"];

/// A running one.
pub struct Busy {
    pub child: Child,
    out: BufReader<ChildStdout>,
    /// The number that the tool knows it by.
    pub pid: u32,
}

pub fn program() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| Build::of("busy").results_in("native", &["busy"]).remove(0))
}

impl Busy {
    pub fn start() -> Busy {
        Busy::run(&mut Command::new(program()))
    }

    pub fn run(command: &mut Command) -> Busy {
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = child.unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let out = BufReader::new(child.stdout.take().unwrap());
        let pid = child.id();
        let mut busy = Busy { child, out, pid };
        assert_eq!(busy.line(), "ready");
        busy
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.out.read_line(&mut line).unwrap();
        line.trim().to_owned()
    }

    /// Its answer to a command; an empty one if it has died.
    pub fn ask(&mut self, command: &str) -> String {
        let _ = writeln!(self.child.stdin.as_mut().unwrap(), "{command}");
        self.line()
    }

    /// Looks, wrong ones, signals of two kinds.
    pub fn report(&mut self) -> Option<[u64; 4]> {
        let line = self.ask("report");
        let numbers: Vec<u64> = line.split_whitespace().flat_map(str::parse).collect();
        numbers.try_into().ok()
    }

    /// `set --force`, with other words behind.
    pub fn set(&self, words: &[&str]) -> Told {
        tool(&["set", "--force"], self.pid, words, None)
    }

    pub fn check(&self) -> Told {
        tool(&["check", "--force"], self.pid, &[], None)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What the tool said; `code` is `None` if a signal ended it.
#[derive(Debug)]
pub struct Told {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Told {
    #[track_caller]
    pub fn done(self) -> String {
        assert_eq!((self.code, &*self.err), (Some(0), ""), "{}", self.out);
        self.out
    }

    #[track_caller]
    pub fn refused(self, code: i32, why: &str) {
        assert!(self.code == Some(code) && self.err.contains(why) && self.out.is_empty(), "{why}: {self:?}");
    }
}

/// The tool as the user of that number; as this one, if there is none.
pub fn tool(command: &[&str], pid: u32, words: &[&str], user: Option<u32>) -> Told {
    let mut tool = Command::new(env!("CARGO_BIN_EXE_jumplabel"));
    tool.args(command).arg(pid.to_string()).args(words).stdin(Stdio::null());
    if let Some(user) = user {
        tool.uid(user);
    }
    let output = tool.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Told { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

/// The address of a site of `busy.cold` in the process.
pub fn busy_site(busy: &Busy) -> u64 {
    let mut sites = Command::new(env!("CARGO_BIN_EXE_jumplabel"));
    let listed = sites.arg("sites").arg(program()).arg("busy.cold").output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let address = listed.lines().nth(1).and_then(|line| line.split_whitespace().next()).unwrap();
    let maps = std::fs::read_to_string(format!("/proc/{}/maps", busy.pid)).unwrap();
    let base = maps.lines().next().and_then(|line| line.split('-').next()).unwrap();
    let number = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap();
    number(base) + number(address)
}
