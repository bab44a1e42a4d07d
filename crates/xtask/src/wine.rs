//! Runs programs for Windows (x86_64-pc-windows-gnu, -gnullvm and -msvc) under Wine: the core's tests, the tests of the C headers, and any other
//! program.
//!
//! ```text
//!   target/wine/            what cargo builds
//!   target/wine-prefix/     a Windows for these tests alone: no file of the user's, no window, no browser, no .NET
//! ```

pub mod c;
pub mod llvm;
pub mod msvc;
mod startup;
pub mod wine32;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use xshell::{Cmd, Shell, cmd};

use crate::programs::{dependent, sum, variable};
use crate::{has, in_ci, printed};

pub const RUST: &str = "x86_64-pc-windows-gnu";
pub const COMPILER: &str = "x86_64-w64-mingw32-gcc";
/// The C++ compiler of the same toolchain, which the tests of the C headers need.
pub const CXX_COMPILER: &str = "x86_64-w64-mingw32-g++";
/// The objdump of the linker's binutils. It also reads files that other compilers make for Windows on x86.
pub const OBJDUMP: &str = "x86_64-w64-mingw32-objdump";
/// Commands of Wine. Debian's package puts none into PATH.
const WINE: [&str; 2] = ["/usr/lib/wine/wine64", "wine64"];

/// The sets that run under Wine: those that docs/porting.md calls portable, and a few more.
const SETS: &str = "keys reach naked records lists or_load calls switches scoped tracepoints ops up plan threads on_change assertions windows";
/// Another set. It does not depend on the linker, so it runs for only one of the targets.
const TORTURE: &str = "torture";
/// The sets that also run as an optimised build.
const OPTIMISED: &str = "keys naked or_load calls lists plan threads windows";

/// Flags for rustc.
const FLAGS: &str = "--cfg jumplabel_portable_tests";

/// The time in seconds after which a program that hangs is ended.
const LIMIT: &str = "300";

/// The command that starts programs for Windows, if there is one.
pub fn wine() -> Option<&'static str> {
    WINE.into_iter().find(|wine| has(wine))
}

/// The first tool that is missing here; `None` if all are there.
fn missing(sh: &Shell) -> Result<Option<&'static str>> {
    let installed = cmd!(sh, "rustup target list --installed").quiet().ignore_status().read()?;
    Ok(match () {
        () if wine().is_none() => Some("wine64"),
        () if !has(COMPILER) => Some("gcc-mingw-w64-x86-64"),
        () if !has(CXX_COMPILER) => Some("g++-mingw-w64-x86-64"),
        () if !has(c::CLANG) => Some("clang-19"),
        () if !has(c::LLD) => Some("lld-19"),
        () if !has(msvc::LLD) => Some("lld-19"),
        () => [RUST, llvm::RUST, msvc::RUST].into_iter().find(|target| !installed.lines().any(|line| line == *target)),
    })
}

/// Runs the tests; if `headers` is true, only those of the C headers. If a program is given, runs that with its arguments instead.
pub fn run(sh: &Shell, headers: bool, program: &[String]) -> Result<()> {
    if let Some(missing) = missing(sh)? {
        let text = format!("{RUST}: no {missing} (cargo xtask setup --all)");
        if in_ci() || !program.is_empty() {
            bail!("{text}");
        }
        println!("skipped {text}");
        return Ok(());
    }
    let prefix = prefix(sh)?;
    if !program.is_empty() {
        let wine = wine().context("wine64")?;
        return Ok(with(cmd!(sh, "timeout {LIMIT} {wine} {program...}"), &prefix).quiet().run()?);
    }
    // By default, Wine's server ends some seconds after the last program, and a program that begins at that moment fails. With `-p`, the server
    // stays.
    server(sh, &prefix, "-k");
    server(sh, &prefix, "-p");
    let result =
        services(sh, &prefix).and_then(|()| if headers { of_headers(sh, &prefix) } else { tests(sh, &prefix) });
    server(sh, &prefix, "-k");
    result
}

/// Starts Wine's server for this prefix (`-p`), or ends it (`-k`).
fn server(sh: &Shell, prefix: &Path, option: &str) {
    let _ = with(cmd!(sh, "/usr/lib/wine/wineserver64 {option}"), prefix).quiet().ignore_status().ignore_stderr().run();
}

