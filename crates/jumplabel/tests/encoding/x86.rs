//! x86: decoded by iced.

use std::ops::RangeInclusive;

use iced_x86::{Code as Instruction, Decoder, DecoderOptions, Register};
use jumplabel_format::arch::x86::X86;
use jumplabel_format::layout::{BRANCH, NAKED, PREFIX};
use jumplabel_format::{CodeChange, Demand, Kind, State, StepBytes};

use super::{ADDRESS, Effect, Machine, Steps, change, decode, effect_of, encode, mixtures, step, steps, written};

pub(super) struct Oracle<const BITS: u32>;

impl<const BITS: u32> Machine for Oracle<BITS> {
    type A = X86<BITS>;
    const STATES: &'static [State] = &[State::NOP, State::TEST, State::PRIMING, State::JUMP];
    const LOADS: bool = true;
    const ORIGIN: u64 = 5;
    const UNIT: i64 = 1;
    const REACH: RangeInclusive<i32> = i32::MIN..=i32::MAX;
    const BITS: u32 = BITS;
    /// The ends, around zero, the tail of the nop and one byte of it, and opcodes.
    const DISPLACEMENTS: &'static [i32] = &[
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
    const BROKEN: &'static [Steps] = &[tail_under_the_nop::<BITS>, all_at_once, tail_last::<BITS>];
    const BROKEN_NAKED: &'static [Steps] = &[minus_one];

    fn effect(bytes: &[u8], displacement: i32) -> Result<Effect, String> {
        // An instruction that must not be swallowed follows the site.
        let mut code = bytes.to_vec();
        code.extend([0xcc; 16]);
        let mut decoder = Decoder::with_ip(BITS, &code, ADDRESS, DecoderOptions::NONE);
        let instruction = decoder.decode();
        let wrong = |what: &str| Err(format!("{bytes:02x?} at displacement {displacement:#x} {what}"));
        if instruction.len() != bytes.len() {
            return wrong("is not one instruction");
        }
        let target = super::wrapped::<Self>((ADDRESS + 5).wrapping_add_signed(displacement.into()));
        match instruction.code() {
            Instruction::Nop_rm32 if bytes == encode::<Self>(State::NOP, displacement) => Ok(Effect::FallsThrough),
            Instruction::Test_EAX_imm32 => Ok(Effect::FallsThrough),
            Instruction::Mov_r32_imm32 if instruction.op0_register() == Register::EAX => {
                Ok(Effect::Loads(instruction.immediate32() as i32))
            }
            Instruction::Jmp_rel32_64 | Instruction::Jmp_rel32_32 if instruction.near_branch_target() == target => {
                Ok(Effect::Jumps)
            }
            code => wrong(&format!("is {code:?}")),
        }
    }

    /// If the displacement looks like the nop's tail, no byte is left to be primed.
    fn look_alike(state: State, decoded: State, displacement: i32) -> bool {
        displacement == 0x441f && state == State::PRIMING && decoded == State::TEST
    }
}

/// The library knows no value but these two.
#[test]
fn other_values_are_foreign() {
    let is_ours = |&value: &u8| decode::<Oracle<64>>(Kind::of(NAKED).unwrap(), &[0xb8, value, 0, 0, 0], 0).is_some();
    assert_eq!((0..=255).filter(is_ours).collect::<Vec<u8>>(), [0, 1]);
}

/// A naked function that returned -1 for true would have to change all four bytes.
fn minus_one(number: u8, change: CodeChange) -> Option<StepBytes> {
    let byte = if change.new[1] != 0 { 0xff } else { 0 };
    (number == 2).then_some(StepBytes { offset: 1, len: 4, bytes: [byte; 8], demand: Demand::Nothing })
}

/// Writes as if a writer stored four bytes, then one: the classic mistake.
fn all_at_once(number: u8, change: CodeChange) -> Option<StepBytes> {
    let [b0, b1, b2, b3, b4] = *change.new else { return None };
    match number {
        0 => Some(StepBytes { offset: 0, len: 4, bytes: [b0, b1, b2, b3, 0, 0, 0, 0], demand: Demand::Nothing }),
        1 => Some(StepBytes { offset: 4, len: 1, bytes: [b4, 0, 0, 0, 0, 0, 0, 0], demand: Demand::Nothing }),
        _ => None,
    }
}

fn tail_under_the_nop<const BITS: u32>(number: u8, change: CodeChange) -> Option<StepBytes> {
    if number == 0 { None } else { step::<Oracle<BITS>>(number, change) }
}

fn tail_last<const BITS: u32>(number: u8, change: CodeChange) -> Option<StepBytes> {
    step::<Oracle<BITS>>([0, 2, 1][usize::from(number)], change)
}

