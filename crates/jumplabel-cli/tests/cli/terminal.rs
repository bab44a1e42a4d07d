//! The program itself: colours on a terminal only, and a reader that goes.

use std::fs::File;
use std::io::Read;
use std::os::fd::FromRawFd;
use std::process::{Command, Stdio};

use crate::programs::{prints, program, text};

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
