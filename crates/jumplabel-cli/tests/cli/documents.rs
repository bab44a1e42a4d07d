//! The sessions of docs/operating.md, line by line. Addresses differ from compiler to compiler.

use std::process::Command;

use crate::programs::{copy, jumplabel, program};

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

/// The words of a line, without what an address or a displacement makes of them.
fn words(line: &str) -> Vec<String> {
    let is_hex = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let word = |word: &str| match word {
        _ if word.ends_with(':') && is_hex(&word[..word.len() - 1]) => "ADDRESS:".to_owned(),
        _ if word.len() == 10 && is_hex(word) => format!("{}...", &word[..2]),
        _ if word.len() == 2 && is_hex(word) => "BYTE".to_owned(),
        _ => match word.split_once("0x") {
            Some((name, far)) if is_hex(far) => format!("{name}0x..."),
            _ => word.to_owned(),
        },
    };
    line.split_whitespace().map(word).collect()
}

#[test]
fn operating() {
    let document = include_str!("../../../../docs/operating.md");
    let server = copy(program(), "server", &[]);
    let directory = server.parent().unwrap();
    let path = std::path::Path::new(env!("CARGO_BIN_EXE_jumplabel")).parent().unwrap();
    let sessions = sessions(document);
    assert!(sessions.len() >= 12, "{}", sessions.len());
    for (command, expected) in sessions {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("PATH='{}':$PATH; exec 2>&1; {command}", path.display())]).current_dir(directory);
        let output = shell.output().unwrap();
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
