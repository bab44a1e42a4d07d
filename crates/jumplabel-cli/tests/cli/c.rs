//! Programs and libraries of C: keys without records, and, in shared libraries, keys that are found by way of slots.

use std::path::PathBuf;

use snapbox::{assert_data_eq, str};

use crate::programs::{Printed, compiled, copy, jumplabel, of_c, prints, text};

/// Names of keys come from symbols, and their defaults from the keys themselves.
const LISTED: &str = "\
KEY             DEFAULT  SITES  DECLARED
fsync_all       on           2  -
hash            plain        1  tests/c/operated.c:23
hooks+0x8       off          1  -
trace           off          1  -
";

fn listed(name: &str, compiler: &str, options: &str) -> PathBuf {
    let file = of_c(name, compiler, options);
    let rows =
        |text: &str| text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>();
    assert_eq!(rows(&prints("list", &file, &[])), rows(LISTED), "{compiler} {options}");
    assert_eq!(jumplabel(&["check", text(&file), "trace=off", "fsync_all=on", "hash=plain"]).code, 0);
    file
}

#[test]
fn gcc() {
    listed("gcc-pie", "gcc", "-O2 -g -fPIE -pie");
    listed("gcc-static", "gcc", "-O2 -static -no-pie");
    listed("gcc-O0", "gcc", "-O0 -no-pie -fno-pie");
}

/// Functions whose first instruction is a site: a probe takes the byte in front of it, where there is one.
#[test]
fn entries() {
    let names = |printed: &str| -> Vec<String> {
        let words = |line: &str| line.split_whitespace().skip(1).map(str::to_owned).collect::<Vec<_>>().join(" ");
        printed.lines().map(words).collect()
    };
    let head = "KEY FUNCTION A PROBE OR BREAKPOINT THERE";
    let (ok, bad) =
        ("ok    entries     functions that begin with a site: 1; probes may", "note  entries     of functions");
    for (name, option, probed, doctor) in [
        ("entries", "", "is in front of the site", ok),
        ("entries-short", "-DJUMPLABEL_SHORT", "is in front of the site", ok),
        ("entries-bare", "-DJUMPLABEL_NO_SITE_PREFIX", "a uprobe that is removed breaks the site", bad),
    ] {
        let file = of_c(name, "gcc", &format!("-O2 -DENTRY -fcf-protection=none -no-pie -fno-pie {option}"));
        let printed = prints("check", &file, &["--entries"]);
        assert_eq!(names(&printed), [head, &format!("trace entered {probed}")], "{option}");
        assert_eq!(prints("check", &file, &["hooks*", "--entries"]), "", "{option}");
        let said = prints("doctor", &file, &[]);
        assert!(said.contains(doctor) && [ok, bad].iter().filter(|line| said.contains(**line)).count() == 1, "{said}");
        // By symbols.
        let stripped = copy(&file, &format!("{name}-stripped"), &["strip"]);
        let Printed { code, out, err } = jumplabel(&["check", text(&stripped), "--entries"]);
        assert!(code == 1 && out.is_empty() && err.contains("no symbols"), "{option}: {code} {out}{err}");
        assert_eq!(prints("check", &stripped, &[]), "", "{option}");
        // With another instruction in front.
        let file = of_c("entries-endbr", "gcc", &format!("-O2 -DENTRY -fcf-protection=full -no-pie -fno-pie {option}"));
        assert_eq!(prints("check", &file, &["--entries"]), "", "{option}");
    }
    let process = std::process::id().to_string();
    for words in [&["check", &process, "--entries"][..], &["check", "--force", &process, "--entries"]] {
        assert_eq!(jumplabel(words).code, 2);
    }
}

#[test]
fn clang() {
    listed("clang-lld", "clang-16", "-O2 -g -fuse-ld=lld-16");
}

/// In a shared library, keys that others may replace are found by name.
#[test]
fn shared_library() {
    let library = listed("libgcc.so", "gcc", "-O2 -g -fPIC -shared");
    let printed = prints("sites", &library, &["fn:receive"]);
    let expected = str![[r#"
ADDRESS  BYTES       STATE  KEY        FUNCTION
[..]  0f1f440000  nop    fsync_all  receive tests/c/operated.c:30
[..]  e9[..]  jump   fsync_all  receive tests/c/operated.c:32
[..]  0f1f440000  nop    hooks+0x8  receive tests/c/operated.c:34
[..]  0f1f440000  nop    trace      receive tests/c/operated.c:28

"#]];
    assert_data_eq!(printed, expected);
    // Relocations say where slots lead, without sections and symbols, too.
    let stripped = prints("list", &copy(&library, "libgcc-stripped.so", &["strip"]), &[]);
    assert_eq!(stripped.lines().count(), 5, "{stripped}");
    assert!(stripped.contains("trace") && stripped.contains("fsync_all"), "exported: {stripped}");
    listed(
        "libpacked.so",
        "clang-16",
        "-O2 -fPIC -shared -fuse-ld=lld-16 -Wl,--pack-dyn-relocs=relr -fvisibility=hidden",
    );
}

/// A tracepoint of C is a key and a static call, of which lists show the key. Another call of such a name is shown.
#[test]
fn tracepoint() {
    let program = compiled("tests/c/traced.c", "traced", "gcc", "-O2");
    for program in [&program, &copy(&program, "traced-stripped", &["strip"])] {
        let names = |selectors: &[&str]| -> Vec<String> {
            let rows = prints("list", program, selectors);
            rows.lines().skip(1).map(|row| row.split(' ').next().unwrap().to_owned()).collect()
        };
        assert_eq!(names(&[]), ["packet", "tp_func_nobody"]);
        assert_eq!(names(&["tp_func_*"]), ["tp_func_nobody", "tp_func_packet"]);
        assert_eq!(names(&["*"]).len(), 3);
    }
}

/// Lock prefixes belong to a key that nobody has declared.
#[test]
fn lock_prefixes() {
    let program = of_c("gcc-up", "gcc", "-O2 -g -DUP");
    let list = prints("list", &program, &[]);
    assert!(list.lines().any(|line| line.split_whitespace().eq(["__jumplabel_up", "off", "1", "-"])), "{list}");
    let sites = prints("sites", &program, &["fn:count"]);
    let row: Vec<&str> = sites.lines().nth(1).unwrap_or_default().split_whitespace().collect();
    assert!(row.len() > 4 && row[1..4] == ["f0", "locked", "__jumplabel_up"] && row.contains(&"count"), "{sites}");
    assert_eq!(jumplabel(&["check", text(&program)]).code, 0);
}

/// tests/c/inline.c: what is recorded twice at one place is a row once; by another name, or of another key, it is another row.
#[test]
fn records_of_one_declaration() {
    let program = compiled("tests/c/inline.c", "inline", "gcc", "-O1");
    let rows: Vec<_> = prints("list", &program, &[])
        .lines()
        .skip(1)
        .map(|row| row.split_whitespace().next().unwrap().to_owned())
        .collect();
    assert_eq!(rows, ["another.name", "net.trace", "own", "own"]);
}
