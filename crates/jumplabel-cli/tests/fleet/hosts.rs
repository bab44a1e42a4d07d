//! Processes that have agents, and who has them follow.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock};

use jumplabel_agent::directory;
use jumplabel_testing::cargo::Build;

use super::cluster::Cluster;
use super::until;

/// Where tests may write. The names of sockets are short.
pub fn scratch(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("jumplabel-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

/// The exit code, and both streams.
pub fn tool(words: &[&str], environment: &[(&str, &str)]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_jumplabel"));
    command.args(words).env_remove("JUMPLABEL_ETCD").env_remove("JUMPLABEL_ETCD_PREFIX");
    let output = command.envs(environment.iter().copied()).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

/// test-crates/operated, or test-crates/failing, which has fail points.
#[derive(Clone, Copy)]
pub enum Program {
    Operated,
    Failing,
}

impl Program {
    fn path(self) -> &'static Path {
        static OPERATED: OnceLock<Vec<PathBuf>> = OnceLock::new();
        static FAILING: OnceLock<Vec<PathBuf>> = OnceLock::new();
        let (built, name) = match self {
            Program::Operated => (&OPERATED, "operated"),
            Program::Failing => (&FAILING, "failing"),
        };
        &built.get_or_init(|| Build::of(name).results_in("fleet", &[name]))[0]
    }
}

/// One of them; it ends when this is dropped.
pub struct Running {
    child: Child,
    socket: PathBuf,
}

impl Running {
    fn start(program: Program, runtime: &Path, name: &str) -> Child {
        let mut command = Command::new(program.path());
        command.arg("serve").env("XDG_RUNTIME_DIR", runtime).env("JUMPLABEL_AGENT", format!("name={name}"));
        // Nobody writes to its input, and it is open as long as this process has the child.
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// Whether its keys are so, and its code, too.
    pub fn is(&self, items: &str) -> bool {
        self.asked(&format!("check {items}"))
    }

    /// An operator sets keys on the host itself.
    pub fn set(&self, items: &str) {
        assert!(self.asked(&format!("set {items}")), "{items}");
    }

    fn asked(&self, request: &str) -> bool {
        let mut answer = String::new();
        let mut stream = UnixStream::connect(&self.socket).unwrap();
        stream.write_all(format!("{request}\n").as_bytes()).unwrap();
        BufReader::new(stream).read_line(&mut answer).unwrap();
        let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
        answer["status"] == 0
    }

    /// As lines of a follower name it.
    pub fn id(&self) -> String {
        self.socket.file_stem().unwrap().to_str().unwrap().to_owned()
    }

    pub fn stop(&self) {
        signal(&self.child, libc::SIGSTOP);
        let stat = format!("/proc/{}/stat", self.child.id());
        until("it is stopped", || std::fs::read_to_string(&stat).unwrap().contains(") T "));
    }

    pub fn go_on(&self) {
        signal(&self.child, libc::SIGCONT);
    }
}

fn signal(child: &Child, signal: i32) {
    // SAFETY: a child that is not waited for yet.
    assert_eq!(unsafe { libc::kill(child.id() as i32, signal) }, 0);
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// All of a host.
pub struct Processes {
    program: Program,
    runtime: PathBuf,
    pub all: Vec<Running>,
}

impl Processes {
    /// When this returns, all listen.
    pub fn start(host: &str, count: usize, name: &str) -> Processes {
        Processes::of(Program::Operated, host, count, name)
    }

    pub fn of(program: Program, host: &str, count: usize, name: &str) -> Processes {
        let mut processes = Processes { program, runtime: scratch(host), all: Vec::new() };
        let children: Vec<_> = (0..count).map(|_| Running::start(program, &processes.runtime, name)).collect();
        processes.all = children.into_iter().map(|child| processes.found(child)).collect();
        processes
    }

    pub fn one_more(&self, name: &str) -> Running {
        self.found(Running::start(self.program, &self.runtime, name))
    }

    fn found(&self, child: Child) -> Running {
        let mut socket = None;
        until("an agent listens", || {
            let sockets = directory::sockets(&self.runtime.join("jumplabel")).unwrap_or_default();
            socket = sockets.into_iter().find(|socket| socket.pid == child.id()).map(|socket| socket.path);
            socket.as_ref().is_some_and(|socket| UnixStream::connect(socket).is_ok())
        });
        Running { child, socket: socket.unwrap() }
    }

    /// Of how many this is so.
    pub fn count(&self, items: &str) -> usize {
        self.all.iter().filter(|process| process.is(items)).count()
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        self.all.clear();
        let _ = std::fs::remove_dir_all(&self.runtime);
    }
}

/// `jumplabel follow`, and what it prints.
pub struct Follower {
    child: Child,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Follower {
    /// When this returns, it watches.
    pub fn start(cluster: &Cluster, processes: &Processes, words: &[&str]) -> Follower {
        let mut command = Command::new(env!("CARGO_BIN_EXE_jumplabel"));
        command.args(["follow", "--host", "this"]).args(words);
        command.env("JUMPLABEL_ETCD", cluster.urls()).env("XDG_RUNTIME_DIR", &processes.runtime);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let (lines, out) = (Arc::new(Mutex::new(Vec::new())), child.stdout.take().unwrap());
        let kept = Arc::clone(&lines);
        std::thread::spawn(move || {
            BufReader::new(out).lines().map_while(Result::ok).for_each(|line| kept.lock().unwrap().push(line));
        });
        let follower = Follower { child, lines };
        until("it follows", || follower.text().contains("follows "));
        follower
    }

    pub fn stop(&self) {
        signal(&self.child, libc::SIGSTOP);
    }

    pub fn go_on(&self) {
        signal(&self.child, libc::SIGCONT);
    }

    pub fn text(&self) -> String {
        self.lines.lock().unwrap().join("\n")
    }

    pub fn times_seen(&self, revision: i64) -> usize {
        let beginning = format!("revision {revision}:");
        self.lines.lock().unwrap().iter().filter(|line| line.starts_with(&beginning)).count()
    }

    pub fn has_seen(&self, revision: i64) -> bool {
        self.times_seen(revision) > 0
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
