//! Instructions whose place others take if the processor has a feature.
#![cfg(all(target_arch = "x86_64", not(windows)))]

#[cfg(jumplabel_sites)]
#[path = "alternatives/unreliable.rs"]
mod unreliable;

use std::arch::{asm, global_asm};
use std::sync::atomic::{AtomicBool, Ordering};

use jumplabel::{Error, Refusal, WriterKind, alternative, alternatives, set_writer};
use jumplabel_testing::scenario::{fork, passes, reap};

/// Whether anything is applied here.
const PATCHED: bool = cfg!(jumplabel_sites);

global_asm!(
    ".pushsection .data\n.balign 8\nalternatives_test_one: .quad 1\nalternatives_test_two: .quad 2\n.popsection",
    ".pushsection .text\nalternatives_test_three: mov eax, 3\nret\n.popsection",
);

/// Functions whose text is an alternative of numbers: what one returns says which arm it is.
macro_rules! numbers {
    ($($name:ident: $alternative:expr;)*) => {$(
        #[inline(never)]
        fn $name() -> u64 {
            let mut number = std::hint::black_box(0_u64);
            // SAFETY: writes the operand and the flags. What is called writes nothing else.
            unsafe { asm!("sub rsp, 128", $alternative, "add rsp, 128", inout("rax") number, in("rcx") 0_u64) };
            std::hint::black_box(&mut number);
            number
        }
    )*};
}

// Every x86-64 of the last fifteen years has popcnt and sse3; `serialize` may be there or not.
numbers! {
    same_length: alternative!("mov eax, 1", popcnt => "mov eax, 2");
    shorter: alternative!("mov eax, 1\nnop", popcnt => "lea eax, [rcx + 2]");
    longer: alternative!("nop", popcnt => "mov eax, 2\nnop");
    from_nothing: alternative!("", popcnt => "lea eax, [rcx + 2]");
    to_nothing: alternative!("lea eax, [rcx + 1]", popcnt => "");
    far: alternative!("mov eax, 1", popcnt => "mov eax, 1\nadd eax, 1\nnop");
    far_from_nothing: alternative!("", popcnt => "mov eax, 1\nadd eax, 1\nnop");
    far_old: alternative!("mov eax, 3\nsub eax, 1\nsub eax, 1", popcnt => "mov eax, 2");
    relative: alternative!("mov rax, [rip + alternatives_test_one]", popcnt => "mov rax, [rip + alternatives_test_two]");
    far_relative: alternative!("mov rax, [rip + alternatives_test_one]\nnop", popcnt => "mov rax, [rip + alternatives_test_two]");
    calls: alternative!("lea eax, [rcx + 1]", popcnt => "call alternatives_test_three");
    called: alternative!("call alternatives_test_three", popcnt => "lea eax, [rcx + 2]");
    last_wins: alternative!("mov eax, 1", popcnt => "mov eax, 3", sse3 => "mov eax, 2");
    one_may_be_missing: alternative!("mov eax, 1", sse3 => "mov eax, 2", serialize => "mov eax, 2");
    jumps_inside: alternative!("jrcxz 2f\nnop\n2: lea eax, [rcx + 1]", popcnt => "jrcxz 2f\nnop\nnop\n2: lea eax, [rcx + 2]");
    uses_stack: alternative!("push 1\npop rax", popcnt => "push 2\npop rax");
}

type Each = (&'static str, fn() -> u64, u64, u64);

/// All alternatives, with their results before and after.
const EACH: &[Each] = &[
    ("same_length", same_length, 1, 2),
    ("shorter", shorter, 1, 2),
    ("longer", longer, 0, 2),
    ("from_nothing", from_nothing, 0, 2),
    ("to_nothing", to_nothing, 1, 0),
    ("far", far, 1, 2),
    ("far_from_nothing", far_from_nothing, 0, 2),
    ("far_old", far_old, 1, 2),
    ("relative", relative, 1, 2),
    ("far_relative", far_relative, 1, 2),
    ("calls", calls, 1, 3),
    ("called", called, 3, 2),
    ("last_wins", last_wins, 1, 2),
    ("one_may_be_missing", one_may_be_missing, 1, 2),
    ("jumps_inside", jumps_inside, 1, 2),
    ("uses_stack", uses_stack, 1, 2),
];

fn each_is(applied: bool) {
    for (name, function, before, after) in EACH {
        assert_eq!(function(), if applied && PATCHED { *after } else { *before }, "{name}");
    }
}

/// Any writer applies the alternatives once; the second time there is nothing to do.
#[test]
fn applied() {
    passes(|| {
        assert!(!PATCHED || alternatives::has("popcnt") && alternatives::has("sse3"), "a processor of 2008");
        reap(fork(|| {
            [WriterKind::Mprotect, WriterKind::Procmem, WriterKind::Remap].into_iter().all(|writer| {
                reap(fork(|| {
                    set_writer(Some(writer));
                    each_is(false);
                    let outcome = alternatives::apply().unwrap();
                    each_is(true);
                    assert!(outcome.sites >= EACH.len() || !PATCHED, "{outcome:?}");
                    assert!(!PATCHED || outcome.writer == Some(writer));
                    assert_eq!(alternatives::apply().unwrap().sites, 0);
                    true
                }));
                true
            })
        }));
    });
}

/// A thread may be between two instructions: not even `remap` may write.
#[test]
#[cfg_attr(not(jumplabel_sites), ignore = "nothing is patched")]
fn refused_beside_threads() {
    passes(|| {
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    std::thread::yield_now()
                }
            });
            for writer in [None, Some(WriterKind::Remap), Some(WriterKind::Mprotect)] {
                set_writer(writer);
                assert_eq!(
                    alternatives::apply(),
                    Err(Error::MultiThreaded { core_sync: Refusal::NOT_TRIED, remap: Refusal::NOT_TRIED })
                );
                each_is(false);
            }
            stop.store(true, Ordering::Relaxed);
        });
    });
}

