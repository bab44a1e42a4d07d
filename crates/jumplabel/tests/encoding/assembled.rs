//! Sites of two states, nop and jump: what the compiler's assembler, which knows nothing of this project, makes of `jump` to
//! everywhere in reach, against `encode`. Also the broken twins of such sites.

use jumplabel::arch::{self, Piece, SITE_SIZE, State};

use super::Effect;
use super::machine::{REACH, UNIT};

pub const STATES: [State; 2] = [State::Pristine, State::Jump];

/// Where a naked function has a site like any other.
#[cfg_attr(target_arch = "riscv64", allow(dead_code))] // It has states of its own.
pub const NAKED: [State; 2] = STATES;

/// What a thread should do.
#[cfg_attr(target_arch = "riscv64", allow(dead_code))]
pub fn effect_of(state: State) -> Effect {
    if state.falls_through() { Effect::FallsThrough } else { Effect::Jumps }
}

/// No two states hold the same bytes.
pub const fn look_alike(_: State, _: State, _: i32) -> bool {
    false
}

#[cfg_attr(target_arch = "s390x", allow(dead_code))] // Its step is one byte.
/// As if a writer stored one half of what it should.
pub fn half(step: u8, from: State, to: State, displacement: i32) -> Option<Piece> {
    let piece = arch::step(step, from, to, displacement)?;
    let old = arch::encode(from, displacement);
    let mut bytes = piece.bytes;
    bytes[0] = old[usize::from(piece.offset)];
    bytes[1] = old[usize::from(piece.offset) + 1];
    Some(Piece { bytes, ..piece })
}

#[cfg_attr(target_arch = "s390x", allow(dead_code))]
/// The jump of another site.
pub fn elsewhere(step: u8, from: State, to: State, displacement: i32) -> Option<Piece> {
    arch::step(step, from, to, displacement ^ 0x40)
}

/// How many jumps are assembled, `STRIDE` apart and a last one at the far end. An odd number of units, so that all bits
/// of the displacement change.
pub const COUNT: usize = 8192;
pub const STRIDE: i64 = (*REACH.end() as i64 - *REACH.start() as i64) / UNIT / COUNT as i64 / 2 * 2 * UNIT + UNIT;

/// Declares the function `assembled`: the address of the jumps.
macro_rules! jumps {
    ($jump:literal) => {
        std::arch::global_asm!(
            ".pushsection .rodata.assembled, \"a\", %progbits",
            ".balign 4",
            ".globl encoding_assembled",
            ".hidden encoding_assembled",
            ".macro encoding_jump distance",
            concat!($jump, " \\distance"),
            ".endm",
            "encoding_assembled:",
            ".altmacro",
            ".set .Ldistance, {first}",
            ".rept {count}",
            "encoding_jump %.Ldistance",
            ".set .Ldistance, .Ldistance + {stride}",
            ".endr",
            "encoding_jump {last}",
            "nop",
            ".noaltmacro",
            ".popsection",
            first = const *REACH.start(),
            last = const *REACH.end(),
            count = const super::assembled::COUNT,
            stride = const super::assembled::STRIDE,
        );
        unsafe extern "C" {
            #[link_name = "encoding_assembled"]
            pub safe static ASSEMBLED: [[u8; SITE_SIZE]; super::assembled::COUNT + 1];
        }
    };
}
pub(crate) use jumps;

/// The first displacements where the two disagree.
fn differences(encode: impl Fn(State, i32) -> [u8; SITE_SIZE]) -> Vec<i64> {
    let (least, most) = (i64::from(*REACH.start()), i64::from(*REACH.end()));
    let distances = (0..COUNT as i64).map(|number| least + number * STRIDE).chain([most]);
    let differs = |&(distance, bytes): &(i64, &[u8; SITE_SIZE])| encode(State::Jump, distance as i32) != *bytes;
    distances.zip(super::machine::ASSEMBLED.iter()).filter(differs).map(|(distance, _)| distance).take(8).collect()
}

#[test]
fn as_the_assembler_does() {
    assert!(*REACH.start() as i64 + (COUNT as i64 - 1) * STRIDE <= *REACH.end() as i64);
    assert_eq!(differences(arch::encode), []);
}

/// Broken twins: an encoder that is wrong about one bit of the displacement.
#[test]
fn wrong_bits_are_found_out() {
    let (least, most) = (*REACH.start(), *REACH.end());
    for bit in UNIT.trailing_zeros()..(most as u32).ilog2() {
        let wrong = |state, displacement: i32| arch::encode(state, (displacement | 1 << bit).clamp(least, most));
        assert!(!differences(wrong).is_empty(), "bit {bit}");
    }
}
