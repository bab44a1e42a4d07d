//! Systems without membarrier: the sites that may still be flipped, and the visibility that is reported.

use jumplabel::{Batch, Lock, Visibility, WriterKind, set_writer};

use crate::scenario::{fork, passes, reap};
use crate::seccomp::{CORE_SYNC, Call, deny};

crate::pages::pages! { sites: 2 keys, 4 sites, every 1 pages, at 4093 }

pub const WRITERS: [Option<WriterKind>; 4] =
    [None, Some(WriterKind::Procmem), Some(WriterKind::Mprotect), Some(WriterKind::Remap)];

/// The visibility that a flip reports if nothing is refused: no kernel of s390x has a membarrier that serialises.
pub const ALLOWED: Visibility = if cfg!(target_arch = "s390x") { Visibility::Eventual } else { Visibility::Immediate };

/// Runs `body` on a thread that may not use membarrier, with `denied` besides. Others may.
pub fn without_membarrier(denied: &'static [Call], body: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        scope.spawn(move || {
            deny(&[denied, CORE_SYNC].concat(), libc::EPERM);
            body();
        });
    });
}

/// Changes that take several steps, with a core sync between them.
#[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
mod several_steps {
    use jumplabel::{Error, Refusal};

    use super::*;
    use crate::seccomp::{Fault, Faults};
    use crate::state::Watch;

    const REFUSED: Error = Error::MultiThreaded { core_sync: Refusal::errno(libc::EPERM), remap: Refusal::NOT_TRIED };

    /// Several bytes may not change under threads without core sync; `remap` does not change bytes under anybody.
    #[test]
    fn pristine_sites_with_threads() {
        passes(|| {
            without_membarrier(&[], || {
                let watch = Watch::new(sites().raw());
                for writer in [WriterKind::Procmem, WriterKind::Mprotect] {
                    set_writer(Some(writer));
                    assert_eq!(watch.refused(|| sites().set(true)), REFUSED);
                }
                for writer in [None, Some(WriterKind::Remap)] {
                    set_writer(writer);
                    let outcome = sites().set(true).unwrap();
                    assert!(outcome.writer == Some(WriterKind::Remap) && outcome.primed == 4 && sites().all(true));
                    sites().restore_pristine();
                }
            });
            // This thread may use membarrier: the cause is gone.
            set_writer(None);
            assert_eq!(sites().set(true).unwrap().visibility, Visibility::Immediate);
            assert!(sites().all(true));
        });
    }

    #[test]
    fn pristine_sites_with_threads_and_no_remap() {
        passes(|| {
            without_membarrier(&[libc::SYS_mremap], || {
                let watch = Watch::new(sites().raw());
                for writer in WRITERS {
                    set_writer(writer);
                    let error = watch.refused(|| sites().set(true));
                    let is_remap = |error| {
                        let Error::Denied { refused } = error else { return false };
                        refused.iter().eq([(WriterKind::Remap, Refusal::errno(libc::EPERM))])
                    };
                    let both = Error::MultiThreaded {
                        core_sync: Refusal::errno(libc::EPERM),
                        remap: Refusal::errno(libc::EPERM),
                    };
                    assert!(
                        match writer {
                            None => error == both,
                            Some(WriterKind::Remap) => is_remap(error),
                            Some(_) => error == REFUSED,
                        },
                        "{error:?}"
                    );
                }
            });
            set_writer(None);
            sites().set(true).unwrap();
            assert!(sites().all(true));
        });
    }

    /// One batch turns pristine sites on and jumping sites off, and core sync is refused from the k-th time on. The sites that went off in the
    /// first step go on again.
    #[test]
    fn pristine_and_jumping_sites() {
        passes(|| {
            let faults = Faults::new(&[libc::SYS_membarrier]);
            let [off, on] = [&sites().keys[0], &sites().keys[1]];
            let watch = Watch::new(sites().raw());
            for writer in [WriterKind::Procmem, WriterKind::Mprotect] {
                let mut met = 0;
                set_writer(Some(writer));
                sites().set(true).unwrap(); // proves the writer
                for ordinal in 1.. {
                    sites().restore_pristine();
                    on.enable().unwrap();
                    let before = watch.state();
                    faults.arm(libc::SYS_membarrier, ordinal, u32::MAX, Fault::Errno(libc::EPERM));
                    let result = Batch::new().enable(off).disable(on).commit();
                    if faults.disarm() == 0 {
                        break;
                    }
                    let after = watch.state();
                    if let Err(error) = result {
                        assert_eq!(error, REFUSED);
                        assert_eq!(after.behaviour(), before.behaviour(), "{writer:?}, core sync number {ordinal}");
                        met += 1;
                    }
                    assert!(sites().agree());
                    sites().set(true).unwrap();
                    assert!(sites().all(true));
                }
                assert!(met >= 2, "core sync was hardly refused between two steps");
            }
        });
    }
}

#[test]
fn pristine_sites_without_threads() {
    passes(|| {
        reap(fork(|| {
            deny(CORE_SYNC, libc::EPERM);
            for writer in WRITERS {
                set_writer(writer);
                for on in [true, false] {
                    sites().set(on).unwrap();
                    assert!(sites().all(on));
                }
                sites().restore_pristine();
            }
            true
        }));
    });
}

/// One byte can change at any time, but it is not known when a thread sees the change.
#[test]
fn primed_sites() {
    passes(|| {
        sites().set(true).unwrap();
        without_membarrier(&[], || {
            for writer in WRITERS {
                set_writer(writer);
                for on in [false, true] {
                    let outcome = sites().set(on).unwrap();
                    assert!(sites().all(on) && outcome.primed == 0);
                    assert_eq!(outcome.visibility, Visibility::Eventual);
                }
            }
        });
        set_writer(None);
        assert_eq!(sites().set(false).unwrap().visibility, ALLOWED);
    });
}

/// A change with nothing to do reports the visibility of the flip that has done it, until a core sync has succeeded.
#[test]
fn nothing_left_to_do() {
    passes(|| {
        use Visibility::Eventual;
        let [a, b] = [&sites().keys[0], &sites().keys[1]];
        sites().set(true).unwrap();
        sites().set(false).unwrap();
        without_membarrier(&[], || {
            assert_eq!(a.enable().unwrap().visibility, Eventual);
            assert_eq!(b.inc().unwrap().visibility, Eventual);
            for _ in 0..2 {
                let unpatched = [a.enable(), b.inc(), b.dec(), Batch::new().enable(a).enable(b).commit()];
                for outcome in unpatched.map(Result::unwrap) {
                    assert!(outcome.sites == 0 && outcome.visibility == Eventual, "{outcome:?}");
                }
                let mut lock = Lock::take().unwrap();
                assert_eq!(b.inc_locked(&mut lock).unwrap().visibility, Eventual);
                assert_eq!(b.dec_locked(&mut lock).unwrap().visibility, Eventual);
            }
            assert_eq!(a.disable().unwrap().visibility, Eventual);
            assert_eq!(a.disable().unwrap().visibility, Eventual);
        });
        // The cause is gone, but the library finds out only when it asks. Then the key for which it has asked is visible, and another one as soon
        // as it is asked for.
        if ALLOWED == Visibility::Immediate {
            assert_eq!(b.inc().unwrap().visibility, Eventual);
        }
        for _ in 0..2 {
            assert_eq!(a.disable().unwrap().visibility, ALLOWED);
            assert_eq!(b.inc().unwrap().visibility, ALLOWED);
            assert_eq!(b.dec().unwrap().visibility, ALLOWED);
        }
    });
}
