//! The symbols that the libraries export.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Once;

use crate::compiler::{Compiler, GCC, Language};
use crate::prefix::{file, prefix, printed, scratch, succeeds};
use crate::versions::exported;

/// All of them. An additional one would be an accident, and a missing one would break programs.
pub const EXPORTS: &str = "\
__static_call_return0 __static_key_deferred_flush __static_key_slow_dec_deferred \
jump_label_lock jump_label_text_reserved jump_label_unlock \
jumplabel_alternatives_apply jumplabel_alternatives_has jumplabel_assert_failed_ jumplabel_assert_report jumplabel_commit jumplabel_dec jumplabel_dec_deferred jumplabel_disable jumplabel_enable jumplabel_for_each_call jumplabel_for_each_key jumplabel_for_each_mode \
jumplabel_for_each_site jumplabel_inc jumplabel_loading jumplabel_on_change jumplabel_on_change_remove jumplabel_op_thunk_ jumplabel_ops_seal jumplabel_ops_set jumplabel_prepare jumplabel_prepare_key jumplabel_register_object jumplabel_restore_pristine jumplabel_seal jumplabel_seal_keys_ jumplabel_set_all jumplabel_set_assert jumplabel_set_warn \
jumplabel_set_writer jumplabel_static_call_update jumplabel_static_mode_set jumplabel_strerror \
jumplabel_trace_enter_ jumplabel_trace_leave_ jumplabel_trace_probes_ jumplabel_trace_register_ jumplabel_trace_synchronize_ \
jumplabel_trace_unregister_ jumplabel_unregister_object \
jumplabel_up_enter jumplabel_up_is_on jumplabel_up_leave jumplabel_usdt_look jumplabel_usdt_watch jumplabel_verify jumplabel_verify_key \
static_key_disable static_key_disable_cpuslocked static_key_enable static_key_enable_cpuslocked \
static_key_fast_inc_not_disabled static_key_slow_dec static_key_slow_dec_cpuslocked static_key_slow_inc \
static_key_slow_inc_cpuslocked";

#[test]
fn exported_symbols() {
    assert_eq!(exported(&prefix().join("lib/libjumplabel.so")).join(" "), EXPORTS);
}

#[test]
fn soname_and_dependencies() {
    let library = prefix().join("lib/libjumplabel.so");
    let dynamic = printed(&succeeds(Command::new("readelf").arg("-dW").arg(library)));
    assert!(dynamic.contains("Library soname: [libjumplabel.so.0]"), "{dynamic}");
    let of_the_system = ["libc.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2", "libm.so.6"];
    for needed in dynamic.lines().filter(|line| line.contains("(NEEDED)")) {
        assert!(of_the_system.iter().any(|name| needed.contains(name)), "{needed}");
    }
    // Rust names no library for what the C library must provide, so the build does. Otherwise a program that uses no C library would lack it.
    assert!(dynamic.contains("Shared library: [libc.so.6]"), "{dynamic}");
}

/// The archive has neither Rust's panic messages nor the standard library's resolver and users' database, which would make it 23 MB.
#[test]
fn size_of_the_archive() {
    let bytes = std::fs::metadata(prefix().join("lib/libjumplabel.a")).unwrap().len();
    assert!(bytes < 5_000_000, "{bytes} bytes");
}

/// The options that link an archive.
pub fn linked(archive: &Path) -> String {
    format!("-L {} -l:{}", archive.parent().unwrap().display(), archive.file_name().unwrap().display())
}

/// The symbols that a user's library exports if it is linked with libjumplabel.a, without special options. Each test has its own archive, and so its
/// own directory, because tests run at the same time.
fn shown_with(compiler: Compiler, flags: &str, archive: &Path) -> Vec<String> {
    let directory = scratch(&format!("exports-of-{}", archive.file_name().unwrap().display()));
    let source = directory.join("own.c");
    let text = "#include <jumplabel.h>\nstatic DEFINE_STATIC_KEY_FALSE(key);\nint own_function(void);\n\
                int own_function(void)\n{\n\treturn jumplabel_enable(&key.key) + static_branch_unlikely(&key);\n}\n";
    std::fs::write(&source, text).unwrap();
    let library = directory.join(format!("libown-{}.so", compiler.c));
    let flags = format!("-O2 -fPIC -shared {flags}");
    compiler.build(Language::C, &flags, &[source.to_str().unwrap()], &linked(archive), &library);
    let symbols = printed(&succeeds(Command::new("nm").args(["-D", "--defined-only"]).arg(library)));
    let name = |line: &str| line.split_whitespace().last().unwrap().to_string();
    // gold exports the bounds of segments.
    symbols.lines().map(name).filter(|name| !["_edata", "_end", "__bss_start"].contains(&&**name)).collect()
}

