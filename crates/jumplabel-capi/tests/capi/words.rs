//! Macros of programs. The headers work whatever macros a program has defined, unless a macro is named as a part of the interface (`static_key`,
//! `key`), of the language, or of a system header. Internal names of the headers begin with `jumplabel`, or with an underscore, with which no macro
//! of a program may begin (C11, 7.1.3).

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::compiler::{Compiler, Language};
use crate::prefix::{file, prefix, printed, scratch, succeeds};

#[path = "words/interface.rs"]
mod interface;
#[path = "words/tokens.rs"]
mod tokens;

use interface::is_interface;

/// Keywords of C11; C++ has some of them, too.
const C: &str = "auto break case char const continue default do double else enum extern float for goto if int long register restrict return \
    short signed sizeof static struct switch typedef union unsigned void volatile while";
const CXX: &str = "alignas alignof and and_eq asm bitand bitor bool catch char16_t char32_t class compl concept const_cast constexpr decltype \
    delete dynamic_cast explicit export false friend inline mutable namespace new noexcept not not_eq nullptr operator or or_eq private \
    protected public reinterpret_cast requires static_assert static_cast template this thread_local throw true try typeid typename using \
    virtual wchar_t xor xor_eq";
/// Names from the C headers that our headers include.
const STANDARD: &str = "NULL UINT64_C bool false true intptr_t offsetof ptrdiff_t size_t uintptr_t int32_t uint8_t uint16_t uint32_t uint64_t";
/// Names in the test's program, and in the preprocessor's language.
const OTHERS: &str = "defined main";

/// True if a program may define a macro of this name.
fn is_free(word: &str, language: Language) -> bool {
    let is_in = |list: &str| list.split_whitespace().any(|known| known == word);
    !(word.starts_with('_')
        || word.to_ascii_lowercase().starts_with("jumplabel")
        || is_in(C)
        || is_in(STANDARD)
        || is_in(OTHERS)
        || (language == Language::Cxx && is_in(CXX))
        || is_interface(word))
}

fn headers(directory: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(headers(&path));
        } else if path.file_name().is_some_and(|name| name != "jumplabel-optional.h") {
            // This header contains half a file of the program's own. The tests of `optional` compile it.
            let text = std::fs::read_to_string(&path).unwrap();
            found.push((path, text));
        }
    }
    found
}

/// The macros that the headers define.
fn macros(headers: &[(PathBuf, String)]) -> BTreeSet<String> {
    headers.iter().flat_map(|(_, text)| tokens::of(text).defined).collect()
}

/// Words in a header that a program may define as macros, although the header uses them. (Parts that are only for C++ are in the same headers.)
fn used(text: &str, macros: &BTreeSet<String>) -> BTreeSet<String> {
    let free = |word: &String| is_free(word, Language::Cxx) && !macros.contains(word);
    tokens::of(text).code.into_iter().filter(free).collect()
}

/// A file that defines all words of the headers, those in comments and attributes included, that a program may define. Each expands to a syntax
/// error.
fn all_defined(directory: &Path, language: Language) -> (PathBuf, usize) {
    let texts = headers(directory);
    let macros = macros(&texts);
    let words: BTreeSet<&str> = texts
        .iter()
        .flat_map(|(_, text)| tokens::words(text))
        .flat_map(|word| [word, word.trim_matches('_')])
        .filter(|word| !word.is_empty() && is_free(word, language) && !macros.contains(*word))
        .collect();
    let mut text = String::from("#include <pthread.h>\n#include <dlfcn.h>\n");
    if language == Language::Cxx {
        text += "#include <initializer_list>\n#include <cstdio>\n#include <sstream>\n#include <string>\n#include <string_view>\n#include <vector>\n";
    }
    for word in &words {
        writeln!(text, "#ifndef {word}\n#define {word} ) {{ somebody [\n#endif").unwrap();
    }
    let path = scratch("words").join(format!("{language:?}-{:?}.h", std::thread::current().id()));
    std::fs::write(&path, text).unwrap();
    (path, words.len())
}

