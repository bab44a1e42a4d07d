//! `top` in a real terminal: tmux, which shows what it has drawn, and presses keys.

#[path = "top/screen.rs"]
mod screen;

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::Stdio;
use std::thread::yield_now;
use std::{fs, io, ptr};

use jumplabel_testing::breadth;

use crate::server::Server;
use screen::{Another, Terminal};

/// Whether this is tested here.
fn has_tmux() -> bool {
    breadth::tests_all() && breadth::has("tmux")
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
    // Something else is cleared from the screen of the terminal, and drawn again.
    let tty = terminal.is("pane_tty");
    fs::write(tty, "\u{1b}[1;1Hsomething else").unwrap();
    terminal.shows(&["something else"]);
    terminal.press("C-l");
    while terminal.shows(&[]).contains("something else") {
        yield_now();
    }
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
    let mut reads = Another::start(&server, "name=reads,read-only");
    let stopped = Another::start(&server, "name=stopped");
    let words = format!("@web {} {}", reads.id(), stopped.id());
    let terminal = Terminal::start(&server, &words, 120, 40);
    let reads_only = format!("reads.{}: its agent is read-only", reads.id());
    terminal.shows(&["3 processes, 39 of 39 keys shown", &reads_only]);
    terminal.types("/wal\n");
    terminal.shows(&["3 of 39 keys shown"]);
    terminal.press("Down");
    terminal.press("Space");
    terminal.shows(&["the agent is read-only: the program lets nobody change keys from outside"]);

    stopped.signal(libc::SIGSTOP);
    terminal.shows(&[&format!("stopped.{}: no answer for ", stopped.id()), "s: is the process stopped?"]);
    terminal.press("End");
    terminal.press("Space");
    terminal.shows(&["nothing was asked: no answer for"]);
    // It is not waited for yet.
    reads.0.kill().unwrap();
    let ended = format!("reads.{0}: process {0} has ended", reads.id());
    terminal.shows(&[&ended]);
    reads.0.wait().unwrap();
    // The first is toggled all the same.
    terminal.press("Home");
    terminal.press("Space");
    terminal.shows(&["wal.fsync on -> off: 2 sites", &ended]);
    server.prints(&["check", "@web", "wal.fsync=off"]);
    stopped.signal(libc::SIGCONT);
    let screen = loop {
        let screen = terminal.shows(&[&ended]);
        if !screen.contains("is the process stopped?") {
            break screen;
        }
    };
    assert!(screen.contains("3 of 39 keys shown"), "{screen}");
    let ended = format!("process {} has ended", stopped.id());
    drop(stopped);
    terminal.shows(&[&ended]);
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
    let first = Another::start(&server, "name=web");
    let terminal = Terminal::start(&server, "@web", 80, 24);
    terminal.shows(&["13 of 13 keys shown"]);
    drop(first);
    terminal.shows(&["has ended; another @web is waited for"]);
    let second = Another::start(&server, "name=web");
    terminal.shows(&["is there again"]);
    terminal.types("/net.tr ");
    terminal.shows(&["net.trace off -> on: 2 sites"]);
    server.prints(&["check", &second.id().to_string(), "net.trace=on"]);
}

/// However it ends, the terminal is as it was before.
#[test]
fn restores_the_terminal() {
    if !has_tmux() {
        return;
    }
    let server = Server::start("top-restores", "name=web");
    for (signal, code) in [(libc::SIGTERM, 143), (libc::SIGINT, 130), (libc::SIGHUP, 129)] {
        let terminal = Terminal::start(&server, "@web", 80, 24);
        terminal.shows(&["13 of 13 keys shown"]);
        let tool = fs::read_to_string(terminal.folder.join("pid")).unwrap().trim().parse().unwrap();
        // SAFETY: `tool` is a number. No other process has it, because the tool's shell has not waited for the tool.
        assert_eq!(unsafe { libc::kill(tool, signal) }, 0);
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

/// Nobody reads what it draws: a signal ends it all the same, and the terminal's modes are as they were.
#[test]
fn a_terminal_that_takes_nothing() {
    let server = Server::start("top-stuck", "name=web");
    // Its first picture is more than the system keeps.
    let size = libc::winsize { ws_row: 24, ws_col: 20_000, ws_xpixel: 0, ws_ypixel: 0 };
    let (mut master, mut slave) = (-1, -1);
    // SAFETY: places for two numbers, a size, and neither a name nor modes. Both numbers are of files that are open from then on.
    let (_master, slave) = unsafe {
        assert_eq!(libc::openpty(&raw mut master, &raw mut slave, ptr::null_mut(), ptr::null(), &raw const size), 0);
        (OwnedFd::from_raw_fd(master), OwnedFd::from_raw_fd(slave))
    };
    let modes = || {
        // SAFETY: an open file, and a place for numbers, all of which may be 0.
        unsafe {
            let mut modes: libc::termios = std::mem::zeroed();
            assert_eq!(libc::tcgetattr(slave.as_raw_fd(), &raw mut modes), 0);
            [modes.c_iflag, modes.c_oflag, modes.c_cflag, modes.c_lflag]
        }
    };
    let before = modes();
    let mut tool = server.command(&["top", "@web"]);
    tool.stdin(slave.try_clone().unwrap()).stdout(slave.try_clone().unwrap());
    // SAFETY: a system call. Without the terminal that these tests may have, it asks the one that it writes to for the size.
    unsafe { tool.pre_exec(|| (libc::setsid() != -1).then_some(()).ok_or_else(io::Error::last_os_error)) };
    let mut tool = Another(tool.spawn().unwrap());
    let takes = || {
        let mut asked = libc::pollfd { fd: slave.as_raw_fd(), events: libc::POLLOUT, revents: 0 };
        // SAFETY: one place.
        unsafe { libc::poll(&raw mut asked, 1, 0) > 0 }
    };
    while takes() {
        assert_eq!(tool.0.try_wait().unwrap(), None);
        yield_now();
    }
    assert_ne!(modes(), before, "it reads each key");
    tool.signal(libc::SIGTERM);
    assert_eq!(tool.0.wait().unwrap().signal(), Some(libc::SIGTERM));
    assert_eq!(modes(), before);
}

/// Without names, agents that cannot be reached are left out; it fails if that is so of all.
#[test]
fn agents_that_fail() {
    if !has_tmux() {
        return;
    }
    let server = Server::start("top-fails", "name=web");
    // These numbers are no process's, and this one listens there. The last has two.
    let names = ["a.4194311", "b.4194312", "c.4194312"];
    let folder = server.runtime.join("jumplabel");
    // The folder is short where this process is in it.
    let directory = fs::File::open(&folder).unwrap();
    let short = format!("/proc/self/fd/{}", directory.as_raw_fd());
    let _listening = names.map(|name| UnixListener::bind(format!("{short}/{name}.sock")).unwrap());
    let terminal = Terminal::start(&server, "", 120, 30);
    let why = "left out  4194312: there are several; give a number";
    terminal.shows(&["1 process, 13 of 13 keys shown", "left out  4194311: ", why]);
    terminal.press("q");
    terminal.restored(0, &[]);
    drop(terminal);
    // A name that was given must be there.
    let terminal = Terminal::start(&server, "@web 4194311", 80, 24);
    terminal.restored(3, &["4194311: "]);
    drop(terminal);
    fs::remove_file(folder.join(format!("web.{}.sock", server.pid()))).unwrap();
    fs::remove_file(folder.join("c.4194312.sock")).unwrap();
    let terminal = Terminal::start(&server, "", 80, 24);
    terminal.restored(3, &["4194312: "]);
}
