//! Operations in place: the table is in this program.

use crate::programs::{jumplabel, prints, text};

jumplabel::ops! {
    static TABLE: Backend = { Native, Stub, Called };

    fn operate(at: u64) -> u64 {
        Native => native, x86_64 unsafe { "{{disp32}} lea {ret}, [{at} + 7]" };
        Stub => other, x86_64 unsafe { "lea {ret}, [{at} + 8]" };
        Called => other;
    }
}

extern "C" fn native(at: u64) -> u64 {
    at + 7
}

extern "C" fn other(at: u64) -> u64 {
    at + 8
}

#[inline(never)]
fn operated(at: u64) -> u64 {
    operate(at)
}

#[test]
fn operations() {
    assert_eq!(operated(1), 8);
    assert!(
        TABLE.query() == Backend::Native && if std::env::args().count() > 100 { TABLE.native().is_ok() } else { true }
    );
    let program = std::env::current_exe().unwrap();
    let sites = prints("sites", &program, &["*TABLE"]);
    let row = sites.lines().find(|line| line.contains("TABLE")).unwrap_or_else(|| panic!("{sites}"));
    assert!(row.contains("in-place") && row.contains("operated"), "{sites}");
    let listing = prints("disasm", &program, &["*TABLE"]);
    let rows: Vec<&str> = listing.lines().map(str::trim).filter(|row| !row.is_empty()).collect();
    assert!(rows[1].starts_with("now") && rows[1].contains("lea") && rows[1].contains("+7]"), "{listing}");
    assert!(
        rows[2..].iter().all(|row| row.starts_with("flip") && row.contains(": e9 ") && row.contains("jmp")),
        "{listing}"
    );
    assert_eq!(rows.len(), 4, "{listing}");
    assert_eq!(jumplabel(&["check", text(&program)]).code, 0);
}