/// An alternative that something else has changed stays so while there are other threads, which may be between two of its instructions.
#[test]
#[cfg_attr(not(jumplabel_sites), ignore = "nothing is patched")]
fn strayed_beside_threads() {
    passes(|| {
        reap(fork(|| {
            alternatives::apply().unwrap();
            let site = site_of(same_length, 2);
            write(site + 1, 1);
            let stop = AtomicBool::new(false);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        std::thread::yield_now()
                    }
                });
                for writer in [None, Some(WriterKind::Remap), Some(WriterKind::Procmem)] {
                    set_writer(writer);
                    let refused = Error::MultiThreaded { core_sync: Refusal::NOT_TRIED, remap: Refusal::NOT_TRIED };
                    assert_eq!((jumplabel::verify(), same_length()), (Err(refused), 1));
                }
                set_writer(None);
                // A child has one thread.
                reap(fork(|| {
                    jumplabel::verify().unwrap();
                    each_is(true);
                    true
                }));
                stop.store(true, Ordering::Relaxed);
            });
            true
        }));
    });
}

/// The place of `mov eax, number` in a function.
fn site_of(function: fn() -> u64, number: u8) -> usize {
    let entry = function as *const () as usize;
    // SAFETY: the function is longer than that.
    let code = unsafe { (entry as *const [u8; 96]).read_volatile() };
    entry + code.windows(5).position(|bytes| bytes == [0xb8, number, 0, 0, 0]).unwrap()
}

/// Bytes that a debugger leaves at one alternative keep all of them as they are.
#[test]
#[cfg_attr(not(jumplabel_sites), ignore = "nothing is patched")]
fn foreign_bytes() {
    passes(|| {
        reap(fork(|| {
            let site = site_of(same_length, 1);
            write(site + 1, 9);
            let error = alternatives::apply().unwrap_err();
            assert!(matches!(error, Error::ForeignBytes { address, .. } if address == site), "{error:?}");
            assert_eq!(same_length(), 9);
            write(site + 1, 1);
            each_is(false);
            alternatives::apply().unwrap();
            each_is(true);
            true
        }));
    });
}

fn write(address: usize, byte: u8) {
    // SAFETY: a byte of code that nobody executes meanwhile.
    unsafe {
        let memory = libc::open(c"/proc/self/mem".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
        assert_eq!(libc::pwrite64(memory, (&raw const byte).cast(), 1, address as i64), 1);
        libc::close(memory);
    }
}

/// The names of features that the library knows, and no others.
#[test]
fn features() {
    assert!(!alternatives::has("coffee") && !alternatives::has(""));
    assert_eq!(alternatives::has("avx2"), PATCHED && std::is_x86_feature_detected!("avx2"));
}

/// Alternatives in several functions, and several times in one, with operands that the compiler chooses.
#[test]
fn operands() {
    #[inline(always)]
    fn more(number: u64) -> u64 {
        let more;
        // SAFETY: writes its operand.
        unsafe {
            asm!(alternative!("lea {m}, [{n} + 1]", popcnt => "lea {m}, [{n} + 2]"), n = in(reg) number, m = out(reg) more, options(nomem, nostack));
        }
        more
    }
    #[inline(never)]
    fn twice(number: u64) -> u64 {
        more(more(std::hint::black_box(number)))
    }
    passes(|| {
        reap(fork(|| {
            assert_eq!((more(1), twice(5)), (2, 7));
            alternatives::apply().unwrap();
            (more(1), twice(5)) == if PATCHED { (3, 9) } else { (2, 7) }
        }));
    });
}
