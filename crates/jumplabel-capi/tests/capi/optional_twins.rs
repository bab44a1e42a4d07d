//! `jumplabel-optional.h` with threads and handlers of signals. Each mistake that these tests are there for is made once, and they must notice it.

use std::process::Command;

use crate::optional::{build, compiler, says, vendored};
use crate::prefix::{file, succeeds};

/// Calls that run while their function is removed, and data that is freed after that.
#[test]
fn heard_by_threads() {
    let directory = vendored("optional-heard");
    for (name, flags) in [
        ("gcc", "-std=c99 -O2"),
        ("g++", "-x c++ -std=c++11 -O2"),
        ("gcc", "-std=c99 -g -O1 -fsanitize=address"),
        ("gcc", "-std=c99 -g -O1 -fsanitize=thread"),
    ] {
        says(&build(&directory, &mut compiler(name, flags), &["optional_heard.c"], false), "ok 0\n");
    }
    says(&build(&directory, &mut compiler("gcc", "-std=c11 -O2"), &["optional_heard.c"], true), "ok 1\n");
}

/// Programs, and what is right and wrong in the header.
const TWINS: [(&[&str], &str, &str); 7] = [
    // A removed function has no calls.
    (&["optional_heard.c"], "<= 0 ? jumplabel_add_(&_slot->_running, 0) : 0", "<= 0 ? 0 : 0"),
    // Another function takes the place of one that still runs.
    (&["optional_heard.c"], "_id = jumplabel_add_(&_slot->_running, 0) == 0 ?", "_id = _slot ?"),
    // What is undone is the state, in place of the change.
    (
        &["optional_threads.c"],
        "_changes[_at].key, _changes[_at].enable ? JUMPLABEL_DEC_ : JUMPLABEL_INC_,",
        "_changes[_at].key, !_changes[_at].enable,",
    ),
    // Nothing is undone.
    (&["optional_threads.c"], "_error && _at-- > 0;", "0;"),
    // A sealed key refuses what it already has.
    (&["optional.c", "optional_other.c"], " || (_goal <= 1 && (_word != INT_MIN) == _goal)", ""),
    // A sealed key accepts all.
    (&["optional.c", "optional_other.c"], " || (_goal <= 1 && (_word != INT_MIN) == _goal)", " || _goal <= 1"),
    // A batch takes a sealed key for one that it has changed.
    (&["optional.c", "optional_other.c"], "((_was & INT_MAX) > 0) != ", "(_was > 0) != "),
];

#[test]
fn broken_twins() {
    let directory = vendored("optional-twins");
    let text = std::fs::read_to_string(file("include/jumplabel-optional.h")).unwrap();
    for (files, right, wrong) in TWINS {
        assert_eq!(text.matches(right).count(), 1, "{right}");
        std::fs::write(directory.join("jumplabel-optional.h"), text.replace(right, wrong)).unwrap();
        let mut command = compiler("gcc", "-std=c99 -O2 -Wno-error");
        let program = build(&directory, &mut command, files, false);
        let status = Command::new(program).output().unwrap().status;
        assert_eq!(status.code(), Some(1), "{files:?} did not notice: {wrong}");
    }
}

/// What is declared by Mac OS's <unistd.h>, as far as the header uses it.
const UNISTD: &str = "unsigned getuid(void), geteuid(void), getgid(void), getegid(void);";

/// The branches for Mach-O files, as far as clang can compile them: Apple's C library is not available here.
#[test]
fn macos() {
    let directory = vendored("optional-macos");
    for header in ["errno.h", "stdio.h", "stdlib.h", "string.h"] {
        std::fs::copy(file("tests/c/msvc.h"), directory.join(header)).unwrap();
    }
    let unistd = format!("#ifdef __cplusplus\nextern \"C\" {{\n#endif\n{UNISTD}\n#ifdef __cplusplus\n}}\n#endif\n");
    std::fs::write(directory.join("unistd.h"), unistd).unwrap();
    for (machine, language) in [("arm64", "-x c -std=c99"), ("x86_64", "-x c++ -std=c++11")] {
        let mut clang = compiler("clang-16", language);
        clang.arg(format!("--target={machine}-apple-macos11")).args(["-nostdlibinc", "-c"]);
        clang.args(["-Wno-builtin-requires-header", "-Wno-incompatible-library-redeclaration"]);
        clang.arg("-isystem").arg(&directory).arg("-I").arg(&directory);
        succeeds(clang.arg(file("tests/c/optional.c")).arg("-o").arg(directory.join("optional.o")));
        let object = std::fs::read(directory.join("optional.o")).unwrap();
        assert_eq!(object[..4], [0xcf, 0xfa, 0xed, 0xfe], "{machine}");
        let section = b"__mod_init_func";
        assert!(object.windows(section.len()).any(|bytes| bytes == section), "{machine}: no constructors");
    }
}
