//! Refusals in the middle of a flip, with no way back.

use jumplabel::{Batch, Error, static_branch_unlikely, static_key};
use jumplabel_testing::scenario::passes;

use super::refused::{ALL, KEY, ON, ORDINARY, allow, allow_syncs, begin, denied, is, loading};

static_key! {
    static UNLIKELY: true, or_load;
    static FAR: false, or_load;
}

/// Whether the sites of `FAR` take several steps from their stubs to their arms.
const SEVERAL_STEPS: bool = cfg!(any(target_arch = "x86_64", target_arch = "x86", target_arch = "s390x"));

#[inline(never)]
fn unlikely() -> [bool; 2] {
    [static_branch_unlikely!(UNLIKELY), static_branch_unlikely!(UNLIKELY)]
}

/// The stubs are far from the sites, so the displacements to the stubs and to the arms differ in several bytes.
#[inline(never)]
fn far() -> [bool; 2] {
    let checks = [static_branch_unlikely!(FAR), static_branch_unlikely!(FAR)];
    if std::hint::black_box(false) {
        // SAFETY: never executed.
        unsafe { std::arch::asm!(".skip 20000") };
    }
    checks
}

/// A flip is refused in the middle, and so is its way back. If each site takes one step, or is to fall through, the written sites are right in the
/// new state, and so are those that load. This is not so if some are in between, or beside an ordinary key.
#[test]
fn in_the_middle() {
    passes(|| {
        begin();
        allow(1);
        let outcome = UNLIKELY.disable().unwrap();
        assert_eq!((outcome.loading, unlikely()), (2, [false; 2]));
        is(false, true, false);
        allow(0);
        // The site that was written is patched for good.
        assert_eq!(loading(&UNLIKELY), 1);
        denied(UNLIKELY.enable());
        assert_eq!(unlikely(), [false; 2]);
        allow(ALL);
        UNLIKELY.enable().unwrap();
        assert_eq!((loading(&UNLIKELY), unlikely()), (0, [true; 2]));
        // A site that is to jump to its arm may fall through in between. That is right only if the flip fails.
        allow(1);
        let result = FAR.enable();
        if SEVERAL_STEPS {
            assert!(matches!(result, Err(Error::RollbackFailed { .. })), "{result:?}");
            assert_eq!((FAR.is_enabled(), far()), (false, [false; 2]));
        } else {
            assert_eq!((result.unwrap().loading, far()), (2, [true; 2]));
        }
        allow(ALL);
        FAR.disable().unwrap();
        assert_eq!((loading(&FAR), far()), (if SEVERAL_STEPS { 2 } else { 0 }, [false; 2]));
        KEY.enable().unwrap();
        is(true, true, false);
        allow(1);
        let result = Batch::new().disable(&KEY).enable(&ORDINARY).commit();
        assert!(matches!(result, Err(Error::RollbackFailed { .. })), "{result:?}");
        assert!(matches!(ON.disable(), Err(Error::RollbackFailed { .. })));
        allow(ALL);
        ON.disable().unwrap();
        is(true, false, false);
    });
}

/// Core sync is refused after the second step, and on the way back: the sites stay between two steps, where they fall through and do not load. So
/// the flip does not succeed although other sites load.
#[test]
fn between_two_steps() {
    passes(|| {
        begin();
        if !SEVERAL_STEPS {
            return;
        }
        // Two sites: two steps, and the second one undone.
        allow(6);
        allow_syncs(1);
        let result = FAR.enable();
        assert!(result.is_err(), "{result:?}");
        assert_eq!((FAR.is_enabled(), far(), loading(&FAR)), (false, [false; 2], 0));
        allow_syncs(ALL);
        allow(0);
        denied(FAR.enable());
        allow(ALL);
        FAR.enable().unwrap();
        assert_eq!((FAR.is_enabled(), far(), loading(&FAR)), (true, [true; 2], 0));
    });
}
