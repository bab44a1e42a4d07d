//! Assertions that stay in the release build: tests/c/asserting.c.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use jumplabel_testing::breadth;

use crate::compiler::{Compiler, GCC, Language};
use crate::prefix::{file, printed, scratch, succeeds};

const LIBRARIES: &str = "-ljumplabel-agent -ljumplabel";

fn build(compiler: Compiler, language: Language, flags: &str) -> PathBuf {
    let program = scratch("asserts").join(format!("{}-{language:?}-{:?}", compiler.c, std::thread::current().id()));
    compiler.build(language, flags, &["asserting.c"], LIBRARIES, &program)
}

/// While assertions are off, nothing is evaluated. Turned on by file or by group, a failed one tells the hook its text and place.
#[test]
fn off_and_on() {
    let flags = [
        "-O2",
        "-O0",
        "-O2 -fPIC",
        "-O1 -DJUMPLABEL_FALLBACK",
        "-O2 -flto -DJUMPLABEL_PRECISE_TABLE",
        "-O2 -DJUMPLABEL_SHORT",
        "-Os -ffunction-sections -Wl,--gc-sections -fuse-ld=lld",
    ];
    for compiler in Compiler::ALL {
        for language in [Language::C, Language::Cxx] {
            for flags in breadth::some_of(4, &flags) {
                let said = printed(&succeeds(&mut Command::new(build(compiler, language, flags))));
                assert_eq!(said, "ok\n", "{compiler:?} {language:?} {flags}");
            }
        }
    }
}

/// Without a hook, the program ends as by assert(). If a hook returns, the program goes on.
#[test]
fn default_and_report() {
    for compiler in Compiler::ALL {
        let program = build(compiler, Language::C, "-O2");
        let run = |word: &str| {
            let output = Command::new(&program).arg(word).output().unwrap();
            (output.status.signal(), printed(&output))
        };
        let (signal, said) = run("abort");
        // SIGABRT
        assert_eq!(signal, Some(6), "{said}");
        assert!(said.ends_with("asserting.c:41: take: assertion failed: queue_length > 0\n"), "{said}");
        assert!(!said.contains("goes on"), "{said}");
        let (signal, said) = run("report");
        assert_eq!(signal, None, "{said}");
        assert!(
            said.contains(":41: take: assertion failed: queue_length > 0\n") && said.contains("goes on\n"),
            "{said}"
        );
    }
}

/// The variable turns assertions on by name, by file, or all at once, but not those of another group.
#[test]
fn by_the_start_variable() {
    let program = build(GCC, Language::C, "-O2");
    for (chosen, fails) in [
        ("assert:*=on", true),
        ("assert:*asserting.c=on", true),
        ("file:tests/c/asserting.c=on", true),
        ("file:asserting.c=on", true),
        ("assert:tree=on", false),
        ("assert:*=off", false),
    ] {
        let said = printed(&succeeds(Command::new(&program).arg("start").env("JUMPLABEL", chosen)));
        assert_eq!(said.contains("assertion failed: queue_length > 0"), fails, "{chosen}: {said}");
        assert!(fails || said.is_empty(), "{chosen}: {said}");
    }
}

/// The mnemonics of the function's instructions up to its return.
fn code(program: &Path, function: &str) -> Vec<String> {
    let mut objdump = Command::new("objdump");
    objdump.args(["-d", "--no-show-raw-insn", &format!("--disassemble={function}")]);
    let listed = printed(&succeeds(objdump.arg(program)));
    let lines = listed.lines().filter_map(|line| line.split_once(":\t")).map(|(_, code)| code.trim());
    let name = |code: &str| code.split_whitespace().find(|word| *word != "rex").unwrap_or_default().to_owned();
    let mut code: Vec<_> = lines.map(name).skip_while(|name| name == "endbr64").collect();
    let end = code.iter().position(|code| code.starts_with("ret")).expect("a return");
    code.truncate(end + 1);
    code
}

/// While it is off, an assertion adds one nop to the function. The arm comes after the function's return.
#[test]
fn off_is_one_nop() {
    for compiler in Compiler::ALL {
        for language in [Language::C, Language::Cxx] {
            let [take, bare] = if language == Language::C { ["take", "bare"] } else { ["_Z4takev", "_Z4barev"] };
            let program = build(compiler, language, "-O2");
            let (with, mut without) = (code(&program, take), code(&program, bare));
            without.sort_unstable();
            let (nops, mut rest): (Vec<_>, Vec<_>) = with.into_iter().partition(|line| line.contains("nop"));
            // The compiler may swap two other instructions.
            rest.sort_unstable();
            assert!(nops.len() == 1 && rest == without, "{compiler:?} {language:?}: {nops:?} {rest:#?} {without:#?}");
            // The broken twin: a check that loads.
            let loads = code(&build(compiler, language, "-O2 -DJUMPLABEL_FALLBACK"), take);
            let nops = loads.iter().filter(|line| line.contains("nop")).count();
            assert!(loads.len() > without.len() + 1 && nops == 0, "{loads:#?}");
        }
    }
}

