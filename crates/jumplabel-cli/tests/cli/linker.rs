//! `jumplabel-cc`, as cargo and make call it.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use jumplabel_testing::cargo::{self, Build};
use object::{Object, ObjectSection};

use crate::link_c::{installed, listed};
use crate::programs::{prefix, scratch};

const CC: &str = env!("CARGO_BIN_EXE_jumplabel-cc");

fn has_relocations(file: &std::path::Path) -> bool {
    let bytes = std::fs::read(file).unwrap();
    let object = object::File::parse(&*bytes).unwrap();
    object.sections().any(|section| section.name().unwrap().starts_with(".rela.text"))
}

/// The line in `.cargo/config.toml`, as a variable.
#[test]
fn cargo() {
    static BUILT: OnceLock<Vec<PathBuf>> = OnceLock::new();
    let build = || Build::of("linked").env("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER", CC);
    let built = BUILT.get_or_init(|| build().results_in("by-wrapper", &["linked", "liblinked_library.so"]));
    assert!(listed(&built[0]) > 4 && listed(&built[1]) > 0);
    assert!(built.iter().all(|file| !has_relocations(file)));
    let printed = cargo::run(&mut Command::new(&built[0]));
    assert!(printed.ends_with("\nok\n"), "{printed}");
}

/// The compiler, with these words behind those that every program of C needs.
fn cc(words: &[&str], compiler: &str) -> Output {
    let mut command = Command::new(CC);
    command.arg("-O2").arg("-D_GNU_SOURCE").arg("-I").arg(prefix().join("include")).args(words);
    command.env("JUMPLABEL_CC", compiler).current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap()
}

#[track_caller]
fn succeeds(words: &[&str]) {
    let output = cc(words, "gcc");
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && err.is_empty(), "{words:?}: {err}");
}

/// CC=jumplabel-cc: it compiles, links, and passes on what is neither.
#[test]
fn make() {
    let [object, program, partial, other] = ["wrapped.o", "wrapped", "wrapped-r.o", "wrapped-again"].map(scratch);
    let [object, program, partial, other] = [&object, &program, &partial, &other].map(|path| path.to_str().unwrap());
    let library = prefix().join("lib/libjumplabel.a");
    let library = library.to_str().unwrap();
    succeeds(&["-c", "tests/c/linked.c", "-o", object]);
    succeeds(&["-r", object, "-o", partial]);
    let words = [object, library, "-lpthread", "-ldl", "-o", program];
    let lld = installed(&["lld"]).into_iter().map(|_| &["-Wl,-O1,--strip-debug", "-fuse-ld=lld"][..]);
    for more in [&[][..], &["-s"], &["-no-pie"], &["-Wl,--emit-relocs"]].into_iter().chain(lld) {
        succeeds(&[&words[..], more].concat());
        let file = std::path::Path::new(program);
        assert!(listed(file) >= 6, "{more:?}");
        assert_eq!(has_relocations(file), more == ["-Wl,--emit-relocs"], "{more:?}");
        assert_eq!(cargo::run(&mut Command::new(file)), "ok\n", "{more:?}");
        let bytes = std::fs::read(file).unwrap();
        let symbols = object::File::parse(&*bytes).unwrap().symbols().count();
        assert_eq!(symbols == 0, more == ["-s"], "{more:?}");
    }
    // What has no keys comes out as it would.
    let source = scratch("plain.c");
    std::fs::write(&source, "int main(void) { return 0; }").unwrap();
    let source = source.to_str().unwrap();
    succeeds(&[source, "-o", program]);
    cargo::run(Command::new("gcc").args(["-O2", source, "-o", other]));
    assert_eq!(cargo::run(&mut Command::new(program)), "");
    let sections = |file: &str| {
        let bytes = std::fs::read(file).unwrap();
        let object = object::File::parse(&*bytes).unwrap();
        let sections = object.sections().filter(|section| section.size() > 0);
        sections.map(|section| (section.name().unwrap().to_owned(), section.address())).collect::<Vec<_>>()
    };
    assert_eq!(sections(program), sections(other));
}

/// Whatever names the output, and whatever strips it. What is no file is left alone.
#[test]
fn other_words() {
    let library = prefix().join("lib/libjumplabel.a");
    let program = scratch("wrapped otherwise");
    let name = program.to_str().unwrap();
    let words = ["tests/c/linked.c", library.to_str().unwrap(), "-lpthread", "-ldl"];
    let equals = format!("--output={name}");
    let to_linker = format!("-Wl,-o,{name}");
    for more in [
        &["--output", name][..],
        &[&equals],
        &[&to_linker],
        &["-o", name, "-Xlinker", "-s"],
        &["-o", name, "-Wl,-strip-all"],
    ] {
        let _ = std::fs::remove_file(&program);
        succeeds(&[&words[..], more].concat());
        assert!(listed(&program) >= 6 && !has_relocations(&program), "{more:?}");
        assert_eq!(cargo::run(&mut Command::new(&program)), "ok\n", "{more:?}");
    }
    succeeds(&[&words[..], &["-s", "-o", "/dev/null"]].concat());
}

