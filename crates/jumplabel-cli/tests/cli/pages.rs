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
        for part in [".SH NAME", ".SH SYNOPSIS", ".SH DESCRIPTION", "Examples:", "Exit codes:"] {
            assert!(page.contains(part), "{command}: {part}");
        }
    }
    for command in ["set", "unset", "list"] {
        let page = std::fs::read_to_string(directory.join(format!("jumplabel-fleet-{command}.1"))).unwrap();
        assert!(page.contains("Examples:") && page.contains("Exit codes:"), "{command}");
    }
    assert!(std::fs::read_to_string(directory.join("jumplabel.1")).unwrap().contains("Exit codes"));
    let missing = jumplabel(&["man", "/nowhere/at/all"]);
    assert!(missing.code == 3 && missing.err.contains("/nowhere/at/all: "), "{}", missing.err);
}

/// The examples of each command are such.
#[test]
fn examples() {
    let mut seen = 0;
    for command in COMMANDS.into_iter().chain(["fleet set", "fleet unset", "fleet list"]) {
        let help: Vec<_> = command.split(' ').chain(["--help"]).collect();
        let printed = jumplabel(&help).out;
        let (_, rest) = printed.split_once("Examples:\n").unwrap_or_else(|| panic!("{command} has no example"));
        for example in rest.lines().take_while(|line| !line.is_empty()) {
            let end = example.find("   ").filter(|&at| at > 2).or(example[2..].find("   ").map(|at| at + 2));
            let line = example[..end.unwrap_or(example.len())].trim().split(" > ").next().unwrap();
            let words: Vec<_> = line.split(' ').skip(1).map(|word| word.trim_matches('\'')).collect();
            assert!(line.starts_with(&format!("jumplabel {}", command.split(' ').next().unwrap())), "{line}");
            // What is behind --help is not looked at; what is in front of it must be known.
            let told = jumplabel(&[&words[..], &["--help"]].concat());
            assert!(told.code == 0 && told.out.contains("Exit codes:"), "{line}: {}", told.err);
            // Those that reach nothing here say so, and not that the words make no sense.
            if ["list", "sites", "disasm", "check", "set", "watch", "apply"].contains(&command) && !line.contains(" -")
            {
                let told = jumplabel(&words);
                assert!(told.code == 3, "{line}: {} {}", told.code, told.err);
            }
            seen += 1;
        }
    }
    assert!(seen >= 20, "{seen}");
}
