//! The tasks of `make` that cargo does not do by itself: it installs the tools that checks need, runs the tests of other instruction sets, and runs
//! commands in parallel. Run as `cargo xtask`.

mod arches;
mod beside;
mod elsewhere;
mod fuzz;
mod guests;
mod kernels;
mod programs;
mod registry;
mod sbom;
mod sets;
mod setup;
mod site;
mod stages;
mod targets;
mod wine;
mod zig;

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::{Args, Parser, Subcommand};
use targets::{Goal, TARGETS, Target};
use xshell::{Cmd, Shell};

#[derive(Parser)]
#[command(name = "cargo xtask", about)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Installs what the checks need and this machine does not have: packages by apt-get, toolchains and targets by rustup
    ///
    /// If an instruction set cannot be installed, prints that it is skipped, and why. In CI (the variable CI is set), that is an error.
    Setup {
        /// Installs also what `make test-all` needs and `make test` does not
        #[arg(long)]
        all: bool,
        /// Installs also what `guests` needs for the instruction sets
        #[arg(long)]
        guests: bool,
        /// Instruction sets; `others`: those of `make release-check`; `guests`: those that have a guest
        #[arg(value_name = "NAME", value_parser = named)]
        names: Vec<Named>,
    },
    /// Runs the core's tests for other instruction sets, statically linked, under qemu-user if this machine cannot run them
    Arches {
        /// Runs optimised builds, in which arms are laid out in other ways; leaves out sets that do not depend on the layout
        #[arg(long, conflicts_with = "torture")]
        release: bool,
        /// Runs only torture: flips under running threads
        #[arg(long)]
        torture: bool,
        #[command(flatten)]
        chosen: Chosen,
    },
    /// Runs the core's tests on Debian's kernel for another instruction set, in qemu-system, with all files in memory
    ///
    /// There, each writer writes to text that a processor of that instruction set runs, and membarrier, fork and clone are those of its kernel.
    Guests(Chosen),
    /// Builds our own kernels and boots them in QEMU; also boots twins, which are broken on purpose and must fail
    Kernels {
        /// The number of flips while the other processor runs, instead of 1,000; leaves out the twins, which fail as early with 1,000
        #[arg(long)]
        flips: Option<u32>,
        /// Machines; all if none is named
        #[arg(value_name = "NAME", value_parser = kernels::named)]
        machines: Vec<&'static kernels::Machine>,
    },
    /// Runs each fuzz target for this number of seconds
    Fuzz { seconds: u32 },
    /// Runs the core's tests for Windows (x86_64-pc-windows-gnu) under Wine
    ///
    /// Wine's Windows is a directory in target/.
    Wine {
        /// Runs only torture and its twins, for this long, and measures a flip's cost beyond its system calls; prints the figures
        #[arg(long, value_name = "SECONDS", conflicts_with = "program")]
        torture: Option<u32>,
        /// Runs only the tests of the C headers
        #[arg(long, conflicts_with_all = ["program", "torture"])]
        headers: bool,
        /// A program for Windows, and its arguments, to be run instead of the tests
        #[arg(value_name = "PROGRAM", trailing_var_arg = true, allow_hyphen_values = true)]
        program: Vec<String>,
    },
    /// Runs the core's tests for i686-pc-windows-gnu, which has the fallback, under a Wine of 32 bits
    ///
    /// Root installs that Wine in a directory in target/.
    Wine32,
    /// Checks the core for systems that have the fallback; links programs for macOS and FreeBSD by zig; runs the core's tests on wasm32-wasip1
    Elsewhere,
    /// Runs goals of make one after the other; at the end, shows how long each took, and each command that ran in parallel in it
    Stages {
        #[arg(required = true, value_name = "GOAL")]
        goals: Vec<String>,
    },
    /// Writes a registry that has the crates of this repository, as if they were published, and all other crates of Cargo.lock
    Registry { folder: PathBuf },
    /// Prints a bill of materials (CycloneDX 1.5): which crates are part of what is installed, and which only build and test it
    Sbom,
    /// Makes the site of the documentation, in target/site: documents, APIs, errors, a report of measurements; checks its links
    Site,
    /// Runs commands in parallel, as many as there are processors, in their order
    ///
    /// When a command has ended, shows its output and how long it took. If one fails, all others still run, and this command fails.
    Beside {
        #[arg(required = true)]
        commands: Vec<String>,
    },
    /// Runs sets of tests (crates/*/tests/SET.rs) in parallel
    Sets {
        /// The sets of one argument run one after the other. `SET:TEST,TEST` runs only the tests of the set whose names contain one of these. `make
        /// GOAL` is a goal of make, which runs in parallel with the sets
        #[arg(required = true, value_name = "SET...")]
        sets: Vec<String>,
    },
}

