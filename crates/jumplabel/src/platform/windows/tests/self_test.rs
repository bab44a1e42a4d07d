//! Tests of the self-test: of a writer without effect, and of one that the system refuses at first.

use super::super::self_test;
use super::*;

static_key! { static KEY: false; static LOADS: false, or_load; }

#[inline(never)]
fn checks() -> [bool; 2] {
    [static_branch_unlikely!(KEY), static_branch_unlikely!(LOADS)]
}

/// No flip says Ok if stores to code have no effect, and the writer is not tried again.
#[test]
fn a_writer_without_effect() {
    let _one = one_at_a_time();
    let mut lock = Lock::take().unwrap();
    self_test::forget();
    for has_effect in [false, true] {
        STORES_NOTHING.set(!has_effect);
        let denied = KEY.enable_locked(&mut lock);
        let Err(Error::Denied { refused }) = denied else { panic!("{denied:?}") };
        assert_eq!(refused.of(WriterKind::Mprotect), Refusal::NO_EFFECT);
        let outcome = LOADS.enable_locked(&mut lock).unwrap();
        assert_eq!((outcome.loading, outcome.sites, checks()), (1, 0, [false, true]));
        LOADS.disable_locked(&mut lock).unwrap();
        assert_eq!((checks(), KEY.is_enabled()), ([false; 2], false));
    }
    self_test::forget();
    assert_eq!(KEY.enable_locked(&mut lock).map(|outcome| outcome.sites), Ok(1));
    assert_eq!(checks(), [true, false]);
    KEY.disable_locked(&mut lock).unwrap();
}

/// The system refuses a call of the self-test. The next flip runs it again, whatever state the refusal has left its site in.
#[test]
fn a_refused_self_test_is_run_again() {
    let _one = one_at_a_time();
    let mut lock = Lock::take().unwrap();
    // The self-test opens its page twice, and the flip opens one page.
    for opened in 0..3 {
        self_test::forget();
        let denied = while_refused(Refused::Opening(opened), || KEY.enable_locked(&mut lock));
        let Err(Error::Denied { refused }) = denied else { panic!("after {opened}: {denied:?}") };
        assert_eq!(refused.of(WriterKind::Mprotect), Refusal::errno(ERROR_DYNAMIC_CODE_BLOCKED as i32));
        assert!(!checks()[0]);
        assert_eq!(KEY.enable_locked(&mut lock).map(|outcome| outcome.sites), Ok(1));
        assert!(checks()[0]);
        KEY.disable_locked(&mut lock).unwrap();
    }
}
