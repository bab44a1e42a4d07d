//! Tests in which the system refuses to change protections. Wine does not enforce the policies of Windows by which the system would refuse. So these
//! tests themselves refuse the calls, only for their own thread.

use std::cell::Cell;
use std::string::ToString;

use super::kernel32::{PAGE_EXECUTE_READ, PAGE_EXECUTE_READWRITE, PAGE_TARGETS_NO_UPDATE};
use super::pages::{self, Region};
use crate::error::Refusal;
use crate::{Error, Lock, WriterKind, for_each_site, static_branch_unlikely, static_key};

/// The error number of `VirtualProtect` if ProcessDynamicCodePolicy forbids the change.
const ERROR_DYNAMIC_CODE_BLOCKED: u32 = 1655;

/// The calls of `VirtualProtect` that are refused.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Refused {
    None,
    /// Calls that make pages writable, after this number of such calls has been allowed.
    Opening(u32),
    /// Calls that do not make pages writable.
    Closing,
}

std::thread_local! { static REFUSED: Cell<Refused> = const { Cell::new(Refused::None) }; }

/// Returns an error if the test wants calls that set `protection` to be refused. `pages` calls this before each call of `VirtualProtect`.
pub(super) fn refusal(protection: u32) -> Result<(), Refusal> {
    let opens = protection & !PAGE_TARGETS_NO_UPDATE == PAGE_EXECUTE_READWRITE;
    let is_refused = match REFUSED.get() {
        Refused::Opening(0) => opens,
        // One change is one call here: the first call, with the flag that keeps Control Flow Guard's list, succeeds.
        Refused::Opening(left) if opens => {
            REFUSED.set(Refused::Opening(left - 1));
            false
        }
        Refused::Closing => !opens,
        _ => false,
    };
    if is_refused { Err(pages::refusal(ERROR_DYNAMIC_CODE_BLOCKED)) } else { Ok(()) }
}

fn while_refused<T>(refused: Refused, body: impl FnOnce() -> T) -> T {
    REFUSED.set(refused);
    let result = body();
    REFUSED.set(Refused::None);
    result
}

/// The address of the only site of `key`.
fn site(key: &crate::RawKey) -> usize {
    let mut address = 0;
    assert_eq!(for_each_site(key, |site| address = site.address), Ok(1));
    address
}

/// The protection of the page at `address`. The caller must hold the lock, because other tests flip at the same time, and may have opened the page.
fn protection(address: usize, _: &Lock) -> u32 {
    Region::at(address).unwrap().protection
}

#[test]
fn a_policy_that_forbids() {
    static_key! { static KEY: false; static LOADS: false, or_load; }
    #[inline(never)]
    fn checks() -> [bool; 2] {
        [static_branch_unlikely!(KEY), static_branch_unlikely!(LOADS)]
    }
    let denied = while_refused(Refused::Opening(0), || KEY.enable());
    let Err(error @ Error::Denied { refused }) = denied else { panic!("{denied:?}") };
    assert_eq!(refused.of(WriterKind::Mprotect), Refusal::errno(ERROR_DYNAMIC_CODE_BLOCKED as i32));
    let message = error.to_string();
    assert!(
        message.contains("mprotect: Windows error 1655") && message.contains("ProcessDynamicCodePolicy"),
        "{message}"
    );
    assert_eq!((checks(), KEY.is_enabled()), ([false; 2], false));

    let outcome = while_refused(Refused::Opening(0), || LOADS.enable()).unwrap();
    assert_eq!((outcome.loading, outcome.sites, checks()), (1, 0, [false, true]));
    // The next flips are not refused, so they patch.
    assert_eq!(LOADS.disable().unwrap().sites, 1);
    assert_eq!(KEY.enable().unwrap().sites, 1);
    assert_eq!(checks(), [true, false]);
    // Refuses in the middle of a flip of several steps, because the pages are opened again between two steps. Each round refuses one opening later,
    // until none is refused.
    KEY.disable().unwrap();
    crate::restore_pristine(&KEY).unwrap();
    for steps in 1.. {
        match while_refused(Refused::Opening(steps), || KEY.enable()) {
            Ok(outcome) => {
                assert_eq!((outcome.primed, checks()[0]), (1, true));
                assert!(steps > 2, "{steps}");
                break;
            }
            Err(error) => assert!(matches!(error, Error::Denied { .. } | Error::RollbackFailed { .. }), "{error:?}"),
        }
        assert!(!checks()[0], "after {steps}");
    }
    let site = site(&KEY);
    assert_eq!(protection(site, &Lock::take().unwrap()), PAGE_EXECUTE_READ);
}

#[test]
fn pages_that_cannot_be_closed() {
    static_key! { static KEY: false; }
    #[inline(never)]
    fn check() -> bool {
        static_branch_unlikely!(KEY)
    }
    KEY.enable().unwrap();
    let site = site(&KEY);
    let mut lock = Lock::take().unwrap();
    assert_eq!(protection(site, &lock), PAGE_EXECUTE_READ);
    let outcome = while_refused(Refused::Closing, || KEY.disable_locked(&mut lock)).unwrap();
    assert!(outcome.warnings.left_writable && !check());
    assert_ne!(protection(site, &lock), PAGE_EXECUTE_READ);
    // The pages are still open, but the library still knows the protection that they must get back.
    let outcome = while_refused(Refused::Closing, || KEY.enable_locked(&mut lock)).unwrap();
    assert!(outcome.warnings.left_writable && check());
    let outcome = KEY.disable_locked(&mut lock).unwrap();
    assert!(!outcome.warnings.left_writable && !check());
    assert_eq!(protection(site, &lock), PAGE_EXECUTE_READ);
}
