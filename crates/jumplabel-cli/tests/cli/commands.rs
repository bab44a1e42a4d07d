//! Each command, on a program and a library of Rust, with debug information.

use std::process::Command;

use jumplabel_testing::cargo;
use serde_json::Value;
use snapbox::{assert_data_eq, str};

use crate::programs::{Printed, fixed, jumplabel, native, prints, program, text};

/// What `list` says of the program, however it is linked.
pub const LISTED: &str = "\
KEY                 DEFAULT          SITES  DECLARED
net.trace           off                  2  src/lib.rs:10
net.unused          off                  0  src/lib.rs:10
net:packet          off                  1  src/lib.rs:42
operated::HASH      operated::plain      1  src/lib.rs:38
operated::HOOKS[0]  off                  1  src/lib.rs:10
operated::HOOKS[1]  off                  0  src/lib.rs:10
operated::HOOKS[2]  off                  1  src/lib.rs:10
operated::LOADS     off                  1  src/lib.rs:10
operated::MODE      1/3                  1  src/lib.rs:30
operated::NAKED     on                   1  src/lib.rs:22
operated::SLOW[0]   on                   0  src/lib.rs:97
operated::SLOW[1]   on                   1  src/lib.rs:97
wal.fsync           on                   2  src/lib.rs:10
";

#[test]
fn list() {
    for file in [program(), &native()[1], fixed()] {
        assert_eq!(prints("list", file, &[]), LISTED, "{}", file.display());
    }
}

#[test]
fn selectors() {
    let keys = |selectors: &[&str]| -> Vec<String> {
        let rows = prints("list", program(), selectors);
        rows.lines().skip(1).map(|row| row.split(' ').next().unwrap().to_owned()).collect()
    };
    assert_eq!(keys(&["net.*"]), ["net.trace", "net.unused"]);
    assert_eq!(keys(&["wal.fsync", "net.*", "*trace"]), ["net.trace", "net.unused", "wal.fsync"]);
    assert_eq!(keys(&["operated::HOOKS[2]"]), ["operated::HOOKS[2]"]);
    assert_eq!(keys(&["net.trace@src/lib.rs:10:1"]), ["net.trace"]);
    let declared = ["net:packet", "operated::HASH", "operated::MODE", "operated::NAKED", "operated::packet"];
    assert_eq!(keys(&["file:lib.rs:11-42"]), declared);
    assert_eq!(keys(&["file:src/*.rs:22"]), ["operated::NAKED"]);
    assert_eq!(keys(&["fn:operated::traced"]), ["net.trace"]);
    assert_eq!(keys(&["fn:write_back"]), ["operated::LOADS", "operated::MODE", "wal.fsync"]);
    assert_eq!(keys(&["obj:operated"]).len(), 14);
}

/// What has no sites is no success.
#[test]
fn no_sites() {
    for command in ["sites", "disasm"] {
        let Printed { code, out, err } = jumplabel(&[command, text(program()), "net.unused"]);
        assert!(code == 1 && out.is_empty() && err.contains("no s"), "{command}: {code} {out}{err}");
    }
}

