//! The cases of `micro`. All are written in assembler, except those that use the library.

use std::arch::asm;
use std::ops::RangeInclusive;
use std::sync::OnceLock;

use jumplabel::{modes, restore_pristine, static_branch_unlikely, static_call, static_key, static_mode, static_switch};

use crate::placed::{Loops, begin_at, placements};
use crate::{Result, isa};

/// The number of cases in each turn of a loop.
pub const CASES_A_TURN: usize = 8;

/// The number of cache lines in the memory in which loads miss. The memory has 64 MiB.
const LINES: usize = 1 << 20;
const LINE: usize = 64;

static_key! { static KEY: false; }
static_call! { static CALL: extern "C" fn(u64) -> u64 = more; }
modes! { enum Arm { First, Second, Third } }
static_mode! { static MODE: Arm = Second; }

#[unsafe(naked)]
extern "C" fn more(_x: u64) -> u64 {
    std::arch::naked_asm!(isa::returns_more!(1))
}

/// Two memories. In each line, the first byte is zero in one memory, and a random bit in the other.
struct Memory {
    zeros: Vec<u8>,
    bits: Vec<u8>,
}

static MEMORY: OnceLock<Memory> = OnceLock::new();

/// Fills the memories. Each page is written to, because otherwise the kernel would map the same page of zeros for all of them.
pub fn begin() {
    MEMORY.get_or_init(|| {
        let bytes = |fill: fn() -> u8| {
            let mut memory = vec![0_u8; LINES * LINE];
            memory.chunks_exact_mut(LINE).for_each(|line| line[0] = fill());
            std::hint::black_box(memory)
        };
        Memory { zeros: bytes(|| std::hint::black_box(0)), bits: bytes(|| fastrand::u8(..2)) }
    });
}

fn zeros() -> *const u8 {
    MEMORY.get().map_or(std::ptr::null(), |memory| memory.zeros.as_ptr())
}

fn bits() -> *const u8 {
    MEMORY.get().map_or(std::ptr::null(), |memory| memory.bits.as_ptr())
}

/// A case of `micro`.
pub struct Case {
    pub name: &'static str,
    pub loops: Loops,
    pub prepare: fn() -> Result<()>,
    /// The numbers of instructions and loads that the decoder must find.
    pub instructions: RangeInclusive<f64>,
    pub loads: f64,
}

macro_rules! eight {
    ($($body:tt)*) => {
        $($body)* $($body)* $($body)* $($body)* $($body)* $($body)* $($body)* $($body)*
    };
}

macro_rules! case {
    ($name:ident ($memory:ident = $from:expr, $zero:ident, $random:ident, $x:ident, $hits:ident) $($case:tt)*) => {
        #[inline(never)]
        #[allow(unused_assignments, unused_mut, unused_variables)] // No case uses all of them.
        fn $name<const P: usize>(turns: u64) -> u64 {
            let (mut $x, mut $hits) = (turns | 1, 0_u64);
            let ($memory, $zero, multiplier) = ($from, std::hint::black_box(0_u64), 6_364_136_223_846_793_005_u64);
            begin_at!(P);
            for _ in 0..turns {
                eight! {
                    let $random: u64;
                    // SAFETY: the instructions compute the next random number, and from it the offset of a line, in registers.
                    unsafe {
                        asm!(
                            "imul {x}, {m}", "inc {x}", "mov {r}, {x}", "shr {r}, 33", "and {r:e}, {mask}",
                            x = inout(reg) $x, m = in(reg) multiplier, r = out(reg) $random,
                            mask = const (LINES - 1) * LINE, options(nomem, nostack)
                        )
                    };
                    $($case)*
                }
            }
            $x ^ $hits
        }
    };
}

macro_rules! arm {
    ($hits:ident, $number:literal) => {
        // SAFETY: the instruction adds in a register.
        unsafe { asm!(isa::add!("0", $number), inout(reg) $hits, options(nomem, nostack)) }
    };
}

