//! The headers in a kernel: they need no C library. (docs/kernels.md has a kernel in C, which the core's tests/documents.rs boots; kernels/ has a
//! part in C.)

use std::process::Command;

use crate::compiler::{Compiler, Language};
use crate::prefix::{printed, scratch, succeeds};

/// Compiles a file with all headers, by a compiler that finds only its own headers. The result must have sites.
fn compile(compiler: Compiler, text: &str) -> Result<(), String> {
    let of_compiler = printed(&succeeds(Command::new(compiler.c).arg("-print-file-name=include")));
    let directory = scratch("freestanding");
    let (source, object) = (directory.join("source"), directory.join("object"));
    std::fs::write(&source, text).unwrap();
    let flags = format!("-O2 -ffreestanding -nostdlib -nostdinc -mgeneral-regs-only -isystem {}", of_compiler.trim());
    let mut command = compiler.command(Language::C, &flags);
    let output = command.arg("-c").arg(&source).arg("-o").arg(&object).output().unwrap();
    if !output.status.success() {
        return Err(printed(&output));
    }
    let sections = printed(&succeeds(Command::new("readelf").arg("-SW").arg(&object)));
    assert!(sections.contains(" __jump_table "), "{compiler:?}: {sections}");
    Ok(())
}

const KERNEL: &str = "#include <jumplabel/kernel.h>\n\
    DEFINE_STATIC_KEY_FALSE(key);\n\
    int check(const struct jumplabel_machine *machine, const struct jumplabel_bounds *bounds);\n\
    int check(const struct jumplabel_machine *machine, const struct jumplabel_bounds *bounds)\n\
    {\n\
        return static_branch_unlikely(&key) ? 1 : jumplabel_kernel_start(machine, bounds);\n\
    }\n";

#[test]
fn freestanding() {
    for compiler in Compiler::ALL.into_iter().chain(Compiler::others()) {
        compile(compiler, KERNEL).unwrap();
        let twin = compile(compiler, &format!("#include <string.h>\n{KERNEL}"));
        assert!(twin.is_err_and(|said| said.contains("string.h")), "{compiler:?}: the C library's headers are found");
    }
}
