//! Tests that programs in Rust and in C read the variable `JUMPLABEL` before `main`.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use xshell::{Cmd, Shell, cmd};

use super::c::{Headers, Program};
use super::{COMPILER, LIMIT, RUST, Target, cargo, wine, with};
use crate::printed;

const PROGRAM: &str = "use jumplabel::{static_branch_likely, static_branch_unlikely, static_key};

jumplabel_agent::startup!(no_remote: \"auth.*\");

static_key! {
    #[key(name = \"net.trace\")]
    static TRACE: false;
    #[key(name = \"wal.fsync\")]
    static FSYNC: true;
}

fn main() {
    let heard = jumplabel_agent::on_change(\"net.*\", |name, _, by| println!(\"{name}, by {by:?}\")).unwrap();
    println!(\"main {} {}\", static_branch_unlikely!(TRACE), static_branch_likely!(FSYNC));
    FSYNC.disable().unwrap();
    TRACE.enable().unwrap();
    heard.remove();
}
";

/// Values of the variables, and a line that the program must print. With `help`, it must end before `main`.
const CASES: &[(&str, &str, &str)] = &[
    ("JUMPLABEL", "", "main false true"),
    ("JUMPLABEL", "", "net.trace, by Program"),
    ("JUMPLABEL", "net.*=on,wal.fsync=off", "main true false"),
    ("JUMPLABEL", "obj:startup.exe=on", "main true true"),
    ("JUMPLABEL", "file:src/main.rs=off", "main false false"),
    ("JUMPLABEL", "@target/wine-startup/keys.conf", "main true true"),
    (
        "JUMPLABEL",
        "@target/wine-startup/keys.conf",
        "jumplabel: target/wine-startup/keys.conf:3: `none.such=on`: nothing matches",
    ),
    ("JUMPLABEL", "@target/wine-startup", "jumplabel: target/wine-startup: not a regular file: nothing of it is done"),
    ("JUMPLABEL", "none.such=on,wal.fsync=off", "main false false"),
    ("JUMPLABEL", "help", "net.trace  off        1  src/main.rs:"),
    ("JUMPLABEL_AGENT", "1", "jumplabel: JUMPLABEL_AGENT: no agent: there is none on Windows"),
    ("JUMPLABEL_AGENT", "1", "main false true"),
];

pub(super) fn test(sh: &Shell, prefix: &Path) -> Result<()> {
    let directory = "target/wine-startup";
    sh.write_file(format!("{directory}/src/main.rs"), PROGRAM)?;
    sh.write_file(format!("{directory}/keys.conf"), "# keys\nnet.*=on\nnone.such=on\n")?;
    let manifest = format!("{directory}/Cargo.toml");
    sh.write_file(
        &manifest,
        "[package]\nname = \"startup\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
         [dependencies]\njumplabel = { path = \"../../crates/jumplabel\" }\n\
         jumplabel-agent = { path = \"../../crates/jumplabel-agent\" }\n",
    )?;
    printed(cargo(sh, prefix, "build").args(["--release", "--manifest-path", &manifest]))?;
    let (wine, program) = (wine().context("wine64")?, format!("target/wine/{RUST}/release/startup.exe"));
    for &(variable, value, expected) in CASES {
        let said = printed(with(cmd!(sh, "timeout {LIMIT} {wine} {program}"), prefix).env(variable, value))?;
        ensure!(said.lines().any(|line| line.trim_end().starts_with(expected)), "{variable}={value}: {said}");
        ensure!(value != "help" || !said.contains("main "), "{variable}={value}: {said}");
    }
    println!("JUMPLABEL, before main: {} cases", CASES.len());
    of_c(sh, prefix)
}

/// Values of the variables, and lines that tests/c/operated.c must print: the findings of one of its constructors, then those of its checks, which
/// run for a line of input. They are the same as on Linux (crates/jumplabel-capi/tests/capi/agent.rs).
const CASES_OF_C: &[(&str, &str, &[&str])] = &[
    ("JUMPLABEL", "", &["at the start: 0", "0 1 1 0 1"]),
    ("JUMPLABEL", "net.*=on,policy=2", &["at the start: 1", "1 1 1 0 2"]),
    ("JUMPLABEL", "net.hooks[1]=off", &["at the start: 0", "0 1 0 0 1"]),
    ("JUMPLABEL", "file:operated.c=on,net.hooks*=off", &["at the start: 1", "1 0 0 1 1"]),
    (
        "JUMPLABEL",
        "@target/wine-startup/keys.conf",
        &[
            "at the start: 1",
            "1 1 1 0 1",
            "jumplabel: target/wine-startup/keys.conf:3: `none.such=on`: nothing matches",
        ],
    ),
    ("JUMPLABEL", "net.trace=perhaps", &["at the start: 0", "0 1 1 0 1", "jumplabel: "]),
    ("JUMPLABEL", "help", &["KEY", "auth.secret", "net.hooks[0]", "net.hooks[1]", "net.trace"]),
    ("JUMPLABEL_AGENT", "0", &["at the start: 0", "0 1 1 0 1"]),
    (
        "JUMPLABEL_AGENT",
        "1",
        &["at the start: 0", "0 1 1 0 1", "jumplabel: JUMPLABEL_AGENT: no agent: there is none on Windows"],
    ),
];

fn of_c(sh: &Shell, prefix: &Path) -> Result<()> {
    let headers = Headers::of(sh, prefix, &Target::gnu(), "jumplabel-agent-capi")?;
    let wine = wine().context("wine64")?;
    let run = |program: &str, arguments: &[&str]| {
        with(cmd!(sh, "timeout {LIMIT} {wine} {program}"), prefix).args(arguments).stdin("\n")
    };
    for flags in ["-O2", "-O2 -fuse-ld=lld-19", "-O2 -DJUMPLABEL_FALLBACK"] {
        let program = headers.build(&Program { compiler: "clang-19", flags, files: "operated.c" })?;
        for &(variable, value, expected) in CASES_OF_C {
            if !(value.contains("policy") && flags.contains("FALLBACK")) {
                says(run(&program, &[]).env(variable, value), expected).context(flags)?;
            }
        }
        // The program asks for an agent, has keys that nobody may change, and asks to be told of flips.
        let asked = ["log: no agent: there is none on Windows", "start: -40", "at the start: 0", "0 1 1 0 1"];
        says(run(&program, &["1", "auth.*", "net.trace", "not by day"]), &asked)?;
        says(run(&program, &["0", "auth.*"]), &["start: 0", "at the start: 0", "0 1 1 0 1"])?;
        let refused = ["no function is registered", "no_remote is refused", "start: 0", "at the start: 0"];
        says(run(&program, &["0", "auth.*=on", "a=b"]), &refused)?;
    }
    // The assembler of mingw's gcc can make no records of keys.
    let program =
        headers.build(&Program { compiler: COMPILER, flags: "-O2 -DJUMPLABEL_FALLBACK", files: "operated.c" })?;
    let expected = ["at the start: 0", "0 1 1 0 1", "jumplabel: `net.*=on`: nothing matches"];
    says(run(&program, &[]).env("JUMPLABEL", "net.*=on"), &expected)?;
    println!("JUMPLABEL, in C: {} cases", CASES_OF_C.len());
    Ok(())
}

/// Tests that a program ends with 0, and prints lines that begin like these, in this order. It must print no other lines of the library or of the
/// constructor. (Wine's own services may print, too.)
fn says(command: Cmd<'_>, expected: &[&str]) -> Result<()> {
    let text = command.to_string();
    let said = printed(command)?;
    let mut lines = said.lines().map(str::trim_end);
    let missing = expected.iter().find(|expected| !lines.any(|line| line.starts_with(**expected)));
    ensure!(missing.is_none(), "{text}: no {missing:?}: {said}");
    for of_whom in ["jumplabel: ", "at the start"] {
        let is = |line: &str| line.starts_with(of_whom);
        let (lines, wanted) =
            (said.lines().filter(|line| is(line)).count(), expected.iter().filter(|line| is(line)).count());
        ensure!(lines == wanted, "{text}: {lines} lines of {of_whom:?}, and not {wanted}: {said}");
    }
    Ok(())
}
