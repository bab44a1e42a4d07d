//! Updates that are refused, and those that have nothing to do.

use jumplabel::{Error, static_call};

use super::{first, second};

/// An update to the present target has nothing to do, and a seal does not forbid it. This includes the default, by whatever name.
#[test]
#[cfg_attr(miri, ignore = "a function has another address each time that it is named")]
fn to_the_same() {
    static_call! { static HOOK: fn(u64) -> u64 = first; static OTHER: fn(u64) -> u64 = first; }
    assert_eq!(HOOK.update(first).unwrap().sites, 0);
    HOOK.seal().unwrap();
    assert_eq!(HOOK.update(first).map(|outcome| outcome.sites), Ok(0));
    assert_eq!(HOOK.reset().map(|outcome| outcome.sites), Ok(0));
    assert_eq!((HOOK.update(second), HOOK(1)), (Err(Error::Sealed), 2));
    OTHER.update(second).unwrap();
    OTHER.update(first).unwrap();
    OTHER.seal().unwrap();
    assert_eq!(OTHER.reset().map(|outcome| outcome.sites), Ok(0));
    assert_eq!(OTHER.update(first).map(|outcome| outcome.sites), Ok(0));
    assert_eq!((OTHER(1), OTHER.reset().map(|outcome| outcome.writer)), (2, Ok(None)));
}

/// Addresses where no code is are refused as targets, and nothing changes.
#[test]
#[cfg(target_os = "linux")]
#[cfg_attr(not(jumplabel_trampolines), ignore = "a platform without sites does not know where code is")]
fn not_code() {
    static_call! { static HOOK: fn(u64) -> u64 = first; }
    if jumplabel_testing::scenario::emulator().is_some() {
        return println!("skipped: the map of an emulator's program does not say what is code");
    }
    let data = 7_u64;
    let unmapped = 0x10_0000_usize;
    for address in [&raw const data as usize, unmapped, usize::MAX] {
        // SAFETY: it is never called.
        assert_eq!(unsafe { HOOK.raw().update(address) }, Err(Error::NotCode { address }));
        assert_eq!(HOOK(1), 2);
    }
    // No address is an order to go to the default, from which a seal would not keep.
    HOOK.update(second).unwrap();
    HOOK.seal().unwrap();
    // SAFETY: it is never called.
    assert!(unsafe { HOOK.raw().update(usize::MAX) }.is_err());
    assert_eq!(HOOK(1), 101);
    // Code of an object without a table, and code that was mapped by hand.
    static_call! { static LENGTH: unsafe extern "C" fn(*const libc::c_char) -> usize = nothing; }
    unsafe extern "C" fn nothing(_: *const libc::c_char) -> usize {
        0
    }
    LENGTH.update(libc::strlen).unwrap();
    // SAFETY: as the function's type asks for.
    assert_eq!(unsafe { LENGTH(c"four".as_ptr()) }, 4);
}

/// An update to the call's own trampoline, where a thread would go round for ever.
#[test]
#[cfg_attr(not(jumplabel_trampolines), ignore = "there is none")]
fn to_itself() {
    static_call! { static HOOK: fn(u64) -> u64 = first; }
    let address = *HOOK as *const () as usize;
    for (target, result) in [(first as fn(u64) -> u64, 2), (second, 101)] {
        HOOK.update(target).unwrap();
        assert_eq!(HOOK.update(*HOOK), Err(Error::Circular { address }));
        assert_eq!(HOOK(1), result);
    }
}
