//! Links programs for macOS and FreeBSD by zig, which has what a linker needs of these systems' libraries: README's first program; in C, README's
//! program, the conformance tests with the library's fallback, and a program that has jumplabel-optional.h alone. Nothing here runs such a program,
//! so this looks at the header of each file.

use anyhow::{Context, Result, ensure};
use xshell::{Shell, cmd};

use crate::printed;
use crate::programs::{CONFORMANCE, dependent, variable};
use crate::zig;

/// A system for which zig links: rustc's name and zig's name of the target, the libraries that C programs need beside ours, and the file's header.
struct System {
    rust: &'static str,
    zig: &'static str,
    libraries: &'static [&'static str],
    file: File,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum File {
    /// An executable Mach-O file of 64 bits. The number is that of the processor (`cputype` in mach-o/loader.h).
    MachO(u32),
    /// An executable ELF file of 64 bits: its instruction set (`e_machine`), and whether FreeBSD's loader loads it.
    Elf(u16, bool),
}

/// The loader that a program for FreeBSD names (`PT_INTERP`).
const FREEBSD: &[u8] = b"/libexec/ld-elf.so.1\0";

const SYSTEMS: &[System] = &[
    System { rust: "x86_64-apple-darwin", zig: "x86_64-macos", libraries: &[], file: File::MachO(0x0100_0007) },
    System { rust: "aarch64-apple-darwin", zig: "aarch64-macos", libraries: &[], file: File::MachO(0x0100_000c) },
    System {
        rust: "x86_64-unknown-freebsd",
        zig: "x86_64-freebsd",
        libraries: &["-lpthread", "-lgcc_s"],
        file: File::Elf(62, true),
    },
];

/// Libraries of FreeBSD that rustc asks for and that zig does not have. No program here uses them.
const LEFT_OUT: &[&str] = &["-lkvm", "-lmemstat", "-lprocstat", "-ldevstat"];

/// Android, by rustc's name and by zig's. Zig has no C library for it.
const ANDROID: (&str, &str) = ("aarch64-linux-android", "aarch64-linux-android");

/// A text that README's programs print. So the files of these programs contain it once they are linked.
const TEXT: &[u8] = b"work(";

/// Links the programs for a target, and looks at the files. `None` if zig does not link for it; otherwise the line to print.
pub(super) fn programs(sh: &Shell, target: &str) -> Result<Option<String>> {
    if target == ANDROID.0 {
        return refused(sh).map(Some);
    }
    let Some(system) = SYSTEMS.iter().find(|system| system.rust == target) else { return Ok(None) };
    let cc = compiler(sh, system.zig)?;
    let programs = [in_rust(sh, system, &cc)?, with_library(sh, system, &cc)?, alone(sh, system, &cc)?].concat();
    for program in &programs {
        let bytes = std::fs::read(program).with_context(|| program.clone())?;
        let file = File::of(&bytes);
        ensure!(file == Some(system.file), "{program}: {file:?}, not {:?}", system.file);
        let prints = bytes.windows(TEXT.len()).any(|bytes| bytes == TEXT);
        ensure!(prints == program.contains("example"), "{program}: does not contain what README's program prints");
    }
    Ok(Some(format!("{target}: {} programs linked by zig, in Rust and in C, not run", programs.len())))
}

/// Whether zig is needed for a target.
pub(super) fn needs_zig(target: &str) -> bool {
    target == ANDROID.0 || SYSTEMS.iter().any(|system| system.rust == target)
}

/// Writes the command that compiles and links for a target by zig's name. Returns its path.
fn compiler(sh: &Shell, target: &str) -> Result<String> {
    let path = crate::root().join("target/elsewhere").join(format!("{target}-cc")).display().to_string();
    // With one level of optimisation for all programs, zig compiles its own library for the target only once.
    zig::command(sh, &path, &format!("-target {target} -O2"), LEFT_OUT)?;
    Ok(path)
}

/// Checks the library for C for Android. Also tests that zig still cannot link for Android, as the documents say.
fn refused(sh: &Shell) -> Result<String> {
    let (rust, target) = ANDROID;
    printed(cmd!(sh, "cargo check --quiet --target-dir target/elsewhere -p jumplabel-capi --target {rust}"))?;
    let (cc, source) = (compiler(sh, target)?, readme(sh, "c")?);
    let output = cmd!(sh, "{cc} {source} -o target/elsewhere/refused").quiet().ignore_status().output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(!output.status.success() && said.contains("unable to provide libc"), "{rust}: zig may link now: {said}");
    Ok(format!("{rust}: the library for C checked; not linked, because zig has no C library for it"))
}

/// Writes README's first program in this language. Returns the path of the source.
fn readme(sh: &Shell, language: &str) -> Result<String> {
    let readme = sh.read_file("README.md")?;
    let program = readme.split_once(&format!("```{language}\n")).and_then(|(_, rest)| rest.split_once("```"));
    let source = format!("target/elsewhere/example.{language}");
    sh.write_file(&source, program.context("README.md has no program")?.0)?;
    Ok(source)
}

