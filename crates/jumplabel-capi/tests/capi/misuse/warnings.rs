//! The headers stand warnings that the tests do not ask for otherwise.

use crate::compiler::{Compiler, Language};
use crate::prefix::{scratch, succeeds};

/// The headers have no cast of C in C++, and stand warnings that the tests do not ask for otherwise.
#[test]
fn strict_warnings() {
    let body =
        "jumplabel_change changes[] = { { jumplabel_key(&off), true } }; int error = jumplabel_set_all(changes, 1);
        error += jumplabel::set_all({ jumplabel::change(off, true) });
        static_branch_slow_dec_deferred(&late); static_key_deferred_flush(&late); jump_label_rate_limit(&old, 3);
        static_branch_enable(&off); static_key_disable(&raw); jump_label_init_ro();
        return error + static_branch_likely(&off) + static_key_true(&raw) + static_naked_key(naked) + static_key_count(&off)
            + arch_static_branch(&off.key, true) + static_call_update(call, nullptr) + static_call_mod(call)(1)
            + (static_call_query(call) != act) + static_call_update(nowhere, act);";
    // The first of these is gcc's alone.
    let flags = "-Wuseless-cast -Wno-unknown-warning-option -Wold-style-cast -Wshadow -Wundef -Wextra-semi -Wcast-qual -Wcast-align -Wnon-virtual-dtor -O2";
    for mode in ["", "-DJUMPLABEL_FALLBACK", "-fPIC"] {
        for compiler in Compiler::ALL {
            let text = format!(
                "#include <jumplabel.hpp>\nstatic struct static_key raw = STATIC_KEY_INIT_TRUE;\n\
                 static DEFINE_STATIC_KEY_FALSE(off);\nstatic DEFINE_STATIC_KEY_DEFERRED_FALSE(late, 5);\n\
                 static static_key_deferred old;\nDEFINE_STATIC_NAKED_KEY_FALSE(naked);\n\
                 int act(int x);\nint act(int x) {{ return x; }}\nDEFINE_STATIC_CALL(call, act);\n\
                 DEFINE_STATIC_CALL_NULL(nowhere, act);\nDEFINE_STATIC_CALL_RET0(zero, act);\n\
                 EXPORT_STATIC_CALL(call);\nEXPORT_STATIC_CALL_TRAMP(zero);\nint f();\nint f()\n{{\n{body}\n}}\n"
            );
            let source = scratch("strict").join(format!("{}.cc", compiler.c));
            std::fs::write(&source, text).unwrap();
            let names = "-DJUMPLABEL_ALLOW_DEPRECATED -DJUMPLABEL_KERNEL_NAMES";
            let mut command = compiler.command(Language::Cxx, &format!("{flags} {mode} {names} -fsyntax-only"));
            succeeds(command.arg(&source));
        }
    }
}

/// As code of the kernel is compiled: declarations first, also inside of a check.
#[test]
fn strict_warnings_in_c() {
    let text = "#include <jumplabel.h>\nstatic DEFINE_STATIC_KEY_FALSE(off);\nstatic DEFINE_STATIC_KEY_TRUE_OR_LOAD(on);\n\
                static struct static_key raw = STATIC_KEY_INIT_FALSE;\nint f(int x);\nint f(int x)\n{\n\
                \tif (static_branch_unlikely(&off) && !static_branch_likely(&on)) x++;\n\
                \treturn static_key_false(&raw) ? x : arch_static_branch(&raw, false);\n}\n";
    let flags =
        "-Wdeclaration-after-statement -Wshadow -Wundef -Wcast-qual -Wconversion -Wstrict-prototypes -fsyntax-only";
    let names = "-DJUMPLABEL_ALLOW_DEPRECATED -DJUMPLABEL_KERNEL_NAMES";
    for mode in ["-O0", "-O2", "-DJUMPLABEL_FALLBACK", "-fPIC"] {
        for compiler in Compiler::ALL {
            let source = scratch("strict").join(format!("{}.c", compiler.c));
            std::fs::write(&source, text).unwrap();
            // gcc is pedantic about the compound literals of ported code.
            let mut command = compiler.command(Language::C, &format!("{flags} {mode} {names} -Wno-pedantic"));
            succeeds(command.arg(&source));
        }
    }
}
