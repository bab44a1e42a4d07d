//! Builds the project's own kernels and boots them in QEMU. Also boots twins: kernels that are broken on purpose and must fail.

mod machines;
mod twins;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use xshell::{Shell, cmd};

use crate::{Skipped, in_ci, printed};
use machines::Kernel;
pub use machines::{MACHINES, Machine, named};
use twins::Twin;

/// The message of a kernel whose table has no bounds.
const UNBOUNDED: &str = "table without bounds: the object with the record at";

/// The limit for a boot in seconds, after which a kernel counts as hung. A boot takes two seconds; on a busy machine, each of four thousand
/// rendezvous may wait for a turn.
const SECONDS: u64 = 180;

pub fn run(sh: &Shell, machines: &[&'static Machine], flips: Option<u32>) -> Result<()> {
    let mut skipped = Skipped::default();
    let all: Vec<_> = MACHINES.iter().collect();
    for &machine in if machines.is_empty() { &all } else { machines } {
        if !machine.is_here() {
            skipped.0.push(format!("kernel {}: no {} (cargo xtask setup)", machine.name, machine.program));
            continue;
        }
        passes(sh, machine, flips)?;
        if flips.is_none() {
            if machine.kernel.has_module {
                is_refused(sh, machine)?;
            }
            machine.twins.iter().try_for_each(|twin| is_found_out(sh, machine, twin))?;
        }
    }
    skipped.end(in_ci())
}

/// Tests that the unchanged kernel passes, with a module loaded into memory after the kernel.
fn passes(sh: &Shell, machine: &Machine, flips: Option<u32>) -> Result<()> {
    let name = machine.name;
    let flips = flips.map(|flips| ("KERNEL_FLIPS", flips.to_string()));
    let kernel = build(sh, machine, &crate::root(), flips.as_slice())?;
    let module = machine.kernel.has_module.then(|| module(sh, machine, &kernel)).transpose()?;
    let (said, passed) = boot(machine, &kernel, module.as_deref(), 1 + flips.iter().len() as u64 * 100)?;
    print!("{said}");
    ensure!(passed && said.ends_with("\nok\n"), "the kernel for {name} failed");
    for line in machine.kernel.parts.iter().chain(machine.parts) {
        ensure!(said.contains(&format!("\n{line}")), "the kernel for {name} left this out: {line}");
    }
    Ok(())
}

/// Tests that the library refuses a kernel whose linker left the table without bounds.
fn is_refused(sh: &Shell, machine: &Machine) -> Result<()> {
    let kernel = build(sh, machine, &crate::root(), &[("MERGED_TABLE", "1".into())])?;
    let (said, passed) = boot(machine, &kernel, None, 1)?;
    ensure!(passed && said.contains(UNBOUNDED), "a table without bounds was not found out:\n{said}");
    println!("kernel {}, without bounds of its table: refused", machine.name);
    Ok(())
}

/// Tests that a twin panics, and for the expected reason.
fn is_found_out(sh: &Shell, machine: &Machine, twin: &Twin) -> Result<()> {
    let copy = broken(sh, &crate::root(), twin)?;
    let impatient = twin.waits_in_vain.then(|| ("KERNEL_IMPATIENT", "1".into()));
    let (said, passed) = boot(machine, &build(sh, machine, &copy, impatient.as_slice())?, None, 1)?;
    ensure!(!passed, "a kernel that {} passed:\n{said}", twin.what);
    let (_, reason) =
        said.split_once("panicked").with_context(|| format!("a kernel that {} did not panic:\n{said}", twin.what))?;
    ensure!(reason.contains(twin.found_by), "a kernel that {} failed for another reason:\n{said}", twin.what);
    let reason = reason.split_whitespace().collect::<Vec<_>>().join(" ");
    println!("kernel {}, a twin that {}: found out ({reason})", machine.name, twin.what);
    Ok(())
}

/// The environment variables that configure a kernel's build.
const VARIABLES: &[&str] = &["KERNEL_FLIPS", "MERGED_TABLE", "KERNEL_IMPATIENT"];

/// Builds the kernel from the sources at `root`.
fn build(sh: &Shell, machine: &Machine, root: &Path, variables: &[(&str, String)]) -> Result<PathBuf> {
    let (target, manifest) = (machine.target, root.join("kernels/Cargo.toml"));
    // Each copy of the sources has a target directory of its own: in a shared one, cargo would take a build script of one copy for that of another.
    let directory = root.join("target/kernels");
    let Kernel { package, file, .. } = machine.kernel;
    let build = cmd!(
        sh,
        "cargo build --quiet --release --manifest-path {manifest} -p {package} --target {target} --target-dir {directory}"
    );
    let build = VARIABLES.iter().fold(build.env("RUSTFLAGS", machine.flags), |build, name| build.env_remove(name));
    let said = printed(build.envs(variables.iter().map(|(name, value)| (*name, value))))?;
    ensure!(said.is_empty(), "{said}");
    Ok(directory.join(target).join("release").join(file))
}

/// Builds a module. Its addresses are after the kernel's, and it uses the kernel's instance of the library. Link-time optimisation is off, because no
/// code of the library may come into the module.
fn module(sh: &Shell, machine: &Machine, kernel: &Path) -> Result<PathBuf> {
    const BEHIND: u64 = 6 << 20; // The kernel's text, constants and data, each on a large page of its own, end before this offset.
    let symbols = cmd!(sh, "readelf --syms --wide {kernel}").quiet().read()?;
    let address = |name: &str| {
        let line = symbols.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let found = line.into_iter().find(|words| words.last() == Some(&name)).with_context(|| format!("no {name}"))?;
        anyhow::Ok(u64::from_str_radix(found[1], 16)?)
    };
    let mut symbols = format!("__module={:#x}", address("__text")? + BEHIND);
    for name in ["kernel_key", "__jumplabel_register_object", "__jumplabel_unregister_object"] {
        symbols += &format!(" {name}={:#x}", address(name)?);
    }
    let (target, manifest) = (machine.target, crate::root().join("kernels/module/Cargo.toml"));
    let flags = format!("{} {}", machine.flags, machine.module_flags);
    let directory = crate::root().join("target/kernels");
    let build =
        cmd!(sh, "cargo build --quiet --release --manifest-path {manifest} --target {target} --target-dir {directory}");
    let build = build.env("RUSTFLAGS", flags).env("KERNEL_SYMBOLS", symbols).env("CARGO_PROFILE_RELEASE_LTO", "off");
    let said = printed(build)?;
    ensure!(said.is_empty(), "{said}");
    Ok(directory.join(target).join("release/module"))
}

/// Boots a kernel, with or without a module in memory. Returns the kernel's output, without that of the firmware, and whether the kernel has passed.
fn boot(machine: &Machine, kernel: &Path, module: Option<&Path>, times: u64) -> Result<(String, bool)> {
    let sh = Shell::new()?;
    let (program, arguments) = (machine.program, machine.arguments.split(' '));
    let module = module.map(|module| format!("loader,file={}", module.display()));
    let module: Vec<_> = module.iter().flat_map(|module| ["-device", module]).collect();
    let seconds = (SECONDS * times).to_string();
    let start = Instant::now();
    let boot = cmd!(
        sh,
        "timeout {seconds} {program} {arguments...} -m 128M -display none -serial stdio -monitor none -no-reboot -nic none
            -kernel {kernel} {module...}"
    );
    let output = boot.quiet().stdin("").ignore_status().output()?;
    let said = String::from_utf8_lossy(&output.stdout).replace('\r', "");
    let begin = said
        .find(machine.kernel.begins)
        .or_else(|| said.find("panicked"))
        .with_context(|| format!("the kernel never ran:\n{said}"))?;
    let status = output.status.code().context("qemu was killed")?;
    if status == 124 {
        bail!("the kernel hung:\n{}", &said[begin..]);
    }
    let took: Duration = start.elapsed();
    Ok((format!("{}: {:.1} s\n{}", machine.name, took.as_secs_f32(), &said[begin..]), status == machine.passed))
}

/// Makes a copy of the sources in which one thing is broken.
fn broken(sh: &Shell, here: &Path, twin: &Twin) -> Result<PathBuf> {
    let copy = here.join("target/kernels/twin");
    for part in [
        "crates/jumplabel/src",
        "crates/jumplabel-format/src",
        "crates/jumplabel/tests/conformance",
        "crates/jumplabel-kernel/src",
        "crates/jumplabel-capi/src",
        "crates/jumplabel-capi/include",
        "kernels/src",
        "kernels/module",
        "kernels/bare",
    ] {
        sh.remove_path(copy.join(part))?;
        let parent = copy.join(part);
        sh.create_dir(&parent)?;
        let (from, to) = (here.join(part).join("."), &parent);
        cmd!(sh, "cp -r {from} {to}").quiet().run()?;
    }
    for file in [
        "Cargo.toml",
        "crates/jumplabel/build.rs",
        "crates/jumplabel-format/Cargo.toml",
        "crates/jumplabel-format/build.rs",
        "crates/jumplabel-kernel/Cargo.toml",
        "crates/jumplabel-capi/Cargo.toml",
        "crates/jumplabel-capi/build.rs",
        "kernels/build.rs",
        "kernels/Cargo.toml",
        "kernels/Cargo.lock",
    ] {
        fs::copy(here.join(file), copy.join(file))?;
    }
    // The copy does not contain the crates that only the core's tests need, so its manifest leaves them out.
    let manifest = fs::read_to_string(here.join("crates/jumplabel/Cargo.toml"))?;
    let (before, tests) = manifest.split_once("[dev-dependencies]").context("the core has tests")?;
    let behind = tests.find("[lints]").context("and lints")?;
    fs::write(copy.join("crates/jumplabel/Cargo.toml"), format!("{before}{}", &tests[behind..]))?;

    let file = copy.join(twin.file);
    fs::write(&file, twin.of(&fs::read_to_string(&file)?)?)?;
    Ok(copy)
}
