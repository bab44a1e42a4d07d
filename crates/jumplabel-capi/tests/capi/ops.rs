//! Tables of operations from C and C++: tests/c/ops.c, ops_calls.c and ops_late.c.

use std::path::Path;
use std::process::Command;

use crate::compiler::{Compiler, Language};
use crate::prefix::{printed, scratch, succeeds};

fn everywhere() -> impl Iterator<Item = (Compiler, Language)> {
    Compiler::ALL.into_iter().flat_map(|compiler| [(compiler, Language::C), (compiler, Language::Cxx)])
}

fn runs(program: &Path, words: &[&Path], what: &str) {
    let said = printed(&succeeds(Command::new(program).args(words)));
    assert!(said.starts_with("ok "), "{what}: {said}");
}

/// Each backend, the bytes of the sites, and refused changes. With sites in a shared library, too.
#[test]
fn each_backend() {
    let directory = scratch("ops");
    let program = directory.join("program");
    let files = ["ops.c", "ops_elsewhere.c"];
    for (compiler, language) in everywhere() {
        for flags in [
            "-O0",
            "-O2",
            "-O2 -flto",
            "-O2 -DJUMPLABEL_PRECISE_TABLE -fPIE -pie",
            "-O2 -masm=intel",
            "-O2 -DJUMPLABEL_FALLBACK",
        ] {
            compiler.build(language, flags, &files, "-ljumplabel", &program);
            runs(&program, &[], &format!("{compiler:?} {language:?} {flags}"));
        }
        let shared = directory.join("libelsewhere.so");
        compiler.build(language, "-O2 -fPIC -shared", &files[1..], "-ljumplabel", &shared);
        compiler.build(language, "-O2 -rdynamic", &files[..1], "-lelsewhere -ljumplabel", &program);
        runs(&program, &[], &format!("{compiler:?} {language:?} shared"));
    }
    for compiler in Compiler::others() {
        compiler.build(Language::C, "-O2", &files, "-ljumplabel", &program);
        runs(&program, &[], &format!("{compiler:?}"));
    }
}

/// A backend that is called keeps all registers; a backtrace finds the caller; static calls change together with the table.
#[test]
fn backends_that_are_called() {
    let program = scratch("ops-calls").join("program");
    let build = |compiler: Compiler, language, flags: &str| {
        compiler.build(language, flags, &["ops_calls.c"], "-ljumplabel", &program);
        runs(&program, &[], &format!("{compiler:?} {language:?} {flags}"));
    };
    for (compiler, language) in everywhere() {
        for flags in [
            "-O0",
            "-O2 -Wl,-z,lazy",
            "-O2 -flto",
            "-O2 -static",
            "-O2 -DJUMPLABEL_FOREIGN_KEYS",
            "-O2 -DJUMPLABEL_FALLBACK",
        ] {
            build(compiler, language, flags);
        }
    }
    Compiler::others().for_each(|compiler| build(compiler, Language::C, "-O2"));
}

/// tests/c/ops_late.c: a plugin's sites follow the table. Its own instance of the library keeps all registers, too.
#[test]
fn loaded_late() {
    let directory = scratch("ops-late");
    let (plugin, program) = (directory.join("plugin.so"), directory.join("program"));
    let copy = "-Wl,-Bstatic -ljumplabel -Wl,-Bdynamic";
    for (compiler, language) in everywhere() {
        for of_plugin in ["-ljumplabel", copy] {
            compiler.build(language, "-O2 -fPIC -shared -DPLUGIN", &["ops_late.c"], of_plugin, &plugin);
            compiler.build(language, "-O2 -rdynamic", &["ops_late.c"], "-ljumplabel -ldl", &program);
            runs(&program, &[&plugin], &format!("{compiler:?} {language:?} {of_plugin}"));
            let mut beside = Command::new(&program);
            beside.arg(&plugin).arg("beside").env("JUMPLABEL_WRITER", "procmem");
            assert!(printed(&succeeds(&mut beside)).starts_with("ok "), "{compiler:?} {language:?} {of_plugin}");
        }
    }
}

