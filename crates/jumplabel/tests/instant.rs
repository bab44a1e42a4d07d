//! One instant: all checks of a naked key change together, for every thread that executes them.
//!
//! ```text
//!   flipper   stage = 2n ── flip number n, to n % 2 ── stage = 2n + 1
//!   reader    a = stage ── the checks, one after the other ── b = stage          looks at what it met where a == b
//!                 a even   a flip is going on, and no other: no check is old behind one that is new
//!                 a odd    it has returned: all are new
//! ```
//!
//! A key with one site a check does not keep the first promise, so the test can fail; and a writer that writes nothing does
//! not keep the second.
#![cfg(all(target_os = "linux", target_arch = "x86_64", not(any(miri, jumplabel_fallback))))]

#[path = "torture/clock.rs"]
#[allow(dead_code, reason = "shared with other tests")]
mod clock;
#[path = "process/pages.rs"]
#[allow(dead_code, reason = "shared with other tests")]
mod pages;
#[path = "process/scenario.rs"]
#[allow(dead_code, reason = "shared with other tests")]
mod scenario;
#[path = "process/twin.rs"]
#[allow(dead_code, reason = "shared with other tests")]
mod twin;

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use jumplabel::patch::{EditList, Step};
use jumplabel::text::Writer;
use jumplabel::{Errno, RawKey, Visibility, WriterKind, naked_key, set_writer};
use scenario::{Scenario, passes};

/// Checks that a reader makes in a row.
const CHECKS: usize = 32;

naked_key! { static KEY: false; }

fn check<const N: usize>() -> bool {
    black_box(N);
    KEY.get()
}

macro_rules! checks {
    ($($n:literal)*) => { [$(check::<{ $n }> as fn() -> bool),*] };
}

/// As many calls of the key's function, at as many places.
static NAKED: [fn() -> bool; CHECKS] =
    checks!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31);

crate::pages::pages! { spread: 1 keys, 32 sites, every 1 pages, at 0 }

/// What the readers met.
#[derive(Default)]
struct Seen {
    /// Rounds of checks in which the key changed.
    changes: AtomicU64,
    /// Rounds in which a check was old behind one that was new.
    backwards: AtomicU64,
    /// Rounds after a flip in which a check was old.
    stale: AtomicU64,
}

impl Seen {
    fn failed(&self) -> bool {
        self.backwards.load(Ordering::Relaxed) + self.stale.load(Ordering::Relaxed) > 0
    }

    /// Bit n of `met` is what check number n yielded.
    fn note(&self, stage: u64, met: u32) {
        let count = |counter: &AtomicU64, when: bool| counter.fetch_add(u64::from(when), Ordering::Relaxed);
        let new = if stage >> 1 & 1 == 1 { met } else { !met };
        if stage & 1 == 1 {
            count(&self.stale, new != u32::MAX);
        } else if new != 0 {
            let first = new.trailing_zeros();
            count(&self.changes, new != u32::MAX);
            count(&self.backwards, new >> first != u32::MAX >> first);
        }
    }
}

/// No check is executed before the load in front of it, or after the load behind.
fn fence() {
    // SAFETY: every x86-64 has SSE2.
    unsafe { std::arch::x86_64::_mm_lfence() };
}

/// Two of the processors, if there are two.
fn two_processors() -> Option<[usize; 2]> {
    let processors = clock::processors();
    if processors.len() < 2 {
        println!("skipped: nobody can meet a change on the only processor");
        return None;
    }
    Some([processors[0], processors[1]])
}

