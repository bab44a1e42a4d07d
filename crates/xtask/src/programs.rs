//! Builds programs for another instruction set, in target/arches.

use std::path::PathBuf;

use anyhow::{Context, Result};
use xshell::{Cmd, Shell, cmd};

use crate::targets::{Compiler, Target};

impl Target {
    /// The command of the C compiler.
    pub fn cc(&self) -> String {
        match self.compiler {
            Compiler::Gcc(gnu, _) => format!("{gnu}-gcc"),
            Compiler::Zig(..) => format!("{}/target/zig/{}-cc", crate::root().display(), self.name),
        }
    }
}

/// A cargo subcommand for the target, with flags for rustc.
pub fn cargo<'a>(sh: &'a Shell, target: &Target, subcommand: &str, rustflags: &str) -> Cmd<'a> {
    let (toolchain, needs): (&[&str], _) = match target.compiler {
        Compiler::Gcc(..) => (&[], ""),
        Compiler::Zig(_, needs) => (&["+nightly", "-Zbuild-std=std,panic_unwind,proc_macro,test"], needs),
    };
    let rust = target.rust;
    // Without the flag, cargo also builds a decoder of x86 instructions for the tests. Some tests of x86 need it, such as the set `up`.
    let portable = if rust.starts_with(['x', 'i']) { "" } else { "--cfg jumplabel_portable_tests" };
    cmd!(sh, "cargo {toolchain...} {subcommand} --target-dir target/arches --target {rust}")
        .env(variable(target.rust, "LINKER"), target.cc())
        // Debug information takes longer to link than the tests take to run.
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .env("RUSTFLAGS", format!("{rustflags} {needs} {portable}"))
        .quiet()
}

/// The name of cargo's environment variable `what` for a target. `rust` is rustc's name of the target.
pub fn variable(rust: &str, what: &str) -> String {
    format!("CARGO_TARGET_{}_{what}", rust.replace('-', "_").to_uppercase())
}

/// Writes a crate that depends on the core, in a directory two levels below the root. Returns the path of its manifest.
pub fn dependent(sh: &Shell, directory: &str, name: &str, file: &str, source: &str) -> Result<String> {
    sh.write_file(format!("{directory}/src/{file}"), source)?;
    let manifest = format!("{directory}/Cargo.toml");
    sh.write_file(
        &manifest,
        format!(
            "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
             [dependencies]\njumplabel = {{ path = \"../../crates/jumplabel\" }}\n"
        ),
    )?;
    Ok(manifest)
}

/// The directory of the target's release builds.
pub fn results(target: &Target) -> PathBuf {
    ["target/arches", target.rust, "release"].iter().collect()
}

/// Builds the C library, as `staticlib` or `cdylib`.
pub fn c_library(sh: &Shell, target: &Target, sort: &str) -> Result<()> {
    let build = cargo(sh, target, "rustc", "").args(["--quiet", "--release", "-p", "jumplabel-capi", "--lib"]);
    let name = ["--", "-C", "link-arg=-Wl,-soname,libjumplabel.so.0"].iter().filter(|_| sort == "cdylib");
    Ok(build.args(["--crate-type", sort]).args(name).run()?)
}

/// The sources of the conformance suite of the C API.
pub const CONFORMANCE: &[&str] = &["conformance", "elsewhere", "base", "main"];

/// Builds a program of the C API's tests with this compiler and these options. Shows warnings about glibc's static library only if the build fails.
pub fn in_c(sh: &Shell, target: &Target, compiler: &str, names: &[&str], to: &str) -> Result<()> {
    let (sources, library) = ("crates/jumplabel-capi/tests/c", results(target).join("libjumplabel_capi.a"));
    let compiler = compiler.split_whitespace();
    let files = names.iter().map(|name| format!("{sources}/{name}.c"));
    let compile = cmd!(sh, "env {compiler...} -std=c11 -Wall -Wextra -pedantic -Werror -D_GNU_SOURCE -static")
        .args(["-Icrates/jumplabel-capi/include"])
        .args(files)
        .args([library])
        .args(["-lpthread", "-ldl", "-o", to]);
    crate::printed(compile).context("it does not build").map(drop)
}

/// The directory of the cross compiler's dynamic C library, and the name of its loader.
pub fn libraries(sh: &Shell, target: &Target) -> Result<(PathBuf, String)> {
    let compiler = target.cc();
    let library = PathBuf::from(cmd!(sh, "{compiler} -print-file-name=libc.so.6").quiet().read()?).canonicalize()?;
    let directory = library.with_file_name("");
    let mut names = directory.read_dir()?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    // Examples: ld-linux-aarch64.so.1, ld64.so.2
    let loader = names.find(|name| name.starts_with("ld") && name.contains(".so."));
    Ok((directory, loader.context("a C library has a loader")?))
}

/// Builds the program and the plugins of tests/objects.rs into a directory. They are dynamically linked, and name the cross compiler's C library and
/// its loader by full paths.
pub fn objects(sh: &Shell, target: &Target, to: &str) -> Result<()> {
    let (libraries, loader) = libraries(sh, target)?;
    let libraries = libraries.display();
    cargo(sh, target, "build", &format!("-Clink-arg=-Wl,-rpath={libraries},--dynamic-linker={libraries}/{loader}"))
        .args(["--quiet", "--release", "--manifest-path", "test-crates/objects/Cargo.toml", "--workspace"])
        .run()?;
    sh.create_dir(to)?;
    for name in ["objects", "host", "libplugin.so", "libsecond.so", "liblinger.so"] {
        sh.copy_file(results(target).join(name), to)?;
    }
    Ok(())
}

/// The sum of one number over all sets of tests in a log. A line says: "ok. 3 passed; 0 failed; 1 ignored; ...".
pub fn sum(log: &str, what: &str) -> u32 {
    let results = log.lines().filter(|line| line.starts_with("test result"));
    let number =
        |line: &str| line.split([';', '.']).find_map(|part| part.trim().strip_suffix(what)?.trim().parse::<u32>().ok());
    results.filter_map(number).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums() {
        let log = "test a ... ok\ntest result: ok. 30 passed; 0 failed; 2 ignored; 0 measured; 1 filtered out; finished in 1.30s\n\
                   3 passed; no result\ntest result: FAILED. 4 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n";
        assert_eq!(["passed", "failed", "ignored"].map(|what| sum(log, what)), [34, 1, 2]);
    }
}
