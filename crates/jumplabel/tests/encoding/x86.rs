//! x86: decoded by iced.

use std::ops::RangeInclusive;

use iced_x86::{Code, Decoder, DecoderOptions, Register};
use jumplabel::arch::{self, Piece, SITE_SIZE, State};

use super::{ADDRESS, Effect, STEPS, Steps, mixtures};

pub const STATES: [State; 4] = [State::Pristine, State::Primed, State::Priming, State::Jump];
pub const NAKED: [State; 2] = [State::False, State::True];

/// What displacements count from.
pub const ORIGIN: usize = SITE_SIZE;
pub const UNIT: i64 = 1;
pub const REACH: RangeInclusive<i32> = i32::MIN..=i32::MAX;
/// Whether anything is out of reach: 32-bit addresses wrap.
pub const ENDS: bool = cfg!(target_arch = "x86_64");

/// Displacements at which something might go wrong: the ends, around zero, the tail of the nop and one byte of it, opcodes.
pub const DISPLACEMENTS: [i32; 14] = [
    i32::MIN,
    i32::MIN + 1,
    i32::MAX,
    -6,
    -5,
    -1,
    0,
    1,
    0x441f,
    0x4400,
    0x001f_441f,
    0x0f0f_0f0f,
    i32::from_le_bytes([0xe9, 0xa9, 0x0f, 0x1f]),
    i32::from_le_bytes([0xa9, 0xe9, 0xcc, 0xf4]),
];

/// Where the displacement looks like the nop's tail, nothing is left to be primed.
pub fn look_alike(state: State, decoded: State, displacement: i32) -> bool {
    displacement == 0x441f && state == State::Priming && decoded == State::Primed
}

/// The effect of `bytes`, or what is wrong with them.
pub fn effect(bytes: [u8; SITE_SIZE], displacement: i32) -> Result<Effect, String> {
    // What follows the site is an instruction that must not be swallowed.
    let mut code = bytes.to_vec();
    code.extend([0xcc; 16]);
    let mut decoder = Decoder::with_ip(usize::BITS, &code, ADDRESS as u64, DecoderOptions::NONE);
    let instruction = decoder.decode();
    let wrong = |what: &str| Err(format!("{bytes:02x?} at displacement {displacement:#x} {what}"));
    if instruction.len() != SITE_SIZE {
        return wrong("is not one instruction");
    }
    let target = (ADDRESS + SITE_SIZE).wrapping_add_signed(displacement as isize) as u64;
    match instruction.code() {
        Code::Nop_rm32 if bytes == arch::encode(State::Pristine, displacement) => Ok(Effect::FallsThrough),
        Code::Test_EAX_imm32 => Ok(Effect::FallsThrough),
        Code::Mov_r32_imm32 if instruction.op0_register() == Register::EAX => {
            Ok(Effect::Loads(instruction.immediate32() as i32))
        }
        Code::Jmp_rel32_64 | Code::Jmp_rel32_32 if instruction.near_branch_target() == target => Ok(Effect::Jumps),
        code => wrong(&format!("is {code:?}")),
    }
}

/// What a thread should do.
pub fn effect_of(state: State) -> Effect {
    match state {
        State::False => Effect::Loads(0),
        State::True => Effect::Loads(1),
        State::Jump => Effect::Jumps,
        State::Pristine | State::Primed | State::Priming => Effect::FallsThrough,
    }
}

/// No value but these two is ours.
#[test]
fn other_values_are_foreign() {
    let ours: Vec<u8> = (0..=255).filter(|&value| arch::decode([0xb8, value, 0, 0, 0], 0).is_some()).collect();
    assert_eq!(ours, [0, 1]);
}

/// A naked function that returned -1 for true would have to change all four bytes.
pub const BROKEN_NAKED: [Steps; 1] = [minus_one];

fn minus_one(step: u8, _: State, to: State, _: i32) -> Option<Piece> {
    (step == 2).then(|| Piece { offset: 1, len: 4, bytes: [if to == State::True { 0xff } else { 0 }; 4] })
}

pub const BROKEN: [Steps; 3] = [tail_under_the_nop, all_at_once, tail_last];

/// As if a writer stored four bytes, then one: the classic mistake.
fn all_at_once(step: u8, _: State, to: State, displacement: i32) -> Option<Piece> {
    let [b0, b1, b2, b3, b4] = arch::encode(to, displacement);
    match step {
        0 => Some(Piece { offset: 0, len: 4, bytes: [b0, b1, b2, b3] }),
        1 => Some(Piece { offset: 4, len: 1, bytes: [b4, 0, 0, 0] }),
        _ => None,
    }
}

fn tail_under_the_nop(step: u8, from: State, to: State, displacement: i32) -> Option<Piece> {
    if step == 0 { None } else { arch::step(step, from, to, displacement) }
}

fn tail_last(step: u8, from: State, to: State, displacement: i32) -> Option<Piece> {
    arch::step([0, 2, 1][usize::from(step)], from, to, displacement)
}

/// A copied process can find a tail of which some bytes are old and some new. From each such mixture, each flip ends right,
/// and passes through nothing but whole instructions.
#[test]
fn from_any_mixture() {
    let mut mixed = 0;
    for displacement in DISPLACEMENTS {
        let priming = arch::encode(State::Priming, displacement);
        let tail = arch::step(1, State::Priming, State::Jump, displacement).unwrap();
        for found in mixtures(priming, tail) {
            let from = arch::decode(found, displacement).unwrap();
            mixed += u32::from(found != arch::encode(from, displacement));
            for to in STATES.into_iter().filter(|&to| to != from) {
                let mut bytes = found;
                for piece in (0..STEPS).filter_map(|number| arch::step(number, from, to, displacement)) {
                    for torn in mixtures(bytes, piece) {
                        let seen = effect(torn, displacement).unwrap();
                        assert!(seen == Effect::FallsThrough || seen == effect_of(to), "{found:02x?} -> {to:?}");
                    }
                    bytes = mixtures(bytes, piece).last().unwrap();
                }
                assert_eq!(bytes, arch::encode(to, displacement), "{found:02x?} -> {to:?}");
            }
        }
    }
    assert!(mixed > 50, "hardly a mixture was met: {mixed}");
}
