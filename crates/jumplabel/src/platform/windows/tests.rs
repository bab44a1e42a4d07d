//! Tests in which the system refuses calls, writes have no effect, or a thread is ended in the middle of a flip. Wine enforces no policy of Windows.
//! So the tests themselves refuse calls that change protections, in their own thread alone.

mod ended;
mod second_tries;
mod self_test;

use std::cell::{Cell, RefCell};
use std::string::ToString;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::vec::Vec;

use super::kernel32::{
    ERROR_INVALID_PARAMETER, PAGE_EXECUTE_READ, PAGE_EXECUTE_READWRITE, PAGE_EXECUTE_WRITECOPY, PAGE_TARGETS_NO_UPDATE,
};
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
    /// Calls with [`PAGE_TARGETS_NO_UPDATE`], as by a system before Windows 8.1.
    Flag,
    /// Calls that would make pages copied at a store again.
    Copied,
}

std::thread_local! {
    static REFUSED: Cell<Refused> = const { Cell::new(Refused::None) };
    /// The protections that this thread has asked for since the last [`while_refused`].
    static ASKED: RefCell<Vec<u32>> = const { RefCell::new(Vec::new()) };
    /// Whether stores of this thread to code have no effect.
    static STORES_NOTHING: Cell<bool> = const { Cell::new(false) };
}

/// Returns an error if the test wants calls that set `protection` to be refused. `pages` calls this before each call of `VirtualProtect`.
pub(super) fn refusal(protection: u32) -> Result<(), Refusal> {
    ended::point();
    ASKED.with_borrow_mut(|asked| asked.push(protection));
    let kind = protection & !PAGE_TARGETS_NO_UPDATE;
    let opens = kind == PAGE_EXECUTE_READWRITE;
    let number = match REFUSED.get() {
        Refused::Opening(0) if opens => ERROR_DYNAMIC_CODE_BLOCKED,
        // Each change is first tried with a flag. The test lets that call succeed.
        Refused::Opening(left) if opens => {
            REFUSED.set(Refused::Opening(left - 1));
            return Ok(());
        }
        Refused::Closing if !opens => ERROR_DYNAMIC_CODE_BLOCKED,
        Refused::Flag if kind != protection => ERROR_INVALID_PARAMETER,
        Refused::Copied if kind == PAGE_EXECUTE_WRITECOPY => ERROR_INVALID_PARAMETER,
        _ => return Ok(()),
    };
    Err(pages::refusal(number))
}

/// Called before each store of the writer, and before each core sync. Returns whether the test leaves out the stores of this thread.
pub(super) fn stores_nothing() -> bool {
    ended::point();
    STORES_NOTHING.get()
}

fn while_refused<T>(refused: Refused, body: impl FnOnce() -> T) -> T {
    ASKED.take();
    REFUSED.set(refused);
    let result = body();
    REFUSED.set(Refused::None);
    result
}

/// Lets the tests of this module run one at a time. After a thread has been ended in the middle of a flip, the next thread that takes the lock undoes
/// that flip. That must not be a thread whose calls are refused.
fn one_at_a_time() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
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
    let _one = one_at_a_time();
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
    let _one = one_at_a_time();
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