/// A forked process can find a tail of which some bytes are old and some new. From each such mixture, each flip ends right,
/// and passes through nothing but whole instructions.
#[test]
fn from_any_mixture() {
    type M = Oracle<64>;
    let kind = Kind::of(BRANCH).unwrap();
    let mut mixed = 0;
    for &displacement in M::DISPLACEMENTS {
        let priming = encode::<M>(State::PRIMING, displacement);
        let Some(tail) = step::<M>(1, change::<M>(State::PRIMING, State::JUMP, displacement)) else { continue };
        for found in mixtures::<M>(&priming, tail) {
            let from = decode::<M>(kind, &found, displacement).unwrap();
            mixed += u32::from(found != encode::<M>(from, displacement));
            for &to in M::STATES.iter().filter(|&&to| to != from) {
                let mut bytes = found.clone();
                let old = jumplabel_format::Code::new(BRANCH, &found);
                let change = CodeChange { old, new: to.encode::<X86<64>>(displacement) };
                for step_bytes in steps::<M>().filter_map(|number| step::<M>(number, change)) {
                    for torn in mixtures::<M>(&bytes, step_bytes) {
                        let seen = M::effect(&torn, displacement).unwrap();
                        let legal = [Effect::FallsThrough, effect_of::<M>(to)];
                        assert!(legal.contains(&seen), "{found:02x?} -> {to:?}");
                    }
                    bytes = written::<M>(&bytes, step_bytes);
                }
                assert_eq!(bytes, encode::<M>(to, displacement), "{found:02x?} -> {to:?}");
            }
        }
    }
    assert!(mixed > 50, "hardly a mixture was met: {mixed}");
}

/// The beginning of one state and the end of another, as a site on two pages holds them if one page strayed. The library knows such bytes. No
/// action leaves a site with them unless they do what is wanted, and each flip from them ends right.
#[test]
fn from_the_halves_of_two_states() {
    type M = Oracle<64>;
    let kind = Kind::of(BRANCH).unwrap();
    let mut torn = 0;
    for (&displacement, cut) in M::DISPLACEMENTS.iter().flat_map(|it| (1..5).map(move |cut| (it, cut))) {
        for (first, second) in M::STATES.iter().flat_map(|first| M::STATES.iter().map(move |second| (*first, *second)))
        {
            let found = [&encode::<M>(first, displacement)[..cut], &encode::<M>(second, displacement)[cut..]].concat();
            let from = decode::<M>(kind, &found, displacement).unwrap();
            torn += u32::from(from == State::TORN);
            for action in [0, 1] {
                let to = from.toward::<X86<64>>(action, Some(displacement));
                assert_eq!(to.action::<X86<64>>(), action);
                if to == from {
                    assert_eq!(M::effect(&found, displacement), Ok(effect_of::<M>(to)));
                    continue;
                }
                let old = jumplabel_format::Code::new(BRANCH, &found);
                let change = CodeChange { old, new: to.encode::<X86<64>>(displacement) };
                let steps = steps::<M>().filter_map(|number| step::<M>(number, change));
                let bytes = steps.fold(found.clone(), |bytes, step_bytes| written::<M>(&bytes, step_bytes));
                assert_eq!(bytes, encode::<M>(to, displacement), "{found:02x?} -> {to:?}");
            }
        }
    }
    assert!(torn > 100, "hardly a site was torn: {torn}");
}

/// In front of each instruction that may have `lock`, either prefix makes one instruction of it, which differs only in the lock. A change is one
/// byte in one step. The library knows no other bytes.
#[test]
fn prefixes() {
    let kind = Kind::of(PREFIX).unwrap();
    let tails: [&[u8]; 5] = [
        &[0x48, 0x0f, 0xc1, 0x07],       // xadd [rdi], rax
        &[0xff, 0x00],                   // inc dword ptr [rax]
        &[0x66, 0x83, 0x07, 0x01],       // add word ptr [rdi], 1
        &[0x49, 0x0f, 0xb1, 0x0c, 0x24], // cmpxchg [r12], rcx
        &[0x83, 0x0c, 0x24, 0x00],       // or dword ptr [rsp], 0
    ];
    let decoded = |prefix: &[u8], tail: &[u8]| {
        let code = [prefix, tail, &[0xcc; 8]].concat();
        let instruction = Decoder::with_ip(64, &code, ADDRESS, DecoderOptions::NONE).decode();
        assert_eq!(instruction.len(), 1 + tail.len(), "{code:02x?}");
        (instruction.has_lock_prefix(), instruction.code(), instruction.memory_base(), instruction.memory_size())
    };
    let [unlocked, locked] = [State::UNLOCKED, State::LOCKED].map(|state| state.encode::<X86<64>>(0));
    for tail in tails {
        let (before, after) = (decoded(&unlocked, tail), decoded(&locked, tail));
        assert!(!before.0 && after.0, "{tail:02x?}");
        assert_eq!((before.1, before.2, before.3), (after.1, after.2, after.3));
    }
    for (old, new) in [(unlocked, locked), (locked, unlocked)] {
        let change = CodeChange { old, new };
        let steps: Vec<StepBytes> = (0..3).filter_map(|number| change.step::<X86<64>>(number)).collect();
        assert!(steps.len() == 1 && steps[0].bytes() == &*new && steps[0].offset == 0, "{steps:?}");
        let back: Vec<StepBytes> = (0..3).filter_map(|number| change.undo::<X86<64>>(number)).collect();
        assert!(back.len() == 1 && back[0].bytes() == &*old, "{back:?}");
    }
    let is_ours = |byte: &u8| decode::<Oracle<64>>(kind, &[*byte], 0).is_some();
    assert_eq!((0..=255).filter(is_ours).collect::<Vec<u8>>(), [0x3e, 0xf0]);
    // An instruction set without such sites knows none of these bytes.
    let elsewhere = |byte: u8| {
        kind.decode::<jumplabel_format::arch::aarch64::Aarch64>(jumplabel_format::Code::new(PREFIX, &[byte]), Some(0))
    };
    assert_eq!([elsewhere(0x3e), elsewhere(0xf0)], [None, None]);
}
