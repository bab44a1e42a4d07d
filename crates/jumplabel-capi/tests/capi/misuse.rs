//! What must not compile does not, in C and in C++, and the compiler says why; what is deprecated warns.

use std::process::Command;

use crate::compiler::{CLANG, Compiler, GCC, Language};
use crate::prefix::{printed, scratch, succeeds};

const TYPED: &str = "static_branch_*() takes the address of a struct static_key_true or a struct static_key_false";
const ANY: &str = "takes the address of a struct static_key, static_key_true or static_key_false";

/// Compiles a function body with these flags; what the compiler printed, and whether it succeeded.
fn compile(compiler: Compiler, language: Language, flags: &str, body: &str) -> (bool, String) {
    let directory = scratch(&format!("misuse-{}-{:?}", compiler.c, std::thread::current().id()));
    let source = directory.join("source");
    let text = format!(
        "#include <jumplabel.h>\nstruct static_key raw = STATIC_KEY_INIT_TRUE;\nstatic DEFINE_STATIC_KEY_FALSE(off);\n\
         static DEFINE_STATIC_KEY_DEFERRED_FALSE(late, 5);\nint number;\nint f(struct static_key_false *pointer);\n\
         int f(struct static_key_false *pointer)\n{{\n\t(void)pointer;\n\t(void)off;\n\t(void)late;\n\t{body}\n\treturn 0;\n}}\n"
    );
    std::fs::write(&source, text).unwrap();
    let mut command = compiler.command(language, flags);
    let output = command.arg("-c").arg(&source).arg("-o").arg(directory.join("object")).output().unwrap();
    (output.status.success(), printed(&output))
}

fn everywhere(flags: &str, body: &str, check: impl Fn(bool, &str) -> bool) {
    for compiler in Compiler::ALL {
        for language in [Language::C, Language::Cxx] {
            let (compiles, said) = compile(compiler, language, flags, body);
            assert!(check(compiles, &said), "{compiler:?} {language:?} {flags} {body}: compiles = {compiles}\n{said}");
        }
    }
}

fn fails(flags: &str, body: &str, words: &str) {
    everywhere(flags, body, |compiles, said| !compiles && said.contains(words));
}

fn compiles(flags: &str, body: &str) {
    everywhere(flags, body, |compiles, _| compiles);
}

#[test]
fn right_types() {
    for flags in ["", "-DJUMPLABEL_FALLBACK"] {
        compiles(
            flags,
            "if (static_branch_likely(&off) && static_branch_unlikely(&late.key)) static_branch_enable(&off);",
        );
        compiles(flags, "if (static_key_enabled(&off) && static_key_enabled(&raw)) static_key_disable(&raw);");
        compiles(flags, "static_branch_slow_dec_deferred(&late); return static_key_count(pointer);");
    }
}

#[test]
fn wrong_types() {
    for flags in ["", "-DJUMPLABEL_FALLBACK"] {
        for body in [
            "return static_branch_likely(&raw);",
            "return static_branch_unlikely(&number);",
            "return static_branch_likely(&late);",
            "return static_branch_likely(number);",
            "static_branch_enable(&raw);",
            "return static_branch_inc(&number);",
            "static_branch_dec(&off.key);",
        ] {
            fails(flags, body, TYPED);
        }
        fails(flags, "return static_key_enabled(&number);", ANY);
        fails(flags, "return static_key_count(&late);", ANY);
        fails(flags, "return static_key_false(&off);", "static_key_*() takes the address of a struct static_key here");
        fails(flags, "static_branch_slow_dec_deferred(&off);", "a static key with a deferred dec");
        fails(flags, "static_key_deferred_flush(&raw);", "a static key with a deferred dec");
    }
}

/// A site needs a constant address.
#[test]
fn not_a_constant() {
    for flags in ["-O0", "-O2", "-O0 -fPIC", "-O2 -fPIC"] {
        fails(flags, "return static_branch_likely(pointer);", "rror");
    }
    compiles("-DJUMPLABEL_FALLBACK", "return static_branch_likely(pointer);");
}

#[test]
fn deprecated() {
    for flags in ["", "-DJUMPLABEL_FALLBACK"] {
        fails(flags, "return static_key_false(&raw);", "deprecated");
        fails(flags, "return static_key_true(&raw);", "use static_branch_likely() or static_branch_unlikely()");
        compiles(&format!("{flags} -DJUMPLABEL_ALLOW_DEPRECATED"), "return static_key_true(&raw);");
    }
}

