//! Encodings against a decoder that knows nothing of this project: whatever a thread fetches from a site, at any moment of
//! any flip, is one instruction of the site's length that falls through or jumps to the other arm.
//!
//! ```text
//!   from ── step 0 ── step 1 ── step 2 ──► to        at each step: every mixture of old and new bytes of what it writes
//!     ◄── undo 0 ── undo 1 ── undo 2 ──┘             from each of those points, again with every mixture
//! ```
//!
//! What is known of one instruction set is in encoding/: the decoder, the displacements to look at, the broken twins. Where
//! a site is one word, encoding/assembled.rs also compares all of the reach with what the compiler's assembler makes of it.
#![cfg(jumplabel_sites)]

#[cfg_attr(any(target_arch = "x86_64", target_arch = "x86"), path = "encoding/x86.rs")]
#[cfg_attr(target_arch = "aarch64", path = "encoding/aarch64.rs")]
#[cfg_attr(target_arch = "riscv64", path = "encoding/riscv64.rs")]
#[cfg_attr(target_arch = "s390x", path = "encoding/s390x.rs")]
#[cfg_attr(target_arch = "powerpc64", path = "encoding/powerpc64.rs")]
#[cfg_attr(target_arch = "arm", path = "encoding/arm.rs")]
#[cfg_attr(target_arch = "loongarch64", path = "encoding/loongarch64.rs")]
mod machine;

#[cfg(not(any(target_arch = "x86_64", target_arch = "x86")))]
#[path = "encoding/assembled.rs"]
mod assembled;

use jumplabel::arch::{self, Piece, SITE_SIZE, STEPS, State, WHOLE};
use machine::{BROKEN, BROKEN_NAKED, DISPLACEMENTS, NAKED, ORIGIN, REACH, STATES, UNIT, effect, effect_of};
use proptest::prelude::*;

type Bytes = [u8; SITE_SIZE];

const ADDRESS: usize = 0x5555_5004;

/// What a thread does that executes a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    FallsThrough,
    Jumps,
    /// Loads the number that a naked function returns, where that is what changes.
    #[allow(dead_code)]
    Loads(i32),
}