/// Compiles tests/c/words.c with these flags, in each language, with each compiler. `then` gets the command.
fn build(name: &str, flags: &[&str], headers: &Path, then: impl Fn(Compiler, Language, Command)) {
    for compiler in Compiler::ALL {
        for language in [Language::C, Language::Cxx] {
            for flags in flags {
                let program = scratch("words").join(name);
                let mut command = compiler.command_with(headers, language, &format!("{flags} -Wno-keyword-macro"));
                command.arg(file("tests/c/words.c")).arg("-o").arg(&program);
                let library = prefix().join("lib");
                command.arg("-L").arg(&library).arg("-ljumplabel").arg("-ldl");
                command.arg(format!("-Wl,-rpath,{}", library.display()));
                then(compiler, language, command);
            }
        }
    }
}

/// Builds the program of this name, and runs it. It succeeds if all its checks do.
fn runs(name: &str, build: &mut Command) {
    let said = printed(&succeeds(build));
    let output = Command::new(scratch("words").join(name)).output().unwrap();
    assert!(output.status.success(), "{build:?}: {} {said}", output.status);
}

/// The headers use no word of the program's, in any branch for any compiler or instruction set.
#[test]
fn reserved_or_ours() {
    let headers = headers(&prefix().join("include"));
    assert!(headers.len() >= 18);
    let macros = macros(&headers);
    for (path, text) in headers {
        let words = used(&text, &macros);
        assert!(words.is_empty(), "{}: a program may define {words:?}", path.display());
    }
}

#[test]
fn all_words_defined() {
    let include = prefix().join("include");
    let [c, cxx] = [Language::C, Language::Cxx].map(|language| all_defined(&include, language));
    assert!(c.1 > 1000 && cxx.1 > 1000, "{} {}", c.1, cxx.1);
    let modes = [
        "-O0",
        "-O2",
        "-O2 -fPIC",
        "-O2 -DJUMPLABEL_FALLBACK",
        "-O2 -DUP_THREADS",
        "-O2 -DJUMPLABEL_SHORT -DJUMPLABEL_PRECISE_TABLE",
    ];
    build("defined", &modes, &include, |_, language, mut command| {
        let defined = if language == Language::C { &c.0 } else { &cxx.0 };
        runs("defined", command.arg("-include").arg(defined));
    });
}

/// The functions are those of the library, even if the including file hides all names.
#[test]
fn hidden() {
    let include = prefix().join("include");
    let modes = ["-O0 -DHIDDEN", "-O2 -fPIC -DHIDDEN -DUP_THREADS", "-DHIDDEN -DJUMPLABEL_FALLBACK"];
    build("hidden", &modes, &include, |_, _, mut command| runs("hidden", &mut command));
}

/// The test notices headers with such mistakes.
#[test]
fn broken_twins() {
    let twin = scratch("words").join("twin");
    let original = prefix().join("include");
    let twins = [
        ("jumplabel/site.h", "__noinline__", "noinline"),
        ("jumplabel/jump_label.h", "__aligned__", "aligned"),
        ("jumplabel/jump_label.h", "__weak__, __visibility__", "weak, visibility"),
        ("jumplabel/static_call.h", "_zero", "zero"),
        ("jumplabel/static_call.h", "__inline__ ", "inline "),
        ("jumplabel/tracepoint.h", "jumplabel_inside", "inside"),
        ("jumplabel/pv_ops.h", "_CASE_", "CASE_"),
        ("jumplabel/jump_label.h", "GCC visibility push(default)", "GCC visibility push(hidden)"),
    ];
    for (name, from, to) in twins {
        for (path, text) in headers(&original) {
            let relative = path.strip_prefix(&original).unwrap();
            let text = if relative == Path::new(name) { text.replace(from, to) } else { text };
            let into = twin.join(relative);
            std::fs::create_dir_all(into.parent().unwrap()).unwrap();
            std::fs::write(into, text).unwrap();
        }
        let is_about_words = !from.contains("push");
        let text = std::fs::read_to_string(twin.join(name)).unwrap();
        // `inline` is a keyword in both languages.
        assert_eq!(
            is_about_words && to != "inline ",
            !used(&text, &macros(&headers(&original))).is_empty(),
            "{name}: {to}"
        );
        let (defined, _) = all_defined(&twin, Language::C);
        build("broken", &["-O0 -DHIDDEN -Wno-error"], &twin, |compiler, language, mut command| {
            if language == Language::C {
                command.arg("-include").arg(&defined);
                assert!(!command.output().unwrap().status.success(), "{compiler:?} {name}: {to}");
            }
        });
    }
}
