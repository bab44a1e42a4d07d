//! Tests i686-pc-windows-gnu, which has the fallback, under a Wine of 32 bits. That Wine needs packages of another architecture, so it is installed
//! in a Debian of its own (target/wine32), and the machine's list of packages stays as it is. Root must run this; the first run needs a network.

use std::os::unix::fs::PermissionsExt;

use anyhow::{Context, Result, bail};
use xshell::{Shell, cmd};

use super::LIMIT;
use crate::programs::sum;
use crate::{has, printed};

const RUST: &str = "i686-pc-windows-gnu";
const COMPILER: &str = "i686-w64-mingw32-gcc";
const TOOLS: [(&str, &str); 3] =
    [("mmdebstrap", "mmdebstrap"), ("arch-test", "arch-test"), (COMPILER, "gcc-mingw-w64-i686-win32")];
const SETS: &str = "keys naked records lists or_load calls switches scoped tracepoints ops up plan threads";

pub fn run(sh: &Shell) -> Result<()> {
    if let Some((_, package)) = TOOLS.iter().find(|(tool, _)| !has(tool)) {
        bail!("no {package}: apt-get install {package}");
    }
    printed(cmd!(sh, "rustup target add {RUST}"))?;
    let root = crate::root().join("target/wine32");
    if !root.join("usr/lib/wine/wine").is_file() {
        let of =
            ["deb $(REPO_URI) $(RELEASE) $(COMPONENT)", "Created-By: Packages", "Origin: Debian", "Codename: bookworm"];
        let mirrors = cmd!(sh, "apt-get indextargets --format").args(of).quiet().read()?;
        // Removes the leftovers of an interrupted run.
        sh.remove_path(&root)?;
        // The mirrors of updates are not needed. There is one line for each architecture.
        let mirror = mirrors.lines().find(|line| line.ends_with(" bookworm main")).context("no mirror of bookworm")?;
        let install = ["--variant=apt", "--architectures=i386", "--include=wine32", "bookworm"];
        printed(cmd!(sh, "mmdebstrap --quiet --mode=root").args(install).args([&root]).arg(mirror))?;
    }
    // Wine reads /proc, which is mounted only while Wine runs.
    let directory = root.display();
    let runner = root.join("runner");
    sh.write_file(
        &runner,
        format!(
            "#!/bin/sh\nexport WINEPREFIX=/prefix WINEDEBUG=-all WINEDLLOVERRIDES='mscoree=;mshtml=;winemenubuilder.exe=' HOME=/tmp\n\
             name=$(basename \"$1\")\n[ ! -f \"$1\" ] || cp \"$1\" {directory}/tmp/\nshift\n\
             exec timeout {LIMIT} unshare --mount sh -c 'mount -t proc proc {directory}/proc && exec chroot {directory} \"$@\"' \
             sh sh -c 'cd /tmp && exec /usr/lib/wine/wine \"$@\"' sh \"$name\" \"$@\"\n"
        ),
    )?;
    std::fs::set_permissions(&runner, std::fs::Permissions::from_mode(0o755))?;
    let library = root.join("prefix/drive_c/windows/system32/bcryptprimitives.dll");
    if !library.is_file() {
        printed(cmd!(sh, "{runner} wineboot -i")).context("wineboot")?;
        let source = "crates/xtask/src/wine/bcryptprimitives.c";
        printed(cmd!(sh, "{COMPILER} -shared -O2 -Wl,--kill-at {source} -o {library}"))?;
    }
    let tests = SETS.split(' ').flat_map(|set| ["--test", set]);
    let command = cmd!(sh, "cargo test --quiet --target-dir target/wine --target {RUST} -p jumplabel --lib")
        .env("CARGO_TARGET_I686_PC_WINDOWS_GNU_RUNNER", &runner)
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .env("RUSTFLAGS", "--cfg jumplabel_portable_tests");
    let log = printed(command.args(tests)).context(RUST)?;
    println!("{RUST}: {} passed, {} ignored", sum(&log, "passed"), sum(&log, "ignored"));
    Ok(())
}
