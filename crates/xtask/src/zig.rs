//! zig, from PyPI: a C compiler and a linker that has the C libraries of several systems.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use anyhow::Result;
use xshell::Shell;

use crate::has;

/// The folder in target/ for the package, and the package. This version of zig has musl's malloc. The malloc of zig 0.17 makes mmap calls that
/// sometimes fail under qemu-user 7.2.
pub const FOLDER: &str = "zig";
pub const PACKAGE: &str = "ziglang==0.15.2";

fn in_folder(name: &str) -> String {
    crate::root().join("target").join(FOLDER).join(name).display().to_string()
}

/// Whether the package is installed.
pub fn is_installed() -> bool {
    has(&in_folder("bin/python-zig"))
}

/// Writes a command, at an absolute path, that runs zig's C compiler with these options, and without those of its arguments that are in `left_out`.
pub fn command(sh: &Shell, path: &str, options: &str, left_out: &[&str]) -> Result<()> {
    let (cache, python) = (in_folder("cache"), in_folder("bin/python3"));
    let filter = match left_out {
        [] => String::new(),
        _ => format!(
            "for argument; do\n\tshift\n\tcase $argument in {}) ;; *) set -- \"$@\" \"$argument\" ;; esac\ndone\n",
            left_out.join(" | ")
        ),
    };
    sh.write_file(
        path,
        format!(
            "#!/bin/sh\nexport ZIG_GLOBAL_CACHE_DIR={cache} ZIG_LOCAL_CACHE_DIR={cache}\n{filter}\
             exec {python} -m ziglang cc {options} \"$@\"\n"
        ),
    )?;
    Ok(std::fs::set_permissions(path, Permissions::from_mode(0o755))?)
}