/// Starts Wine's services, which end with the server. If a program of a test started them, they would keep its standard output open, and the end of
/// the program would not be noticed.
fn services(sh: &Shell, prefix: &Path) -> Result<()> {
    let wine = wine().context("wine64")?;
    let command = with(cmd!(sh, "timeout {LIMIT} {wine} wineboot"), prefix);
    command.quiet().ignore_stdout().ignore_stderr().run().context("wineboot")
}

/// Runs torture for this many seconds: threads execute sites while others flip them. Also runs the broken twins.
pub fn torture(sh: &Shell, seconds: u32) -> Result<()> {
    if let Some(missing) = missing(sh)? {
        bail!("{RUST}: no {missing} (cargo xtask setup --all)");
    }
    let prefix = prefix(sh)?;
    let command = cargo(sh, &prefix, "test")
        .env("JUMPLABEL_TORTURE_SECONDS", seconds.to_string())
        .env(variable(RUST, "RUNNER"), format!("timeout {} {}", seconds + 300, wine().unwrap_or_default()));
    let which = ["--release", "-p", "jumplabel", "--test", "torture", "--test", "windows", "--", "--nocapture"];
    Ok(command.args(which).args(["mprotect", "twin", "torn::", "a_flip_beside"]).quiet().run()?)
}

/// Makes the directory that is Wine's Windows, and adds a library that Wine lacks.
fn prefix(sh: &Shell) -> Result<PathBuf> {
    let prefix = crate::root().join("target/wine-prefix");
    let library = prefix.join("drive_c/windows/system32/bcryptprimitives.dll");
    if !library.is_file() {
        let wine = wine().context("wine64")?;
        sh.create_dir(&prefix)?;
        printed(with(cmd!(sh, "timeout {LIMIT} {wine} wineboot -i"), &prefix)).context("wineboot")?;
        printed(cmd!(sh, "{COMPILER} -shared -O2 crates/xtask/src/wine/bcryptprimitives.c -o {library}"))?;
    }
    Ok(prefix)
}

/// Sets the environment of a command: this prefix, no messages of Wine's own, and no questions about things to install.
fn with<'a>(command: Cmd<'a>, prefix: &Path) -> Cmd<'a> {
    command
        .env("WINEPREFIX", prefix)
        .env("WINEDEBUG", "-all")
        .env("WINEDLLOVERRIDES", "mscoree=;mshtml=;winemenubuilder.exe=")
}

fn tests(sh: &Shell, prefix: &Path) -> Result<()> {
    Target::gnu().tests(sh, prefix, &format!("{SETS} {TORTURE}"))?;
    llvm::target(sh)?.tests(sh, prefix, SETS)?;
    msvc::target(sh, prefix)?.tests(sh, prefix, SETS)?;
    readme(sh, prefix)?;
    dylibs(sh, prefix)?;
    of_headers(sh, prefix)?;
    startup::test(sh, prefix)?;
    let demo = ["--release", "-p", "jumplabel-demo", "--", "--seconds", "3"];
    let log = printed(cargo(sh, prefix, "run").args(demo)).context("the demo")?;
    println!("the demo: {}", log.lines().find(|line| line.contains("wrong results")).context("no results")?);
    // Tests the library without std.
    let manifest = "test-crates/no-std/Cargo.toml";
    let log = printed(cargo(sh, prefix, "run").args(["--release", "--manifest-path", manifest]))?;
    if !log.lines().any(|line| line.trim_end() == "ok") {
        bail!("{manifest}: {log}");
    }
    println!("{RUST}, without std: ok");
    Ok(())
}

/// Tests Rust `dylib`s, which share one instance of the library (in the fallback).
fn dylibs(sh: &Shell, prefix: &Path) -> Result<()> {
    let manifest = "test-crates/windows-dylib/Cargo.toml";
    let directory = "target/wine/dylib";
    let build =
        cmd!(sh, "cargo build --quiet --target-dir {directory} --target {RUST} --workspace --manifest-path {manifest}");
    printed(build.env("RUSTFLAGS", "--cfg jumplabel_dylib -Cprefer-dynamic"))?;
    let programs = format!("{directory}/{RUST}/debug");
    // Windows looks for libraries beside the program.
    let sysroot = cmd!(sh, "rustc --print sysroot").quiet().read()?;
    let std = ["bin", "lib"].map(|folder| format!("{sysroot}/lib/rustlib/{RUST}/{folder}"));
    let std = std.iter().filter_map(|folder| sh.read_dir(folder).ok()).flatten();
    for library in std.filter(|path| path.extension().is_some_and(|extension| extension == "dll")) {
        sh.copy_file(library, &programs)?;
    }
    for library in ["libgcc_s_seh-1.dll", "libwinpthread-1.dll"] {
        let path = cmd!(sh, "{COMPILER} -print-file-name={library}").quiet().read()?;
        if Path::new(&path).is_file() {
            sh.copy_file(path, &programs)?;
        }
    }
    let wine = wine().context("wine64")?;
    let run = cmd!(sh, "timeout {LIMIT} {wine} {programs}/windows-dylib.exe {programs}/late.dll");
    let said = printed(with(run, prefix)).context("test-crates/windows-dylib")?;
    if !said.lines().any(|line| line.trim_end() == "ok") {
        bail!("test-crates/windows-dylib: {said}");
    }
    println!("{RUST}, Rust dylibs: ok");
    Ok(())
}

