//! Wrong uses do not compile, in C and in C++, and the compiler says why. Deprecated uses warn.

#[path = "misuse/unsupported.rs"]
mod unsupported;
#[path = "misuse/warnings.rs"]
mod warnings;

use std::process::Command;

use crate::compiler::{Compiler, GCC, Language};
use crate::prefix::{printed, scratch, succeeds};

const TYPED: &str = "static_branch_*() takes the address of a struct static_key_true or a struct static_key_false";
const ANY: &str = "takes the address of a struct static_key, static_key_true or static_key_false";

/// Compiles a function body with these flags. Returns whether it succeeded, and the compiler's output.
fn compile(compiler: Compiler, language: Language, flags: &str, body: &str) -> (bool, String) {
    let directory = scratch(&format!("misuse-{}-{:?}", compiler.c, std::thread::current().id()));
    let source = directory.join("source");
    let text = format!(
        "#include <jumplabel.h>\nstruct static_key raw = {{ 1, JUMP_TYPE_TRUE }};\nstatic DEFINE_STATIC_KEY_FALSE(off);\n\
         static DEFINE_STATIC_KEY_DEFERRED_FALSE(late, 5);\nint number;\nint act(int x);\ndouble other(double x);\n\
         DECLARE_STATIC_CALL(call, act);\nDECLARE_TRACE(point, TP_PROTO(int x), TP_ARGS(x));\n\
         void probe(void *data, int x);\nvoid wrong(void *data, double x);\nvoid without(int x);\nint f(struct static_key_false *pointer);\n\
         int f(struct static_key_false *pointer)\n{{\n\t(void)pointer;\n\t(void)off;\n\t(void)late;\n\t{body}\n\treturn 0;\n}}\n"
    );
    std::fs::write(&source, text).unwrap();
    let mut command = compiler.command(language, flags);
    let output = command.arg("-c").arg(&source).arg("-o").arg(directory.join("object")).output().unwrap();
    (output.status.success(), printed(&output))
}

/// Text that is outside of functions, in the form of a function body.
fn outside(text: &str) -> String {
    format!("return 0;\n}}\n{text}\nint g(void);\nint g(void)\n{{")
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
        for recorded in ["(raw, \"\")", "(number, \"\")", "(off.key, \"\")", "_ARRAY(raws, \"\")"] {
            fails(
                flags,
                &outside(&format!("extern struct static_key raws[2]; RECORD_STATIC_KEY{recorded};")),
                "RECORD_STATIC_KEY() takes a struct static_key_true or a struct static_key_false",
            );
        }
        compiles(
            flags,
            &outside(
                "RECORD_STATIC_KEY(off, \"one\"); RECORD_STATIC_KEY(off, \"other\"); RECORD_STATIC_KEY(late.key, \"\");",
            ),
        );
        fails(flags, "return static_key_enabled(&number);", ANY);
        fails(flags, "return static_key_count(&late);", ANY);
        fails(flags, "return static_key_false(&off);", "static_key_*() takes the address of a struct static_key here");
        fails(flags, "static_branch_slow_dec_deferred(&off);", "a static key with a deferred dec");
        fails(flags, "static_key_deferred_flush(&raw);", "a static key with a deferred dec");
    }
}

/// The target of a static call must have its type: a function, NULL, or a void pointer, because Linux casts `&__static_call_return0` so. Arguments
/// and result of a call must be those of the function.
#[test]
fn wrong_targets() {
    for flags in ["", "-DJUMPLABEL_FALLBACK"] {
        for target in ["other", "&other", "&number", "number", "1", "&act + 1 ? other : other", "static_branch_likely"]
        {
            let body = format!("return static_call_update(call, {target});");
            let words = |said: &str| {
                ["function of the type of the call", "jumplabel_target_", "undeclared", "not declared"]
                    .iter()
                    .any(|words| said.contains(words))
            };
            everywhere(flags, &body, |compiles, said| !compiles && words(said));
        }
        for body in [
            "static_call(call)(&number);",
            "static_call(call)();",
            "int *result = static_call(call)(1); (void)result;",
            "return static_call_cond(call)(1);",
            "double (*target)(double) = static_call_query(call); (void)target;",
            "return static_call_update(nobody, act);",
        ] {
            everywhere(flags, body, |compiles, _| !compiles);
        }
        for target in ["act", "&act", "NULL", "static_call_query(call)", "number ? act : NULL"] {
            compiles(flags, &format!("static_call_update(call, {target}); return static_call(call)(1);"));
        }
    }
}

