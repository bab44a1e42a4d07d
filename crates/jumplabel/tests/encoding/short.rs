//! Short checks of x86, two bytes: all displacements, all ways between the states, decoded by iced. The library knows them on x86, with
//! the feature `short-sites`, which the tests have.

use std::ops::RangeInclusive;

use iced_x86::{Code as Instruction, Decoder, DecoderOptions};
use jumplabel_format::arch::x86::X86;
use jumplabel_format::layout::{BRANCH, SHORT};
use jumplabel_format::{Code, CodeChange, Demand, Kind, State, StepBytes, Template};

use super::{
    ADDRESS, Effect, Machine, Steps, change, decode, effect_of, encode, follow, mixtures, step, undo, written,
};

struct Oracle<const BITS: u32>;

const STATES: &[State] = &[State::SHORT_NOP, State::SHORT_TEST, State::SHORT_PRIMING, State::SHORT_JUMP];

impl<const BITS: u32> Machine for Oracle<BITS> {
    type A = X86<BITS>;
    const STATES: &'static [State] = STATES;
    const ORIGIN: u64 = 2;
    const UNIT: i64 = 1;
    const REACH: RangeInclusive<i32> = -128..=127;
    const BITS: u32 = BITS;
    const DISPLACEMENTS: &'static [i32] = &[];
    const BROKEN: &'static [Steps] = &[at_once, tail_first::<BITS>];

    fn effect(bytes: &[u8], displacement: i32) -> Result<Effect, String> {
        let mut code = bytes.to_vec();
        code.extend([0xcc; 16]);
        let instruction = Decoder::with_ip(BITS, &code, ADDRESS, DecoderOptions::NONE).decode();
        let target = super::wrapped::<Self>((ADDRESS + 2).wrapping_add_signed(displacement.into()));
        match instruction.code() {
            _ if instruction.len() != bytes.len() => Err(format!("{bytes:02x?} is not one instruction")),
            Instruction::Nopw | Instruction::Test_AL_imm8 => Ok(Effect::FallsThrough),
            Instruction::Jmp_rel8_64 | Instruction::Jmp_rel8_32 if instruction.near_branch_target() == target => {
                Ok(Effect::Jumps)
            }
            code => Err(format!("{bytes:02x?} at displacement {displacement:#x} is {code:?}")),
        }
    }
}

/// A broken twin: writes both bytes one by one.
fn at_once(number: u8, change: CodeChange) -> Option<StepBytes> {
    let [b0, b1] = *change.new else { return None };
    let bytes = [b0, b1, 0, 0, 0, 0, 0, 0];
    (number == 0).then_some(StepBytes { offset: 0, len: 2, bytes, demand: Demand::Nothing })
}

fn tail_first<const BITS: u32>(number: u8, change: CodeChange) -> Option<StepBytes> {
    step::<Oracle<BITS>>([1, 0, 2][usize::from(number)], change)
}

fn pairs() -> impl Iterator<Item = (State, State)> {
    STATES.iter().flat_map(|&from| STATES.iter().map(move |&to| (from, to))).filter(|(from, to)| from != to)
}

/// States look alike if the displacement is the nop's second byte.
fn look_alike(state: State, other: State, displacement: i32) -> bool {
    state == other || displacement == -112 && [state, other].iter().all(|&it| it.action::<X86<64>>() == 0)
}

fn every_displacement<const BITS: u32>() {
    type M<const BITS: u32> = Oracle<BITS>;
    let kind = Kind::of(SHORT).unwrap();
    for displacement in -128..=127 {
        for (from, to) in pairs() {
            follow::<M<BITS>>(step::<M<BITS>>, undo::<M<BITS>>, from, to, displacement).unwrap();
            // All points on the way are states.
            let mut bytes = encode::<M<BITS>>(from, displacement);
            for number in 0..3 {
                let Some(step_bytes) = step::<M<BITS>>(number, change::<M<BITS>>(from, to, displacement)) else {
                    continue;
                };
                for mixed in mixtures::<M<BITS>>(&bytes, step_bytes) {
                    let state = decode::<M<BITS>>(kind, &mixed, displacement).unwrap();
                    assert_eq!(effect_of::<M<BITS>>(state), M::<BITS>::effect(&mixed, displacement).unwrap());
                }
                bytes = written::<M<BITS>>(&bytes, step_bytes);
            }
        }
        for &state in STATES {
            let bytes = encode::<M<BITS>>(state, displacement);
            assert_eq!(M::<BITS>::effect(&bytes, displacement), Ok(effect_of::<M<BITS>>(state)));
            assert!(look_alike(state, decode::<M<BITS>>(kind, &bytes, displacement).unwrap(), displacement));
            let filled = Template::of::<X86<BITS>>(state).unwrap().fill::<X86<BITS>>(displacement);
            assert_eq!(filled, state.encode::<X86<BITS>>(displacement));
            for action in [0, 1] {
                let to = state.toward::<X86<BITS>>(action, Some(displacement));
                assert!(to.action::<X86<BITS>>() == action && to.kind() == kind);
                assert_eq!(to == state, state.action::<X86<BITS>>() == action);
            }
            assert_eq!(state.as_emitted::<X86<BITS>>().action::<X86<BITS>>(), state.action::<X86<BITS>>());
        }
        for broken in M::<BITS>::BROKEN {
            let (from, to) = (State::SHORT_NOP, State::SHORT_JUMP);
            let is_found = follow::<M<BITS>>(*broken, undo::<M<BITS>>, from, to, displacement).is_err();
            // With -112 only one byte changes, which cannot be torn. With 0 the jump leads to the place after itself. Then no twin is found.
            assert!(is_found || displacement == -112 || displacement == 0, "{displacement}");
        }
    }
}

#[test]
fn every_displacement_on_x86_64() {
    every_displacement::<64>();
}

#[test]
fn every_displacement_on_i686() {
    every_displacement::<32>();
}

/// Of all pairs of bytes, the library knows those that do what a state does, and two that are torn, but none that leads further.
#[test]
fn other_bytes_are_foreign() {
    let kind = Kind::of(SHORT).unwrap();
    for displacement in [-128, -112, -2, 0, 5, 127] {
        let ours = (0..=u16::MAX).map(u16::to_le_bytes).filter_map(|bytes| {
            let state = decode::<Oracle<64>>(kind, &bytes, displacement)?;
            if state == State::SHORT_TORN {
                // One byte of each of two other states: whatever is wanted, the site does not keep these bytes.
                assert!(bytes == [0x66, displacement as u8] || bytes == [0xeb, 0x90]);
                assert!([0, 1].iter().all(|&action| state.toward::<X86<64>>(action, Some(displacement)) != state));
                return Some(bytes);
            }
            assert_eq!(Oracle::<64>::effect(&bytes, displacement), Ok(effect_of::<Oracle<64>>(state)));
            Some(bytes)
        });
        let states = if displacement == -112 { 3 } else { 6 };
        assert_eq!(ours.count(), states);
    }
    for displacement in [-129, 128, 256 + 5, i32::MIN, i32::MAX] {
        assert!(!kind.reaches(displacement));
        let jump = State::SHORT_JUMP.encode::<X86<64>>(displacement);
        assert_eq!(kind.decode::<X86<64>>(jump, Some(displacement)), None);
        assert!(Kind::of(BRANCH).unwrap().reaches(displacement));
    }
    // An instruction set without such sites knows none of these bytes.
    let elsewhere = kind.decode::<jumplabel_format::arch::aarch64::Aarch64>(Code::new(SHORT, &[0x66, 0x90]), Some(0));
    assert_eq!(elsewhere, None);
}