/// Links README's first program.
fn in_rust(sh: &Shell, system: &System, cc: &str) -> Result<Vec<String>> {
    let program = sh.read_file(readme(sh, "rust")?)?;
    let manifest = dependent(sh, "target/elsewhere-readme", "example", "main.rs", &program)?;
    let target = system.rust;
    let build = cmd!(sh, "cargo build --quiet --target-dir target/elsewhere --target {target}")
        .args(["--manifest-path", &manifest])
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .env(variable(target, "LINKER"), cc);
    printed(build).with_context(|| format!("README.md for {target}"))?;
    Ok(vec![format!("target/elsewhere/{target}/debug/example")])
}

/// Links programs in C with the library.
fn with_library(sh: &Shell, system: &System, cc: &str) -> Result<Vec<String>> {
    let System { rust: target, libraries, .. } = system;
    let build = cmd!(sh, "cargo rustc --quiet --target-dir target/elsewhere --target {target} -p jumplabel-capi --lib");
    printed(build.args(["--crate-type", "staticlib"]).env("CARGO_PROFILE_DEV_DEBUG", "0"))
        .with_context(|| format!("the library in C for {target}"))?;
    let library = format!("target/elsewhere/{target}/debug/libjumplabel_capi.a");
    let conformance = CONFORMANCE.iter().map(|name| source(name)).collect();
    let mut programs = Vec::new();
    for (name, sources) in [("example-c", vec![readme(sh, "c")?]), ("conformance", conformance)] {
        let program = format!("target/elsewhere/{target}/debug/{name}");
        let compile = cmd!(sh, "{cc} -std=c11 -Wall -Wextra -pedantic -Werror -DJUMPLABEL_FALLBACK -D_GNU_SOURCE");
        let compile = compile.arg(HEADERS).args(sources).arg(&library).args(*libraries).args(["-o", &program]);
        printed(compile).with_context(|| format!("{name} for {target}"))?;
        programs.push(program);
    }
    Ok(programs)
}

/// Links a program in C with jumplabel-optional.h, without the library.
fn alone(sh: &Shell, system: &System, cc: &str) -> Result<Vec<String>> {
    let target = system.rust;
    let program = format!("target/elsewhere/{target}/debug/optional");
    let compile = cmd!(sh, "{cc} -std=c99 -Wall -Wextra -Werror -DJUMPLABEL_OPTIONAL_USE=0 {HEADERS}");
    let compile = compile.args(["optional", "optional_other"].map(source)).args(["-o", &program]);
    printed(compile).with_context(|| format!("jumplabel-optional.h for {target}"))?;
    Ok(vec![program])
}

const HEADERS: &str = "-Icrates/jumplabel-capi/include";

fn source(name: &str) -> String {
    format!("crates/jumplabel-capi/tests/c/{name}.c")
}

impl File {
    /// Reads the headers of a file. `None` if the file is no program of 64 bits, in Mach-O or in ELF.
    fn of(bytes: &[u8]) -> Option<File> {
        const MH_EXECUTE: u32 = 2;
        const PT_INTERP: u32 = 3;
        let part = |at: usize, count: usize| bytes.get(at..at.checked_add(count)?);
        let short = |at| part(at, 2)?.try_into().ok().map(u16::from_le_bytes);
        let long = |at| part(at, 4)?.try_into().ok().map(u32::from_le_bytes);
        match (long(0)?, part(4, 2)?) {
            (0xfeed_facf, _) => (long(12)? == MH_EXECUTE).then_some(File::MachO(long(4)?)),
            // 64 bits, little endian. The type is ET_EXEC, or ET_DYN: a program that can be loaded anywhere.
            (0x464c_457f, [2, 1]) if matches!(short(16)?, 2 | 3) => {
                let (table, size, count): (usize, usize, usize) =
                    (long(32)? as usize, short(54)?.into(), short(56)?.into());
                let mut rows = (0..count).filter_map(|row| table.checked_add(row * size));
                let loader = rows.find(|&row| long(row) == Some(PT_INTERP));
                let name = loader.and_then(|row| part(long(row + 8)? as usize, long(row + 32)? as usize));
                Some(File::Elf(short(18)?, name == Some(FREEBSD)))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers() {
        let macho = |kind: u8| [&[0xcf, 0xfa, 0xed, 0xfe, 0x0c, 0, 0, 1, 0, 0, 0, 0, kind][..], &[0; 19]].concat();
        assert_eq!(File::of(&macho(2)), Some(File::MachO(0x0100_000c)));
        assert_eq!(File::of(&macho(1)), None, "an object file");
        // The file header, which says that one row of 56 bytes follows it; that row; the name of the loader.
        let elf = |kind, loader: &[u8]| {
            let header = [&b"\x7fELF\x02\x01\x01"[..], &[0; 9], &[kind, 0, 62, 0], &[0; 12], &[64], &[0; 21]].concat();
            let row = [&[3, 0, 0, 0, 0, 0, 0, 0, 120][..], &[0; 23], &[loader.len() as u8], &[0; 23]].concat();
            [&header[..], &[56, 0, 1, 0, 0, 0, 0, 0, 0, 0], &row, loader].concat()
        };
        for kind in [2, 3] {
            assert_eq!(File::of(&elf(kind, FREEBSD)), Some(File::Elf(62, true)));
        }
        assert_eq!(File::of(&elf(3, b"/lib64/ld-linux-x86-64.so.2\0")), Some(File::Elf(62, false)));
        assert_eq!(File::of(&elf(1, FREEBSD)), None, "an object file");
        assert_eq!((File::of(b""), File::of(b"MZ______________________")), (None, None));
    }
}
