//! Tracepoints with threads, with ASan and TSan, in a plugin (tests/c/tracing.c, tracing_plugin.c), in C++ (tests/c/tracing.cc), and their cost while
//! there are no probes. tests/c/conformance/tracepoints.h tests each name.

use std::process::Command;

use crate::compiler::{Compiler, GCC, Language};
use crate::prefix::{printed, scratch, succeeds};

/// Data are freed while other threads emit. ASan shows that nobody uses them then.
#[test]
fn under_threads() {
    let directory = scratch("tracing");
    for compiler in Compiler::ALL {
        // clang's ASan is in a package of its own.
        let asan = if compiler.c == GCC.c { "-O1 -g -fsanitize=address" } else { "-O1 -g" };
        for flags in ["-O2", "-O0 -DJUMPLABEL_FALLBACK", asan, "-O2 -fPIC -flto"] {
            let program = directory.join("program");
            compiler.build(Language::C, flags, &["tracing.c"], "-ljumplabel -ldl", &program);
            let output = succeeds(Command::new(program).env("ASAN_OPTIONS", "detect_leaks=0"));
            assert_eq!(printed(&output), "ok 1\n", "{compiler:?} {flags}");
        }
    }
}

/// A twin that frees without waiting is noticed by its own check, or by ASan.
#[test]
fn broken_twin_does_not_wait() {
    for (flags, words) in [("-O2", "inside"), ("-O1 -g -fsanitize=address -DSKIP_CHECK", "heap-use-after-free")] {
        let flags = format!("{flags} -DBREAK_SYNCHRONIZE");
        let program = scratch("tracing-twin").join("program");
        GCC.build(Language::C, &flags, &["tracing.c"], "-ljumplabel -ldl", &program);
        let output = Command::new(program).output().unwrap();
        assert!(!output.status.success() && printed(&output).contains(words), "{flags}: {}", printed(&output));
    }
}

/// A program with ThreadSanitizer. It needs addresses without randomisation, or it dies at its start.
fn with_thread_sanitizer(flags: &str) -> Command {
    let program = scratch("tracing-tsan").join("program");
    GCC.build(Language::C, &format!("-g -fsanitize=thread {flags}"), &["tracing.c"], "-ljumplabel -ldl", &program);
    let mut command = Command::new("setarch");
    command.args(["-R".as_ref(), program.as_os_str()]);
    command
}

/// ThreadSanitizer knows the order of a probe's calls and of the code before and after. The twin frees without waiting.
#[test]
fn under_thread_sanitizer() {
    for flags in ["-O1", "-O2 -fPIC", "-O1 -DJUMPLABEL_FALLBACK"] {
        assert_eq!(printed(&succeeds(&mut with_thread_sanitizer(flags))), "ok 1\n", "{flags}");
    }
    let twin = with_thread_sanitizer("-O1 -DBREAK_SYNCHRONIZE -DSKIP_CHECK").output().unwrap();
    assert!(
        !twin.status.success() && printed(&twin).contains("ThreadSanitizer: heap-use-after-free"),
        "{}",
        printed(&twin)
    );
}

/// An emission whose thread is not counted calls no probe, even one that was registered after the emission had begun.
#[test]
fn uncounted() {
    let directory = scratch("tracing-uncounted");
    for compiler in Compiler::ALL {
        for flags in ["-O2", "-O2 -DJUMPLABEL_FALLBACK"] {
            let program = directory.join("program");
            compiler.build(Language::C, flags, &["uncounted.c"], "-ljumplabel -ldl", &program);
            assert_eq!(printed(&succeeds(&mut Command::new(program))), "ok\n", "{compiler:?} {flags}");
        }
    }
}

