//! Retargets: trampolines of static calls, laid out so that the displacement of each jump lies where the test wants it, in or across a boundary.
//! They are led to functions before and after them, and out of reach.
//!
//! ```text
//!              boundary
//!                 │
//!   trap.. endbr64 [ jmp rel32 ] jmp *slot  trap..      moved along by one byte from call to call: each split of a boundary
//!                    │
//!                    └► 8 * number + target: a jump that is half old, half new leads to neither, but to what traps
//! ```
//!
//! Readers rely on a word for each call: the number of the change, the target before it, and the target after it. A reader that finds the same word
//! before and after its call must have reached one of these two targets. They are the same while nobody updates: no call that begins after an
//! update has returned goes to the old target.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use fastrand::Rng;
use jumplabel::call::Trampoline;
use jumplabel::{Batch, Error, Outcome, StaticCall, Visibility};

use crate::cells::{CELLS, Kind};
use crate::flips::Flipper;
use crate::pages::format_asm;
use crate::refusing;
use crate::tally::Tally;

type Function = extern "C" fn(u64) -> u64;

/// The number of calls.
const COUNT: usize = 32; // a batch
/// Bytes from one trampoline to the next.
const STRIDE: usize = 128;
/// The offset of the first trampoline; its jump begins four bytes before the boundary.
const FIRST: usize = 56;
/// From one to the next a boundary moves through the five bytes of the jump.
const SPLITS: usize = 5;
/// The number of functions to which the calls are led. The first is the default; those from `FAR` on are out of reach.
const TARGETS: usize = 5;
const FAR: usize = 3;

/// Stands for all trampolines.
enum Numbered {}

// SAFETY: the assembly below has a trampoline for each call of this type, which goes to the first target at first. `FUNCTION` is not
// one of them: they are called by their addresses.
unsafe impl Trampoline for Numbered {
    type Function = Function;
    const FUNCTION: &'static Function = &(torture_target_0 as Function);
    type Target = Function;
    fn function(target: Function) -> Option<Function> {
        Some(target)
    }
    fn target(function: Option<Function>) -> Function {
        function.unwrap_or(torture_target_0)
    }
}

static CALLS: [StaticCall<Numbered>; COUNT] = [const { StaticCall::new() }; COUNT];
static WORDS: [Word; COUNT] = [const { Word(AtomicU64::new(0)) }; COUNT];

unsafe extern "C" {
    fn torture_calls();
    safe fn torture_target_0(x: u64) -> u64;
    safe fn torture_target_1(x: u64) -> u64;
    safe fn torture_target_2(x: u64) -> u64;
}

/// The register of the first argument.
#[cfg(unix)]
macro_rules! argument {
    () => {
        "rdi"
    };
}
#[cfg(windows)]
macro_rules! argument {
    () => {
        "rcx"
    };
}

/// `8 * x + number`.
macro_rules! target {
    ($number:literal) => {
        concat!(
            ".globl torture_target_",
            $number,
            "\n",
            format_asm!(hidden concat!("torture_target_", $number)),
            "\ntorture_target_",
            $number,
            ": lea rax, [",
            argument!(),
            " * 8 + ",
            $number,
            "]\nret\n.balign 64, 0xcc"
        )
    };
}

// Traps at the places to which a displacement leads that is in part another's.
std::arch::global_asm!(
    format_asm!(code ".torture"),
    ".balign 4096, 0xcc",
    target!(0),
    ".fill 0x12345, 1, 0xcc",
    target!(1),
    ".fill 0x10000, 1, 0xcc",
    ".balign {stride}, 0xcc",
    ".globl torture_calls",
    format_asm!(hidden "torture_calls"),
    "torture_calls:",
    ".set .Ltorture_call, 0",
    ".rept {count}",
    ".fill {first} + .Ltorture_call % {splits}, 1, 0xcc",
    "endbr64",
    "2: .byte 0xe9",
    ".long torture_target_0 - . - 4",
    "jmp qword ptr [rip + {calls} + .Ltorture_call * {size}]",
    ".balign {stride}, 0xcc",
    format_asm!(entry),
    ".balign 4",
    ".long 2b - .",
    ".long torture_target_0 - .",
    ".long {calls} + .Ltorture_call * {size} - .",
    ".long {meta}",
    ".popsection",
    ".set .Ltorture_call, .Ltorture_call + 1",
    ".endr",
    ".fill 0x10000, 1, 0xcc",
    target!(2),
    ".popsection",
    count = const COUNT,
    stride = const STRIDE,
    first = const FIRST,
    splits = const SPLITS,
    calls = sym CALLS,
    size = const size_of::<StaticCall<Numbered>>(),
    meta = const jumplabel::format::meta(false, jumplabel_format::layout::JUMP, 0),
);

/// Calls trampoline `number`.
fn call(number: usize, x: u64) -> u64 {
    let address = torture_calls as *const () as usize + number * STRIDE + FIRST + number % SPLITS;
    // SAFETY: where the assembly puts the trampoline, of a function of that type.
    let function: Function = unsafe { std::mem::transmute(address) };
    function(x)
}

/// The five bytes of the jump.
fn bytes(number: usize) -> [u8; 5] {
    let address = torture_calls as *const () as usize + number * STRIDE + FIRST + number % SPLITS + 4;
    // SAFETY: code, which the caller's thread alone changes.
    unsafe { (address as *const [u8; 5]).read_volatile() }
}

