//! DLLs in C: keys of one module that others check; what a DLL does while it is unloaded.

use anyhow::{Context, Result, ensure};
use xshell::cmd;

use super::{COMPILER, Headers, LIMIT, Program, RUST, wine, with};
use crate::printed;

/// A program that declares a key of `keys.dll` by `extern` alone. Prints what it gets for flips of that key.
const EXTERN: &str = "#include <jumplabel.h>
#include <stdio.h>
extern struct static_key_false module_off;
int main(void)
{
    int result = jumplabel_enable(&module_off.key);

    return printf(\"flip %d check %d\\n\", result, static_branch_unlikely(&module_off)) < 0;
}
";

/// How programs and DLLs are compiled.
#[derive(Clone, Copy)]
struct Way<'a> {
    compiler: &'a str,
    flags: &'a str,
    /// The library by which others import what `keys.dll` exports.
    import: &'a str,
}

impl Headers<'_> {
    /// Tests keys that one DLL defines. A program checks them, and so does a second DLL, which is loaded and unloaded.
    pub(super) fn modules(&self, flags: &str) -> Result<()> {
        let import = format!("{}/target/wine/libkeys.dll.a", crate::root().display());
        let way = Way { compiler: "clang-19", flags, import: &import };
        self.keys(way)?;
        let said = self.with_plugin(way, "modules_plugin.c", "modules.c")?;
        println!("{RUST}, in C: keys of a DLL, {flags}: {said}");
        // The tool must list names, defaults and numbers of sites, also for keys of the other module.
        self.tool("list", "keys.dll", &["module_call module_one 1", "module_off off 2", "module_on on 2"])?;
        self.tool("list", "plugin.dll", &["module_off off 2", "module_on on 2", "own off 1"])?;
        self.tool("sites", "program.exe", &["0f1f440000 nop module_off state", "jump module_off state"])?;
        self.tool("disasm", "plugin.dll", &["; off", "; on"])?;
        self.tool("check", "keys.dll", &[])?;
        self.tool("check", "program.exe", &[])?;
        let said = self.with_plugin(way, "leaving.c", "leaving_host.c")?;
        println!("{RUST}, in C: a DLL that flips while it is unloaded, {flags}: {said}");
        self.by_extern_alone(way)
    }

    /// Tests the same keys and calls in the fallback.
    pub(super) fn modules_in_the_fallback(&self) -> Result<()> {
        let import = format!("{}/target/wine/libkeys.dll.a", crate::root().display());
        for (compiler, flags) in [(COMPILER, "-O2 -DJUMPLABEL_FALLBACK"), ("clang-19", "-O0 -DJUMPLABEL_FALLBACK")] {
            let way = Way { compiler, flags, import: &import };
            self.keys(way)?;
            let said = self.with_plugin(way, "modules_plugin.c", "modules.c")?;
            println!("{RUST}, in C: keys of a DLL, {compiler} {flags}: {said}");
        }
        Ok(())
    }

    /// Tests a program that declares an imported key by `extern` alone: it must not run, or flips must be refused. (Its checks can be wrong.)
    fn by_extern_alone(&self, Way { compiler, flags, import }: Way<'_>) -> Result<()> {
        let source = format!("{}/target/wine/extern.c", crate::root().display());
        self.sh.write_file(&source, EXTERN)?;
        let program = self.build(&Program { compiler, flags, files: &format!("{source} {import}") })?;
        let wine = wine().context("wine64")?;
        let command = with(cmd!(self.sh, "timeout {LIMIT} {wine} {program}"), self.prefix);
        let output = command.quiet().ignore_status().output()?;
        let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        let is_refused = said.contains("flip -");
        let has_ended = !output.status.success() && said.contains("pseudo relocation") && !said.contains("flip ");
        ensure!(is_refused || has_ended, "extern alone, {flags}: {:?}: {said}", output.status);
        Ok(())
    }

    /// Builds the DLL that has the keys, and the library by which others import them.
    fn keys(&self, Way { compiler, flags, import }: Way<'_>) -> Result<()> {
        let flags = format!("{flags} -shared -Wl,--out-implib,{import}");
        self.build_to(&Program { compiler, flags: &flags, files: "modules_keys.c" }, "keys.dll").map(drop)
    }

    /// Builds a program, and a DLL that it loads, and runs the program. Returns the line that begins with "ok".
    fn with_plugin(&self, Way { compiler, flags, import }: Way<'_>, plugin: &str, host: &str) -> Result<String> {
        let shared = format!("{flags} -shared");
        let files = format!("{plugin} {import}");
        self.build_to(&Program { compiler, flags: &shared, files: &files }, "plugin.dll")?;
        let files = format!("{host} {import}");
        let program = self.build(&Program { compiler, flags, files: &files })?;
        let wine = wine().context("wine64")?;
        let said = printed(with(cmd!(self.sh, "timeout {LIMIT} {wine} {program} plugin.dll"), self.prefix))?;
        let line = said.lines().map(str::trim_end).find(|line| line.starts_with("ok "));
        ensure!(line.is_some(), "{host} {flags}: {said}");
        Ok(line.unwrap_or_default().to_owned())
    }
}
