//! Other patch points than those of keys.

use jumplabel::{Error, WriterKind, modes, static_mode, static_switch, tracepoint, verify};
use jumplabel_testing::scenario::passes;

use super::{back, each, set_writer};

#[cfg(jumplabel_trampolines)]
mod calls {
    use super::*;
    use jumplabel::static_call;

    #[inline(never)]
    extern "C" fn first(x: u64) -> u64 {
        x + 1
    }

    #[inline(never)]
    extern "C" fn second(x: u64) -> u64 {
        x + 100
    }

    #[inline(never)]
    extern "C" fn third(x: u64) -> u64 {
        x + 1000
    }

    /// Changes of a call to its present target, to another one, to the default, and `verify`: each brings the sites back.
    #[test]
    fn static_calls() {
        static_call! {
            static HOOK: extern "C" fn(u64) -> u64 = first;
            static NOTHING: Option<extern "C" fn(u64)> = None;
        }
        passes(|| {
            each(|way| {
                HOOK.update(second).unwrap();
                way.stray();
                assert_eq!(HOOK(0), 1, "nothing has strayed");
                back(HOOK.update(second), 1);
                assert_eq!(HOOK(0), 100);
                way.stray();
                back(HOOK.update(third), 1);
                assert_eq!(HOOK(0), 1000);
                way.stray();
                back(verify(), 1);
                assert_eq!(HOOK(0), 1000);
                way.stray();
                back(HOOK.reset(), 0);
                assert_eq!(HOOK(0), 1);
                way.stray();
                back(HOOK.update(second), 1);
                assert_eq!(HOOK(0), 100);
                back(HOOK.reset(), 1);
                assert!(NOTHING.query().is_none());
            });
            HOOK.update(second).unwrap();
            HOOK.seal().unwrap();
            each(|way| {
                way.stray();
                back(HOOK.update(second), 1);
                assert_eq!((HOOK(0), HOOK.update(third)), (100, Err(Error::Sealed)));
            });
        });
    }

    /// A target out of reach of a jump.
    #[cfg(target_pointer_width = "64")]
    #[test]
    fn far_targets() {
        static_call! { static HOOK: extern "C" fn(u64) -> u64 = first; }
        passes(|| {
            // SAFETY: the code of a function of that type.
            let far: extern "C" fn(u64) -> u64 =
                unsafe { jumplabel_testing::far::function(first as *const (), &jumplabel_testing::far::adds(7), 0) };
            each(|way| {
                HOOK.update(far).unwrap();
                assert_eq!(HOOK(0), 7);
                way.stray();
                assert_eq!(HOOK(0), 1, "nothing has strayed");
                back(HOOK.update(far), 1);
                assert_eq!(HOOK(0), 7);
                way.stray();
                back(HOOK.update(second), 1);
                assert_eq!(HOOK(0), 100);
                HOOK.update(far).unwrap();
                way.stray();
                back(verify(), 1);
                assert_eq!(HOOK(0), 7);
                HOOK.reset().unwrap();
            });
        });
    }
}

#[test]
fn switches() {
    modes! { enum Mode { Fast, Checked, Traced } }
    static_mode! { static MODE: Mode = Checked; }
    passes(|| {
        let arms = || {
            [
                static_switch!(MODE, { Fast => 1, Checked => 2, Traced => 3 }),
                static_switch!(MODE, { Traced => 3, Checked => 2, Fast => 1 }),
            ]
        };
        each(|way| {
            MODE.set(Mode::Traced).unwrap();
            way.stray();
            assert_eq!(arms(), [2, 2], "nothing has strayed");
            back(MODE.set(Mode::Traced), 2);
            assert_eq!(arms(), [3, 3]);
            way.stray();
            back(MODE.set(Mode::Fast), 2);
            assert_eq!(arms(), [1, 1]);
            way.stray();
            back(MODE.raw().set(0), 2);
            way.stray();
            back(verify(), 2);
            assert_eq!(arms(), [1, 1]);
            way.stray();
            back(MODE.set(Mode::Checked), 0);
            assert_eq!(arms(), [2, 2]);
        });
    });
}

