//! What is generated of the command line's description.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::programs::{jumplabel, program, scratch};
use crate::server::Server;

const COMMANDS: [&str; 13] = [
    "list",
    "sites",
    "disasm",
    "check",
    "link",
    "set",
    "watch",
    "top",
    "apply",
    "fleet",
    "follow",
    "completions",
    "man",
];

/// Shells that are here take their script.
#[test]
fn completions() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let printed = jumplabel(&["completions", shell]);
        assert!(printed.code == 0 && printed.err.is_empty(), "{shell}: {}", printed.err);
        assert!(printed.out.contains("JUMPLABEL_COMPLETE"), "{shell}: {}", printed.out);
        if let Ok(mut child) = Command::new(shell).arg("-n").stdin(Stdio::piped()).spawn() {
            child.stdin.take().unwrap().write_all(printed.out.as_bytes()).unwrap();
            assert!(child.wait().unwrap().success(), "{shell} does not take it");
        }
    }
    assert_eq!(jumplabel(&["completions", "sh"]).code, 2);
}

/// What bash offers for a line, in front of which it takes nothing for a word of its own.
#[test]
fn completed() {
    let server = Server::start("completed", "name=web");
    let offered = |line: &str| -> Vec<String> {
        // As bash calls it: the last word begins behind `@`, `=` or `:`.
        let script = "source \"$1\"; COMP_LINE=$2 COMP_POINT=${#2}; _jumplabel jumplabel \"${2##*[ @=:]}\"; printf '%s\\n' \"${COMPREPLY[@]}\"";
        let file = server.runtime.join("script");
        std::fs::write(&file, jumplabel(&["completions", "bash"]).out).unwrap();
        let mut bash = Command::new("bash");
        bash.args(["-c", script, "bash"]).arg(&file).arg(line).current_dir(program().parent().unwrap());
        let path = std::path::Path::new(env!("CARGO_BIN_EXE_jumplabel")).parent().unwrap();
        bash.env("XDG_RUNTIME_DIR", &server.runtime).env("PATH", format!("{}:/usr/bin:/bin", path.display()));
        let output = bash.output().unwrap();
        assert!(output.stderr.is_empty(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
    };
    let pid = server.pid();
    let file = program().file_name().unwrap().to_str().unwrap();
    assert_eq!(offered("jumplabel fol"), ["follow"]);
    assert_eq!(offered("jumplabel set @w"), ["web"]);
    assert_eq!(offered("jumplabel watch @"), ["web"]);
    assert_eq!(offered("jumplabel top @web @w"), ["web"]);
    assert_eq!(offered(&format!("jumplabel list {}", &pid[..pid.len() - 1])), [&*pid]);
    assert_eq!(offered("jumplabel set @web net.tr"), ["net.trace="]);
    assert_eq!(offered(&format!("jumplabel set --for 30 {pid} net.")), ["net.trace=", "net.unused="]);
    assert_eq!(offered("jumplabel set @web net.trace=o"), ["on", "off"]);
    assert_eq!(offered("jumplabel list @web net:"), ["packet"]);
    assert_eq!(offered(&format!("jumplabel sites ./{file} wal.")), ["wal.fsync"]);
    assert_eq!(offered(&format!("jumplabel check ./{file} wal.")), ["wal.fsync=", "wal.fsync"]);
    assert!(offered(&format!("jumplabel list ./{file}")).contains(&format!("./{file}")));
    assert_eq!(offered(&format!("jumplabel list --force {pid} wal.")), ["wal.fsync"]);
    assert_eq!(offered("jumplabel set @gone net."), [""], "nobody to ask");
    assert_eq!(offered("jumplabel completions ba"), ["bash"]);
    // A file is none to set.
    assert!(!offered("jumplabel set ").contains(&file.to_owned()));
}

/// In a terminal of 80 columns, no line is broken.
#[test]
fn help_fits() {
    for command in COMMANDS.into_iter().chain(["", "fleet set", "fleet unset", "fleet list"]) {
        for option in ["--help", "-h"] {
            let words: Vec<_> = command.split_whitespace().chain([option]).collect();
            let printed = jumplabel(&words).out;
            let long: Vec<_> = printed.lines().filter(|line| line.chars().count() > 80).collect();
            assert!(long.is_empty() && !printed.is_empty(), "{command} {option}: {long:#?}");
        }
    }
}

#[test]
fn man() {
    let directory = scratch("man");
    std::fs::create_dir_all(&directory).unwrap();
    let path = directory.to_str().unwrap();
    assert_eq!(jumplabel(&["man", path]).code, 0);
    for command in COMMANDS {
        let page = std::fs::read_to_string(directory.join(format!("jumplabel-{command}.1"))).unwrap();
        for part in [".SH NAME", ".SH SYNOPSIS", ".SH DESCRIPTION", ".SH EXAMPLES", ".SH \"EXIT CODES\""] {
            assert!(page.contains(part), "{command}: {part}");
        }
    }
    for command in ["set", "unset", "list"] {
        let page = std::fs::read_to_string(directory.join(format!("jumplabel-fleet-{command}.1"))).unwrap();
        assert!(page.contains(".SH EXAMPLES") && page.contains(".SH \"EXIT CODES\""), "{command}");
    }
    // Tables stay tables: whatever formats the page does not fill their lines.
    let page = std::fs::read_to_string(directory.join("jumplabel.1")).unwrap();
    let (_, codes) = page.split_once(".SH \"EXIT CODES\"\n.nf\n").unwrap_or_else(|| panic!("{page}"));
    let codes: Vec<_> = codes.split("\n.fi\n").next().unwrap().lines().map(|line| line.replace("\\&", "")).collect();
    let help = jumplabel(&["--help"]).out;
    let (_, expected) = help.split_once("Exit codes:\n").unwrap();
    let expected: Vec<_> = expected.lines().map(|line| line.replace('-', "\\-")).collect();
    assert!(codes == expected && codes.len() == 7, "{codes:#?}");
    match Command::new("man").args(["-l", "-Tutf8"]).arg(directory.join("jumplabel.1")).env("MANWIDTH", "80").output() {
        Ok(shown) if shown.status.success() => {
            let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
            assert!(shown.lines().any(|line| line.trim_start().starts_with("0  as asked")), "{shown}");
        }
        _ => eprintln!("not shown: no man"),
    }
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
