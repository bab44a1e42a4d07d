//! Tests of calls through a handle.

use std::ffi::c_void;

use super::Handle;
use crate::{Done, Entry, Layer, Setting};

struct Echo;

impl Layer for Echo {
    const PREFIX: &'static str = "echo:";
    const KIND: &'static str = "an echo";
    const VALUES: &'static str = "write anything";

    fn entries(visit: &mut dyn FnMut(Entry<'_>)) {
        visit(Entry { name: "a", value: None, revision: 0, note: "", sites: 0 });
        visit(Entry { name: "ü", value: Some(""), revision: u64::MAX, note: "twice", sites: 3 });
    }

    fn takes(name: &str) -> Option<usize> {
        (name == "c").then_some(7)
    }

    fn check(name: &str, value: &str) -> Result<(), String> {
        if name == value { Ok(()) } else { Err(format!("{name} is not {value}")) }
    }

    fn configure(settings: &[Setting<'_>], dry_run: bool) -> Result<Done, String> {
        if dry_run {
            return Err(format!("{settings:?}"));
        }
        Ok(Done { revision: settings.len() as u64, pages: 3 })
    }

    fn follow(names: &[&str], per_second: u32) -> Result<(), String> {
        Err(format!("{names:?} {per_second}"))
    }

    fn records(visit: &mut dyn FnMut(&str, &str)) -> u64 {
        visit("ü", "{}");
        visit("", "[1]");
        u64::MAX
    }

    fn covers(chosen: &str, name: &str) -> bool {
        name.starts_with(chosen)
    }
}

/// A layer that follows nothing.
struct Silent;

impl Layer for Silent {
    const PREFIX: &'static str = "silent:";
    const KIND: &'static str = "a silence";
    const VALUES: &'static str = "write nothing";

    fn entries(_: &mut dyn FnMut(Entry<'_>)) {}

    fn check(_: &str, _: &str) -> Result<(), String> {
        Ok(())
    }

    fn configure(_: &[Setting<'_>], _: bool) -> Result<Done, String> {
        Ok(Done::default())
    }
}

static SILENT: Handle = Handle::of::<Silent>();

static ECHO: Handle = Handle::of::<Echo>();

/// A handle passes all arguments to the layer, and all results back, unchanged.
#[test]
fn there_and_back() {
    assert_eq!([ECHO.prefix(), ECHO.kind(), ECHO.values()], ["echo:", "an echo", "write anything"]);
    let mut found = Vec::new();
    ECHO.entries(|entry| found.push(format!("{entry:?}")));
    let mut expected = Vec::new();
    Echo::entries(&mut |entry| expected.push(format!("{entry:?}")));
    assert_eq!(found, expected);
    assert_eq!([ECHO.takes("b"), ECHO.takes("c")], [None, Some(7)]);
    assert_eq!((ECHO.check("a", "a"), ECHO.check("a", "b")), (Ok(()), Err("a is not b".to_owned())));
    let settings = [
        Setting { name: "a", value: None, only_at: Some(0) },
        Setting { name: "", value: Some(""), only_at: None },
        Setting { name: "ü", value: Some("x"), only_at: Some(7) },
    ];
    assert_eq!(ECHO.configure(&settings, true), Err(format!("{settings:?}")));
    assert_eq!(ECHO.configure(&settings, false), Ok(Done { revision: 3, pages: 3 }));
    assert_eq!(ECHO.configure(&[], false), Ok(Done { revision: 0, pages: 3 }));
    assert_eq!(ECHO.follow(&["a", ""], 7), Err(r#"["a", ""] 7"#.to_owned()));
    assert_eq!(ECHO.follow(&[], u32::MAX), Err(format!("[] {}", u32::MAX)));
    let mut records = Vec::new();
    assert_eq!(ECHO.records(|name, record| records.push(format!("{name} {record}"))), u64::MAX);
    assert_eq!(records, ["ü {}", " [1]"]);
    assert_eq!([ECHO.covers("a", "ab"), ECHO.covers("b", "ab")], [true, false]);
}

/// A layer without its own `follow` refuses to follow any name, and says that it has no events.
#[test]
fn nothing_to_follow() {
    assert_eq!(SILENT.follow(&["a"], 1), Err("a silence has no events that anybody could follow".to_owned()));
    assert_eq!((SILENT.follow(&[], 1), SILENT.records(|_, _| panic!())), (Ok(()), 0));
    assert_eq!([SILENT.covers("a", "a"), SILENT.covers("a", "b")], [true, false]);
}

/// `from_c` accepts a handle of this version, and refuses null and a handle of another version.
#[test]
fn versions() {
    let of = |at: *const c_void| {
        // SAFETY: `at` is null, a handle, or a number like that at the beginning of another version's handle.
        unsafe { Handle::from_c(at) }.is_some()
    };
    assert!(!of(std::ptr::null()) && of((&raw const ECHO).cast()) && !of((&raw const OTHER).cast()));
    static OTHER: u64 = 1 | 1 << 32;
}