/// A probe that is no longer called, because its site strayed, is called again once the site is brought back. A second probe changes no state, so
/// adding it brings nothing back.
#[test]
fn tracepoints() {
    use std::sync::atomic::{AtomicU32, Ordering};
    static SUM: AtomicU32 = AtomicU32::new(0);
    fn probe(x: u32) {
        SUM.fetch_add(x, Ordering::Relaxed);
    }
    tracepoint! { test, point(x: u32); }
    passes(|| {
        let emitted = || {
            SUM.store(0, Ordering::Relaxed);
            jumplabel::emit!(point, 5);
            SUM.load(Ordering::Relaxed)
        };
        each(|way| {
            let added = point.add(probe).unwrap();
            assert_eq!(emitted(), 5);
            way.stray();
            assert_eq!(emitted(), 0, "nothing has strayed");
            assert!(verify().unwrap().sites >= 1);
            assert_eq!(emitted(), 5);
            drop(added);
        });
    });
}

/// A table of operations.
#[cfg(all(target_arch = "x86_64", not(jumplabel_dylib)))]
pub mod adder {
    extern "C" fn plain(x: u64) -> u64 {
        x + 1
    }
    extern "C" fn twice(x: u64) -> u64 {
        x + 2
    }
    jumplabel::ops! {
        pub static ADDER: Adding = { Plain, Twice, Closed };
        pub fn add(inout x: u64) -> u64 {
            Plain => plain, x86_64 unsafe { "{{disp32}} lea {x}, [{x} + 1]" };
            Twice => twice;
            Closed => plain, x86_64 unsafe { "lea {x}, [{x} + 3]" };
        }
    }
}

/// Operations in place: with one thread, by any writer, and beside others by `remap` alone.
#[cfg(all(target_arch = "x86_64", not(jumplabel_dylib)))]
#[test]
fn operations() {
    use adder::{ADDER, Adding, add};
    use jumplabel_testing::scenario::{fork, reap};

    passes(|| {
        reap(fork(|| {
            each(|way| {
                for (backend, sum) in [(Adding::Twice, 2), (Adding::Closed, 3)] {
                    let sites = ADDER.set(backend).unwrap().sites;
                    assert_eq!(add(0), sum);
                    way.stray();
                    assert_eq!(add(0), 1, "nothing has strayed");
                    back(ADDER.set(backend), sites);
                    assert_eq!(add(0), sum);
                    way.stray();
                    back(verify(), sites);
                    assert_eq!(add(0), sum);
                }
                ADDER.native().unwrap();
            });
            true
        }));
        // This process has a second thread. A call that cannot bring the sites back says so.
        set_writer(Some(WriterKind::Remap));
        let sites = ADDER.set(Adding::Twice).unwrap().sites;
        super::WAYS[0].stray();
        set_writer(Some(WriterKind::Procmem));
        jumplabel::static_key! { static KEY: false; }
        assert!(matches!(ADDER.set(Adding::Twice), Err(Error::MultiThreaded { .. })));
        KEY.enable().unwrap();
        super::WAYS[0].stray();
        assert!(matches!(verify(), Err(Error::MultiThreaded { .. })));
        assert!(jumplabel::static_branch_unlikely!(KEY), "others come back all the same");
        assert_eq!(add(0), 1);
        set_writer(None);
        back(verify(), sites);
        assert_eq!(add(0), 2);
    });
}

/// The only alternative of this program: 2 if it is applied.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
pub fn number() -> u64 {
    let mut number = 0_u64;
    // SAFETY: writes the operand.
    unsafe { std::arch::asm!(jumplabel::alternative!("mov eax, 1", popcnt => "mov eax, 2"), inout("rax") number) };
    number
}

/// Alternatives, which have one thread, and `lock` prefixes: their file has them, so that nothing is lost.
#[cfg(target_arch = "x86_64")]
#[test]
fn instructions() {
    use jumplabel::{alternatives, up};
    use jumplabel_testing::scenario::{fork, reap};
    use std::sync::atomic::Ordering;

    static COUNT: up::AtomicUsize = up::AtomicUsize::new(0);
    passes(|| {
        reap(fork(|| {
            each(|way| {
                assert!(alternatives::apply().unwrap().sites <= 1);
                assert_eq!(number(), 2);
                way.stray();
                assert_eq!(number(), 1, "nothing has strayed");
                back(alternatives::apply(), 1);
                way.stray();
                back(verify(), 1);
                assert_eq!(number(), 2);

                // SAFETY: no thread is started here.
                let out = unsafe { up::enter() }.unwrap().sites;
                COUNT.fetch_add(1, Ordering::Relaxed);
                way.stray();
                // SAFETY: as above.
                back(unsafe { up::enter() }, out);
                way.stray();
                // One alternative and the prefixes were brought back.
                back(verify(), out + 1);
                back(up::leave(), out);
            });
            true
        }));
    });
}