/// One or two instructions of assembler. If one of them is a jump, it leads to the instruction after them.
macro_rules! text {
    ($($text:tt)*) => {
        // SAFETY: the text reads at most one byte, in the case's memory.
        unsafe { asm!($($text)*, options(readonly, nostack)) }
    };
}

case! { baseline (m = zeros(), zero, random, x, hits) let _ = &mut hits; }
case! { nop (m = zeros(), zero, random, x, hits) text!(".byte 0x0f, 0x1f, 0x44, 0, 0"); }
case! { jump (m = zeros(), zero, random, x, hits) text!("jmp 2f", "2:"); }
case! { bnez (m = zeros(), zero, random, x, hits) text!("test {0}, {0}", "jnz 2f", "2:", in(reg) zero); }
case! { beqz (m = zeros(), zero, random, x, hits) text!("test {0}, {0}", "jz 2f", "2:", in(reg) zero); }
case! { load (m = zeros(), zero, random, x, hits) text!("cmp byte ptr [{0}], 0", "jne 2f", "2:", in(reg) m); }
case! { load_missed (m = zeros(), zero, random, x, hits)
    text!("cmp byte ptr [{0} + {1}], 0", "jne 2f", "2:", in(reg) m, in(reg) random);
}
case! { branch_missed (m = zeros(), zero, random, x, hits) text!("test {0:e}, 64", "jnz 2f", "2:", in(reg) random); }
case! { both_missed (m = bits(), zero, random, x, hits)
    text!("cmp byte ptr [{0} + {1}], 0", "jne 2f", "2:", in(reg) m, in(reg) random);
}
case! { site (m = zeros(), zero, random, x, hits) if static_branch_unlikely!(KEY) { arm!(hits, 1) } }
case! { call (m = zeros(), zero, random, x, hits) hits = CALL(hits); }
case! { switch (m = zeros(), zero, random, x, hits)
    static_switch!(MODE, { First => arm!(hits, 1), Second => arm!(hits, 2), Third => arm!(hits, 3) });
}

const fn of(name: &'static str, loops: Loops, instructions: f64, loads: f64) -> Case {
    Case { name, loops, prepare: || Ok(()), instructions: instructions..=instructions, loads }
}

/// All cases. The first is the baseline, which measures the loop alone.
pub static CASES: [Case; 13] = [
    of("baseline", placements!(baseline), 0.0, 0.0),
    of("nop", placements!(nop), 1.0, 0.0),
    of("unconditional branch", placements!(jump), 1.0, 0.0),
    of("bnez, not taken", placements!(bnez), 2.0, 0.0),
    of("beqz, taken", placements!(beqz), 2.0, 0.0),
    of("load and bnez, warm", placements!(load), 2.0, 1.0),
    of("load and bnez, a cache miss", placements!(load_missed), 2.0, 1.0),
    of("branch miss", placements!(branch_missed), 2.0, 0.0),
    of("cache miss and branch miss", placements!(both_missed), 2.0, 1.0),
    Case { prepare: || set(false), ..of("site, off", placements!(site), 1.0, 0.0) },
    // A jump, the arm, and a jump back. One copy needs no jump back, because its arm lies right before the code that follows.
    Case { prepare: || set(true), instructions: 2.0..=3.0, ..of("site, on", placements!(site), 3.0, 0.0) },
    // The call, the trampoline, the function, and moves of the argument and of the result.
    Case { instructions: 5.0..=9.0, ..of("static call", placements!(call), 6.0, 0.0) },
    Case {
        prepare: || Ok(MODE.set(Arm::Second).map(drop)?),
        instructions: 2.0..=3.0,
        ..of("N-way switch", placements!(switch), 3.0, 0.0)
    },
];

/// Turns the key on or off. After it turns the key off, it makes the sites pristine again. A site that was on would otherwise be a `test`
/// instruction, which uses a resource of the processor that a nop does not use.
fn set(on: bool) -> Result<()> {
    if on {
        KEY.enable()?;
    } else {
        KEY.disable()?;
        restore_pristine(&KEY)?;
    }
    Ok(())
}
