//! Encodings against a decoder that knows nothing of this project: whatever a thread fetches from a site, at any moment of
//! any flip, is one instruction of the site's length that falls through or jumps to the other arm.
//!
//! ```text
//!   from ── step 0 ── step 1 ── step 2 ──► to        at each step: every mixture of old and new bytes of what it writes
//!     ◄── undo 0 ── undo 1 ── undo 2 ──┘             from each of those points, again with every mixture
//! ```
#![cfg(all(target_arch = "x86_64", not(any(miri, jumplabel_fallback))))]

use iced_x86::{Code, Decoder, DecoderOptions};
use jumplabel::arch::{self, Piece, SITE_SIZE, STEPS, State};
use proptest::prelude::*;

type Bytes = [u8; SITE_SIZE];

const STATES: [State; 4] = [State::Pristine, State::Primed, State::Priming, State::Jump];
const ADDRESS: usize = 0x5555_5555_5003;

/// Displacements at which something might go wrong: the ends, around zero, the tail of the nop and one byte of it, opcodes.
const DISPLACEMENTS: [i32; 14] = [
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

/// What a thread does that executes a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    FallsThrough,
    Jumps,
}

/// The effect of `bytes`, or what is wrong with them.
fn effect(bytes: Bytes, displacement: i32) -> Result<Effect, String> {
    // What follows the site is an instruction that must not be swallowed.
    let mut code = bytes.to_vec();
    code.extend([0xcc; 16]);
    let mut decoder = Decoder::with_ip(64, &code, ADDRESS as u64, DecoderOptions::NONE);
    let instruction = decoder.decode();
    let wrong = |what: &str| Err(format!("{bytes:02x?} at displacement {displacement:#x} {what}"));
    if instruction.len() != SITE_SIZE {
        return wrong("is not one instruction");
    }
    let target = (ADDRESS + SITE_SIZE).wrapping_add_signed(displacement as isize) as u64;
    match instruction.code() {
        Code::Nop_rm32 if bytes == arch::encode(State::Pristine, displacement) => Ok(Effect::FallsThrough),
        Code::Test_EAX_imm32 => Ok(Effect::FallsThrough),
        Code::Jmp_rel32_64 if instruction.near_branch_target() == target => Ok(Effect::Jumps),
        code => wrong(&format!("is {code:?}")),
    }
}

fn effect_of(state: State) -> Effect {
    if state.falls_through() { Effect::FallsThrough } else { Effect::Jumps }
}

/// What the site may hold while `piece` is written over `bytes`: each byte the old or the new one. The last is all new.
fn mixtures(bytes: Bytes, piece: Piece) -> impl Iterator<Item = Bytes> {
    (0..1u32 << piece.len).map(move |new| {
        let mut mixed = bytes;
        for (at, &byte) in piece.bytes().iter().enumerate() {
            if new >> at & 1 != 0 {
                mixed[usize::from(piece.offset) + at] = byte;
            }
        }
        mixed
    })
}

/// One way of changing a site: the piece that a step writes.
type Steps = fn(u8, State, State, i32) -> Option<Piece>;

/// Follows `steps` from one state to another, and `undo` from every point on the way. How many fetches were looked at.
fn follow(steps: Steps, undo: Steps, from: State, to: State, displacement: i32) -> Result<usize, String> {
    let (mut fetches, mut bytes) = (0, arch::encode(from, displacement));
    let legal = [effect_of(from), effect_of(to)];
    let mut fetch = |bytes| {
        fetches += 1;
        let seen = effect(bytes, displacement)?;
        if legal.contains(&seen) { Ok(()) } else { Err(format!("{from:?} -> {to:?}: {bytes:02x?} {seen:?}")) }
    };
    fetch(bytes)?;
    for number in 0..STEPS {
        let Some(piece) = steps(number, from, to, displacement) else { continue };
        for mixed in mixtures(bytes, piece) {
            fetch(mixed)?;
            // Refused here: the writer got as far as `mixed`.
            let mut back = mixed;
            for number in (0..=number).rev() {
                let Some(piece) = undo(number, from, to, displacement) else { continue };
                for torn in mixtures(back, piece) {
                    fetch(torn)?;
                    back = torn;
                }
            }
            if back != arch::encode(from, displacement) {
                return Err(format!("{from:?} -> {to:?} undone from {mixed:02x?}: {back:02x?}"));
            }
        }
        bytes = mixtures(bytes, piece).last().unwrap_or(bytes);
    }
    if bytes != arch::encode(to, displacement) {
        return Err(format!("{from:?} -> {to:?} ends at {bytes:02x?}"));
    }
    Ok(fetches)
}

fn pairs() -> impl Iterator<Item = (State, State)> {
    STATES.into_iter().flat_map(|from| STATES.map(|to| (from, to))).filter(|(from, to)| from != to)
}

#[test]
fn every_fetch_is_one_legal_instruction() {
    let mut fetches = 0;
    for displacement in DISPLACEMENTS {
        for (from, to) in pairs() {
            fetches += follow(arch::step, arch::undo, from, to, displacement).unwrap();
        }
    }
    println!("{fetches} fetches");
}

