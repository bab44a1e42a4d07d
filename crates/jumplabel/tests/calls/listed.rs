//! Static calls as introspection shows them.

use jumplabel::{for_each_call, static_call};

use super::{SITES, first, second};

static_call! { static HERE: fn(u64) -> u64 = first; }
const LINE: u32 = line!() - 1;

/// The list of calls has their facts, and no keys.
#[test]
#[cfg_attr(target_family = "wasm", ignore = "without constructors nothing is listed")]
#[cfg_attr(
    all(jumplabel_sites, not(jumplabel_trampolines)),
    ignore = "a call has no record where it has no trampoline"
)]
fn calls() {
    let find = |name: &str| {
        let mut found = None;
        for_each_call(|call| {
            if call.path == format!("{}::{name}", module_path!()) {
                found = Some(call);
            }
        })
        .unwrap();
        found.unwrap()
    };
    let info = find("HERE");
    assert_eq!((info.module, info.file, info.line, info.target), (module_path!(), file!(), LINE, None));
    assert_eq!((HERE(1), info.sites), (2, SITES));
    assert!(std::ptr::eq(info.call, HERE.raw()));
    assert_eq!(format!("{info}"), format!("{}::HERE -> default", module_path!()));
    HERE.update(second).unwrap();
    let info = find("HERE");
    assert_eq!(info.target, Some(second as *const () as usize));
    let shown = format!("{info:?}");
    assert!(shown.contains(&format!("HERE@{}:{LINE}:", file!())) && shown.contains(" -> 0x"), "{shown}");
    let mut keys = 0;
    jumplabel::for_each_key(|key| keys += usize::from(key.path.ends_with("::HERE"))).unwrap();
    assert_eq!(keys, 0);
}

/// A function that the loader knows has its name.
#[test]
#[cfg(all(target_os = "linux", target_env = "gnu", jumplabel_trampolines, not(target_feature = "crt-static")))]
fn by_symbol() {
    static_call! { static FREE: unsafe extern "C" fn(*mut libc::c_void) = ignore; }
    unsafe extern "C" fn ignore(_: *mut libc::c_void) {}
    FREE.update(libc::free).unwrap();
    // SAFETY: as the function's type asks for.
    unsafe { FREE(std::ptr::null_mut()) };
    let mut shown = Vec::new();
    for_each_call(|call| shown.push(format!("{call}"))).unwrap();
    let named = |line: &&String| line.contains("FREE") && line.ends_with("free)");
    assert_eq!(shown.iter().filter(named).count(), 1, "{shown:?}");
}
