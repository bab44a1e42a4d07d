//! Callsites of a running program, listed and shown by the tool: test-crates/traced with the patched tracing.

use std::io::{BufRead, BufReader, Lines, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::programs;

/// The program, which works when it is told to.
struct Traced {
    child: Child,
    stdin: ChildStdin,
    said: Lines<BufReader<ChildStdout>>,
    socket: PathBuf,
}

impl Traced {
    fn start(program: &Path, filter: &str) -> Traced {
        let folder = std::env::temp_dir().join(format!("jumplabel-live-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::DirBuilder::new().mode(0o700).create(&folder).unwrap();
        let mut command = Command::new(program);
        command.args(["serve", filter]).env("JUMPLABEL_AGENT", format!("dir={}", folder.display()));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut said = BufReader::new(stdout).lines();
        assert_eq!(said.next().unwrap().unwrap(), "ready");
        // Its agent listens as soon as there is a socket.
        let socket = loop {
            assert!(child.try_wait().unwrap().is_none(), "the program has ended");
            if let Some(socket) = std::fs::read_dir(&folder).unwrap().next() {
                break socket.unwrap().path();
            }
            std::thread::yield_now();
        };
        Traced { child, stdin, said, socket }
    }

    /// What it says while it works once.
    fn works(&mut self) -> Vec<String> {
        writeln!(self.stdin).unwrap();
        self.said.by_ref().map(Result::unwrap).take_while(|line| line != "worked").collect()
    }

    /// `jumplabel VERB PID ...`: how it ended, and what it printed.
    fn tool(&self, words: &[&str]) -> (u8, String) {
        let (verb, rest) = words.split_first().unwrap();
        let words =
            ["jumplabel", verb, self.socket.to_str().unwrap()].into_iter().chain(rest.iter().copied()).map(Into::into);
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let code = jumplabel_cli::run(words, &mut out, &mut err);
        (code, String::from_utf8([out, err].concat()).unwrap())
    }

    #[track_caller]
    fn prints(&self, words: &[&str]) -> String {
        let (code, printed) = self.tool(words);
        assert_eq!(code, 0, "{words:?}: {printed}");
        printed
    }
}

impl Drop for Traced {
    fn drop(&mut self) {
        let _ = (self.child.kill(), self.child.wait());
        let _ = std::fs::remove_dir_all(self.socket.parent().unwrap());
    }
}

#[test]
fn listed_shown_and_taken_back() {
    let mut traced = Traced::start(&programs().patched, "off");
    let quiet = traced.works();
    assert!(!quiet.iter().any(|line| line.contains("DEBUG")), "{quiet:?}");
    let rows = traced.prints(&["list", "trace:noisy*"]);
    let row = |name: &str| rows.lines().find(|row| row.starts_with(name)).unwrap_or_else(|| panic!("{name}: {rows}"));
    assert!(row("trace:noisy@noisy/src/lib.rs:9 ").contains("TRACE event"), "{rows}");
    // Two callsites, in one batch, by a pattern; then all of a target.
    let set = traced.prints(&["set", "trace:elsewhere@*=on"]);
    assert!(set.contains("trace:elsewhere@noisy/src/lib.rs:") && set.contains("undo: jumplabel set"), "{set}");
    let shown = |lines: &[String], what: &str| lines.iter().filter(|line| line.contains(what)).count();
    let lines = traced.works();
    assert_eq!((shown(&lines, "DEBUG elsewhere: in 2"), shown(&lines, "TRACE noisy: one")), (1, 0), "{lines:?}");
    assert!(traced.prints(&["list", "trace:elsewhere@*"]).contains(" on "));
    traced.prints(&["set", "trace:noisy=on"]);
    let lines = traced.works();
    assert_eq!((shown(&lines, "DEBUG elsewhere: in 2"), shown(&lines, "TRACE noisy: one")), (1, 1), "{lines:?}");
    // One of the two is taken back, then the other: what only one of them shows goes with it.
    traced.prints(&["set", "trace:elsewhere@*=remove"]);
    let lines = traced.works();
    assert_eq!((shown(&lines, "DEBUG elsewhere"), shown(&lines, "TRACE noisy: one")), (0, 1), "{lines:?}");
    traced.prints(&["set", "trace:noisy=remove"]);
    assert_eq!(traced.works(), quiet);
    // For a while: it ends by itself.
    traced.prints(&["set", "trace:noisy=on", "--for", "1s"]);
    while shown(&traced.works(), "TRACE noisy: one") > 0 {
        std::thread::yield_now();
    }
    for (item, why) in [
        ("trace:noisy=off", "a callsite is shown, or not; write =on, or =remove"),
        ("trace:nowhere=on", "trace:nowhere"),
        ("trace:nowhere::*=on", "trace:nowhere"),
    ] {
        let (code, says) = traced.tool(&["set", item]);
        assert!(code != 0 && says.contains(why), "{item}: {code} {says}");
    }
    assert_eq!(traced.works(), quiet);
}
