//! Verbose logging: tests/c/verbose.cc, tests/c/verbose_other.cc, and examples/cpp/vlog.cpp.

use std::path::{Path, PathBuf};
use std::process::Command;

use jumplabel_testing::breadth;

use crate::compiler::{Compiler, GCC, Language};
use crate::prefix::{file, printed, scratch, succeeds};

fn build(compiler: Compiler, flags: &str) -> PathBuf {
    let program = scratch("vlog").join(format!("{}-{:?}", compiler.c, std::thread::current().id()));
    let files = ["verbose.cc", "verbose_other.cc"];
    compiler.build(Language::Cxx, flags, &files, "-ljumplabel-agent -ljumplabel", &program)
}

/// Levels go up and down, by patterns, in several files and in a header. While a level is off, its arguments are not evaluated.
#[test]
fn levels() {
    let flags = ["-O2", "-O0 -fPIC", "-O1 -DJUMPLABEL_FALLBACK", "-O2 -DJUMPLABEL_SHORT", "-O2 -flto", "-std=c++20"];
    for compiler in Compiler::ALL {
        for flags in breadth::some_of(3, &flags) {
            let said = printed(&succeeds(&mut Command::new(build(compiler, flags))));
            assert_eq!(said, "ok\n", "{compiler:?} {flags}");
        }
    }
}

/// An operator turns on a file, one level of a file, or all files.
#[test]
fn by_the_start_variable() {
    let program = build(GCC, "-O2");
    for (chosen, lines) in
        [("vlog:*=on", 7), ("vlog:net*=on", 1), ("file:verbose_other.cc=on", 2), ("vlog:*/verbose.cc[1]=on", 1)]
    {
        let said = printed(&succeeds(Command::new(&program).arg("start").env("JUMPLABEL", chosen)));
        assert_eq!(said.lines().filter(|line| line.starts_with('V')).count(), lines, "{chosen}: {said}");
        assert_eq!(said.lines().count(), lines, "{chosen}: {said}");
    }
}

/// The number of a function's instructions up to its last return, and the number of nops in them.
fn until_the_end(program: &Path, function: &str) -> (usize, usize) {
    let mut objdump = Command::new("objdump");
    objdump.args(["-d", "--no-show-raw-insn", &format!("--disassemble={function}")]);
    let listed = printed(&succeeds(objdump.arg(program)));
    let code = listed.split_once(&format!("<{function}>:\n")).expect("the function").1;
    let lines = code.lines().filter_map(|line| line.split_once(":\t")).map(|(_, code)| code.trim());
    // A tail call is a jump.
    let mut lines: Vec<_> = lines.filter(|line| !line.starts_with("endbr64")).collect();
    let end =
        lines.iter().position(|line| line.starts_with("ret") || (line.starts_with("jmp") && line.contains("fflush")));
    lines.truncate(end.expect("the end") + 1);
    (lines.len(), lines.iter().filter(|line| line.contains("nop")).count())
}

/// Apart from the frame, a statement that is off is one nop. The twin without sites loads, compares and jumps.
#[test]
fn off_is_one_nop() {
    for compiler in Compiler::ALL {
        let program = build(compiler, "-O2");
        let (with, nops) = until_the_end(&program, "logs");
        let (without, none) = until_the_end(&program, "quiet");
        assert!(nops == 1 && none == 0, "{compiler:?}: {nops} {none}");
        // The difference is registers that are saved and restored, and the stack.
        assert!(with - nops <= without + 6, "{compiler:?}: {with} {without}");
        let twin = build(compiler, "-O2 -DJUMPLABEL_FALLBACK");
        assert_eq!(until_the_end(&twin, "logs").1, 0, "{compiler:?}");
    }
}

/// Wrong uses do not compile.
#[test]
fn misuse() {
    let source = scratch("vlog").join("misuse.cc");
    for (text, says) in [
        ("void f() { VLOG(1) << 1; }", "jumplabel_vlog_levels"),
        ("VLOG_FILE();\nvoid f() { VLOG(5) << 1; }", "a constant from 0"),
        ("VLOG_FILE();\nvoid f() { VLOG(-1) << 1; }", "a constant from 0"),
        ("VLOG_FILE();\nvoid f(int x) { VLOG(x) << 1; }", "constant"),
    ] {
        std::fs::write(&source, format!("#include <jumplabel/vlog.hpp>\n{text}\n")).unwrap();
        for compiler in Compiler::ALL {
            let output = compiler.command(Language::Cxx, "-c -o /dev/null").arg(&source).output().unwrap();
            assert!(!output.status.success() && printed(&output).contains(says), "{compiler:?}: {}", printed(&output));
        }
    }
}

/// The example, with each logger whose headers are installed.
#[test]
fn sinks() {
    let source = file("examples/cpp/vlog.cpp");
    for (flags, header, libraries) in [
        ("-O2", "/usr/include/stdio.h", ""),
        ("-O2 -DWITH_GLOG", "/usr/include/glog/logging.h", "-lglog"),
        ("-O2 -DWITH_SPDLOG", "/usr/include/spdlog/spdlog.h", "-lspdlog -lfmt"),
    ] {
        if !Path::new(header).exists() {
            breadth::leave_out(header);
            continue;
        }
        let program = scratch("vlog").join("sink");
        // The headers of glog and spdlog cause warnings.
        let flags = format!("{flags} -Wno-error");
        GCC.build(Language::Cxx, &flags, &[source.to_str().unwrap()], &format!("-ljumplabel {libraries}"), &program);
        let run = |levels: &str| {
            let mut command = Command::new(&program);
            let output = command.arg(levels).output().unwrap();
            (output.status.code(), printed(&output))
        };
        let (code, said) = run("vlog=2");
        assert_eq!((code, said.lines().count()), (Some(0), 2), "{flags}: {said}");
        assert!(said.contains("vlog.cpp:") || said.contains("V1"), "{flags}: {said}");
        assert!(
            said.contains("round 2\n") && said.contains("details of round 2\n") && !said.contains("round 1"),
            "{flags}: {said}"
        );
        assert_eq!(run("vlog=1").1.lines().count(), 1);
        assert_eq!(run("other=2"), (Some(0), String::new()), "{flags}");
        assert_eq!(run("vlog").0, Some(2));
    }
}