/// A plugin adds probes to the program's tracepoint, waits, and is unloaded. It uses the program's instance of the library, or its own.
#[test]
fn from_a_plugin() {
    let directory = scratch("tracing-plugin");
    let copy = "-Wl,-Bstatic -ljumplabel -Wl,-Bdynamic";
    for compiler in Compiler::ALL {
        for (flags, library) in [("-O2", "-ljumplabel"), ("-O2", copy), ("-O2 -DJUMPLABEL_FALLBACK", copy)] {
            let shared = format!("{flags} -fPIC -shared");
            let plugin = directory.join("plugin.so");
            compiler.build(Language::C, &shared, &["tracing_plugin.c"], library, &plugin);
            let host = directory.join("host");
            let flags = format!("{flags} -rdynamic");
            compiler.build(Language::C, &flags, &["tracing.c"], &format!("{library} -ldl"), &host);
            let output = succeeds(Command::new(host).arg(plugin));
            assert_eq!(printed(&output), "ok 1\n", "{compiler:?} {flags} {library}");
        }
    }
}

#[test]
fn cxx() {
    let directory = scratch("tracing-cxx");
    for compiler in Compiler::ALL {
        for flags in ["-O0", "-O2", "-O2 -fPIC -std=c++20", "-O3 -flto", "-O2 -DJUMPLABEL_FALLBACK"] {
            let program = directory.join("program");
            compiler.build(Language::Cxx, flags, &["tracing.cc"], "-ljumplabel", &program);
            assert!(printed(&succeeds(&mut Command::new(program))).starts_with("ok "), "{compiler:?} {flags}");
        }
    }
}

/// The instructions of a function, without padding.
fn instructions(code: &str, function: &str) -> Vec<String> {
    let body = code.split(&format!("<{function}>:\n")).nth(1).unwrap().split("\n\n").next().unwrap();
    body.lines().filter_map(|line| line.split('\t').nth(1)).map(|text| text.trim().to_string()).collect()
}

/// While there is no probe, an emission is one instruction, a nop. The arguments and the call come after the function's `ret`. (If a value is used
/// before and after it, the compiler keeps the value in a register or on the stack, as for any call.)
#[test]
fn off_is_one_instruction() {
    let directory = scratch("tracing-code");
    let source = directory.join("code.c");
    let text = "#include <jumplabel.h>\nDECLARE_TRACE(point, TP_PROTO(long a, long b), TP_ARGS(a, b));\nlong slow(void);\n\
                void traced(long a, long b);\nvoid traced(long a, long b)\n{\n\ttrace_point(a, b * 3);\n}\n\
                void lazy(long a, long b);\nvoid lazy(long a, long b)\n{\n\t(void)a;\n\tjumplabel_trace(point)(slow(), b);\n}\n";
    std::fs::write(&source, text).unwrap();
    for compiler in Compiler::ALL {
        for (language, flags) in [(Language::C, "-O2"), (Language::Cxx, "-O2"), (Language::C, "-O2 -fPIC")] {
            let object = directory.join("object");
            let mut command = compiler.command(language, flags);
            succeeds(command.arg("-c").arg(&source).arg("-o").arg(&object));
            let code =
                printed(&succeeds(Command::new("objdump").args(["-d", "-C", "--no-show-raw-insn"]).arg(&object)));
            let name = |function: &str| match language {
                Language::C => function.to_string(),
                Language::Cxx => format!("{function}(long, long)"),
            };
            for function in ["traced", "lazy"] {
                let all = instructions(&code, &name(function));
                // objdump shows a site's prefix byte.
                let off = all.iter().map(|text| text.trim_start_matches("rex ").split(' ').next().unwrap());
                // clang saves a register before the site, because of the call in the argument.
                let saves = |name: &&str| compiler.c != GCC.c && function == "lazy" && ["push", "pop"].contains(name);
                let off: Vec<_> = off.filter(|name| !saves(name)).take(2).collect();
                assert_eq!(off, ["nopl", "ret"], "{compiler:?} {language:?} {flags} {function}: {code}");
            }
        }
    }
}
