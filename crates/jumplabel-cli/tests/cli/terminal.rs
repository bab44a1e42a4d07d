//! The program itself: colours on a terminal only, a reader that goes, and a disk that is full.

use std::fs::File;
use std::io::Read;
use std::os::fd::FromRawFd;
use std::process::{Command, Stdio};

use crate::programs::{prints, program, text};
use crate::server::Server;

fn tool() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_jumplabel"));
    command.arg("list").arg(program()).env("TERM", "xterm").env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
    command
}

/// What it prints on a terminal.
fn on_a_terminal(command: &mut Command) -> String {
    let (mut ours, mut its) = (0, 0);
    let null = std::ptr::null_mut();
    // SAFETY: two numbers to write to; the rest may be null.
    assert_eq!(unsafe { libc::openpty(&raw mut ours, &raw mut its, null, null.cast(), null.cast()) }, 0);
    // SAFETY: new descriptors, each of which has one owner.
    let (mut ours, its) = unsafe { (File::from_raw_fd(ours), Stdio::from(File::from_raw_fd(its))) };
    let mut child = command.stdout(its).spawn().unwrap();
    command.stdout(Stdio::null()); // Lets go of the terminal.
    let mut printed = Vec::new();
    // A terminal without anybody on the other side is an error.
    let _ = ours.read_to_end(&mut printed);
    assert!(child.wait().unwrap().success());
    String::from_utf8(printed).unwrap()
}

#[test]
fn colours() {
    assert!(on_a_terminal(&mut tool()).starts_with("\u{1b}[1mKEY"));
    assert!(on_a_terminal(tool().env("NO_COLOR", "1")).starts_with("KEY"));
    let piped = tool().output().unwrap();
    assert_eq!(String::from_utf8(piped.stdout).unwrap(), prints("list", program(), &[]));
}

#[test]
fn a_reader_that_has_gone() {
    let mut child = tool().stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8(output.stderr).unwrap()), (Some(0), String::new()));
}

/// What its exit code says is what `run` says.
#[test]
fn exit_code() {
    let check = |selector| {
        Command::new(env!("CARGO_BIN_EXE_jumplabel")).args(["check", text(program()), selector]).output().unwrap()
    };
    assert_eq!(
        ["net.trace=off", "net.trace=on", "net.trace+1"].map(|selector| check(selector).status.code()),
        [Some(0), Some(1), Some(2)]
    );
}

/// A full disk: each command says so, and does not end with 0. What was asked of a process is done.
#[test]
fn full_disk() {
    let server = Server::start("full", "name=full");
    let full = || Stdio::from(File::options().write(true).open("/dev/full").unwrap());
    let fails = |output: std::process::Output| {
        let why = String::from_utf8(output.stderr).unwrap();
        let is_said = why.contains("standard output cannot be written: No space left on device");
        assert!(output.status.code() == Some(3) && is_said, "{:?} {why}", output.status);
    };
    let program = text(program());
    let commands: [&[&str]; 6] = [
        &["list", program],
        &["sites", program],
        &["list", "@full", "--json"],
        &["set", "@full", "net.trace=on"],
        &["completions", "bash"],
        &["help", "set"],
    ];
    for words in commands {
        fails(server.command(words).stdout(full()).output().unwrap());
    }
    assert_eq!(server.prints(&["check", "@full", "net.trace=on"]), "");
    let lines = server.runtime.join("lines");
    std::fs::write(&lines, "{\"process\":\"@full\",\"set\":[\"net.trace=off\"]}\n".repeat(2)).unwrap();
    fails(server.command(&["apply", lines.to_str().unwrap()]).stdout(full()).output().unwrap());
    assert_eq!(server.prints(&["check", "@full", "net.trace=off"]), "");
    // One that watches ends with the first change that it cannot show.
    let mut watch = server.command(&["watch", "@full"]).stdout(full()).stderr(Stdio::piped()).spawn().unwrap();
    while watch.try_wait().unwrap().is_none() {
        server.prints(&["set", "@full", "net.trace+1"]);
        server.prints(&["set", "@full", "net.trace-1"]);
    }
    fails(watch.wait_with_output().unwrap());
}
