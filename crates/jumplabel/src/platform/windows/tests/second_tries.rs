//! Tests of the second call of `VirtualProtect` that follows a refusal: without the flag for Control Flow Guard; with another protection for pages
//! that a store has copied.

use std::vec::Vec;

use super::*;

static_key! { static GUARDED: false; static COPIED: false; }

#[inline(never)]
fn checks() -> [bool; 2] {
    [static_branch_unlikely!(GUARDED), static_branch_unlikely!(COPIED)]
}

/// Flips a key of one site, while the system refuses some calls. The flip must succeed. Returns the protections that it asked for.
fn flipped(key: &'static crate::RawKey, lock: &mut Lock, refused: Refused, on: bool) -> Vec<u32> {
    let outcome = while_refused(refused, || if on { key.enable_locked(lock) } else { key.disable_locked(lock) });
    assert_eq!(outcome.map(|outcome| (outcome.sites, outcome.warnings.left_writable)), Ok((1, false)));
    ASKED.take()
}

/// A system without the flag refuses each call that has it. Then the same call is made without it.
#[test]
fn without_the_flag_of_control_flow_guard() {
    let _one = one_at_a_time();
    GUARDED.enable().unwrap();
    let site = site(&GUARDED);
    let mut lock = Lock::take().unwrap();
    let flip = |lock: &mut Lock, refused: Refused, on: bool| {
        let asked = flipped(GUARDED.raw(), lock, refused, on);
        assert_eq!((checks()[0], protection(site, lock)), (on, PAGE_EXECUTE_READ));
        asked
    };
    let [open, close] = [PAGE_EXECUTE_READWRITE, PAGE_EXECUTE_READ];
    let flag = PAGE_TARGETS_NO_UPDATE;
    // With the flag, each call succeeds at once: two calls in a flip of one step.
    assert_eq!(flip(&mut lock, Refused::None, false), [open | flag, close | flag]);
    for on in [true, false] {
        assert_eq!(flip(&mut lock, Refused::Flag, on), [open | flag, open, close | flag, close]);
    }
    // Pages of data are no targets of calls. The system refuses the flag for them.
    let page = pages::allocate(1).unwrap();
    let protect = |protection| {
        // SAFETY: nobody else has this page.
        let done = while_refused(Refused::None, || unsafe { pages::protect(page.as_ptr() as usize, 1, protection) });
        assert_eq!(done, Ok(()));
        ASKED.take()
    };
    let data = [super::super::kernel32::PAGE_READONLY, super::super::kernel32::PAGE_READWRITE];
    assert_eq!(data.map(protect), data.map(|protection| Vec::from([protection])));
    // SAFETY: the page is not used any more.
    unsafe { pages::release(page) };
}

/// Sets the protection of the page at `address`.
fn set(address: usize, protection: u32, _: &Lock) {
    // SAFETY: the page is code of this program, and stays executable.
    unsafe { pages::protect(address & !(pages::size() - 1), pages::size(), protection) }.unwrap();
}

/// Pages of a module that were writable before the flip are copied at the first store. Then the system may refuse their former protection. They
/// become writable and executable without it, as they were for the program.
#[test]
fn pages_that_a_store_has_copied() {
    let _one = one_at_a_time();
    let site = site(&COPIED);
    let mut lock = Lock::take().unwrap();
    let flip = |lock: &mut Lock, refused: Refused, on: bool| {
        let asked = flipped(COPIED.raw(), lock, refused, on);
        assert_eq!(checks()[1], on);
        asked
    };
    // The first flip takes three steps: the pages are also closed between two steps. The later ones take one step. (Wine reports writable pages of a
    // module as copied at a store also after the store. So only the calls show which protection was the last.)
    let close = [PAGE_EXECUTE_WRITECOPY | PAGE_TARGETS_NO_UPDATE, PAGE_EXECUTE_WRITECOPY];
    let instead = PAGE_EXECUTE_READWRITE | PAGE_TARGETS_NO_UPDATE;
    for (on, closed) in [(true, 3), (false, 1)] {
        set(site, PAGE_EXECUTE_WRITECOPY, &lock);
        let asked = flip(&mut lock, Refused::Copied, on);
        assert_eq!(asked, [instead, close[0], close[1], instead].repeat(closed), "{asked:x?}");
    }
    // This system gives the protection back.
    set(site, PAGE_EXECUTE_WRITECOPY, &lock);
    let asked = flip(&mut lock, Refused::None, true);
    assert_eq!(asked.last(), Some(&(PAGE_EXECUTE_WRITECOPY | PAGE_TARGETS_NO_UPDATE)), "{asked:x?}");
    // Other pages are not affected.
    set(site, PAGE_EXECUTE_READ, &lock);
    flip(&mut lock, Refused::Copied, false);
    assert_eq!(protection(site, &lock), PAGE_EXECUTE_READ);
}