#[test]
fn nothing_is_shown_of_the_archive() {
    let archive = prefix().join("lib/libjumplabel.a");
    for compiler in Compiler::ALL {
        for flags in ["-fuse-ld=bfd", "-fuse-ld=gold", "-fuse-ld=lld", "-fuse-ld=mold", "-flto"] {
            assert_eq!(shown_with(compiler, flags, &archive), ["own_function"], "{compiler:?} {flags}");
        }
    }
}

/// The names in an archive that a linker would export.
fn visible(archive: &Path) -> Vec<String> {
    let symbols = printed(&succeeds(Command::new("readelf").arg("-sW").arg(archive)));
    let fields = symbols.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let is_visible = |row: &Vec<&str>| row.len() == 8 && row[4] != "LOCAL" && row[5] == "DEFAULT" && row[6] != "UND";
    fields.filter(is_visible).map(|row| row[7].to_string()).collect()
}

#[test]
fn no_name_is_visible() {
    for name in ["libjumplabel.a", "libjumplabel-agent.a", "libjumplabel-fail.a"] {
        assert_eq!(visible(&prefix().join("lib").join(name)), [""; 0], "{name}");
    }
}

/// The archive as cargo builds it, with Rust's standard library.
pub fn not_installed() -> PathBuf {
    static BUILT: Once = Once::new();
    let target = scratch("not-installed");
    BUILT.call_once(|| {
        let mut cargo = Command::new(env!("CARGO"));
        cargo
            .args(["rustc", "--release", "--lib", "--crate-type", "staticlib", "--manifest-path"])
            .arg(file("Cargo.toml"));
        cargo.env("CARGO_TARGET_DIR", &target).env_remove("CARGO_ENCODED_RUSTFLAGS").env_remove("RUSTFLAGS");
        succeeds(&mut cargo);
    });
    target.join("release/libjumplabel_capi.a")
}

/// A broken twin: the archive as cargo builds it has visible names, which are exported.
#[test]
fn broken_twin_shows_its_names() {
    let archive = not_installed();
    assert!(visible(&archive).contains(&"jumplabel_enable".into()));
    let shown = shown_with(GCC, "", &archive);
    assert!(shown.contains(&"jumplabel_enable".into()) && shown.len() > 30, "{shown:?}");
}

/// tests/c/unwinding.c: debuggers and profilers can unwind through the archive's functions.
#[test]
fn unwinding() {
    let program = scratch("exports").join("unwinding");
    for flags in ["-O2", "-O2 -static", "-O2 -Wl,--gc-sections"] {
        let libraries = linked(&prefix().join("lib/libjumplabel.a"));
        succeeds(&mut Command::new(GCC.build(Language::C, flags, &["unwinding.c"], &libraries, &program)));
    }
}

/// Another static library in Rust, with its own standard library, in the same program.
#[test]
fn beside_another_rust_library() {
    let directory = scratch("exports-rust");
    let source = directory.join("other.rs");
    let text = "#[unsafe(no_mangle)]\npub extern \"C\" fn catches() -> bool {\n    \
                std::panic::catch_unwind(|| std::panic::resume_unwind(Box::new(1))).is_err()\n}\n";
    std::fs::write(&source, text).unwrap();
    let program = directory.join("program.c");
    let text = "#include <jumplabel.h>\nstatic DEFINE_STATIC_KEY_FALSE(key);\nbool catches(void);\nint main(void)\n{\n\
                \treturn !catches() || jumplabel_enable(&key.key) || !static_branch_unlikely(&key) || !catches();\n}\n";
    std::fs::write(&program, text).unwrap();
    let archives: [PathBuf; 2] = [directory.join("libother.a"), prefix().join("lib/libjumplabel.a")];
    for options in [&["-O"][..], &["-O", "-Clto=fat", "-Ccodegen-units=1"]] {
        let mut rustc = Command::new(env!("CARGO").replace("cargo", "rustc"));
        rustc.args(["--edition=2024", "--crate-type=staticlib"]).args(options);
        succeeds(rustc.arg(&source).arg("-o").arg(&archives[0]));
        for [first, second] in [[0, 1], [1, 0]] {
            let archives = format!("{} {}", linked(&archives[first]), linked(&archives[second]));
            let output = directory.join("program");
            let libraries = format!("{archives} -lpthread -ldl");
            succeeds(&mut Command::new(GCC.build(
                Language::C,
                "-O2",
                &[program.to_str().unwrap()],
                &libraries,
                &output,
            )));
        }
    }
}
