//! `cargo jumplabel`: replaces crates that a program and its dependencies use already by crates with static keys.
//!
//! ```text
//!   main        the command line
//!   project     the user's workspace: its lock file, the files written there, the source of its jumplabel
//!   copies      patched copies of upstream's crates
//!   lines       the lines of [patch.crates-io] in the workspace's manifest
//!   package     a package that replaces another one
//!   upstream    upstream's source, of exactly the version in the lock
//!   edits       anchored edits of source text: each anchor must be there as often as expected
//!   tracing     the edits of tracing and tracing-core
//!   log         the edits of log
//!   fail        the package that replaces the crate fail
//! ```

mod copies;
mod edits;
mod fail;
mod lines;
mod log;
mod package;
mod project;
mod tracing;
mod upstream;

use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Parser, Subcommand};

use project::Project;

/// Gives the places in a program that are mostly off a static key: one nop each, in its dependencies, too.
#[derive(Parser)]
#[command(name = "cargo jumplabel", bin_name = "cargo jumplabel", version)]
struct Line {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Callsites of the crate tracing: writes patched copies of tracing and tracing-core, of the versions in Cargo.lock.
    Tracing(Patch),
    /// Callsites of the crate log: writes a patched copy of log, of the version in Cargo.lock.
    Log(Patch),
    /// Fail points: writes a package that replaces the crate fail by jumplabel-fail.
    Fail(Patch),
}

/// The options of all commands.
#[derive(Args)]
pub struct Patch {
    /// Changes nothing, for CI. Fails unless the packages are those that would be written now, and cargo uses them.
    #[arg(long, conflicts_with = "remove")]
    check: bool,
    /// Removes the packages and the lines in Cargo.toml.
    #[arg(long)]
    remove: bool,
    /// The source of jumplabel: a path to a checkout, the address of a git repository, or a version. By default, the one from which the program has
    /// it already.
    #[arg(long, value_name = "PATH|GIT|VERSION", env = "JUMPLABEL_SOURCE")]
    jumplabel: Option<String>,
    /// Keeps upstream's tests, benches and their dependencies.
    #[arg(long, hide = true)]
    with_tests: bool,
    /// Does not use the network.
    #[arg(long)]
    offline: bool,
    /// The manifest of the package or workspace.
    #[arg(long, value_name = "PATH")]
    manifest_path: Option<std::path::PathBuf>,
}

fn run() -> Result<()> {
    // Cargo passes the name of the subcommand as the first argument.
    let arguments = std::env::args_os().enumerate().filter(|(number, word)| *number != 1 || word != "jumplabel");
    match Line::parse_from(arguments.map(|(_, word)| word)).command {
        Command::Tracing(patch) => tracing::TRACING.run(&Project::find(&patch)?, &patch),
        Command::Log(patch) => log::LOG.run(&Project::find(&patch)?, &patch),
        Command::Fail(patch) => fail::run(&Project::find(&patch)?, &patch),
    }
}

/// Prints a line. Ignores errors: a reader that has gone, as `head` does, is no failure of the command.
pub fn say(mut to: impl Write, line: fmt::Arguments<'_>) {
    let _ = writeln!(to, "{line}");
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(io::stderr(), format_args!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}
