//! `top` in a real terminal: tmux, which shows what it has drawn, and presses keys.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread::yield_now;

use jumplabel_testing::breadth;

use crate::programs::program;
use crate::server::Server;

/// Whether this is tested here.
fn has_tmux() -> bool {
    breadth::tests_all() && breadth::has("tmux")
}

/// A terminal of its own, in which a shell runs the tool, and then says how it ended.
struct Terminal<'server> {
    server: &'server Server,
    socket: PathBuf,
}

impl<'server> Terminal<'server> {
    fn start(server: &'server Server, words: &str, width: u16, height: u16) -> Terminal<'server> {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let socket = server.runtime.join(format!("tmux{}", NUMBER.fetch_add(1, Relaxed)));
        let terminal = Terminal { server, socket };
        let runtime = server.runtime.display();
        fs::write(server.runtime.join("tmux.conf"), "set -g status off\nset -g default-shell /bin/sh\n").unwrap();
        // The inner shell is replaced by the tool, so its number is the tool's.
        let tool = env!("CARGO_BIN_EXE_jumplabel");
        let shell = format!(
            "echo before; stty -g > {runtime}/before; sh -c 'echo $$ > {runtime}/pid; exec {tool} top {words}'; \
             echo code $?; stty -g > {runtime}/after; echo over; exec cat"
        );
        let (width, height) = (width.to_string(), height.to_string());
        terminal.tmux(&["new-session", "-d", "-x", &width, "-y", &height, &shell]);
        terminal
    }

    fn tmux(&self, words: &[&str]) -> String {
        let mut tmux = Command::new("tmux");
        tmux.arg("-S").arg(&self.socket).arg("-f").arg(self.server.runtime.join("tmux.conf"));
        tmux.args(words).env("XDG_RUNTIME_DIR", &self.server.runtime).env("RUST_BACKTRACE", "0").env_remove("TMUX");
        let output = tmux.output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Waits until the screen has all of that; returns it.
    fn shows(&self, words: &[&str]) -> String {
        loop {
            let screen = self.tmux(&["capture-pane", "-p"]);
            if words.iter().all(|word| screen.contains(word)) {
                return screen;
            }
            let is_there = words.contains(&"over") || !screen.contains("\nover");
            assert!(is_there, "it has ended, and not shown {words:?}:\n{screen}");
            yield_now();
        }
    }

    /// Types letters.
    fn types(&self, letters: &str) {
        self.tmux(&["send-keys", "-l", letters]);
    }

    /// Presses a key by its name.
    fn press(&self, key: &str) {
        self.tmux(&["send-keys", key]);
    }

    /// Asks the terminal about itself.
    fn is(&self, what: &str) -> String {
        self.tmux(&["display-message", "-p", &format!("#{{{what}}}")]).trim().to_owned()
    }

    /// Waits for the end of the tool: the screen is as it was before, with a line more, and so are the terminal's modes.
    fn restored(&self, code: i32, words: &[&str]) {
        let screen = self.shows(&[&format!("code {code}\n"), "over"]);
        assert!(screen.starts_with("before\n") && words.iter().all(|word| screen.contains(word)), "{screen}");
        assert!(!screen.contains("jumplabel top   "), "{screen}");
        assert_eq!([self.is("alternate_on"), self.is("cursor_flag")], ["0", "1"]);
        let modes = ["before", "after"].map(|name| fs::read_to_string(self.server.runtime.join(name)).unwrap());
        assert!(modes[0] == modes[1] && !modes[0].is_empty(), "{modes:?}");
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        let _ = Command::new("tmux").arg("-S").arg(&self.socket).arg("kill-server").status();
    }
}

/// Another process beside that of a server, of the same user.
fn another(server: &Server, words: &str) -> Child {
    let mut command = Command::new(program());
    command.arg("serve").env("XDG_RUNTIME_DIR", &server.runtime).env("JUMPLABEL_AGENT", words);
    let child = command.stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while server.tool(&["list", &child.id().to_string()]).0 == 3 {
        yield_now();
    }
    child
}

/// Without a terminal it says what there is instead.
#[test]
fn no_terminal() {
    let server = Server::start("top-none", "name=web");
    for (words, why) in [(&["top", "@web"][..], "top needs a terminal"), (&["top", "@web", "--json"], "no --json")] {
        let mut tool = server.command(words);
        let output = tool.stdin(Stdio::null()).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && output.stdout.is_empty() && said.contains(why), "{said}");
        assert!(said.contains("`jumplabel list` and `jumplabel watch` print lines"), "{said}");
    }
}

/// The document's figure is what a test of the view draws.
#[test]
fn figure() {
    let document = include_str!("../../../../docs/operating.md");
    let page = include_str!("../../src/top/view/page.txt");
    assert!(document.contains(&format!("```text\n{page}```\n")), "put this into docs/operating.md:\n{page}");
}

#[test]
fn filter_toggle_take_back() {
    if !has_tmux() {
        return;
    }
    let server = Server::start("top-toggle", "name=web");
    let terminal = Terminal::start(&server, "@web", 80, 24);
    let screen = terminal.shows(&["1 process, 13 of 13 keys shown", ">net.trace ", " wal.fsync "]);
    assert_eq!((screen.lines().count(), &*terminal.is("alternate_on")), (24, "1"));
    assert!(screen.lines().all(|line| line.chars().count() <= 80), "{screen}");
    terminal.types("/NET.");
    let screen = terminal.shows(&["2 of 13 keys shown", "/net._"]);
    assert!(screen.contains(">net.trace") && !screen.contains("wal.fsync"), "{screen}");
    terminal.press("Space");
    terminal.shows(&["net.trace off -> on: 2 sites in 1 page", "net.trace  off -> on  by uid", "r takes it back"]);
    server.prints(&["check", "@web", "net.trace=on"]);
    terminal.press("Enter");
    terminal.press("r");
    terminal.shows(&["net.trace on -> off: 2 sites", "net.trace  on -> off  by uid"]);
    server.prints(&["check", "@web", "net.trace=off"]);
    terminal.press("r");
    terminal.shows(&["net.trace: no operator has changed it"]);

    // What others do is seen, and taken back.
    server.prints(&["set", "@web", "wal.fsync=off", "operated::MODE=2"]);
    terminal.shows(&["wal.fsync  on -> off  by uid", "operated::MODE  1/3 -> 2/3"]);
    terminal.press("Escape");
    terminal.shows(&["13 of 13 keys shown"]);
    terminal.press("R");
    terminal.shows(&["2 keys changed: 3 sites", "wal.fsync  off -> on", "operated::MODE  2/3 -> 1/3"]);
    server.prints(&["check", "@web", "wal.fsync=on", "operated::MODE=1"]);

    // What is refused says why, and changes nothing.
    terminal.types("/hooks[2]");
    terminal.shows(&["1 of 13 keys shown", "not from outside"]);
    terminal.press("Space");
    terminal.shows(&["web.", ": operated::HOOKS[2]: the program lets nobody change it"]);
    server.prints(&["check", "@web", "operated::HOOKS[2]=off"]);
    terminal.press("Escape");
    terminal.types("/hash");
    terminal.shows(&["1 of 13 keys shown"]);
    terminal.press("Space");
    terminal.shows(&["operated::HASH is a static call: only the program can lead it elsewhere"]);
    terminal.press("Enter");
    terminal.press("q");
    terminal.restored(0, &[]);
}

/// One is stopped, one is read-only and ends: the others are not disturbed.
#[test]
fn processes_that_end() {
    if !has_tmux() {
        return;
    }
    let server = Server::start("top-ends", "name=web");
    let mut reads = another(&server, "name=reads,read-only");
    let mut stopped = another(&server, "name=stopped");
    let words = format!("@web {} {}", reads.id(), stopped.id());
    let terminal = Terminal::start(&server, &words, 120, 40);
    let reads_only = format!("reads.{}: its agent is read-only", reads.id());
    terminal.shows(&["3 processes, 39 of 39 keys shown", &reads_only]);
    terminal.types("/wal\n");
    terminal.shows(&["3 of 39 keys shown"]);
    terminal.press("Down");
    terminal.press("Space");
    terminal.shows(&["the agent is read-only: the program lets nobody change keys from outside"]);

    let signal = |child: &Child, signal| {
        // SAFETY: a number, of a child that is not waited for yet.
        assert_eq!(unsafe { libc::kill(child.id().try_into().unwrap(), signal) }, 0);
    };
    signal(&stopped, libc::SIGSTOP);
    terminal.shows(&[&format!("stopped.{}: no answer for ", stopped.id()), "s: is the process stopped?"]);
    terminal.press("End");
    terminal.press("Space");
    terminal.shows(&["nothing was asked: no answer for"]);
    reads.kill().unwrap();
    let ended = format!("reads.{0}: process {0} has ended", reads.id());
    terminal.shows(&[&ended]);
    reads.wait().unwrap();
    // The first is toggled all the same.
    terminal.press("Home");
    terminal.press("Space");
    terminal.shows(&["wal.fsync on -> off: 2 sites", &ended]);
    server.prints(&["check", "@web", "wal.fsync=off"]);
    signal(&stopped, libc::SIGCONT);
    let screen = loop {
        let screen = terminal.shows(&[&ended]);
        if !screen.contains("is the process stopped?") {
            break screen;
        }
    };
    assert!(screen.contains("3 of 39 keys shown"), "{screen}");
    stopped.kill().unwrap();
    stopped.wait().unwrap();
    terminal.shows(&[&format!("process {} has ended", stopped.id())]);
    terminal.press("C-c");
    terminal.restored(0, &[]);
}

/// By its name, the next process is found once the first has ended.
#[test]
fn a_process_that_begins_again() {
    if !has_tmux() {
        return;
    }
    let server = Server::start("top-again", "name=keeps");
    let mut first = another(&server, "name=web");
    let terminal = Terminal::start(&server, "@web", 80, 24);
    terminal.shows(&["13 of 13 keys shown"]);
    first.kill().unwrap();
    first.wait().unwrap();
    terminal.shows(&["has ended; another @web is waited for"]);
    let mut second = another(&server, "name=web");
    terminal.shows(&["is there again"]);
    terminal.types("/net.tr ");
    terminal.shows(&["net.trace off -> on: 2 sites"]);
    server.prints(&["check", &second.id().to_string(), "net.trace=on"]);
    second.kill().unwrap();
    second.wait().unwrap();
}

/// However it ends, the terminal is as it was before.
#[test]
fn restores_the_terminal() {
    if !has_tmux() {
        return;
    }
    let server = Server::start("top-restores", "name=web");
    let tool = || fs::read_to_string(server.runtime.join("pid")).unwrap().trim().parse().unwrap();
    for (signal, code) in [(libc::SIGTERM, 143), (libc::SIGINT, 130), (libc::SIGHUP, 129)] {
        let terminal = Terminal::start(&server, "@web", 80, 24);
        terminal.shows(&["13 of 13 keys shown"]);
        // SAFETY: a number: the tool, which its shell has not waited for.
        assert_eq!(unsafe { libc::kill(tool(), signal) }, 0);
        terminal.restored(code, &[]);
    }
    let terminal = Terminal::start(&server, "@web --panics", 80, 24);
    terminal.shows(&["13 of 13 keys shown"]);
    terminal.press("x");
    terminal.restored(101, &["panicked at", "as it was asked to"]);
    drop(terminal);
    // What is wrong is found before anything is drawn.
    let terminal = Terminal::start(&server, "@web @nobody", 80, 24);
    terminal.restored(3, &["@nobody: no agent in"]);
}

#[test]
fn a_terminal_that_is_too_small() {
    if !has_tmux() {
        return;
    }
    let server = Server::start("top-small", "name=web");
    let terminal = Terminal::start(&server, "@web", 60, 20);
    terminal.shows(&["top needs 80x24, and has 60x20", "q quits"]);
    terminal.tmux(&["resize-window", "-x", "100", "-y", "30"]);
    let screen = terminal.shows(&["13 of 13 keys shown", ">net.trace"]);
    assert_eq!(screen.lines().count(), 30, "{screen}");
    terminal.tmux(&["resize-window", "-x", "79", "-y", "24"]);
    terminal.shows(&["top needs 80x24, and has 79x24"]);
    terminal.press("q");
    terminal.restored(0, &[]);
}
