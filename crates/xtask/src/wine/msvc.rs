//! x86_64-pc-windows-msvc, with sites (`--cfg jumplabel_unproven`): lld-link replaces MSVC's linker. MSVC's libraries may not be distributed, so
//! these are made here: import libraries from the tables of Wine's DLLs, and the few functions that MSVC's C library has in no DLL
//! (crates/xtask/src/wine/msvc/). lld-link looks for each library under the name that rustc gives it.

use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use xshell::{Shell, cmd};

use super::{FLAGS, OBJDUMP, Target};
use crate::printed;

pub const RUST: &str = "x86_64-pc-windows-msvc";
pub const LLD: &str = "lld-link-19";
const CLANG: &str = "clang-19";
const SOURCES: &str = "crates/xtask/src/wine/msvc";

/// The DLLs for which import libraries are made. Those of the C library share one library with the files in `SOURCES`.
const DLLS: &[&str] = &["kernel32", "ntdll", "userenv", "ws2_32", "dbghelp", "ucrtbase", "vcruntime140"];
const OF_THE_C_LIBRARY: &[&str] = &["ucrtbase", "vcruntime140"];

pub(super) fn target(sh: &Shell, prefix: &Path) -> Result<Target> {
    let libraries = crate::root().join("target/wine/msvc");
    sh.create_dir(&libraries)?;
    let mut parts = Vec::new();
    for dll in DLLS {
        let file = prefix.join(format!("drive_c/windows/system32/{dll}.dll"));
        let (exports, library) = (libraries.join(format!("{dll}.def")), libraries.join(format!("{dll}.lib")));
        sh.write_file(&exports, names(sh, &file, dll)?)?;
        printed(cmd!(sh, "{LLD} /lib /machine:x64 /def:{exports} /out:{library}"))?;
        if OF_THE_C_LIBRARY.contains(dll) {
            parts.push(library);
        }
    }
    for source in sh.read_dir(SOURCES)? {
        let object = libraries.join(source.file_name().context("a file")?).with_extension("obj");
        printed(cmd!(sh, "{CLANG} --target={RUST} -Wall -Wextra -Werror -O2 -c {source} -o {object}"))?;
        parts.push(object);
    }
    let library = libraries.join("msvcrt.lib");
    printed(cmd!(sh, "{LLD} /lib /out:{library} {parts...}"))?;
    let flags = format!("{FLAGS} --cfg jumplabel_unproven -Clink-arg=/libpath:{}", libraries.display());
    Ok(Target { rust: RUST, linker: Some(LLD), flags })
}

/// The text from which the linker makes an import library: the names of the functions that a DLL exports.
fn names(sh: &Shell, file: &Path, dll: &str) -> Result<String> {
    let tables = printed(cmd!(sh, "{OBJDUMP} -p {file}"))?;
    let mut text = format!("LIBRARY {dll}.dll\nEXPORTS\n");
    let rows = tables.split_once("[Ordinal/Name Pointer] Table").context("no names")?.1.lines().skip(1);
    let mut count = 0;
    for row in rows.take_while(|row| !row.is_empty()) {
        let name = row.rsplit(' ').next().unwrap_or_default();
        // Names of C++ are not needed.
        if name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric()) {
            writeln!(text, "{name}")?;
            count += 1;
        }
    }
    ensure!(count > 10, "{}: {count} names", file.display());
    Ok(text)
}