/// Flips `key` while two readers check it. One of them has a processor that the flipper never takes: a scheduler that finds
/// two processors equally busy with other work leaves all three of them on one for as long as it likes.
fn watch(key: &RawKey, checks: impl Fn(usize) -> bool + Sync) -> Seen {
    let Some([home, away]) = two_processors() else { scenario::skip() };
    const ENOUGH: u64 = 200;
    const PATIENCE: Duration = Duration::from_secs(8);
    let (stage, stop, seen) = (AtomicU64::new(1), AtomicBool::new(false), Seen::default());
    let read = || {
        while !stop.load(Ordering::Relaxed) {
            let before = stage.load(Ordering::SeqCst);
            fence();
            let met = (0..CHECKS).fold(0, |met, at| met | u32::from(checks(at)) << at);
            fence();
            if stage.load(Ordering::SeqCst) == before {
                seen.note(before, met);
            }
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(read);
        scope.spawn(|| {
            clock::move_to(&[away]);
            read();
        });
        clock::move_to(&[home]);
        let (start, mut flip) = (Instant::now(), 0);
        while seen.changes.load(Ordering::Relaxed) < ENOUGH && !seen.failed() && start.elapsed() < PATIENCE {
            flip += 1;
            stage.store(2 * flip, Ordering::SeqCst);
            let outcome = if flip % 2 == 1 { key.enable() } else { key.disable() };
            let immediate = outcome.is_ok_and(|outcome| outcome.visibility == Visibility::Immediate);
            stage.store(2 * flip + 1, Ordering::SeqCst);
            if !immediate {
                println!("flip {flip}: {outcome:?}");
                seen.stale.fetch_add(1, Ordering::Relaxed);
                break;
            }
            std::thread::sleep(Duration::from_micros(20)); // A thread that is starved by readers gets on, too.
        }
        stop.store(true, Ordering::Relaxed);
        println!("{flip} flips");
    });
    seen
}

fn judge(seen: &Seen) {
    let [changes, backwards, stale] =
        [&seen.changes, &seen.backwards, &seen.stale].map(|count| count.load(Ordering::Relaxed));
    println!("{changes} rounds of checks met the change, {backwards} went back, {stale} came late");
    assert!(backwards == 0, "{backwards} rounds went back");
    assert!(stale == 0, "{stale} rounds came late");
    assert!(changes > 0, "nobody met a change");
}

fn naked_key_with(writer: WriterKind) {
    set_writer(Some(writer));
    judge(&watch(&KEY, |at| NAKED[at]()));
}

#[test]
fn with_procmem() {
    passes(|| naked_key_with(WriterKind::Procmem));
}

#[test]
fn with_mprotect() {
    passes(|| naked_key_with(WriterKind::Mprotect));
}

#[test]
fn with_swap() {
    passes(|| naked_key_with(WriterKind::Swap));
}

/// The broken twin: a site for each check.
#[test]
fn a_key_with_many_sites_is_found_out() {
    if two_processors().is_none() {
        return;
    }
    Scenario::new().fails("rounds went back", || {
        set_writer(Some(WriterKind::Procmem));
        judge(&watch(&spread().keys[0], |at| spread().check(at)));
    });
}

/// A platform whose writer forgets the functions of naked keys.
struct Forgetful;

impl twin::Twin for Forgetful {
    fn write(&self, writer: &mut dyn Writer, edits: &EditList, step: Step) -> Result<(), (usize, Errno)> {
        for (at, edit) in edits.chunks(1).enumerate().filter(|(_, edit)| !edit[0].to.is_of(true)) {
            // SAFETY: a part of what the writer was opened for.
            unsafe { writer.write(edit, step) }.map_err(|(_, errno)| (at, errno))?;
        }
        Ok(())
    }
}

#[test]
fn a_writer_that_forgets_is_found_out() {
    if two_processors().is_none() {
        return;
    }
    Scenario::new().fails("rounds came late", || {
        twin::install(Forgetful);
        judge(&watch(&KEY, |at| NAKED[at]()));
    });
}

