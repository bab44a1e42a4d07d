//! The sessions of docs/operating.md, line by line. Addresses differ from compiler to compiler.

use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use jumplabel_agent::directory::{self, Socket};

use crate::programs::{copy, jumplabel, program, scratch};

/// Commands, and what they print.
fn sessions(document: &str) -> Vec<(&str, Vec<&str>)> {
    let mut sessions = Vec::new();
    for block in document.split("```console\n").skip(1).map(|rest| rest.split("```").next().unwrap()) {
        for line in block.lines() {
            match (line.strip_prefix("$ "), sessions.last_mut()) {
                (Some(command), _) => sessions.push((command, Vec::new())),
                (None, Some((_, printed))) => printed.push(line),
                (None, None) => panic!("no command in front of {line}"),
            }
        }
    }
    sessions
}

/// The words of a line, without what an address, a displacement, or a process makes of them.
fn words(line: &str) -> Vec<String> {
    let mut before = "";
    // How many calls there are of each form is the compiler's affair.
    let counts = ["call", "jmp", "jcc", "call*slot", "jmp*slot"].contains(&line.split(' ').next().unwrap_or_default());
    let is_hex = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let word = |word| match word {
        _ if matches!(std::mem::replace(&mut before, word), "uid" | "(pid" | "--force") => "NUMBER".to_owned(),
        _ if counts && word.bytes().all(|byte| byte.is_ascii_digit()) => "NUMBER".to_owned(),
        _ if word.ends_with(':') && is_hex(&word[..word.len() - 1]) => "ADDRESS:".to_owned(),
        _ if word.len() == 10 && is_hex(word) => format!("{}...", &word[..2]),
        _ if word.len() == 2 && is_hex(word) => "BYTE".to_owned(),
        _ => match word.split_once("0x") {
            Some((name, far)) if is_hex(far) => format!("{name}0x..."),
            _ => word.to_owned(),
        },
    };
    let mut words: Vec<_> = line.split_whitespace().map(word).collect();
    // What a compiler and a machine make of them.
    for at in 1..words.len() {
        if matches!(&*words[at], "us" | "page," | "pages,") {
            "NUMBER".clone_into(&mut words[at - 1]);
        }
    }
    words.iter_mut().filter(|word| *word == "pages,").for_each(|word| "page,".clone_into(word));
    words
}

/// Where the agents are of programs that a session leaves running.
struct Background(PathBuf);

impl Background {
    fn agents(&self) -> Vec<Socket> {
        directory::sockets(&self.0.join("jumplabel")).unwrap_or_default()
    }

    /// Waits until one more listens. What it prints would keep this waiting for its end.
    fn start(&self, shell: &mut Command) {
        let before = self.agents().len();
        assert!(shell.stdout(Stdio::null()).status().unwrap().success());
        while self.agents().len() == before {
            std::thread::yield_now();
        }
        let all = self.agents();
        while all.iter().any(|agent| UnixStream::connect(&agent.path).is_err()) {
            std::thread::yield_now();
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        for agent in self.agents() {
            let _ = Command::new("kill").arg(agent.pid.to_string()).status();
        }
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn operating() {
    let document = include_str!("../../../../docs/operating.md");
    let server = copy(program(), "server", &[]);
    copy(crate::link::program(), "hooked", &[]);
    let directory = server.parent().unwrap();
    let path = std::path::Path::new(env!("CARGO_BIN_EXE_jumplabel")).parent().unwrap();
    let background = Background(scratch(&format!("documents-{}", std::process::id())));
    std::fs::create_dir_all(&background.0).unwrap();
    let sessions = sessions(document);
    assert!(sessions.len() >= 12, "{}", sessions.len());
    for (command, expected) in sessions {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("PATH='{}':$PATH; exec 2>&1; {command}", path.display())]).current_dir(directory);
        shell.env("XDG_RUNTIME_DIR", &background.0);
        if command.ends_with('&') {
            background.start(&mut shell);
            // What the program does itself it may do after its agent listens.
            let log = command.trim_end_matches(" &").split_once("serve sealed 2> ").map(|(_, log)| directory.join(log));
            while log.as_ref().is_some_and(|log| !std::fs::read_to_string(log).unwrap().contains("is sealed")) {
                std::thread::yield_now();
            }
            continue;
        }
        let output = shell.output().unwrap();
        if command.contains("echo $! >") {
            let pid = std::fs::read_to_string(directory.join("server.pid")).unwrap();
            let is_there = || std::fs::read_link(format!("/proc/{}/exe", pid.trim())).is_ok_and(|exe| exe == server);
            while !is_there() {
                std::thread::yield_now();
            }
        }
        assert!(output.status.success(), "$ {command}: say what it exits with: ; echo $?");
        let printed = String::from_utf8(output.stdout).unwrap();
        let all = |lines: Vec<&str>| lines.into_iter().map(words).collect::<Vec<_>>();
        assert_eq!(all(printed.lines().collect()), all(expected), "$ {command}\n{printed}");
    }
}

/// The table of the document is that of `--help`.
#[test]
fn exit_codes() {
    let (document, help) = (include_str!("../../../../docs/operating.md"), jumplabel(&["--help"]).out);
    for (code, of) in
        [(0, "as asked"), (1, "nothing matched"), (2, "the command line is wrong"), (3, "out of reach"), (4, "refused")]
    {
        assert!(
            document.contains(&format!("| {code} | {of}")) && help.contains(&format!("  {code}  {of}")),
            "{code} {of}"
        );
    }
}
