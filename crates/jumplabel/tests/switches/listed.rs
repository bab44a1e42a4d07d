//! The list of modes.

use super::Mode;
use jumplabel::{for_each_call, for_each_key, for_each_mode, static_mode, static_switch};

static_mode! { static HERE: Mode = Checked; }
const LINE: u32 = line!() - 1;

static_mode! { static WITHOUT: Mode = Fast; }

fn find(name: &str) -> Option<jumplabel::ModeInfo> {
    let mut found = None;
    for_each_mode(|mode| {
        if mode.path == format!("{}::{name}", module_path!()) {
            assert!(found.replace(mode).is_none(), "{mode} is listed twice");
        }
    })
    .unwrap();
    found
}

/// With and without switches; in a function, too. Modes are among modes only.
#[test]
#[cfg_attr(target_family = "wasm", ignore = "without constructors nothing is listed")]
fn modes() {
    let arms = || (static_switch!(HERE, { Fast => 1, Checked => 2, Traced => 3 }), switched_too());
    let info = find("HERE").unwrap();
    assert_eq!((info.module, info.file, info.line, info.number, info.arms), (module_path!(), file!(), LINE, 1, 3));
    assert_eq!((info.sites, arms()), (2 * super::SITE, (2, true)));
    assert!(std::ptr::eq(info.mode, HERE.raw()));
    assert_eq!(format!("{info}"), format!("{}::HERE = 1 of 3", module_path!()));
    HERE.set(Mode::Traced).unwrap();
    let info = find("HERE").unwrap();
    assert_eq!((info.number, arms()), (2, (3, false)));
    let shown = format!("{info:?}");
    assert!(shown.contains(&format!("::HERE@{}:{LINE}:", file!())) && shown.contains(" = 2 of 3, "), "{shown}");
    // The callback may set the mode that it gets.
    for_each_mode(|mode| {
        if std::ptr::eq(mode.mode, HERE.raw()) {
            mode.mode.set(0).unwrap();
        }
    })
    .unwrap();
    assert_eq!(arms().0, 1);

    static_mode! { static LOCAL: Mode = Traced; }
    WITHOUT.set(Mode::Checked).unwrap();
    LOCAL.set(Mode::Traced).unwrap();
    assert_eq!(find("WITHOUT").map(|mode| (mode.number, mode.sites)), Some((1, 0)));
    assert_eq!(find("LOCAL").map(|mode| (mode.number, mode.sites)), Some((2, 0)));

    let mut others = 0;
    for_each_key(|key| others += usize::from(key.path.ends_with("::HERE"))).unwrap();
    for_each_call(|call| others += usize::from(call.path.ends_with("::HERE"))).unwrap();
    assert_eq!(others, 0);
}

fn switched_too() -> bool {
    static_switch!(HERE, { Fast => false, Checked => true, Traced => false })
}
