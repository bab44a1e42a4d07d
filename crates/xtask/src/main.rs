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
    /// Installs what the checks need and this machine lacks: packages by apt-get, toolchains and targets by rustup
    ///
    /// An instruction set that cannot be had is said to be skipped, and why; in CI (the variable CI is set) that is an error.
    Setup {
        /// Also what `make test-all` needs and `make test` does not
        #[arg(long)]
        all: bool,
        /// Also what `guests` needs for the instruction sets
        #[arg(long)]
        guests: bool,
        /// Instruction sets; `others`: those of `make release-check`; `guests`: those that have one
        #[arg(value_name = "NAME", value_parser = named)]
        names: Vec<Named>,
    },
    /// Runs the core's tests for other instruction sets, statically linked, under qemu-user where this machine cannot run them
    Arches {
        /// Optimised: arms are laid out in other ways. The rest does not depend on it, and is left out
        #[arg(long, conflicts_with = "torture")]
        release: bool,
        /// Flips under running threads, and nothing else
        #[arg(long)]
        torture: bool,
        #[command(flatten)]
        chosen: Chosen,
    },
    /// Runs the core's tests under a real kernel of another instruction set, Debian's, in qemu-system, from memory
    ///
    /// There, all writers write to text that a processor of that kind runs, and membarrier, fork and clone are that kernel's.
    Guests(Chosen),
    /// Builds our own kernels and boots them in QEMU; and twins that are broken on purpose, whose boots must fail
    Kernels {
        /// Flips while the other processor runs, instead of 1,000; without the twins, which take no longer to be found out
        #[arg(long)]
        flips: Option<u32>,
        /// Machines; all if none is named
        #[arg(value_name = "NAME", value_parser = kernels::named)]
        machines: Vec<&'static kernels::Machine>,
    },
    /// Runs each fuzz target
    Fuzz { seconds: u32 },
    /// Runs the core's tests for Windows (x86_64-pc-windows-gnu) under Wine
    ///
    /// Wine takes a directory in target/ for its Windows.
    Wine {
        /// Runs only torture and its twins, for so long, and what a flip costs beside its system calls; prints the figures
        #[arg(long, value_name = "SECONDS", conflicts_with = "program")]
        torture: Option<u32>,
        /// A program for Windows, and its arguments, which is run instead
        #[arg(value_name = "PROGRAM", trailing_var_arg = true, allow_hyphen_values = true)]
        program: Vec<String>,
    },
    /// Runs the core's tests for i686-pc-windows-gnu, which has the fallback, under a Wine of 32 bits
    ///
    /// It is installed in a directory in target/, by root.
    Wine32,
    /// Checks the core for systems that have the fallback, and runs its tests on one of them: wasm32-wasip1
    Elsewhere,
    /// Runs goals of make one after the other, and shows at the end how long each took, and what ran beside each other in it
    Stages {
        #[arg(required = true, value_name = "GOAL")]
        goals: Vec<String>,
    },
    /// Writes a registry that has the crates of this repository, as if they were published, and all others that Cargo.lock has
    Registry { folder: PathBuf },
    /// Prints which crates are part of what is installed, and which only build and test it: a bill of materials (CycloneDX 1.5)
    Sbom,
    /// Makes the documentation a site, in target/site: documents, APIs, errors, a report of measurements. Checks its links
    Site,
    /// Runs commands beside each other, as many as there are processors, the first ones first
    ///
    /// Shows what each printed when it has ended, and how long it took. If one fails, all others run nevertheless, and this fails.
    Beside {
        #[arg(required = true)]
        commands: Vec<String>,
    },
    /// Runs sets of tests (crates/*/tests/SET.rs) beside each other
    Sets {
        /// The sets of one argument run one after the other; `SET:TEST,TEST` is the tests of a set whose names contain one of those.
        /// `make GOAL` is a goal, which runs beside them
        #[arg(required = true, value_name = "SET...")]
        sets: Vec<String>,
    },
}

#[derive(Args)]
struct Chosen {
    /// What is missing is an error, as it is in CI (the variable CI is set); otherwise it is skipped, with the reason
    #[arg(long)]
    require: bool,
    /// Instruction sets; `always`: those of `make test-all`; `others`: those of `make release-check`; `guests`: those that have one
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

/// The output of a command, its errors last. If the command fails, all of that is the error.
fn printed(command: Cmd<'_>) -> Result<String> {
    let output = command.quiet().ignore_status().output()?;
    let printed = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(printed.into()) } else { bail!("{}\n{printed}", output.status) }
}

/// Returns whether there is such a program in `PATH`, or at this path.
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
        Task::Wine { program, .. } => wine::run(&sh, &program),
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