/// What the site may hold while `piece` is written over `bytes`: all of it the old or the new, or, where pieces are not stored
/// as a whole, each byte. The last is all new.
fn mixtures(bytes: Bytes, piece: Piece) -> impl Iterator<Item = Bytes> {
    let all = (1u32 << piece.len) - 1;
    (0..=all).filter(move |new| !WHOLE || [0, all].contains(new)).map(move |new| {
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

/// Flips of a site, and of a naked function.
fn pairs() -> impl Iterator<Item = (State, State)> {
    let sites = STATES.into_iter().flat_map(|from| STATES.map(|to| (from, to))).filter(|(from, to)| from != to);
    sites.chain([(NAKED[0], NAKED[1]), (NAKED[1], NAKED[0])])
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
        for state in STATES.into_iter().chain(NAKED) {
            let bytes = arch::encode(state, displacement);
            assert_eq!(effect(bytes, displacement).unwrap(), effect_of(state));
            let decoded = arch::decode(bytes, displacement).unwrap();
            assert!(
                decoded == state || machine::look_alike(state, decoded, displacement),
                "{state:?} decodes as {decoded:?}"
            );
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

#[test]
fn a_step_to_where_one_is_already() {
    for state in STATES.into_iter().chain(NAKED) {
        for jump in [false, true] {
            let to = state.toward(jump);
            assert_eq!(to == State::Jump || to == NAKED[1], jump);
            assert_eq!(to == state, state.falls_through() != jump, "{state:?}");
            assert!([false, true].iter().all(|&naked| state.is_of(naked) == to.is_of(naked)));
        }
    }
}

/// The two states of a naked function change in one write, in the last step: nothing is in between, and a batch takes no step
/// more for it.
#[test]
fn a_naked_function_changes_at_once() {
    assert_eq!(NAKED, [false, true].map(|on| State::emitted(true, on)));
    assert!(NAKED.iter().all(|state| state.is_of(true)) && STATES.iter().all(|state| state.is_of(false)));
    let same = NAKED[1] == State::Jump;
    assert_eq!(same, NAKED[1].is_of(false), "states of its own, or those of all sites");
    for (from, to) in [(NAKED[0], NAKED[1]), (NAKED[1], NAKED[0])] {
        let pieces: Vec<_> = (0..STEPS).filter_map(|step| Some((step, arch::step(step, from, to, 0)?))).collect();
        let [(step, piece)] = pieces[..] else { panic!("{pieces:?}") };
        assert!(step + 1 == STEPS && (WHOLE || piece.len == 1));
    }
}

/// The reach of the jump, to the last byte, and what it cannot encode.
#[test]
fn reach() {
    let origin = ADDRESS + ORIGIN;
    let to = |distance: i64| arch::displacement(ADDRESS, origin.wrapping_add(distance as usize));
    let (least, most) = (i64::from(*REACH.start()), i64::from(*REACH.end()));
    for inside in [0, UNIT, -UNIT, least, most] {
        assert_eq!(to(inside), Some(inside as i32));
    }
    if machine::ENDS {
        assert_eq!([to(least - UNIT), to(most + UNIT)], [None; 2]);
        assert_eq!([to(least * 2), to(most * 2 + UNIT)], [None; 2]);
    }
    assert!((1..4).filter(|&odd| odd < UNIT).all(|odd| to(odd).is_none()));
    for odd in (1..4).filter(|_| WHOLE) {
        assert_eq!(arch::displacement(ADDRESS + odd, origin + odd), None, "a site that is no word");
    }
}

/// A displacement that the jump can encode, out of any number.
fn in_reach(any: i32) -> i32 {
    let (least, most) = (i64::from(*REACH.start()), i64::from(*REACH.end()));
    (least + (i64::from(any) - i64::from(i32::MIN)) * UNIT % (most - least + UNIT)) as i32
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
    fn any_displacement(any: i32, from in 0..STATES.len(), to in 0..STATES.len()) {
        prop_assume!(from != to);
        let followed = follow(arch::step, arch::undo, STATES[from], STATES[to], in_reach(any));
        prop_assert!(followed.is_ok(), "{:?}", followed);
    }

    /// No panic, and an answer that leads back, for whatever a damaged table says.
    #[test]
    fn any_addresses(address in addresses(), near: i32, far in addresses()) {
        let (near, word) = (in_reach(near), address & !3);
        let origin = word.wrapping_add(ORIGIN);
        prop_assert_eq!(arch::displacement(word, origin.wrapping_add_signed(near as isize)), Some(near));
        if let Some(distance) = arch::displacement(address, far) {
            prop_assert_eq!(address.wrapping_add(ORIGIN).wrapping_add_signed(distance as isize), far);
        }
    }

    /// Foreign bytes are seen as such: only what has the effect of a state is taken for one.
    #[test]
    fn any_bytes(bytes: Bytes, any: i32, state in 0..STATES.len() + NAKED.len(), kept: u8) {
        let displacement = in_reach(any);
        let state = arch::encode([&STATES[..], &NAKED].concat()[state], displacement);
        let bytes = std::array::from_fn(|at| if kept >> at & 1 != 0 { state[at] } else { bytes[at] });
        if let Some(state) = arch::decode(bytes, displacement) {
            prop_assert_eq!(effect(bytes, displacement), Ok(effect_of(state)));
        }
    }
}

/// Broken twins: each must be found out by the walk above.
#[test]
fn broken_steps_are_found_out() {
    fn nothing(_: u8, _: State, _: State, _: i32) -> Option<Piece> {
        None
    }
    let (from, to) = (State::Pristine, State::Jump);
    let displacement = in_reach(0x0102_0304);
    for steps in BROKEN.iter().chain([&(nothing as Steps)]) {
        assert!(follow(*steps, arch::undo, from, to, displacement).is_err());
    }
    for undo in [nothing as Steps, arch::step, BROKEN[0]] {
        assert!(follow(arch::step, undo, from, to, displacement).is_err());
    }
    assert!(follow(arch::step, arch::undo, from, to, displacement).is_ok());
    for steps in BROKEN_NAKED {
        assert!(follow(steps, steps, NAKED[0], NAKED[1], 0).is_err());
    }
    assert!(follow(arch::step, arch::undo, NAKED[0], NAKED[1], 0).is_ok());
}
