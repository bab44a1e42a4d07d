//! Programs and libraries of C: keys without records, and, in shared libraries, keys that are found by way of slots.

use std::path::PathBuf;

use snapbox::{assert_data_eq, str};

use crate::programs::{copy, jumplabel, of_c, prints, text};

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