/// A static call is declared with a function. A pointer to one accepts the same operators, but has no code that could be called.
#[test]
fn calls_of_pointers() {
    const MESSAGE: &str = "a static call is of a function";
    for flags in ["", "-DJUMPLABEL_FALLBACK"] {
        for declaration in [
            "extern int (*pointer)(int); DECLARE_STATIC_CALL(of_pointer, pointer);",
            "extern int (*const pointer)(int); DECLARE_STATIC_CALL(of_pointer, pointer);",
            "static int (*const pointer)(int) = act; DEFINE_STATIC_CALL(of_pointer, pointer);",
            "typedef int (*type)(int); DECLARE_STATIC_CALL(of_pointer, type);",
        ] {
            fails(flags, &outside(declaration), MESSAGE);
        }
        for declaration in [
            "extern int (*pointer)(int); DECLARE_STATIC_CALL(of_pointer, *pointer);",
            "typedef int type(int); DECLARE_STATIC_CALL(of_type, type);",
        ] {
            compiles(flags, &outside(declaration));
        }
    }
}

/// A probe must take its data, and then the tracepoint's arguments.
#[test]
fn wrong_probes() {
    for flags in ["", "-DJUMPLABEL_FALLBACK"] {
        for probe in ["wrong", "without", "act", "&number", "1"] {
            for function in ["register_trace_point", "unregister_trace_point"] {
                everywhere(flags, &format!("return {function}({probe}, &number);"), |compiles, _| !compiles);
            }
            everywhere(flags, &format!("check_trace_callback_type_point({probe});"), |compiles, _| !compiles);
        }
        for body in ["trace_point();", "trace_point(f);", "jumplabel_trace(point)(f);", "trace_nobody(1);"] {
            everywhere(flags, body, |compiles, _| !compiles);
        }
        compiles(flags, "trace_point(1); return register_trace_point(probe, &number);");
        compiles(flags, "if (number) jumplabel_trace(point)(1); else return unregister_trace_point(probe, NULL);");
    }
}

/// A site needs a constant address. If it is not, the compiler says so at each level of optimisation; the assembler does not, and the compiler does
/// not crash.
#[test]
fn not_a_constant() {
    const MESSAGE: &str = "takes the address of a static object (not thread-local): no variable, no NULL";
    let ours = |said: &str| said.contains(MESSAGE) && !said.contains("internal compiler error");
    for flags in ["-O0", "-O2", "-O2 -fPIC"] {
        for key in
            ["pointer", "&keys[number]", "(struct static_key_false *)NULL", "(struct static_key_false *)8", "&mine"]
        {
            let body = format!(
                "static DEFINE_STATIC_KEY_ARRAY_FALSE(keys, 4); static __thread struct static_key_false mine;
                (void)keys; (void)mine; return static_branch_unlikely({key});"
            );
            everywhere(flags, &body, |compiles, said| !compiles && ours(said));
        }
        compiles(
            flags,
            "static DEFINE_STATIC_KEY_ARRAY_FALSE(keys, 4); extern struct static_key_false weak __attribute__((weak));
            return static_branch_unlikely(keys) + static_branch_likely(&keys[3]) + static_branch_likely(&weak);",
        );
    }
    compiles("-DJUMPLABEL_FALLBACK", "return static_branch_likely(pointer);");
}

/// The `&` is missing.
#[test]
fn not_an_address() {
    for flags in ["", "-DJUMPLABEL_FALLBACK"] {
        for body in
            ["return static_branch_unlikely(off);", "static_branch_enable(off);", "return static_key_enabled(off);"]
        {
            fails(flags, body, "&key, not key");
        }
    }
}

/// Names of Linux that a program may also use itself are defined only on request.
#[test]
fn kernel_names() {
    const NAMES: &str = "-DJUMPLABEL_KERNEL_NAMES";
    let body =
        "return arch_static_branch(&off.key, false) + arch_static_branch_jump(&raw, true) + HZ + CONFIG_JUMP_LABEL;";
    for flags in ["", "-DJUMPLABEL_FALLBACK"] {
        compiles(&format!("{flags} {NAMES} -DJUMPLABEL_ALLOW_DEPRECATED"), body);
        compiles(flags, "int HZ = 1, arch_static_branch = 2; return HZ + arch_static_branch;");
        compiles(
            &format!("{flags} -DHZ=100 {NAMES}"),
            "static char right[HZ == 1000 ? 1 : -1]; return sizeof(right) != 1;",
        );
    }
}

#[test]
fn deprecated() {
    for flags in ["", "-DJUMPLABEL_FALLBACK"] {
        fails(flags, "return static_key_false(&raw);", "deprecated");
        fails(flags, "return static_key_true(&raw);", "use static_branch_likely() or static_branch_unlikely()");
        let body = "static struct static_key old = STATIC_KEY_INIT_TRUE, off = STATIC_KEY_INIT; (void)off; (void)old;";
        fails(flags, body, "define the key by DEFINE_STATIC_KEY_TRUE()");
        compiles(&format!("{flags} -DJUMPLABEL_ALLOW_DEPRECATED"), body);
        compiles(&format!("{flags} -DJUMPLABEL_ALLOW_DEPRECATED"), "return static_key_true(&raw);");
    }
}

/// A constant key can be read, but not changed.
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

/// tests/c/abuse.c: hooks, threads and forks at unusual moments.
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

/// tests/c/damaged.c: entries that lead outside of their object.
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

/// tests/c/weak.c: sites of an undefined key, and of NULL.
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