/// What the function of a key leaves alone: every register that a call may write but eax, the flags, and what lies below the
/// stack pointer but for the return address. The twin writes ecx and the carry flag.
#[test]
fn a_call_writes_nothing_but_eax() {
    assert!(!black_box(KEY.get()));
    let mut function = 0;
    jumplabel::for_each_site(&KEY, |site| function = site.address).unwrap();
    for on in [true, false] {
        if on { KEY.enable() } else { KEY.disable() }.unwrap();
        let (value, rest) = call(function);
        assert_eq!((value, rest), (u64::from(on), LEFT_ALONE));
    }
    assert_ne!(call(writes_too_much as *const () as usize).1, LEFT_ALONE);
    assert_ne!(call(writes_a_vector as *const () as usize).1, LEFT_ALONE);
}

#[unsafe(naked)]
extern "C" fn writes_too_much() {
    std::arch::naked_asm!("xor eax, eax", "lea ecx, [rcx + 1]", "ret")
}

#[unsafe(naked)]
extern "C" fn writes_a_vector() {
    std::arch::naked_asm!("xor eax, eax", "pcmpeqb xmm7, xmm7", "stc", "ret")
}

/// Ten general registers, the flag, sixteen vectors.
type Registers = ([u64; 9], u64, [u64; 16]);

const LEFT_ALONE: Registers =
    ([1, 2, 3, 4, 5, 6, 7, 8, 9], 1, [10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25]);

/// Calls `function` with known values everywhere: what it returns in rax, and what it leaves in the rest.
fn call(function: usize) -> (u64, Registers) {
    let ([mut rcx, mut rdx, mut rsi, mut rdi, mut r8, mut r9, mut r10, mut r11, mut r12], _, vectors) = LEFT_ALONE;
    let (mut rax, mut carry) = (u64::MAX, 0_u64);
    let mut after = [0_u64; 16];
    // SAFETY: the functions called here write registers only, all of which are operands.
    unsafe {
        std::arch::asm!(
            "movq xmm0, [r14]", "movq xmm1, [r14 + 8]", "movq xmm2, [r14 + 16]", "movq xmm3, [r14 + 24]",
            "movq xmm4, [r14 + 32]", "movq xmm5, [r14 + 40]", "movq xmm6, [r14 + 48]", "movq xmm7, [r14 + 56]",
            "movq xmm8, [r14 + 64]", "movq xmm9, [r14 + 72]", "movq xmm10, [r14 + 80]", "movq xmm11, [r14 + 88]",
            "movq xmm12, [r14 + 96]", "movq xmm13, [r14 + 104]", "movq xmm14, [r14 + 112]", "movq xmm15, [r14 + 120]",
            "stc",
            "call r13",
            "mov r13d, 0", "setc r13b",
            "movq [r15], xmm0", "movq [r15 + 8], xmm1", "movq [r15 + 16], xmm2", "movq [r15 + 24], xmm3",
            "movq [r15 + 32], xmm4", "movq [r15 + 40], xmm5", "movq [r15 + 48], xmm6", "movq [r15 + 56], xmm7",
            "movq [r15 + 64], xmm8", "movq [r15 + 72], xmm9", "movq [r15 + 80], xmm10", "movq [r15 + 88], xmm11",
            "movq [r15 + 96], xmm12", "movq [r15 + 104], xmm13", "movq [r15 + 112], xmm14", "movq [r15 + 120], xmm15",
            inout("rax") rax, inout("rcx") rcx, inout("rdx") rdx, inout("rsi") rsi, inout("rdi") rdi,
            inout("r8") r8, inout("r9") r9, inout("r10") r10, inout("r11") r11, inout("r12") r12,
            inout("r13") function as u64 => carry, in("r14") vectors.as_ptr(), in("r15") after.as_mut_ptr(),
            out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _, out("xmm4") _, out("xmm5") _, out("xmm6") _,
            out("xmm7") _, out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _, out("xmm12") _,
            out("xmm13") _, out("xmm14") _, out("xmm15") _,
        );
    }
    (rax, ([rcx, rdx, rsi, rdi, r8, r9, r10, r11, r12], carry, after))
}
