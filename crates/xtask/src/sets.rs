//! Runs sets of tests in parallel. One cargo builds their programs first. The programs are then started without cargo, because a second cargo could
//! replace a program while the tests in it run.
//!
//! A goal of make may run in parallel with the sets: many tests wait most of the time, but a compiler does not.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use xshell::{Shell, cmd};

/// The beginning of an argument that is a goal of make.
const GOAL: &str = "make ";

/// The set of cargo-jumplabel. This set is always built, because cargo builds the program of that crate along with it, and other sets start the
/// program.
const WITH_PROGRAM: &str = "workspaces";

/// The set of jumplabel-bench. If it is not wanted, that crate is not built, nor the crates that only it uses. This saves a minute of processor time.
const OF_BENCHMARKS: &str = "smoke";

pub fn run(sh: &Shell, sets: &[String]) -> Result<()> {
    let start = Instant::now();
    let wanted = sets.iter().filter(|sets| !sets.starts_with(GOAL)).flat_map(|sets| sets.split_whitespace());
    let wanted: Vec<_> = wanted.map(|set| chosen(set).0).chain([WITH_PROGRAM]).collect();
    let left_out: &[_] = if wanted.contains(&OF_BENCHMARKS) { &[] } else { &["--exclude", "jumplabel-bench"] };
    let wanted = wanted.iter().flat_map(|set| ["--test", set]);
    let cargo = cmd!(sh, "cargo test --workspace {left_out...} --no-run --lib --bins {wanted...}");
    let built = crate::printed(cargo.env("CARGO_TERM_COLOR", "never").env("CARGO_TERM_QUIET", "false"))?;
    crate::stages::add("build", start.elapsed())?;
    let commands = |sets: &String| {
        if sets.starts_with(GOAL) {
            return Ok((sets.clone(), sets.clone()));
        }
        let commands: Result<Vec<_>> = sets.split_whitespace().map(|set| command(&built, set)).collect();
        Ok((names(sets), commands?.join(" && ")))
    };
    crate::beside::run(&sets.iter().map(commands).collect::<Result<Vec<_>>>()?)
}

/// The name of a set, and its chosen tests, with commas between them. The second is empty if all tests shall run.
fn chosen(set: &str) -> (&str, &str) {
    set.split_once(':').unwrap_or((set, ""))
}

/// The names of the sets for the table of stages, without the chosen tests.
fn names(sets: &str) -> String {
    let names: Vec<_> = sets.split_whitespace().map(|set| chosen(set).0).collect();
    names.join(" ")
}

/// The command that runs a set as cargo does. `SET:TEST,TEST` runs the tests of the set whose names contain `TEST`. `SET:--skip,TEST` runs the
/// others.
fn command(built: &str, set: &str) -> Result<String> {
    let (set, chosen) = chosen(set);
    let program = program(built, set).with_context(|| format!("no set of tests {set}"))?;
    let mut crates = crate::root().join("crates").read_dir()?.filter_map(|entry| Some(entry.ok()?.path()));
    let directory = crates
        .find(|directory| directory.join("tests").join(set).with_extension("rs").exists())
        .with_context(|| format!("no crate has the set {set}"))?;
    let name = directory.file_name().unwrap_or_default().display();
    let (directory, program) = (directory.display(), crate::root().join(program));
    let chosen = chosen.replace(',', " ");
    Ok(format!("(cd '{directory}' && CARGO_MANIFEST_DIR=$PWD CARGO_PKG_NAME={name} '{}' {chosen})", program.display()))
}

/// The path of a set's program, from cargo's messages about the build.
fn program<'a>(built: &'a str, set: &str) -> Option<&'a Path> {
    let line = format!("Executable tests/{set}.rs (");
    built.lines().find_map(|found| Some(Path::new(found.trim_start().strip_prefix(&line)?.strip_suffix(')')?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs() {
        let built = "   Compiling a v0.1.0\n  Executable unittests src/lib.rs (target/debug/deps/a-1)\n  \
                     Executable tests/keys.rs (target/debug/deps/keys-2)\n";
        assert_eq!(program(built, "keys"), Some(Path::new("target/debug/deps/keys-2")));
        assert_eq!((program(built, "key"), program(built, "lib")), (None, None));
        assert!(command(built, "coffee").is_err_and(|error| error.to_string() == "no set of tests coffee"));
        let command = command(built, "keys").unwrap();
        assert!(command.ends_with("/target/debug/deps/keys-2' )") && command.contains("CARGO_PKG_NAME=jumplabel '"));
        assert!(super::command(built, "keys:a::b,c").unwrap().ends_with("/keys-2' a::b c)"));
        assert_eq!(names("keys:a::b,c plan"), "keys plan");
    }
}
