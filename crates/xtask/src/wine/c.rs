//! Tests the C headers under Wine. Clang compiles them with sites, and GNU ld and lld link the programs; mingw's gcc compiles the fallback.

mod bytes;
mod modules;

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use xshell::{Shell, cmd};

use super::{COMPILER, CXX_COMPILER, LIMIT, OBJDUMP, RUST, Target, wine, with};
use crate::{has, printed};

/// The first clang whose assembler is known to support sites in PE files, and (`LLD`) the linker of the same version.
pub const CLANG: &str = "clang++-19";
pub const LLD: &str = "ld.lld-19";
/// A later clang, which not every release of the distribution has.
const LATER: &str = "clang-22";

const HEADERS: &str = "crates/jumplabel-capi/include";
const SOURCES: &str = "crates/jumplabel-capi/tests/c";
const CONFORMANCE: &str = "conformance.c elsewhere.c base.c main.c";
const COLLECTED: &str = "-O3 -ffunction-sections -fdata-sections -Wl,--gc-sections";

/// A program to compile: the compiler, its flags, and the files.
pub(super) struct Program<'a> {
    pub(super) compiler: &'a str,
    pub(super) flags: &'a str,
    pub(super) files: &'a str,
}

/// A shell, Wine's prefix, and the library that the programs link: its target and its path.
pub(super) struct Headers<'a> {
    sh: &'a Shell,
    prefix: &'a Path,
    rust: &'static str,
    library: String,
}