/// Something that is not supported says so, and what to do. The other architecture is played by its macros.
#[test]
fn unsupported() {
    for compiler in Compiler::ALL {
        let said = |flags: &str| compile(compiler, Language::C, flags, "").1;
        let with_sites = said("-U__x86_64__");
        assert!(with_sites.contains("define JUMPLABEL_FALLBACK for checks that load, test and jump"), "{with_sites}");
        assert!(said("-std=c99").contains("jumplabel needs C11 or later"));
        let said = compile(compiler, Language::Cxx, "-std=c++14", "").1;
        assert!(said.contains("jumplabel needs C++17 or later"), "{said}");
    }
    let said = compile(CLANG, Language::C, "-U__clang_major__ -D__clang_major__=15", "").1;
    assert!(said.contains("jumplabel needs clang 16 or later: use that, or define JUMPLABEL_FALLBACK"), "{said}");
    let said = compile(GCC, Language::C, "-U__GNUC__ -D__GNUC__=11", "").1;
    assert!(said.contains("jumplabel needs gcc 12 or later: use that, or define JUMPLABEL_FALLBACK"), "{said}");
    // Not with the system's headers, which look at the same macro.
    let (_, said) = compile(GCC, Language::C, "-U__x86_64__ -DJUMPLABEL_FALLBACK", "");
    assert!(!said.contains("jumplabel has sites"), "{said}");
}

/// Constant keys can be looked at, not changed.
#[test]
fn constant_keys() {
    const CONSTANT: &str = "static const DEFINE_STATIC_KEY_FALSE(fixed);";
    for flags in ["", "-DJUMPLABEL_FALLBACK"] {
        compiles(flags, &format!("{CONSTANT} return static_key_count(&fixed) + static_branch_unlikely(&fixed);"));
        for change in ["static_branch_enable(&fixed)", "jumplabel_enable(jumplabel_key(&fixed))"] {
            fails(flags, &format!("{CONSTANT} {change};"), "const");
        }
    }
}

/// tests/c/abuse.c: hooks, threads and forks where nobody expects them.
#[test]
fn abuse() {
    for compiler in Compiler::ALL {
        for flags in ["-O2", "-O2 -DJUMPLABEL_FALLBACK"] {
            let program = scratch("abuse").join("abuse");
            let program = compiler.build(Language::C, flags, &["abuse.c"], "-ljumplabel", &program);
            assert_eq!(printed(&succeeds(&mut Command::new(program))), "ok\n", "{compiler:?} {flags}");
        }
    }
}

/// tests/c/damaged.c: entries that lead out of their object.
#[test]
fn damaged_tables() {
    let program = scratch("damaged").join("damaged");
    for (damage, blocks) in [
        ("", ""),
        ("0, 0, 0, 0", "-DBLOCKS_OTHERS"),
        ("main - ., 0x7fffffff, key - ., 0", ""),
        ("main - ., main - ., 0x7fffff00, 0", "-DBLOCKS_OTHERS"),
        ("key - ., main - ., key - ., 0", ""),
    ] {
        let mut flags = format!("-O2 {blocks}");
        if !damage.is_empty() {
            flags += &format!(" -DDAMAGE=\"{}\"", damage.replace(' ', ""));
        }
        GCC.build(Language::C, &flags, &["damaged.c"], "-ljumplabel", &program);
        assert_eq!(printed(&succeeds(&mut Command::new(&program))), "ok\n", "{damage}");
    }
}

/// tests/c/weak.c: sites of a key that nobody defines, and of NULL.
#[test]
fn keys_that_nobody_defines() {
    let program = scratch("weak").join("weak");
    for compiler in Compiler::ALL {
        for flags in [
            "-O0 -fno-pie -no-pie -DABSOLUTE",
            "-O2 -fno-pie -no-pie -DABSOLUTE",
            "-O2 -fPIE -pie -DJUMPLABEL_FOREIGN_KEYS",
        ] {
            compiler.build(Language::C, flags, &["weak.c"], "-ljumplabel", &program);
            assert_eq!(printed(&succeeds(&mut Command::new(&program))), "ok\n", "{compiler:?} {flags}");
        }
    }
}
