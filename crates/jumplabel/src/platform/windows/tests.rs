//! Tests of refusals. Wine enforces no policy of Windows. So the tests themselves refuse calls that change protections, in their own thread alone.

use std::cell::Cell;
use std::string::ToString;

use super::kernel32::{PAGE_EXECUTE_READ, PAGE_EXECUTE_READWRITE, PAGE_TARGETS_NO_UPDATE};
use super::pages::{self, Region};
use crate::error::Refusal;
use crate::{Error, Lock, WriterKind, for_each_site, static_branch_unlikely, static_key};

/// The error number of `VirtualProtect` under ProcessDynamicCodePolicy.
const ERROR_DYNAMIC_CODE_BLOCKED: u32 = 1655;

/// The calls that the test refuses.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Refused {
    None,
    /// Calls that make pages writable, after this many that are allowed.
    Opening(u32),
    /// Calls that do not make pages writable.
    Closing,
}

std::thread_local! { static REFUSED: Cell<Refused> = const { Cell::new(Refused::None) }; }

/// Refuses a call of this thread that sets `protection`, if the test asks for that.
pub(super) fn refusal(protection: u32) -> Result<(), Refusal> {
    let opens = protection & !PAGE_TARGETS_NO_UPDATE == PAGE_EXECUTE_READWRITE;
    let is_refused = match REFUSED.get() {
        Refused::Opening(0) => opens,
        // Each change is first tried with a flag. The test lets that call succeed.
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

/// The address of the only site of a key.
fn site(key: &crate::RawKey) -> usize {
    let mut address = 0;
    assert_eq!(for_each_site(key, |site| address = site.address), Ok(1));
    address
}

/// The protection of the page at `address`. The caller holds the lock, because other tests flip, too.
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
    // The next flips are allowed. They patch.
    assert_eq!(LOADS.disable().unwrap().sites, 1);
    assert_eq!(KEY.enable().unwrap().sites, 1);
    assert_eq!(checks(), [true, false]);
    // This refusal comes in the middle of a flip of several steps: the pages are opened again between two steps.
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
    // The pages are still open. The library nevertheless knows their own protection.
    let outcome = while_refused(Refused::Closing, || KEY.enable_locked(&mut lock)).unwrap();
    assert!(outcome.warnings.left_writable && check());
    let outcome = KEY.disable_locked(&mut lock).unwrap();
    assert!(!outcome.warnings.left_writable && !check());
    assert_eq!(protection(site, &lock), PAGE_EXECUTE_READ);
}