/// A site that was never reached by a step is undone with the others when a second writer cleans up.
#[test]
fn undo_is_harmless_where_nothing_was_done() {
    for displacement in DISPLACEMENTS {
        for (from, to) in pairs() {
            for begun in 0..STEPS {
                let mut bytes = arch::encode(from, displacement);
                for number in (0..=begun).rev() {
                    let Some(piece) = arch::undo(number, from, to, displacement) else { continue };
                    for torn in mixtures(bytes, piece) {
                        let seen = effect(torn, displacement).unwrap();
                        assert!(seen == effect_of(from) || seen == effect_of(to), "{from:?} -> {to:?}: {torn:02x?}");
                    }
                    bytes = mixtures(bytes, piece).last().unwrap();
                }
                assert_eq!(bytes, arch::encode(from, displacement), "{from:?} -> {to:?} from step {begun}");
            }
        }
    }
}

#[test]
fn states_round_trip() {
    for displacement in DISPLACEMENTS {
        for state in STATES {
            let bytes = arch::encode(state, displacement);
            assert_eq!(effect(bytes, displacement).unwrap(), effect_of(state));
            let decoded = arch::decode(bytes, displacement).unwrap();
            // Where the displacement looks like the nop's tail, nothing is left to be primed.
            let same = displacement == 0x441f && state == State::Priming && decoded == State::Primed;
            assert!(decoded == state || same, "{state:?} decodes as {decoded:?}");
        }
    }
}

/// Every point of every flip decodes as a state with the same effect: what a copied process finds is not foreign.
#[test]
fn points_in_between_are_states() {
    for displacement in DISPLACEMENTS {
        for (from, to) in pairs() {
            let mut bytes = arch::encode(from, displacement);
            for number in 0..STEPS {
                let Some(piece) = arch::step(number, from, to, displacement) else { continue };
                for mixed in mixtures(bytes, piece) {
                    let state = arch::decode(mixed, displacement);
                    let state = state.unwrap_or_else(|| panic!("{from:?} -> {to:?}: {mixed:02x?} is foreign"));
                    assert_eq!(effect_of(state), effect(mixed, displacement).unwrap());
                }
                bytes = mixtures(bytes, piece).last().unwrap();
            }
        }
    }
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

#[test]
fn a_step_to_where_one_is_already() {
    for state in STATES {
        for jump in [false, true] {
            let to = state.toward(jump);
            assert_eq!(to == State::Jump, jump);
            assert_eq!(to == state, state.falls_through() != jump, "{state:?}");
        }
    }
}

/// The reach of `jmp rel32`: from the end of the site, 2 GiB less one byte forward, 2 GiB back.
#[test]
fn reach() {
    let end = ADDRESS + SITE_SIZE;
    let (most, least) = (i32::MAX as isize, i32::MIN as isize);
    assert_eq!(arch::displacement(ADDRESS, end), Some(0));
    assert_eq!(arch::displacement(ADDRESS, end.wrapping_add_signed(most)), Some(i32::MAX));
    assert_eq!(arch::displacement(ADDRESS, end.wrapping_add_signed(least)), Some(i32::MIN));
    assert_eq!(arch::displacement(ADDRESS, end.wrapping_add_signed(most + 1)), None);
    assert_eq!(arch::displacement(ADDRESS, end.wrapping_add_signed(least - 1)), None);
}

/// Anywhere, and near the ends of what addresses and signed numbers can be.
fn addresses() -> impl Strategy<Value = usize> {
    let ends = [0, usize::MAX / 2, usize::MAX];
    prop_oneof![
        any::<usize>(),
        (0..ends.len(), -9..9isize).prop_map(move |(at, near)| ends[at].wrapping_add_signed(near))
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_displacement(displacement: i32, from in 0..4usize, to in 0..4usize) {
        prop_assume!(from != to);
        let followed = follow(arch::step, arch::undo, STATES[from], STATES[to], displacement);
        prop_assert!(followed.is_ok(), "{:?}", followed);
    }

    /// No panic, and an answer that leads back, for whatever a damaged table says.
    #[test]
    fn any_addresses(address in addresses(), near: i32, far in addresses()) {
        let end = address.wrapping_add(SITE_SIZE);
        prop_assert_eq!(arch::displacement(address, end.wrapping_add_signed(near as isize)), Some(near));
        if let Some(distance) = arch::displacement(address, far) {
            prop_assert_eq!(end.wrapping_add_signed(distance as isize), far);
        }
    }

    /// Foreign bytes are seen as such: only what has the effect of a state is taken for one.
    #[test]
    fn any_bytes(bytes: Bytes, displacement: i32, opcode in 0..4usize) {
        let opcode = [bytes[0], 0x0f, 0xa9, 0xe9][opcode];
        let bytes = [opcode, bytes[1], bytes[2], bytes[3], bytes[4]];
        if let Some(state) = arch::decode(bytes, displacement) {
            prop_assert_eq!(effect(bytes, displacement), Ok(effect_of(state)));
        }
    }
}

/// Broken twins: each must be found out by the walk above.
#[test]
fn broken_steps_are_found_out() {
    fn all_at_once(step: u8, _: State, to: State, displacement: i32) -> Option<Piece> {
        // As if a writer stored four bytes, then one: the classic mistake.
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
    fn nothing(_: u8, _: State, _: State, _: i32) -> Option<Piece> {
        None
    }
    let (from, to) = (State::Pristine, State::Jump);
    let displacement = 0x0102_0304;
    for steps in [all_at_once as Steps, tail_under_the_nop, tail_last, nothing] {
        assert!(follow(steps, arch::undo, from, to, displacement).is_err());
    }
    for undo in [nothing as Steps, arch::step, tail_under_the_nop] {
        assert!(follow(arch::step, undo, from, to, displacement).is_err());
    }
    assert!(follow(arch::step, arch::undo, from, to, displacement).is_ok());
}
