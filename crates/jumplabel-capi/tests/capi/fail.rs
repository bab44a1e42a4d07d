//! Fail points in C and C++: tests/c/failing.c with its other files, and examples/c/fail.c.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use jumplabel_testing::breadth;

use crate::agent::{Directory, ask};
use crate::compiler::{Compiler, GCC, Language};
use crate::prefix::{file, prefix, printed, scratch, succeeds};
use crate::rust::cargo;
use crate::versions::exported;

const SHARED: &str = "-ljumplabel-fail -ljumplabel";
const ARCHIVE: &str = "-l:libjumplabel-fail.a";
const FILES: [&str; 2] = ["failing.c", "failing_elsewhere.c"];

fn build(compiler: Compiler, language: Language, flags: &str, libraries: &str) -> PathBuf {
    let program = scratch("failing").join(format!("program-{:?}", std::thread::current().id()));
    compiler.build(language, flags, &FILES, &format!("{libraries} -ljumplabel-agent -ldl"), &program)
}

/// Each form, with each compiler, in both languages, with both libraries.
#[test]
fn forms() {
    let flags = [
        "-O2",
        "-O0",
        "-O2 -fPIC",
        "-O2 -fno-pie -no-pie",
        "-O1 -DJUMPLABEL_FALLBACK",
        "-O2 -DJUMPLABEL_SHORT",
        "-O2 -flto -DJUMPLABEL_PRECISE_TABLE",
    ];
    for compiler in Compiler::ALL {
        for language in [Language::C, Language::Cxx] {
            for flags in breadth::some_of(2, &flags) {
                for libraries in [SHARED, ARCHIVE] {
                    let program = build(compiler, language, flags, libraries);
                    let said = printed(&succeeds(&mut Command::new(program)));
                    assert_eq!(said, "ok\n", "{compiler:?} {language:?} {flags} {libraries}");
                }
            }
        }
    }
}

/// The text of a `return` is neither leaked nor used after it is freed, and threads do not race with configurations.
#[test]
fn under_sanitizers() {
    for flags in ["-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all"] {
        for language in [Language::C, Language::Cxx] {
            let program = build(GCC, language, flags, SHARED);
            assert_eq!(printed(&succeeds(&mut Command::new(program))), "ok\n", "{flags}");
        }
    }
    // A broken twin: it keeps a text longer than its statement.
    let twin = scratch("failing").join("kept.c");
    let text = "#include <jumplabel/fail.h>\n#include <stdio.h>\nstatic const char *kept(void)\n{\n\
                JUMPLABEL_FAIL_POINT(\"kept\", text, return text);\nreturn \"\";\n}\n\
                int main(void)\n{\njumplabel_fail_cfg(\"kept\", \"return(text)\");\nputs(kept());\nreturn 0;\n}\n";
    std::fs::write(&twin, text).unwrap();
    let program = scratch("failing").join("kept");
    GCC.build(Language::C, "-O1 -g -fsanitize=address", &[twin.to_str().unwrap()], SHARED, &program);
    let output = Command::new(program).output().unwrap();
    assert!(!output.status.success() && printed(&output).contains("heap-use-after-free"), "{}", printed(&output));
}

/// If an action ends the program, the reason is printed.
#[test]
fn aborts() {
    use std::os::unix::process::ExitStatusExt;

    for compiler in Compiler::ALL {
        let program = build(compiler, Language::C, "-O2", SHARED);
        for (word, says) in [
            ("panic", "still alive\ndisk on fire\n"),
            ("cannot-return", "Return is not supported for the fail point \"plain\"\n"),
        ] {
            let output = Command::new(&program).arg(word).output().unwrap();
            // SIGABRT
            assert_eq!((output.status.signal(), &*printed(&output)), (Some(6), says), "{compiler:?}");
        }
    }
}

/// A library that is loaded later: its points belong to the program's registry, or to its own registry if it has one.
#[test]
fn plugins() {
    for compiler in Compiler::ALL {
        let program = build(compiler, Language::C, "-O2", SHARED);
        for (libraries, own) in [(SHARED, None), (ARCHIVE, Some("own"))] {
            let plugin = scratch("failing").join(format!("plugin-{}-{}.so", compiler.c, own.unwrap_or("shared")));
            compiler.build(Language::C, "-O2 -fPIC -shared", &["failing_plugin.c"], libraries, &plugin);
            succeeds(Command::new(&program).arg("plugin").arg(plugin).args(own));
        }
    }
}