/// Tests the C headers.
fn of_headers(sh: &Shell, prefix: &Path) -> Result<()> {
    let headers = c::Headers::new(sh, prefix)?;
    headers.readme()?;
    headers.tests()?;
    c::Headers::of(sh, prefix, &llvm::target(sh)?, "jumplabel-capi")?.few()
}

/// Tests the README's first program, in a crate that depends on the core.
fn readme(sh: &Shell, prefix: &Path) -> Result<()> {
    let readme = sh.read_file("README.md")?;
    let program = readme.split_once("```rust\n").and_then(|(_, rest)| rest.split_once("```"));
    let program = program.context("README.md has no program")?.0;
    let manifest = dependent(sh, "target/wine-readme", "example", "main.rs", program)?;
    let log = printed(cargo(sh, prefix, "run").args(["--release", "--manifest-path", &manifest]))?;
    if log.lines().filter(|line| line.starts_with("work(")).collect::<Vec<_>>() != ["work(2)"] {
        bail!("README.md: {log}");
    }
    println!("README.md: work(2)");
    Ok(())
}

/// A cargo subcommand for x86_64-pc-windows-gnu.
fn cargo<'a>(sh: &'a Shell, prefix: &Path, subcommand: &str) -> Cmd<'a> {
    Target::gnu().cargo(sh, prefix, subcommand)
}

/// A target whose programs Wine runs.
struct Target {
    rust: &'static str,
    /// The linker that cargo calls, if that is not the target's own.
    linker: Option<&'static str>,
    /// Flags for rustc.
    flags: String,
}

impl Target {
    fn gnu() -> Target {
        Target { rust: RUST, linker: None, flags: FLAGS.to_owned() }
    }

    /// A cargo subcommand for the target.
    fn cargo<'a>(&self, sh: &'a Shell, prefix: &Path, subcommand: &str) -> Cmd<'a> {
        let Target { rust, linker, flags } = self;
        let mut command = cmd!(sh, "cargo {subcommand} --quiet --target-dir target/wine --target {rust}")
            .env(variable(rust, "RUNNER"), format!("timeout {LIMIT} {}", wine().unwrap_or_default()))
            // Debug information takes longer to link than the tests take to run.
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .env("RUSTFLAGS", flags);
        if let Some(linker) = linker {
            command = command.env(variable(rust, "LINKER"), linker);
        }
        with(command, prefix)
    }

    /// Runs the core's tests: these sets, and some of them again as an optimised build.
    fn tests(&self, sh: &Shell, prefix: &Path, sets: &str) -> Result<()> {
        let rust = self.rust;
        let manifest = "test-crates/dll/Cargo.toml";
        printed(self.cargo(sh, prefix, "build").args(["--release", "--manifest-path", manifest]))?;
        let dll = format!("Z:{}/target/wine/{rust}/release/dll.dll", crate::root().display());
        for (sets, profile, optimised) in [(sets, &[][..], ""), (OPTIMISED, &["--release"], ", optimised")] {
            let tests = sets.split(' ').flat_map(|set| ["--test", set]);
            let command = self.cargo(sh, prefix, "test").env("JUMPLABEL_DLL", &dll).args(profile);
            let log = printed(command.args(["-p", "jumplabel", "--lib"]).args(tests))
                .with_context(|| format!("{rust}{optimised}: {sets}"))?;
            println!("{rust}{optimised}: {} passed, {} ignored", sum(&log, "passed"), sum(&log, "ignored"));
        }
        Ok(())
    }
}
