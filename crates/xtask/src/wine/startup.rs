//! The variable `JUMPLABEL`, read by a program in Rust before `main`.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use xshell::{Shell, cmd};

use super::{LIMIT, RUST, cargo, wine, with};
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
    println!(\"main {} {}\", static_branch_unlikely!(TRACE), static_branch_likely!(FSYNC));
}
";

/// What the variables say, and a line that the program prints then. Without `main`, it must not come that far.
const CASES: &[(&str, &str, &str)] = &[
    ("JUMPLABEL", "", "main false true"),
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
    Ok(())
}