/// An operator lists and configures points of a program in C.
#[test]
fn by_an_agent() {
    for libraries in [SHARED, ARCHIVE] {
        let (directory, program) = (Directory::new(), build(GCC, Language::C, "-O2", libraries));
        let mut command = Command::new(program);
        command.args(["serve", &format!("name=c,dir={}", directory.0.display())]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut stdin = child.stdin.take().unwrap();
        assert_eq!(said.next().unwrap().unwrap(), "ready");
        let socket = directory.0.join(format!("c.{}.sock", child.id()));
        let mut reaches = || {
            stdin.write_all(b"\n").unwrap();
            said.next().unwrap().unwrap()
        };
        assert_eq!(reaches(), "0 0");
        let answer = ask(&socket, "set fail:e*=2*return(7)->off,fail:block=return for 1000");
        assert!(answer.contains(r#""undo":"fail:block=remove,fail:else=remove,fail:expression=remove""#), "{answer}");
        assert_eq!([reaches(), reaches(), reaches()], ["7 10", "7 10", "0 10"]);
        let listed = ask(&socket, "list fail:expression");
        assert!(listed.contains(r#""state":"2*return(7)->off""#) && listed.contains("reached 3 times"), "{listed}");
        assert!(ask(&socket, "set fail:block=sometimes").contains("unrecognized command"));
        ask(&socket, "set fail:*=remove");
        assert_eq!(reaches(), "0 0");
        drop(stdin);
        assert!(child.wait().unwrap().success());
    }
}

/// C and Rust share one registry.
#[test]
fn c_and_rust_in_one_program() {
    let results = cargo("rust-failing", &["--package", "failing"], "");
    for compiler in Compiler::ALL {
        for flags in ["-O2 -fPIE -pie", "-O2 -static"] {
            let program = scratch("failing").join(format!("{}-both", compiler.c));
            let libraries = format!("-L {} -l:libfailing.a -lpthread -ldl", results.display());
            compiler.build(Language::C, flags, &["failing_both.c"], &libraries, &program);
            assert_eq!(printed(&succeeds(&mut Command::new(program))), "ok\n", "{compiler:?} {flags}");
        }
    }
}

/// The library exports exactly these symbols. A plugin that contains the archive exports none of them.
#[test]
fn exported_symbols() {
    let functions = [
        "cfg",
        "cfg_callback",
        "error",
        "free_",
        "is_any_",
        "layer",
        "list",
        "owner_",
        "reach_",
        "remove",
        "setup",
        "sync",
        "teardown",
    ];
    let expected = functions.map(|name| format!("jumplabel_fail_{name}"));
    let library = prefix().join("lib/libjumplabel-fail.so");
    assert_eq!(exported(&library), expected);
    let dynamic = printed(&succeeds(Command::new("readelf").arg("-dW").arg(library)));
    assert!(dynamic.contains("Library soname: [libjumplabel-fail.so.0]"), "{dynamic}");
    let plugin = scratch("failing").join("hidden.so");
    GCC.build(Language::C, "-O2 -fPIC -shared", &["failing_plugin.c"], ARCHIVE, &plugin);
    assert_eq!(exported(&plugin), ["plugin_configure", "plugin_point"]);
}

/// A program without fail points contains no code for them, with each library.
#[test]
fn nothing_without_points() {
    let consumer = file("tests/consumers/consumer.c");
    let program = scratch("failing").join("without");
    GCC.build(Language::C, "-O2", &[consumer.to_str().unwrap()], "-l:libjumplabel.a", &program);
    let symbols = printed(&succeeds(Command::new("nm").arg(&program)));
    assert!(symbols.contains("jumplabel_enable") && !symbols.contains("jumplabel_fail"), "{symbols}");
}

/// The example does what its first comment says.
#[test]
fn example() {
    let source = file("examples/c/fail.c");
    for compiler in Compiler::ALL {
        for (flags, libraries) in [("-O2", SHARED), ("-O2 -static", ARCHIVE), ("-O2 -DJUMPLABEL_FALLBACK", SHARED)] {
            let program = scratch("failing").join(format!("example-{}", compiler.c));
            compiler.build(Language::C, flags, &[source.to_str().unwrap()], libraries, &program);
            let store = scratch("failing").join(format!("store-{}", compiler.c));
            let run = |points: &str| {
                let output = Command::new(&program).arg(&store).env("FAILPOINTS", points).output().unwrap();
                (output.status.code(), printed(&output))
            };
            assert_eq!(run(""), (Some(0), "saved 3 of 3\n".into()));
            let (code, said) = run("store.write=1*off->return(disk full)");
            assert!(code == Some(0) && said.starts_with("saved 1 of 3\n"), "{said}");
            assert_eq!(said.matches("injected: disk full\n").count(), 2, "{said}");
            let (code, said) = run("store.write=perhaps");
            assert!(code == Some(2) && said.contains("unrecognized command \"perhaps\""), "{said}");
        }
    }
}