/// Wrong uses do not compile.
#[test]
fn misuse() {
    let file = scratch("asserts").join("misuse.c");
    for (text, language, says) in [
        ("void f(int x) { JUMPLABEL_ASSERT(x); }", Language::C, "jumplabel_assertions"),
        ("JUMPLABEL_ASSERTIONS();\nJUMPLABEL_ASSERTIONS();", Language::C, "redefinition"),
        (
            "static DEFINE_STATIC_KEY_FALSE(k);\nvoid f(int x) { JUMPLABEL_ASSERT_IN(k, x); }",
            Language::C,
            "&key, not key",
        ),
        (
            "static DEFINE_STATIC_KEY_FALSE(k);\nvoid f(int x) { JUMPLABEL_ASSERT_IN(k, x); }",
            Language::Cxx,
            "&key, not key",
        ),
        (
            "JUMPLABEL_ASSERTIONS();\nstruct s { int i; };\nvoid f(struct s x) { JUMPLABEL_ASSERT(x); }",
            Language::C,
            "argument",
        ),
    ] {
        std::fs::write(&file, format!("#include <jumplabel/assert.h>\n{text}\n")).unwrap();
        for compiler in Compiler::ALL {
            let mut command = compiler.command(language, "-c -o /dev/null -O2");
            let output = command.arg(&file).output().unwrap();
            assert!(!output.status.success() && printed(&output).contains(says), "{compiler:?}: {}", printed(&output));
        }
    }
}

/// The program in docs/c.md.
#[test]
fn the_document() {
    let document = std::fs::read_to_string(file("../../docs/c.md")).unwrap();
    let (_, section) = document.split_once("## Assertions in the release build").unwrap();
    let program = section.split_once("```c\n").and_then(|(_, rest)| rest.split_once("```")).unwrap().0;
    let source = scratch("asserts").join("queue.c");
    std::fs::write(&source, program).unwrap();
    for compiler in Compiler::ALL {
        let program = scratch("asserts").join(format!("queue-{}", compiler.c));
        compiler.build(Language::C, "-O2", &[source.to_str().unwrap()], LIBRARIES, &program);
        assert_eq!(printed(&succeeds(&mut Command::new(&program))), "");
        let output = Command::new(&program).env("JUMPLABEL", "assert:*=on").output().unwrap();
        let said = printed(&output);
        assert_eq!(output.status.signal(), Some(6), "{said}");
        assert!(said.ends_with("queue.c:9: take: assertion failed: length > 0\n"), "{said}");
    }
}

/// The size in bytes of an object file's sections whose names begin with `section`.
fn bytes(object: &Path, section: &str) -> usize {
    let listed = printed(&succeeds(Command::new("size").arg("-A").arg(object)));
    let rows = listed.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    rows.filter(|row| row.len() == 3 && row[0].starts_with(section)).map(|row| row[1].parse::<usize>().unwrap()).sum()
}

/// Prints the cost of each of 100 assertions in 100 functions.
///
/// ```sh
/// cargo test -p jumplabel-capi --test capi asserts::cost -- --nocapture
/// ```
#[test]
fn cost() {
    let source = scratch("asserts").join("cost.c");
    for compiler in Compiler::ALL {
        let object = |name: &str, assertion: &str| {
            let mut text = String::from("#include <jumplabel/assert.h>\nJUMPLABEL_ASSERTIONS();\nextern int x[];\n");
            for number in 0..100 {
                text += &format!(
                    "void f{number}(int *y);\nvoid f{number}(int *y)\n{{\n{}\n*y = 1;\n}}\n",
                    assertion.replace('N', &number.to_string())
                );
            }
            std::fs::write(&source, text).unwrap();
            let object = scratch("asserts").join(format!("{name}-{}.o", compiler.c));
            succeeds(compiler.command(Language::C, "-O2 -c -o").arg(&object).arg(&source));
            object
        };
        let (with, without) = (object("with", "JUMPLABEL_ASSERT(x[N] > 0);"), object("without", ""));
        let each = |section: &str| (bytes(&with, section) - bytes(&without, section)) / 100;
        let (code, table, texts) = (each(".text"), each("__jump_table"), each(".rodata"));
        println!("{}: code {code}, table {table}, texts {texts}", compiler.c);
        assert!(table == 16 && (40..90).contains(&code) && texts < 60);
    }
}
