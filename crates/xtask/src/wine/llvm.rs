//! x86_64-pc-windows-gnullvm: the system and the C library of x86_64-pc-windows-gnu, but the linker is lld, which clang calls. The distribution has
//! no LLVM unwinder for Windows, so gcc's is used, which has the same functions.

use anyhow::Result;
use xshell::{Shell, cmd};

use super::{COMPILER, FLAGS, Target};

pub const RUST: &str = "x86_64-pc-windows-gnullvm";
const CLANG: &str = "clang-19";

pub(super) fn target(sh: &Shell) -> Result<Target> {
    let unwinder = cmd!(sh, "{COMPILER} -print-file-name=libgcc_eh.a").quiet().read()?;
    let libraries = crate::root().join("target/wine/llvm");
    sh.create_dir(&libraries)?;
    sh.copy_file(unwinder, libraries.join("libunwind.a"))?;
    let flags = format!(
        "{FLAGS} -Clink-arg=--target=x86_64-w64-windows-gnu -Clink-arg=-fuse-ld=lld-19 -Lnative={}",
        libraries.display()
    );
    Ok(Target { rust: RUST, linker: Some(CLANG), flags })
}