impl<'a> Headers<'a> {
    /// Builds the library of jumplabel-capi.
    pub(super) fn new(sh: &'a Shell, prefix: &'a Path) -> Result<Headers<'a>> {
        Headers::of(sh, prefix, &Target::gnu(), "jumplabel-capi")
    }

    /// Builds the library of `package`, which contains jumplabel-capi and more.
    pub(super) fn of(sh: &'a Shell, prefix: &'a Path, target: &Target, package: &str) -> Result<Headers<'a>> {
        let capi = if package == "jumplabel-capi" { &[][..] } else { &["--features", "capi"] };
        let kind = ["--release", "-p", package, "--lib", "--crate-type", "staticlib"];
        printed(target.cargo(sh, prefix, "rustc").args(kind).args(capi))?;
        let rust = target.rust;
        let library = format!("target/wine/{rust}/release/lib{}.a", package.replace('-', "_"));
        Ok(Headers { sh, prefix, rust, library })
    }

    /// Tests the README's program in C: with sites by clang, with the fallback by gcc.
    pub(super) fn readme(&self) -> Result<()> {
        let readme = self.sh.read_file("README.md")?;
        let program = readme.split_once("```c\n").and_then(|(_, rest)| rest.split_once("```"));
        let source = format!("{}/target/wine/example.c", crate::root().display());
        self.sh.write_file(&source, program.context("README.md has no program in C")?.0)?;
        for (compiler, flags) in [(COMPILER, "-O2 -DJUMPLABEL_FALLBACK"), ("clang-19", "-O2")] {
            let said = self.run(&Program { compiler, flags, files: &source })?;
            let works = said.lines().map(str::trim_end).filter(|line| line.starts_with("work("));
            ensure!(works.eq(["work(2)"]), "README.md, in C, {compiler}: {said}");
            println!("README.md, in C, by {compiler}: work(2)");
        }
        Ok(())
    }

    /// Runs the tests of the headers.
    pub(super) fn tests(&self) -> Result<()> {
        let lld = |flags: &str| format!("{flags} -fuse-ld={}", LLD.trim_start_matches("ld."));
        let (lld_0, lld_2, lld_collected) = (lld("-O0"), lld("-O2"), lld(COLLECTED));
        for (compiler, flags) in [
            ("clang-19", "-O0"),
            ("clang-19", COLLECTED),
            ("clang-19", &*lld_collected),
            ("clang-19", "-O2 -DJUMPLABEL_FALLBACK"),
            (COMPILER, "-O2 -DJUMPLABEL_FALLBACK"),
            (CXX_COMPILER, "-O2 -DJUMPLABEL_FALLBACK"),
            (CLANG, "-O2"),
            (CLANG, &*lld_0),
        ] {
            self.conforms(compiler, flags)?;
        }
        if has(LATER) {
            self.conforms(LATER, "-O2")?;
        } else {
            println!("left out: {LATER}");
        }
        for (compiler, files) in [
            (CLANG, "cxx.cc"),
            (CLANG, "calls.cc"),
            (CLANG, "several.cc several_other.cc"),
            ("clang-19", "switches.c switched.c"),
            ("clang-19", "listing.c"),
            ("clang-19", "names.c"),
        ] {
            for flags in ["-O0", &*lld_2] {
                self.ok(&Program { compiler, flags, files })?;
            }
        }
        // `lld` without a number is the linker of clang's own version, which link-time optimisation needs.
        self.ok(&Program { compiler: CLANG, flags: "-O2 -flto -fuse-ld=lld", files: "cxx.cc" })?;
        for flags in ["-O0", COLLECTED, &*lld_2, &*lld_collected] {
            self.discarded(flags)?;
        }
        for flags in ["-O0", &*lld_2] {
            self.modules(flags)?;
        }
        self.modules_in_the_fallback()?;
        self.twins()?;
        self.refused()?;
        self.relocations()?;
        self.instructions()
    }

    /// Runs a few of the tests, with a library that is built for another target than mingw's.
    pub(super) fn few(&self) -> Result<()> {
        for (compiler, flags) in [("clang-19", "-O2 -fuse-ld=lld-19"), (CLANG, "-O0 -fuse-ld=lld-19")] {
            self.conforms(compiler, flags)?;
            self.ok(&Program { compiler: CLANG, flags, files: "calls.cc" })?;
            self.discarded(flags)?;
        }
        Ok(())
    }

    /// Runs tests/c/conformance.c. It must make at least as many checks as on Linux.
    fn conforms(&self, compiler: &str, flags: &str) -> Result<()> {
        let numbers = self.ok(&Program { compiler, flags, files: CONFORMANCE })?;
        let least = if flags.contains("FALLBACK") { 300 } else { 20_000 };
        ensure!(numbers.first().is_some_and(|&count| count >= least), "{compiler} {flags}: {numbers:?}");
        println!("{}, conformance.c by {compiler} {flags}: {numbers:?} checks", self.rust);
        Ok(())
    }

    /// Tests functions that both files define. The table keeps the entries of both, but only one function of each pair has a site.
    fn discarded(&self, flags: &str) -> Result<()> {
        let numbers = self.ok(&Program { compiler: CLANG, flags, files: "discarded.cc discarded_other.cc" })?;
        let &[entries, live] = &numbers[..] else { bail!("discarded.cc {flags}: {numbers:?}") };
        ensure!(live > 5 && entries >= live + 5, "discarded.cc {flags}: {numbers:?}");
        self.tool("check", "program.exe", &[])?;
        self.tool("list", "program.exe", &["of<short>::key off 1", "shared off ", "shared_loads off 2", "way 0/3 2"])
    }

    /// Tests programs that are broken on purpose: they must fail.
    fn twins(&self) -> Result<()> {
        let only_counts = format!("{CONFORMANCE} only_counts.c");
        for (flags, files, expected) in [
            ("-O2 -DBREAK_A_BYTE", CONFORMANCE, " holds "),
            ("-O2 -Dstatic_key_enable=only_counts", &*only_counts, " holds "),
            // This one is not broken. Nobody defines its weak key, and a flip of that key must be refused.
            ("-O2", "weak.c", "jumplabel_enable(&key.key) == 0"),
        ] {
            let Err(found) = self.run(&Program { compiler: "clang-19", flags, files }) else {
                bail!("{flags}: nothing was found out");
            };
            ensure!(format!("{found:#}").contains(expected), "{flags}: {found:#}");
        }
        Ok(())
    }

    /// Tests the messages of compilers that have no sites, and programs that must be refused.
    fn refused(&self) -> Result<()> {
        let source = format!("{}/target/wine/imported.c", crate::root().display());
        self.sh.write_file(
            &source,
            "#include <jumplabel.h>\nextern __declspec(dllimport) struct static_key_false key;\n\
             int main(void)\n{\n\treturn static_branch_unlikely(&key);\n}\n",
        )?;
        for (compiler, flags, expected) in [
            (COMPILER, "-O2", "jumplabel has sites in PE files with clang 19 and later"),
            ("clang-16", "-O2", "jumplabel has sites in PE files with clang 19 and later"),
            ("clang-19", "-O2 -masm=intel", "jumplabel has sites in PE files with -masm=att"),
        ] {
            self.is_refused(&Program { compiler, flags, files: "listing.c" }, expected)?;
        }
        self.is_refused(&Program { compiler: "clang-19", flags: "-O2", files: &source }, "_IMPORTED()")?;
        // In C and C++, compilers for MSVC have only <jumplabel-optional.h>.
        let msvc = cmd!(self.sh, "clang-19 --target=x86_64-pc-windows-msvc -fsyntax-only -I{HEADERS} {source}");
        let said = String::from_utf8_lossy(&msvc.quiet().ignore_status().output()?.stderr).into_owned();
        ensure!(said.contains("jumplabel needs a compiler that understands GNU C"), "MSVC: {said}");
        // With link-time optimisation, this linker looks for the symbol of a static call too early: it has not yet made the code of the function in
        // which assembly text defines the symbol.
        let lto = Program { compiler: CLANG, flags: "-O2 -flto -fuse-ld=lld", files: "calls.cc" };
        self.is_refused(&lto, "undefined symbol: __SCT__")
    }

    fn is_refused(&self, what: &Program<'_>, expected: &str) -> Result<()> {
        let said = self.build(what).err().map(|error| format!("{error:#}")).unwrap_or_default();
        ensure!(said.contains(expected), "{} {} {}: {said}", what.compiler, what.flags, what.files);
        Ok(())
    }

    /// Tests that the tool's output about a file has these words. The tool must find nothing wrong.
    fn tool(&self, command: &str, file: &str, expected: &[&str]) -> Result<()> {
        let which: &[&str] = if command == "disasm" { &["*"] } else { &[] };
        let run = cmd!(self.sh, "cargo run --quiet -p jumplabel-cli --bin jumplabel -- {command} target/wine/{file}")
            .args(which);
        let said = printed(run)?;
        let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
        let missing = expected.iter().find(|expected| !words.contains(**expected));
        ensure!(missing.is_none(), "{command} {file}: no {missing:?}: {said}");
        Ok(())
    }

    fn objdump(&self, what: &str, program: &str) -> Result<String> {
        printed(cmd!(self.sh, "{OBJDUMP} {what} {program}"))
    }

    /// Compiles and links a program. Returns its path.
    pub(super) fn build(&self, what: &Program<'_>) -> Result<String> {
        self.build_to(what, "program.exe")
    }

    /// Compiles and links a program under this name. Returns its path.
    fn build_to(&self, what: &Program<'_>, name: &str) -> Result<String> {
        let Program { compiler, flags, files } = what;
        let program = format!("target/wine/{name}");
        let is_cxx = compiler.contains("++");
        let target = compiler.starts_with("clang").then_some("--target=x86_64-w64-windows-gnu");
        let language: &[&str] = if is_cxx { &["-x", "c++", "-std=c++17"] } else { &["-std=gnu11"] };
        // `join` leaves an absolute path as it is.
        let files = files.split(' ').map(|file| Path::new(SOURCES).join(file));
        let (library, flags) = (&self.library, flags.split(' '));
        let compile = cmd!(self.sh, "{compiler} -Wall -Wextra -Werror -I{HEADERS} -I{SOURCES} -static -o {program}")
            .args(target)
            .args(flags)
            .args(language)
            .args(files)
            .args(is_cxx.then_some(["-x", "none"]).into_iter().flatten());
        printed(compile.args([library, "-lntdll", "-luserenv", "-lws2_32", "-lpthread"]))
            .with_context(|| format!("{compiler} {} {}", what.flags, what.files))?;
        Ok(program)
    }

    /// The numbers after the `ok` that a program prints. (A service of Wine's may print, too.)
    fn ok(&self, what: &Program<'_>) -> Result<Vec<usize>> {
        let said = self.run(what)?;
        let line = said.lines().find(|line| line.trim_end() == "ok" || line.starts_with("ok "));
        let words = line.with_context(|| format!("{} {}: {said}", what.files, what.flags))?.split_whitespace().skip(1);
        Ok(words.filter_map(|word| word.parse().ok()).collect())
    }

    /// The output of a program.
    fn run(&self, what: &Program<'_>) -> Result<String> {
        let program = self.build(what)?;
        let wine = wine().context("wine64")?;
        printed(with(cmd!(self.sh, "timeout {LIMIT} {wine} {program}"), self.prefix))
            .with_context(|| format!("{} {} {}", what.compiler, what.flags, what.files))
    }
}
