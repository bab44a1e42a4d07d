//! Runs the core's tests for other instruction sets.

use std::path::Path;

use anyhow::{Context, Result, bail};
use xshell::{Shell, cmd};

use crate::programs::{self, sum};
use crate::targets::{C, Compiler, NOT_EMULATED, Target};
use crate::{Skipped, has, in_ci, printed};

pub fn run(sh: &Shell, targets: &[&Target], require: bool, release: bool, torture: bool) -> Result<()> {
    let mut skipped = Skipped::default();
    for target in targets {
        let name = target.name;
        if let Some(reason) = missing(sh, target)? {
            skipped.push(target, format_args!("{reason} (cargo xtask setup {name})"));
            continue;
        }
        println!("== {name}: {}", target.emulator.unwrap_or("natively"));
        tests(sh, target, release, torture)?;
        if !torture {
            if let Some(c) = &target.c {
                conformance(sh, target, c)?;
            }
            if let (true, Some(emulator)) = (target.measures, target.emulator) {
                measured(sh, target, emulator)?;
            }
            if let ("aarch64", Compiler::Gcc(gnu, _), Some(emulator)) = (name, &target.compiler, target.emulator) {
                guarded(sh, target, gnu, emulator)?;
            }
        }
    }
    skipped.end(require || in_ci())
}

/// The tool or toolchain that the target needs and this machine lacks; `None` if everything is there.
fn missing(sh: &Shell, target: &Target) -> Result<Option<String>> {
    let mut tools = [Some(target.cc()), target.emulator.map(String::from)].into_iter().flatten();
    if let Some(tool) = tools.find(|tool| !has(tool)) {
        return Ok(Some(format!("no {tool}")));
    }
    let (installed, std) = match target.compiler {
        Compiler::Gcc(..) => (cmd!(sh, "rustup target list --installed"), target.rust),
        Compiler::Zig(..) => (cmd!(sh, "rustup component list --toolchain nightly --installed"), "rust-src"),
    };
    let installed = installed.quiet().ignore_stderr().ignore_status().read()?;
    Ok((!installed.lines().any(|line| line == std)).then(|| "no rust-std".into()))
}

fn tests(sh: &Shell, target: &Target, release: bool, torture: bool) -> Result<()> {
    let sets: Vec<_> = match (release, torture) {
        (true, _) => vec!["keys", "plan", "threads"],
        (_, true) => vec!["torture"],
        _ => target.sets.iter().flat_map(|sets| sets.split(' ')).collect(),
    };
    let mut cargo = programs::cargo(sh, target, "test", "-Ctarget-feature=+crt-static")
        .args(["--quiet", "-p", "jumplabel", "--lib"])
        .args(release.then_some("--release"))
        .args(sets.iter().flat_map(|set| ["--test", set]));
    if let Some(emulator) = target.emulator {
        cargo = cargo.env(programs::variable(target.rust, "RUNNER"), emulator).env("JUMPLABEL_EMULATOR", emulator);
        if sets.contains(&"process") {
            cargo = cargo.arg("--").args(NOT_EMULATED.split(' ').flat_map(|tests| ["--skip", tests]));
        }
    }
    // The set `objects` starts programs that are dynamically linked.
    if sets.contains(&"objects") {
        let directory = format!("target/arches/objects-{}", target.name);
        programs::objects(sh, target, &directory)?;
        cargo = cargo.env("JUMPLABEL_OBJECTS", crate::root().join(directory).join("objects"));
    }
    let log = printed(cargo).with_context(|| target.name)?;
    println!("{} passed, {} ignored", sum(&log, "passed"), sum(&log, "ignored"));
    Ok(())
}

