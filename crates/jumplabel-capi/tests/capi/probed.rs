//! Uprobes on functions that begin with a check: see tests/c/probed.c.

use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use crate::compiler::{Compiler, Language};
use crate::prefix::{printed, scratch, succeeds};

/// Flags with which a function begins with its check.
const FLAGS: &str = "-O2 -fcf-protection=none -fno-pie -no-pie";

#[test]
fn functions_that_begin_with_a_check() {
    let program = scratch("probed").join("program");
    for compiler in Compiler::ALL {
        for (language, flags) in [(Language::C, ""), (Language::Cxx, ""), (Language::C, "-DJUMPLABEL_SHORT")] {
            compiler.build(language, &format!("{FLAGS} {flags}"), &["probed.c"], "-ljumplabel", &program);
            let said = printed(&succeeds(&mut Command::new(&program)));
            assert!(said.ends_with("ok\n"), "{compiler:?} {flags}: {said}");
            print!("{said}");
        }
    }
}

/// The broken twin: without the prefix byte, a flip is refused while the probe is there, or the program dies or takes a wrong arm after the probe was
/// removed.
#[test]
fn twin_without_the_prefix() {
    let program = scratch("probed-twin").join("program");
    for compiler in Compiler::ALL {
        for flags in ["", "-DJUMPLABEL_SHORT"] {
            let flags = format!("{FLAGS} {flags} -DJUMPLABEL_NO_SITE_PREFIX");
            compiler.build(Language::C, &flags, &["probed.c"], "-ljumplabel", &program);
            let output = Command::new(&program).arg("broken").output().unwrap();
            let died = output.status.signal().is_some();
            let said = printed(&output);
            assert!(died || said.contains("a wrong arm") || said.contains("a flip was refused"), "{flags}: {output:?}");
            println!("{:?} {flags}: {} {said}", compiler.c, output.status);
        }
    }
}