/// A source that comes by standard input. If the linker refuses relocations, the compiler runs again, and reads the same source.
#[test]
fn standard_input() {
    let [compiler, program, pipe] = ["refuses-once", "from-input", "words-pipe"].map(scratch);
    let refuses = "#!/bin/sh\nfor word; do [ \"$word\" != -Wl,--emit-relocs ] || { cat > /dev/null; exit 9; }; done\nexec gcc \"$@\"\n";
    std::fs::write(&compiler, refuses).unwrap();
    let source = scratch("input.c");
    std::fs::write(&source, "#include <stdio.h>\nint main(void) { puts(\"read\"); return 0; }").unwrap();
    let by = |compiler: &str, words: &[&str], input: Stdio| {
        let mut command = Command::new(CC);
        command.args(words).arg("-o").arg(&program).env("JUMPLABEL_CC", compiler).stdin(input).output().unwrap()
    };
    for compiler in ["gcc", &*format!("sh {}", compiler.display())] {
        for words in [&["-xc", "-"][..], &["-xc", "/dev/stdin"]] {
            for is_pipe in [true, false] {
                let _ = std::fs::remove_file(&program);
                let mut cat = Command::new("cat").arg(&source).stdout(Stdio::piped()).spawn().unwrap();
                let file = std::fs::File::open(&source).unwrap();
                let input = if is_pipe { cat.stdout.take().unwrap().into() } else { file.into() };
                let output = by(compiler, words, input);
                drop(cat.stdout.take());
                cat.wait().unwrap();
                let err = String::from_utf8_lossy(&output.stderr);
                // A run that finds no source fails, and is another reason to run again.
                assert!(output.status.success() && err.is_empty() == (compiler == "gcc"), "{words:?}: {err}");
                assert_eq!(cargo::run(&mut Command::new(&program)), "read\n", "{compiler} {words:?}");
            }
        }
    }
    // Of no source a library comes, too: an empty one.
    let output = by("gcc", &["-shared", "-fPIC", "-xc", "-"], std::fs::File::open(&source).unwrap().into());
    assert!(output.status.success() && output.stderr.is_empty());
    let bytes = std::fs::read(&program).unwrap();
    let library = object::File::parse(&*bytes).unwrap();
    assert!(library.dynamic_symbols().any(|symbol| object::ObjectSymbol::name(&symbol) == Ok("main")));
    // Words in a pipe are the compiler's to read.
    let _ = std::fs::remove_file(&pipe);
    cargo::run(Command::new("mkfifo").arg(&pipe));
    let output = by("true", &[&format!("@{}", pipe.display())], Stdio::null());
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && err.contains("not a regular file: the compiler ran without"), "{err}");
}

/// Words in a file, as rustc has them if they are many.
#[test]
fn words_in_a_file() {
    let [file, program] = ["words", "wrapped by words"].map(scratch);
    let library = prefix().join("lib/libjumplabel.a");
    let escaped = program.to_str().unwrap().replace(' ', "\\ ");
    let words = format!("tests/c/linked.c {} -lpthread -ldl '-s' -o {escaped}\n", library.display());
    std::fs::write(&file, words).unwrap();
    succeeds(&[&format!("@{}", file.display())]);
    assert!(listed(&program) >= 6);
    assert_eq!(cargo::run(&mut Command::new(&program)), "ok\n");
}

/// A compiler that fails says why, once; one that refuses --emit-relocs links all the same.
#[test]
fn failures() {
    let output = cc(&["tests/c/no-such-file.c", "-o", "/nowhere"], "gcc");
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && err.matches("no-such-file.c").count() == 1, "{err}");
    let output = cc(&["a.o"], "/no/such/compiler");
    assert_eq!(output.status.code(), Some(127), "{}", String::from_utf8_lossy(&output.stderr));
    let [compiler, program] = ["refuses", "refused"].map(scratch);
    std::fs::write(
        &compiler,
        "#!/bin/sh\nfor word; do [ \"$word\" != -Wl,--emit-relocs ] || exit 9; done\nexec gcc \"$@\"\n",
    )
    .unwrap();
    let library = prefix().join("lib/libjumplabel.a");
    let words = ["tests/c/linked.c", library.to_str().unwrap(), "-lpthread", "-ldl", "-o", program.to_str().unwrap()];
    let output = cc(&words, &format!("sh {}", compiler.display()));
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && err.starts_with("jumplabel-cc: linked without relocations"), "{err}");
    assert_eq!(listed(&program), 0);
    assert_eq!(cargo::run(&mut Command::new(&program)), "ok\n");
}