#[derive(Args)]
struct Chosen {
    /// Fails if a tool is missing, as in CI (the variable CI is set); otherwise skips its tests, and says why
    #[arg(long)]
    require: bool,
    /// Instruction sets; `always`: those of `make test-all`; `others`: those of `make release-check`; `guests`: those that have a guest
    #[arg(required = true, value_name = "NAME", value_parser = named)]
    names: Vec<Named>,
}

type Named = Vec<&'static Target>;

/// The targets with this name, or in the group with this name.
fn named(name: &str) -> Result<Named> {
    let found: Named = TARGETS
        .iter()
        .filter(|target| match name {
            "always" => target.goal == Goal::TestAll,
            "others" => target.goal == Goal::ReleaseCheck,
            "guests" => target.guest.is_some(),
            name => target.name == name,
        })
        .collect();
    let known = || TARGETS.iter().map(|target| target.name).collect::<Vec<_>>().join(", ");
    if found.is_empty() { bail!("it is none of always, others, guests, {}", known()) } else { Ok(found) }
}

/// The tests that could not run, and why.
#[derive(Default)]
struct Skipped(Vec<String>);

impl Skipped {
    fn push(&mut self, target: &Target, reason: impl std::fmt::Display) {
        self.0.push(format!("{}: {reason}", target.name));
    }

    fn end(self, is_error: bool) -> Result<()> {
        self.0.iter().for_each(|skipped| println!("skipped {skipped}"));
        if is_error && !self.0.is_empty() { bail!("nothing may be skipped") } else { Ok(()) }
    }
}

fn in_ci() -> bool {
    env::var_os("CI").is_some_and(|value| !value.is_empty())
}

/// Runs a command. Returns its output, followed by its errors. If the command fails, both are in the error.
fn printed(command: Cmd<'_>) -> Result<String> {
    let output = command.quiet().ignore_status().output()?;
    let printed = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(printed.into()) } else { bail!("{}\n{printed}", output.status) }
}

/// Returns whether a directory of `PATH` has the program, or, for an absolute path, whether there is such a file.
fn has(program: &str) -> bool {
    env::split_paths(&env::var_os("PATH").unwrap_or_default()).any(|directory| directory.join(program).is_file())
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("it was built there")
}

fn main() -> ExitCode {
    match run(Arguments::parse().task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: Task) -> Result<()> {
    // Removes cargo's variables about this package, so that neither the cargos nor the tests that this program starts see them.
    for (name, _) in env::vars_os() {
        let is_ours =
            |name: &str| name == "CARGO" || name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
        if name.to_str().is_some_and(is_ours) {
            // SAFETY: no other thread has been started.
            unsafe { env::remove_var(name) };
        }
    }
    env::set_current_dir(root())?;
    let sh = Shell::new()?;
    match task {
        Task::Setup { all, guests, names } => setup::run(&sh, all, &names.concat(), guests),
        Task::Elsewhere => elsewhere::run(&sh),
        Task::Wine { torture: Some(seconds), .. } => wine::torture(&sh, seconds),
        Task::Wine { headers, program, .. } => wine::run(&sh, headers, &program),
        Task::Wine32 => wine::wine32::run(&sh),
        Task::Stages { goals } => stages::run(&goals),
        Task::Arches { release, torture, chosen } => {
            arches::run(&sh, &chosen.names.concat(), chosen.require, release, torture)
        }
        Task::Guests(chosen) => guests::run(&sh, &chosen.names.concat(), chosen.require),
        Task::Kernels { flips, machines } => kernels::run(&sh, &machines, flips),
        Task::Fuzz { seconds } => fuzz::run(&sh, seconds),
        Task::Beside { commands } => {
            beside::run(&commands.into_iter().map(|command| (command.clone(), command)).collect::<Vec<_>>())
        }
        Task::Registry { folder } => registry::run(&sh, &folder),
        Task::Sbom => sbom::run(&sh),
        Task::Site => site::run(&sh),
        Task::Sets { sets } => sets::run(&sh, &sets),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    /// Tests that the groups in the Makefile exist, and that an unknown name is refused.
    #[test]
    fn names() {
        Arguments::command().debug_assert();
        let of = |name| named(name).map(|targets| targets.iter().map(|target| target.name).collect::<Vec<_>>());
        assert_eq!(of("always").unwrap(), ["aarch64", "riscv64"]);
        assert_eq!(of("s390x").unwrap(), ["s390x"]);
        assert!(of("others").unwrap().contains(&"s390x") && !of("others").unwrap().contains(&"aarch64"));
        assert!(of("guests").unwrap().contains(&"x86_64") && !of("guests").unwrap().contains(&"i686"));
        assert!(of("coffee").unwrap_err().to_string().contains("s390x"));
    }

    #[test]
    fn what_is_skipped() {
        let skipped = || Skipped(vec!["coffee: no beans".into()]);
        assert!(Skipped::default().end(true).is_ok() && skipped().end(false).is_ok() && skipped().end(true).is_err());
    }
}
