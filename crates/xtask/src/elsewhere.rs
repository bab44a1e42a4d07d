//! Checks systems for which the library has only the fallback, in which each check loads its key. `cargo check` runs for each of them. For macOS and
//! FreeBSD, programs are linked (`link`). The core's tests run on one system, wasm32-wasip1, whose runner is a package of PyPI. Also builds the
//! crates that kernels use, for targets of kernels that have the fallback (riscv32 only in C).

mod link;
mod windows;

use anyhow::{Context, Result, bail};
use xshell::{Shell, cmd};

use crate::programs::sum;
use crate::wine::OBJDUMP;
use crate::{Skipped, has, in_ci, printed, zig};

/// The targets for which `cargo check` checks the core, with std and without.
pub const TARGETS: &[&str] = &[
    "x86_64-apple-darwin",
    "aarch64-apple-darwin",
    "x86_64-unknown-freebsd",
    "aarch64-linux-android",
    windows::MSVC,
    windows::I686,
    windows::AARCH64,
    "wasm32-unknown-unknown",
    WASI,
];
/// Kernels' targets without sites, or without sites in C (riscv32). Their words have 32 bits, and they have no atomics of 64 bits.
pub const KERNELS: &[&str] = &["riscv32imac-unknown-none-elf", "thumbv7m-none-eabi"];
const WASI: &str = "wasm32-wasip1";
/// The package of PyPI that runs programs for WASI.
pub const RUNNER: &str = "wasmtime";
pub const PACKAGE: &str = "wasmtime==50.0.1";

/// The sets that run on WASI. The others need things that WASI lacks: constructors (records, lists), inline assembly (plan), processes (ops,
/// threads).
const SETS: &str = "keys naked or_load calls switches up scoped tracepoints";
/// The tests of these sets that cannot run on WASI. They need threads, a panic that is caught, processes, the caller's place in a panic, or the names
/// of keys, which constructors list.
const NOT_THERE: &[&str] = &[
    "trace::probes::tests::data_stay_while_a_thread_is_in_them",
    "deferred",
    "held_by_several_threads",
    "places::a_deferred_key_goes_off_when_it_is_due",
    "places::keys_like_others",
    "hidden::a_default_that_asks_for_its_caller",
    "hidden::other_conventions",
    "unwinding",
    "spawned",
    "a_panic_gives_it_back",
    "guards_of_one_key_wait_for_each_other",
    "panics",
    "threads::under_running_threads",
];

pub fn run(sh: &Shell) -> Result<()> {
    let installed = cmd!(sh, "rustup target list --installed").quiet().ignore_status().read()?;
    let mut skipped = Skipped::default();
    for target in TARGETS.iter().chain(KERNELS) {
        if !installed.lines().any(|line| line == *target) {
            skipped.0.push(format!("{target}: not installed (cargo xtask setup --all)"));
            continue;
        }
        if KERNELS.contains(target) {
            of_kernels(sh, target)?;
            continue;
        }
        for features in [&[][..], &["--no-default-features"]] {
            let check = cmd!(sh, "cargo check --quiet --target-dir target/elsewhere -p jumplabel --target {target}");
            printed(check.args(features)).with_context(|| format!("{target} {features:?}"))?;
        }
        println!("{target}: checked, with std and without");
        if target.contains("-windows-") {
            match windows::objects(sh, target)? {
                Some(said) => println!("{said}"),
                None => skipped.0.push(format!("{target}: no {OBJDUMP} (cargo xtask setup --all)")),
            }
        }
        if link::needs_zig(target) && !zig::is_installed() {
            skipped.0.push(format!("programs for {target}: no zig (cargo xtask setup --all)"));
        } else if let Some(said) = link::programs(sh, target)? {
            println!("{said}");
        }
        if *target == WASI {
            tests(sh, &mut skipped)?;
        }
    }
    skipped.end(in_ci())
}

/// Builds the crates for a kernel's target. A check alone does not find errors that depend on the values of a kernel's constants. The feature
/// `kernel` includes the whole platform of a kernel.
fn of_kernels(sh: &Shell, target: &str) -> Result<()> {
    let build =
        cmd!(sh, "cargo build --quiet --target-dir target/elsewhere -p jumplabel-capi --lib --no-default-features");
    printed(build.args(["--features", "kernel", "--target", target])).context(target.to_owned())?;
    println!("{target}: built, for kernels in Rust and in C");
    Ok(())
}

/// Runs the core's tests. Here a panic ends the whole program of a set, which then prints no result: so the results are counted.
fn tests(sh: &Shell, skipped: &mut Skipped) -> Result<()> {
    let python = crate::root().join("target").join(RUNNER).join("bin/python3").display().to_string();
    if !has(&python) {
        skipped.0.push(format!("tests for {WASI}: no {RUNNER} (cargo xtask setup --all)"));
        return Ok(());
    }
    let runner = format!("timeout 300 {python} {}", crate::root().join("crates/xtask/src/wasi.py").display());
    let tests = SETS.split(' ').flat_map(|set| ["--test", set]);
    // The names are exact, because a part of a name could match other tests, too.
    let not_there = NOT_THERE.iter().flat_map(|test| ["--skip", test]);
    let command = cmd!(sh, "cargo test --target-dir target/elsewhere -p jumplabel --target {WASI} --lib")
        .env("CARGO_TARGET_WASM32_WASIP1_RUNNER", runner)
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .env("RUSTFLAGS", "--cfg jumplabel_portable_tests");
    let log = printed(command.args(tests).args(["--", "--exact"]).args(not_there)).context(WASI)?;
    let programs = log.lines().filter(|line| line.starts_with("test result: ok")).count();
    if programs != 1 + SETS.split(' ').count() {
        bail!("{WASI}: {programs} programs ran\n{log}");
    }
    let left_out = sum(&log, "filtered out") as usize;
    if left_out != NOT_THERE.len() {
        bail!("{WASI}: {left_out} tests were left out, and {} are named", NOT_THERE.len());
    }
    println!("{WASI}: {} passed, {} ignored, {left_out} left out", sum(&log, "passed"), sum(&log, "ignored"));
    Ok(())
}
