//! Tests object files for Windows. For targets without sites, looks at the code that the compiler makes of a check. For MSVC's linker, looks at sites
//! as well: that linker cannot be run here, so the sites must have the same bytes, sections and relocations as for GNU ld and lld.

use anyhow::{Context, Result, ensure};
use xshell::{Shell, cmd};

use crate::programs::dependent;
use crate::wine::OBJDUMP;
use crate::{has, printed};

pub const MSVC: &str = crate::wine::msvc::RUST;
pub const I686: &str = "i686-pc-windows-gnu";
pub const AARCH64: &str = "aarch64-pc-windows-gnullvm";

const SOURCE: &str = "use jumplabel::{static_branch_unlikely, static_key};

static_key! { pub static KEY: false; }
static_key! { pub static OTHER: false; }

#[unsafe(no_mangle)]
pub extern \"C\" fn one(x: usize) -> usize {
    if static_branch_unlikely!(KEY) { x / 3 } else { x }
}

#[unsafe(no_mangle)]
pub extern \"C\" fn other(x: usize) -> usize {
    if static_branch_unlikely!(OTHER) { x / 3 } else { x }
}
";

/// Tests the object files of a target. Returns the line to print, or `None` if a tool is missing.
pub(super) fn objects(sh: &Shell, target: &str) -> Result<Option<String>> {
    if !has(OBJDUMP) {
        return Ok(None);
    }
    if target == MSVC {
        sites(sh)?;
    }
    loads(sh, target).map(Some)
}

/// Tests the sites of a build for MSVC that has them although they are untested with its linker (`jumplabel_unproven`): each check is one nop and 16
/// bytes of table, and all words of the table are distances.
fn sites(sh: &Shell) -> Result<()> {
    let object = compile(sh, MSVC, "--cfg jumplabel_unproven", "obj")?;
    let sections = printed(cmd!(sh, "{OBJDUMP} -h {object}"))?;
    let row = |name: &str| {
        sections.lines().map(|line| line.split_whitespace().skip(1)).find(|row| row.clone().next() == Some(name))
    };
    let bytes =
        |name: &str| row(name).and_then(|mut row| row.nth(1)).and_then(|size| usize::from_str_radix(size, 16).ok());
    ensure!(bytes(".rsrc_jt$m") == Some(32) && bytes(".vectors$jkm") == Some(24), "{MSVC}: {sections}");
    let relocations = printed(cmd!(sh, "{OBJDUMP} -r -j .rsrc_jt$m -j .vectors$jo -j .vectors$jkm {object}"))?;
    let kinds: Vec<_> = relocations.lines().filter(|line| line.contains("IMAGE_REL_")).collect();
    ensure!(kinds.len() == 1 + 4 + 6 && kinds.iter().all(|kind| kind.contains("_REL32 ")), "{MSVC}: {relocations}");
    let code = printed(cmd!(sh, "{OBJDUMP} -d {object}"))?;
    for function in ["<one>:", "<other>:"] {
        let body = code.split_once(function).context("no function")?.1;
        let hot = body.split_once("\tret").context("no end")?.0;
        ensure!(hot.matches("0f 1f 44 00 00").count() == 1 && !hot.contains("test"), "{MSVC}: {code}");
    }
    println!("{MSVC}, with sites, not linked: one nop and 16 bytes a check, {} relocations, all relative", kinds.len());
    Ok(())
}

/// Tests that a check loads its key, and that the object file has no table.
fn loads(sh: &Shell, target: &str) -> Result<String> {
    let kind = if target == AARCH64 { "asm" } else { "obj" };
    let file = compile(sh, target, "", kind)?;
    let (code, sections) = match kind {
        "asm" => (sh.read_file(&file)?, String::new()),
        _ => (printed(cmd!(sh, "{OBJDUMP} -d {file}"))?, printed(cmd!(sh, "{OBJDUMP} -h {file}"))?),
    };
    // The low 31 bits of a key count its users.
    let tests = code.matches("#0x7fffffff").count() + code.matches("$0x7fffffff,").count();
    ensure!(tests == 2, "{target}: {tests} tests: {code}");
    ensure!(!format!("{code}{sections}").contains("rsrc_jt"), "{target}: {code} {sections}");
    Ok(format!("{target}: a check loads"))
}

/// Compiles the source. Returns the path of the object file, or of the assembly text.
fn compile(sh: &Shell, target: &str, flags: &str, kind: &str) -> Result<String> {
    let directory = "target/elsewhere-windows";
    let manifest = dependent(sh, directory, "checks", "lib.rs", SOURCE)?;
    // The path is absolute, because rustc runs in another directory.
    let file = crate::root().join(format!("{directory}/checks.{kind}")).display().to_string();
    let cargo = cmd!(
        sh,
        "cargo rustc --quiet --release --target-dir target/elsewhere --target {target} --manifest-path {manifest}"
    );
    printed(cargo.env("RUSTFLAGS", flags).args(["--", &format!("--emit={kind}={file}")])).context(target.to_owned())?;
    Ok(file)
}