fn targets() -> &'static [Function; TARGETS] {
    static ALL: OnceLock<[Function; TARGETS]> = OnceLock::new();
    ALL.get_or_init(|| [torture_target_0, torture_target_1, torture_target_2, far(3), far(4)])
}

/// A target out of reach of a direct jump.
fn far(number: u8) -> Function {
    let argument = if cfg!(windows) { 0xcd } else { 0xfd };
    let code = [0x48, 0x8d, 0x04, argument, number, 0, 0, 0, 0xc3]; // lea rax, [argument * 8 + number]; ret
    // SAFETY: the code of a function of that type.
    unsafe { jumplabel_testing::far::function(torture_calls as *const (), &code, number) }
}

/// The number of the change, the target before it and the one after it: `number << 16 | before << 8 | after`.
struct Word(AtomicU64);

impl Word {
    fn set(&self, before: usize, after: usize) {
        let number = (self.0.load(Ordering::Relaxed) >> 16) + 1;
        self.0.store(number << 16 | (before as u64) << 8 | after as u64, Ordering::SeqCst);
    }

    fn target(&self) -> usize {
        (self.0.load(Ordering::Relaxed) & 0xff) as usize
    }
}

/// Makes some calls of a cell, one after the other, and compares the results with the promises.
pub fn chunk(cell: usize, calls: usize, random: &mut Rng) -> Result<(), String> {
    let mut number = random.usize(..CELLS[cell].sites.max(SPLITS));
    for x in 0..calls as u64 {
        let before = WORDS[number].0.load(Ordering::SeqCst);
        let result = call(number, x);
        let after = WORDS[number].0.load(Ordering::SeqCst);
        let target = result.wrapping_sub(8 * x);
        if target >= TARGETS as u64 {
            return Err(format!("call {number} returned {result}, which no target does"));
        }
        if before == after && target != before & 0xff && target != before >> 8 & 0xff {
            return Err(format!("call {number} went to {target} while {before:#x} was promised"));
        }
        number = if number + 1 >= CELLS[cell].sites.max(SPLITS) { 0 } else { number + 1 };
    }
    Ok(())
}

impl Flipper<'_> {
    /// Leads some calls elsewhere: one alone, sometimes back to its default, or all of the cell at once. If the cell is of that kind, the change is
    /// refused in the middle.
    pub fn retarget(&mut self) {
        let cell = &CELLS[self.cell];
        let alone = cell.sites == 1;
        let first = if alone { self.random.usize(..SPLITS) } else { 0 };
        let numbers = first..first + cell.sites;
        let to: Vec<usize> = numbers.clone().map(|_| self.random.usize(..TARGETS)).collect();
        let from: Vec<usize> = numbers.clone().map(|number| WORDS[number].target()).collect();
        let old: Vec<_> = numbers.clone().map(bytes).collect();
        if cell.kind == Kind::RetargetRefused {
            refusing::after(match self.tally {
                Tally { refused: 0, .. } => self.random.usize(..cell.sites / 4) as i64,
                Tally { site_flips: 0, .. } => i64::MAX,
                _ => self.random.usize(..3 * cell.sites) as i64,
            });
        }
        for (number, (&from, &to)) in numbers.clone().zip(from.iter().zip(&to)) {
            WORDS[number].set(from, to);
        }
        let result = self.timed(|| match &to[..] {
            [0] => CALLS[first].reset(),
            &[to] => CALLS[first].update(targets()[to]),
            all => {
                let set = |batch: Batch<'static>, (call, &to): (&'static StaticCall<Numbered>, _)| {
                    batch.set(call, targets()[to])
                };
                CALLS.iter().zip(all).fold(Batch::new(), set).commit()
            }
        });
        refusing::after(i64::MAX);
        let now = if result.is_ok() { &to } else { &from };
        for (number, &now) in numbers.clone().zip(now) {
            WORDS[number].set(now, now);
            if !std::ptr::fn_addr_eq(CALLS[number].query(), targets()[now]) {
                self.fail(format!("call {number} says that it leads elsewhere than to {now}"));
            }
        }
        let changed = from.iter().zip(&to).filter(|&(from, to)| from != to && from.min(to) < &FAR).count();
        self.judge_retarget(result, changed, || numbers.map(bytes).collect::<Vec<_>>() == old);
    }

    /// Checks that all sites that had to change were written, by this writer and visibly, or that none was, because a write was refused.
    fn judge_retarget(&mut self, result: Result<Outcome, Error>, changed: usize, as_before: impl FnOnce() -> bool) {
        match result {
            Ok(outcome) => {
                self.tally.flips += 1;
                self.tally.site_flips += outcome.sites as u64;
                let expected = (changed, (changed > 0).then_some(self.writer), Visibility::Immediate);
                if (outcome.sites, outcome.writer, outcome.visibility) != expected {
                    self.fail(format!("{outcome:?} instead of {expected:?}"));
                }
            }
            Err(Error::Denied { .. }) if CELLS[self.cell].kind == Kind::RetargetRefused => {
                self.tally.refused += 1;
                if !as_before() {
                    self.fail("trampolines are not as before after a refusal".into());
                }
            }
            Err(error) => self.fail(format!("{error:?}")),
        }
    }
}

/// The broken twin: as soon as the first byte of a trampoline is written, the slot has its first value again, as if nobody had stored the target
/// there.
pub fn forget_slots() {
    for call in &CALLS {
        // SAFETY: the slot is the first word of a call; nobody else updates meanwhile.
        let slot = unsafe { &*(call.raw().address() as *const AtomicU64) };
        slot.store(torture_target_0 as *const () as u64, Ordering::SeqCst);
    }
}
