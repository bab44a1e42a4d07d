//! What is generated of the command line's description.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::programs::{jumplabel, scratch};

const COMMANDS: [&str; 12] =
    ["list", "sites", "disasm", "check", "link", "set", "watch", "apply", "fleet", "follow", "completions", "man"];

/// Shells that are here take their script.
#[test]
fn completions() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let printed = jumplabel(&["completions", shell]);
        assert!(printed.code == 0 && printed.err.is_empty(), "{shell}: {}", printed.err);
        assert!(COMMANDS.iter().all(|command| printed.out.contains(command)), "{shell}");
        if let Ok(mut child) = Command::new(shell).arg("-n").stdin(Stdio::piped()).spawn() {
            child.stdin.take().unwrap().write_all(printed.out.as_bytes()).unwrap();
            assert!(child.wait().unwrap().success(), "{shell} does not take it");
        }
    }
    assert_eq!(jumplabel(&["completions", "sh"]).code, 2);
}

#[test]
fn man() {
    let directory = scratch("man");
    std::fs::create_dir_all(&directory).unwrap();
    let path = directory.to_str().unwrap();
    assert_eq!(jumplabel(&["man", path]).code, 0);
    for command in COMMANDS {
        let page = std::fs::read_to_string(directory.join(format!("jumplabel-{command}.1"))).unwrap();
        assert!(page.contains(".SH NAME") && page.contains(".SH SYNOPSIS"), "{command}");
    }
    assert!(std::fs::read_to_string(directory.join("jumplabel.1")).unwrap().contains("Exit codes"));
    let missing = jumplabel(&["man", "/nowhere/at/all"]);
    assert!(missing.code == 3 && missing.err.contains("/nowhere/at/all: "), "{}", missing.err);
}
