//! The headers cause no warnings, even with flags that the other tests do not use.

use crate::compiler::{Compiler, Language};
use crate::prefix::{file, printed, scratch, succeeds};

/// The headers have no C casts in C++, and cause no warnings with these flags.
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
    // Only gcc knows the first of these.
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

/// The flags for kernel code: declarations come first in a block, also inside of a check.
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
            // gcc -pedantic warns of the compound literals in ported code.
            let mut command = compiler.command(Language::C, &format!("{flags} {mode} {names} -Wno-pedantic"));
            succeeds(command.arg(&source));
        }
    }
}

/// Warnings of gcc that users may turn on. Others are about whole programs, other languages or the optimiser's decisions (-Winline), or nobody wants
/// them (-Wpadded, -Wtraditional-conversion).
const GCC: &str = "-Wshadow -Wconversion -Wsign-conversion -Wcast-qual -Wcast-align=strict -Wundef -Wswitch-default -Wswitch-enum -Wunused-macros \
    -Wredundant-decls -Wmissing-declarations -Wformat=2 -Wlogical-op -Wduplicated-cond -Wduplicated-branches -Wnull-dereference \
    -Wdouble-promotion -Wfloat-equal -Wdate-time -Wvla -Walloca -Wstack-protector -Warith-conversion";
const GCC_C: &str = "-Wbad-function-cast -Wjump-misses-init -Wnested-externs -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition -Wc++-compat \
    -Wdeclaration-after-statement";
const GCC_CXX: &str = "-Wzero-as-null-pointer-constant -Wuseless-cast -Wold-style-cast -Wextra-semi -Weffc++ -Wsuggest-override -Wcomma-subscript -Wnoexcept \
    -Wsign-promo -Wstrict-null-sentinel -Wctor-dtor-privacy -Woverloaded-virtual -Wconditionally-supported -Wnon-virtual-dtor";
/// All warnings of clang, except those about Linux's names and layouts (reserved, padded), about older standards, about C arrays and function
/// pointers, about functions that only another file uses, and about the macro in sdt.h that has the name of its expansion.
const CLANG: &str = "-Weverything -Wno-c++98-compat -Wno-c++98-compat-pedantic -Wno-pre-c11-compat -Wno-padded -Wno-reserved-identifier \
    -Wno-reserved-macro-identifier -Wno-missing-variable-declarations -Wno-unsafe-buffer-usage -Wno-cast-function-type-strict \
    -Wno-used-but-marked-unused -Wno-unknown-warning-option -Wno-disabled-macro-expansion";

/// tests/c/words.c, which uses all macros. The headers are not system headers, in which compilers suppress warnings.
#[test]
fn every_warning() {
    let object = scratch("strict").join("words.o");
    for compiler in Compiler::ALL.into_iter().chain(Compiler::others()) {
        let is_gcc = compiler.c.starts_with("gcc");
        for language in [Language::C, Language::Cxx] {
            let more = match (is_gcc, language) {
                (true, Language::C) => [GCC, GCC_C].join(" "),
                (true, Language::Cxx) => [GCC, GCC_CXX].join(" "),
                (false, _) => CLANG.into(),
            };
            for mode in ["-O0", "-O2 -fPIC", "-O0 -DJUMPLABEL_FALLBACK", "-O2 -DJUMPLABEL_FALLBACK"] {
                let mut command = compiler.command(language, &format!("{more} {mode} -c"));
                let output = succeeds(command.arg(file("tests/c/words.c")).arg("-o").arg(&object));
                assert_eq!(printed(&output), "", "{compiler:?} {language:?} {mode}");
            }
        }
    }
}
