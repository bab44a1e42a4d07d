//! A program that runs: its output, and the tool `jumplabel` used on it.

use std::io::{BufRead, BufReader, Lines};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// A program with an agent, which has printed that it is ready.
pub struct Running {
    pub child: Child,
    pub stdin: ChildStdin,
    said: Lines<BufReader<ChildStdout>>,
    pub socket: PathBuf,
    /// The line by which the program said that it is ready.
    pub ready: String,
    /// The folder of the socket, if no other program uses it.
    own_folder: Option<PathBuf>,
}

impl Running {
    /// Starts a program. Its first line must begin with `ready`.
    pub fn start(command: &mut Command, ready: &str) -> Running {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("jumplabel-live-{}-{number}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::DirBuilder::new().mode(0o700).create(&folder).unwrap();
        command.env("JUMPLABEL_AGENT", format!("dir={}", folder.display()));
        let mut running = Running::start_in(command, ready, &folder);
        running.own_folder = Some(folder);
        running
    }

    /// Starts a program whose agent's socket will be in this folder, which other programs may use, too.
    pub fn start_in(command: &mut Command, ready: &str, folder: &Path) -> Running {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut said = BufReader::new(stdout).lines();
        let first = said.next().unwrap().unwrap();
        assert!(first.starts_with(ready), "{first}");
        // The program's agent listens as soon as there is a socket.
        let socket = loop {
            assert!(child.try_wait().unwrap().is_none(), "the program has ended");
            let end = format!(".{}.sock", child.id());
            let sockets = std::fs::read_dir(folder).into_iter().flatten().map(|socket| socket.unwrap().path());
            let is_own = |path: &PathBuf| path.to_str().is_some_and(|path| path.ends_with(&end));
            if let Some(socket) = sockets.into_iter().find(is_own) {
                break socket;
            }
            std::thread::yield_now();
        };
        Running { child, stdin, said, socket, ready: first, own_folder: None }
    }

    /// The lines that the program prints before the first one for which `is_last` is true.
    pub fn says_until(&mut self, is_last: impl Fn(&str) -> bool) -> Vec<String> {
        let mut lines = Vec::new();
        loop {
            let line = self.said.next().unwrap_or_else(|| panic!("the program has ended: {lines:?}")).unwrap();
            if is_last(&line) {
                return lines;
            }
            lines.push(line);
        }
    }

    /// Runs `jumplabel VERB PROCESS ...`. Returns its exit status and its output.
    pub fn tool(&self, words: &[&str]) -> (u8, String) {
        let (verb, rest) = words.split_first().unwrap();
        let words =
            ["jumplabel", verb, self.socket.to_str().unwrap()].into_iter().chain(rest.iter().copied()).map(Into::into);
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let code = jumplabel_cli::run(words, &mut out, &mut err);
        (code, String::from_utf8([out, err].concat()).unwrap())
    }

    /// Runs the tool, which must succeed. Returns its output.
    #[track_caller]
    pub fn prints(&self, words: &[&str]) -> String {
        let (code, printed) = self.tool(words);
        assert_eq!(code, 0, "{words:?}: {printed}");
        printed
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = (self.child.kill(), self.child.wait());
        let _ = self.own_folder.take().map(std::fs::remove_dir_all);
    }
}