/// Wrong uses do not compile or assemble, with a message that says why.
#[test]
fn misuse() {
    let directory = scratch("ops-misuse");
    let source = directory.join("source");
    let write = |text: &str| {
        let text = format!(
            "#include <jumplabel.h>\nDEFINE_PV_OPS(table, 2);\nstatic inline void f(void) {{}}\n\
             static inline void g(int a) {{ (void)a; }}\nstatic inline int same(int a) {{ return a; }}\nvoid h(int a);\nvoid h(int a) {{ f(); g(same(a)); {text} }}\n"
        );
        std::fs::write(&source, text).unwrap();
        &source
    };
    let native = "PV_IN_PLACE(f, \"movl $1, %%eax\")";
    let fails = [
        ("DECLARE_PV_OPS(nine, 9);".to_owned(), "a table of operations has 2 to 8 backends", true),
        (format!("PV_OP(table, op, (), {native});"), "one arm for each backend", true),
        (format!("PV_OP(table, op, (), {native}, PV_NOTHING, PV_NOTHING);"), "one arm for each backend", true),
        (format!("PV_OP(table, op, (a, a, a, a, a, a, a), {native}, PV_NOTHING);"), "six_arguments_at_most", false),
        ("PV_OP(table, op, (), PV_IN_PLACE(g, \"movl $1, %%eax\"), PV_NOTHING);".to_owned(), "argument", true),
        (
            "PV_OP(table, op, (), PV_IN_PLACE(f, \"nop\"), PV_NOTHING);".to_owned(),
            "the operation op is shorter than 5 bytes",
            false,
        ),
        (format!("PV_OP(table, op, (), {native}, PV_IN_PLACE(f, \".skip 60\"));"), ".org", false),
        (format!("PV_OP(table, op, (), {native}, PV_IN_PLACE(f, \"coffee\"));"), "instruction", false),
        ("PV_OP(table, op, (), PV_CALL(f), PV_NOTHING);".to_owned(), "the operation op is the site itself", false),
        (
            format!("PV_OP(table, op, (), PV_IN_PLACE_ELSE_CALL(f, \"movl $1, %%eax\"), {native});"),
            "the site itself",
            false,
        ),
        (
            "PV_OP_RESULT(a, table, op, (a), PV_IN_PLACE(same, \"mov %[a], %[ret]\"), PV_NOTHING);".to_owned(),
            "the operation op has a result, which PV_NOTHING does not write",
            true,
        ),
        (format!("double d = a; PV_OP(table, op, (d), {native}, PV_NOTHING);"), "and pointers: convert d", true),
        (format!("short s = a; PV_OP(table, op, (s), {native}, PV_NOTHING);"), "and pointers: convert s", true),
        (
            "float x; PV_OP_RESULT(x, table, op, (a), PV_IN_PLACE(same, \"mov %[a], %[ret]\"), PV_CALL(same));"
                .to_owned(),
            "an integer or a pointer: convert x",
            true,
        ),
        (
            "static const struct pv_hooks one[1] = {}; DEFINE_PV_OPS_WITH_HOOKS(two, 2, one);".to_owned(),
            "hooks for each backend",
            true,
        ),
    ];
    for (compiler, language) in everywhere() {
        for (text, words, in_fallback) in &fails {
            let all = ["", "-DJUMPLABEL_FALLBACK"];
            for flags in if *in_fallback { &all[..] } else { &all[..1] } {
                let mut command = compiler.command(language, flags);
                let output =
                    command.arg("-c").arg(write(text)).arg("-o").arg(directory.join("object")).output().unwrap();
                let said = printed(&output);
                assert!(
                    !output.status.success() && said.contains(words),
                    "{compiler:?} {language:?} {flags} {text}: {said}"
                );
            }
        }
        // clang notices this only with optimisation.
        let slow = write(&format!("PV_OP(table, op, (), {native}, PV_IN_PLACE(f, \"jmp \" PV_SLOW_WAY));"));
        let said =
            compiler.command(language, "-O1 -c").arg(slow).arg("-o").arg(directory.join("object")).output().unwrap();
        assert!(!said.status.success() && printed(&said).contains("jumps to PV_SLOW_WAY"), "{}", printed(&said));
        let sound = write(&format!("PV_OP(table, op, (), {native}, PV_IN_PLACE(f, \".skip 59\"));"));
        succeeds(compiler.command(language, "").arg("-c").arg(sound).arg("-o").arg(directory.join("object")));
    }
}