/// Runs the tests of the C API (crates/jumplabel-capi), with gcc and clang, or with zig. Prints the number of checks. If tracepoints in C have notes
/// for tracers on the target, tests these notes, too.
fn conformance(sh: &Shell, target: &Target, c: &C) -> Result<()> {
    programs::c_library(sh, target, "staticlib")?;
    let mut compilers = vec![(format!("{} {}", target.cc(), c.gcc), Some(""))];
    if let (Compiler::Gcc(gnu, _), Some(options)) = (&target.compiler, c.clang) {
        compilers.push((format!("clang-16 --target={gnu} {options}"), c.clang_lto));
    }
    let program = format!("target/arches/conformance-{}", target.name);
    for (compiler, lto) in compilers {
        let pic = (!compiler.contains("-no-pie")).then(|| "-O2 -fPIC".to_owned());
        let lto = lto.map(|options| format!("-O3 -flto {options}"));
        for flags in ["-O0".into(), "-O2".into()].into_iter().chain(pic).chain(lto) {
            let emulator = target.emulator;
            let runs = |flags: &str, names: &[&str]| {
                programs::in_c(sh, target, &format!("{compiler} {flags}"), names, &program)?;
                printed(cmd!(sh, "env {emulator...} {program}"))
            };
            let made = runs(&flags, programs::CONFORMANCE).and_then(|made| {
                if target.sets.iter().any(|sets| sets.split(' ').any(|set| set == "usdt")) {
                    runs(&format!("{flags} -DSTATIC"), &["usdt"]).context("tracers")?;
                }
                Ok(made)
            });
            let compiler = Path::new(compiler.trim()).file_name().unwrap_or_default().display();
            let what = format!("{compiler} {}", flags.trim_end());
            println!("{what}: {}", made.with_context(|| what.clone())?.trim_end());
        }
    }
    Ok(())
}

/// Tests that code with branch target identification (BTI, on aarch64) stays guarded if a writer changes the protection of its pages. Code must not
/// become guarded if it lacks BTI, or if the processor lacks the extension.
fn guarded(sh: &Shell, target: &Target, gnu: &str, emulator: &str) -> Result<()> {
    let (cc, sources) = (target.cc(), "crates/jumplabel-capi/tests/c");
    let flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", "-O2", "-Icrates/jumplabel-capi/include"];
    let built = "target/arches/guarded";
    programs::c_library(sh, target, "cdylib")?;
    sh.create_dir(built)?;
    sh.copy_file(programs::results(target).join("libjumplabel_capi.so"), format!("{built}/libjumplabel.so.0"))?;
    for protection in ["standard", "none"] {
        cmd!(sh, "{cc} {flags...} -fPIC -shared -nostartfiles -mbranch-protection={protection} {sources}/guarded.c {built}/libjumplabel.so.0 -o {built}/{protection}.so").quiet().run()?;
    }
    cmd!(sh, "{cc} {flags...} {sources}/guarding.c -ldl -o {built}/guarding").quiet().run()?;
    for writer in ["auto", "mprotect", "remap"] {
        for (cpu, state, library) in
            [("max", "guarded", "standard"), ("max", "open", "none"), ("cortex-a57", "open", "standard")]
        {
            let run = cmd!(
                sh,
                "{emulator} -cpu {cpu} -L /usr/{gnu} -E LD_LIBRARY_PATH={built} {built}/guarding {state} {built}/{library}.so"
            );
            printed(run.env("JUMPLABEL_WRITER", writer))
                .with_context(|| format!("{writer}, {cpu} {state} {library}"))?;
        }
        println!("guarded code stays guarded: {writer}");
    }
    Ok(())
}

/// Tests that each measurement of `make bench` runs on the target: it begins, decodes its loops, and ends. A measurement that is written for another
/// instruction set must say so. The times do not matter. Only the bench is optimised, because it decodes its own code.
fn measured(sh: &Shell, target: &Target, emulator: &str) -> Result<()> {
    let settings = ["opt-level=3", "debug-assertions=false", "codegen-units=16"];
    let settings =
        settings.iter().flat_map(|set| ["--config".into(), format!("profile.dev.package.jumplabel-bench.{set}")]);
    programs::cargo(sh, target, "build", "-Ctarget-feature=+crt-static")
        .args(["--quiet", "-p", "jumplabel-bench", "--bin", "jumplabel-bench"])
        .args(settings)
        .run()?;
    let program = programs::results(target).with_file_name("debug").join("jumplabel-bench");
    for (name, is_there) in [("site", true), ("calls", true), ("ops", false)] {
        let said = cmd!(sh, "{emulator} {program} {name} --quick --json").quiet().ignore_stderr().read();
        let said = said.with_context(|| format!("jumplabel-bench {name}"))?;
        if !said.contains(&format!("\"benchmark\":\"{name}\"")) || said.contains("not_here") == is_there {
            bail!("jumplabel-bench {name}: {said}");
        }
        println!("jumplabel-bench {name}: {}", if is_there { "measures" } else { "not on this machine" });
    }
    Ok(())
}