#[test]
fn sites() {
    let expected = str![[r#"
ADDRESS  BYTES       STATE   KEY                 FUNCTION
0x[..]  0f1f440000  nop     net.trace           operated::traced src/lib.rs:55 < receive src/lib.rs:63
0x[..]  0f1f440000  nop     net.trace           receive src/lib.rs:64
0x[..]  0f1f440000  nop     net:packet          receive src/lib.rs:70
0x[..]  e9[..]  direct  operated::HASH      operated::_::__trampoline
0x[..]  0f1f440000  nop     operated::HOOKS[0]  receive src/lib.rs:67
0x[..]  0f1f440000  nop     operated::HOOKS[2]  receive src/lib.rs:67
0x[..]  e9[..]  load    operated::LOADS     write_back src/lib.rs:[..]
0x[..]  e9[..]  arm     operated::MODE      write_back src/lib.rs:85
0x[..]  b801000000  true    operated::NAKED     operated::NAKED::__function
0x[..]  e9[..]  jump    operated::SLOW[1]   slow src/lib.rs:[..]
0x[..]  e9[..]  direct  operated::packet    operated::_::__trampoline
0x[..]  0f1f440000  nop     wal.fsync           write_back src/lib.rs:76
0x[..]  e9[..]  jump    wal.fsync           write_back src/lib.rs:79

"#]];
    assert_data_eq!(prints("sites", program(), &[]), expected);
    // Of a key that is checked in several functions, only the sites that are in this one.
    assert_eq!(prints("sites", program(), &["fn:traced"]).lines().count(), 2);
    assert_eq!(prints("sites", program(), &["fn:traced", "net.trace"]).lines().count(), 3);
}

#[test]
fn disasm() {
    let expected = str![[r#"
receive+0x[..]   src/lib.rs:55
 now   [..]: 0f 1f 44 00 00        nop dword ptr [rax+rax]        ; off
 flip  [..]: e9 [..]        jmp 0x[..]                    ; on

"#]];
    assert_data_eq!(prints("disasm", program(), &["net.trace", "--site", "0"]), expected);
    let expected = str![[r#"
write_back+0x[..]   src/lib.rs:76
 now   [..]: 0f 1f 44 00 00        nop dword ptr [rax+rax]        ; on
 flip  [..]: e9 [..]        jmp 0x[..]                    ; off
write_back+0x[..]   src/lib.rs:79
 now   [..]: e9 [..]        jmp 0x[..]                    ; on
 flip  [..]: a9 [..]        test eax, 0x[..]                 ; off

"#]];
    assert_data_eq!(prints("disasm", program(), &["wal.fsync"]), expected);
    let expected = str![[r#"
write_back+0x[..]   src/lib.rs:85
 now   [..]: e9 [..]        jmp 0x[..]                    ; 1/3
 flip  [..]: e9 [..]        jmp 0x[..]                    ; 0/3
 flip  [..]: e9 [..]        jmp 0x[..]                    ; 2/3

"#]];
    assert_data_eq!(prints("disasm", program(), &["*::MODE"]), expected);
    let expected = str![[r#"
operated::NAKED::__function
 now   [..]: b8 01 00 00 00        mov eax, 1                     ; on
 flip  [..]: b8 00 00 00 00        mov eax, 0                     ; off
write_back+0x[..]   src/lib.rs:[..]
 now   [..]: e9 [..]        jmp 0x[..]                    ; loads the key
 flip  [..]: a9 [..]        test eax, 0x[..]                 ; off
 flip  [..]: e9 [..]        jmp 0x[..]                    ; on

"#]];
    let [naked, loads] = ["*::NAKED", "*::LOADS"].map(|key| prints("disasm", program(), &[key]));
    assert_data_eq!(naked + &loads, expected);
    let expected = str![[r#"
operated::_::__trampoline+0x4
 now   [..]: e9 [..]        jmp 0x[..]                    ; operated::plain
 flip  [..]: e9 [..]        jmp 0x[..]                    ; receive

"#]];
    assert_data_eq!(prints("disasm", program(), &["operated::HASH=receive"]), expected);
    let Printed { code, err, .. } = jumplabel(&["disasm", text(program()), "*::HASH=nobody"]);
    assert_eq!((code, err.contains("no symbol `nobody`")), (3, true));
    let Printed { code, err, .. } = jumplabel(&["disasm", text(program()), "net.trace", "--site", "2"]);
    assert_eq!((code, err.contains("no such site")), (1, true));
}

/// What `disasm` says of a flip is what the program finds at its sites after it.
#[test]
fn flips() {
    let mut said = Vec::new();
    for key in ["net.trace", "wal.fsync"] {
        let shown = prints("disasm", program(), &[key]);
        for line in shown.lines().filter_map(|line| line.strip_prefix(" flip ")) {
            let (address, rest) = line.split_once(": ").unwrap();
            let bytes: Vec<_> = rest[..20].split_whitespace().collect();
            said.push(format!("{} [{}]", address.trim().trim_start_matches('0'), bytes.join(", ")));
        }
    }
    let flipped = cargo::run(Command::new(program()).arg("flip"));
    let mut flipped: Vec<_> = flipped.lines().collect();
    assert_eq!(flipped.len(), 4);
    flipped.sort_unstable();
    said.sort_unstable();
    assert_eq!(said, flipped);
}

/// With its message.
#[track_caller]
fn checked(selectors: &[&str]) -> (u8, String) {
    let Printed { code, out, err } = jumplabel(&[&["check", text(program())], selectors].concat());
    (code, out + &err)
}

#[test]
fn check() {
    for right in [
        &[][..],
        &["net.trace"],
        &["net.trace=off"],
        &["net.*=off", "wal.fsync=on", "net:packet=off"],
        &["*::MODE=1"],
        &["*::HASH=operated::plain"],
        &["*::NAKED=on"],
    ] {
        assert_eq!(checked(right), (0, String::new()), "{right:?}");
    }
    assert_eq!(checked(&["net.trace=on"]), (1, "net.trace is off, not on\n".into()));
    assert_eq!(checked(&["*::MODE=2"]), (1, "operated::MODE is 1/3, not 2\n".into()));
    assert_eq!(checked(&["*::HASH=receive"]), (1, "operated::HASH is operated::plain, not receive\n".into()));
    // One that differs is not made good by one that is right.
    assert_eq!(checked(&["net.trace=on", "wal.fsync=on"]).0, 1);
    assert_eq!(checked(&["net.trace=on", "wal.fsync=on"]).0, 1);
    assert_eq!(checked(&["wal.fsync=on", "nobody=on"]).0, 1);
    for wrong in ["*::MODE=on", "*::HASH=on", "net.trace=2", "net.trace+1", "net.trace=", "*::MODE=many"] {
        let (code, message) = checked(&[wrong]);
        assert_eq!(code, 2, "{wrong}: {message}");
        assert!(!message.is_empty());
    }
}

#[test]
fn json() {
    let value = |command, words: &[&str]| -> Value {
        let printed = prints(command, program(), &[words, &["--json"]].concat());
        assert_eq!(printed.lines().count(), 1);
        serde_json::from_str(&printed).unwrap()
    };
    let list = value("list", &[]);
    assert_eq!(
        (&list["version"], &list["machine"], &list["target"]),
        (&1.into(), &"x86_64".into(), &text(program()).into())
    );
    let kinds: Vec<_> = list["keys"].as_array().unwrap().iter().map(|key| key["kind"].as_str().unwrap()).collect();
    let expected = "key key tracepoint call key key key key mode key key key call key";
    assert_eq!(kinds.join(" "), expected);
    let declared = serde_json::json!({ "file": "src/lib.rs", "line": 10, "column": 1 });
    assert_eq!((&list["keys"][0]["declared"], &list["keys"][0]["sites"]), (&declared, &2.into()));
    assert_eq!(list["damage"], serde_json::json!([]));
    let sites = value("sites", &["net.trace"]);
    assert_eq!(
        (&sites["version"], &sites["sites"][1]["site"], &sites["sites"][1]["state"]),
        (&1.into(), &1.into(), &"nop".into())
    );
    let chain = &sites["sites"][0]["chain"];
    assert_eq!((&chain[0]["function"], &chain[1]["function"]), (&"operated::traced".into(), &"receive".into()));
}

#[test]
fn exit_codes() {
    let code = |words: &[&str]| {
        let Printed { code, out, err } = jumplabel(words);
        assert_eq!(out.is_empty(), code != 0, "{words:?}: {out}{err}");
        (code, err)
    };
    let file = text(program());
    assert_eq!(code(&["--help"]).0, 0);
    for words in [
        &[][..],
        &["list"],
        &["lits", file],
        &["list", file, "net=on"],
        &["list", file, "file:a:b"],
        &["disasm", file, "a=on"],
    ] {
        assert_eq!(code(words).0, 2, "{words:?}");
    }
    assert_eq!(code(&["list", file, "nobody"]), (1, format!("jumplabel: {file}: nothing matches `nobody`\n")));
    let meant = format!("jumplabel: {file}: nothing matches `net.trce=on`; did you mean net.trace?\n");
    assert_eq!(code(&["check", file, "net.trce=on"]), (1, meant));
    assert_eq!(code(&["list", "/bin/sh"]), (1, "jumplabel: /bin/sh: no keys\n".into()));
    for (path, why) in [
        ("/nobody", "No such file or directory"),
        ("/dev/null", "not a regular file"),
        ("/", "not a regular file"),
        (concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"), "not an ELF file"),
    ] {
        let (code, err) = code(&["list", path]);
        assert!(code == 3 && err.contains(why), "{path}: {code} {err}");
    }
}
