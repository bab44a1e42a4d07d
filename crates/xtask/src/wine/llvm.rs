//! Tests x86_64-pc-windows-gnullvm: the same system and the same C library, but clang and lld link. The distribution has no LLVM unwinder for
//! Windows, so gcc's is used, which has the same functions.

use std::path::Path;

use anyhow::{Context, Result};
use xshell::{Cmd, Shell, cmd};

use super::{COMPILER, LIMIT, optimised, wine, with};
use crate::printed;
use crate::programs::sum;

pub const RUST: &str = "x86_64-pc-windows-gnullvm";
const CLANG: &str = "clang-19";

/// The sets of the other target, without torture, which does not depend on the linker.
const SETS: &str =
    "keys reach naked records lists or_load calls switches scoped tracepoints ops up plan threads windows";

pub(super) fn tests(sh: &Shell, prefix: &Path) -> Result<()> {
    let unwinder = cmd!(sh, "{COMPILER} -print-file-name=libgcc_eh.a").quiet().read()?;
    let libraries = crate::root().join("target/wine/llvm");
    sh.create_dir(&libraries)?;
    sh.copy_file(unwinder, libraries.join("libunwind.a"))?;
    let flags = format!(
        "--cfg jumplabel_portable_tests -Clink-arg=--target=x86_64-w64-windows-gnu -Clink-arg=-fuse-ld=lld-19 -Lnative={}",
        libraries.display()
    );
    let cargo = |subcommand: &str| cargo(sh, prefix, &flags, subcommand);
    printed(cargo("build").args(["--release", "--manifest-path", "test-crates/dll/Cargo.toml"]))?;
    let dll = format!("Z:{}/target/wine/{RUST}/release/dll.dll", crate::root().display());
    for (sets, profile) in [(SETS, &[][..]), (super::OPTIMISED, &["--release"])] {
        let tests = sets.split(' ').flat_map(|set| ["--test", set]);
        let command = cargo("test").env("JUMPLABEL_DLL", &dll).args(profile).args(["-p", "jumplabel", "--lib"]);
        let log = printed(command.args(tests)).with_context(|| format!("{RUST} {profile:?}"))?;
        println!("{RUST}{}: {} passed, {} ignored", optimised(profile), sum(&log, "passed"), sum(&log, "ignored"));
    }
    Ok(())
}

fn cargo<'a>(sh: &'a Shell, prefix: &Path, flags: &str, subcommand: &str) -> Cmd<'a> {
    let command = cmd!(sh, "cargo {subcommand} --quiet --target-dir target/wine --target {RUST}")
        .env("CARGO_TARGET_X86_64_PC_WINDOWS_GNULLVM_RUNNER", format!("timeout {LIMIT} {}", wine().unwrap_or_default()))
        .env("CARGO_TARGET_X86_64_PC_WINDOWS_GNULLVM_LINKER", CLANG)
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .env("RUSTFLAGS", flags);
    with(command, prefix)
}
