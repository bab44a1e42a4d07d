//! Encodings against decoders that know nothing of this project: whatever a thread fetches from a site, at any moment of
//! any flip, is one instruction of the site's length that falls through or jumps to the other arm; of a trampoline, to its old or its new
//! target. All instruction sets, on every
//! host.
//!
//! ```text
//!   from ── step 0 ── step 1 ── step 2 ──► to        at each step: every mixture of old and new bytes of what it writes
//!     ◄── undo 0 ── undo 1 ── undo 2 ──┘             from each of those points, again with every mixture
//! ```
//!
//! What is known of one instruction set is in encoding/: the decoder, the displacements to look at, the broken twins. Where
//! a site has two states, encoding/assembled.rs also compares all of the reach with what an assembler makes of it.

#[path = "encoding/aarch64.rs"]
mod aarch64;
#[path = "encoding/arm.rs"]
mod arm;
#[path = "encoding/assembled.rs"]
mod assembled;
#[path = "encoding/loongarch64.rs"]
mod loongarch64;
#[path = "encoding/powerpc64.rs"]
mod powerpc64;
#[path = "encoding/properties.rs"]
mod properties;
#[path = "encoding/retargets.rs"]
mod retargets;
#[path = "encoding/riscv.rs"]
mod riscv;
#[path = "encoding/s390x.rs"]
mod s390x;
#[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
#[path = "encoding/short.rs"]
mod short;
#[path = "encoding/walk.rs"]
mod walk;
#[path = "encoding/x86.rs"]
mod x86;

use std::ops::RangeInclusive;

use jumplabel_format::{Arch, Code, CodeChange, Kind, Sites, State, StepBytes, Template};
use properties::{any_addresses, any_bytes, any_displacement, in_reach, templates_that_are_like, wrapped};
use retargets::{call_sites, retargets, switches};
use walk::{follow, mixtures, walk, written};

const ADDRESS: u64 = 0x5555_5004;

/// The effect of a site on the thread that executes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    FallsThrough,
    Jumps,
    /// Loads the number that a naked function returns, if the instruction that loads it is the one that changes.
    Loads(i32),
}

/// A way of changing a site: the bytes that each step writes.
type Steps = fn(u8, CodeChange) -> Option<StepBytes>;

/// The facts about an instruction set.
trait Machine {
    type A: Sites;
    /// The states of a check's site.
    const STATES: &'static [State] = &[State::NOP, State::JUMP];
    /// Whether a naked key's function has an instruction of its own, which loads what it returns.
    const LOADS: bool = false;
    /// The distance from the site's address to the address from which displacements count.
    const ORIGIN: u64 = 0;
    /// The smallest distance that a jump can encode.
    const UNIT: i64;
    const REACH: RangeInclusive<i32>;
    /// Bits of an address.
    const BITS: u32 = 64;
    /// Displacements at which something might go wrong.
    const DISPLACEMENTS: &'static [i32];
    /// Broken twins, for checks and for naked functions.
    const BROKEN: &'static [Steps];
    const BROKEN_NAKED: &'static [Steps] = Self::BROKEN;

    /// The effect of `bytes`, or what is wrong with them.
    fn effect(bytes: &[u8], displacement: i32) -> Result<Effect, String>;

    /// Whether two states hold the same bytes.
    fn look_alike(_: State, _: State, _: i32) -> bool {
        false
    }
}

const NAKED: [State; 2] = [State::FALSE, State::TRUE];

/// The effect that a site should have in a state.
fn effect_of<M: Machine>(state: State) -> Effect {
    match state {
        State::FALSE if M::LOADS => Effect::Loads(0),
        State::TRUE if M::LOADS => Effect::Loads(1),
        State::JUMP | State::TRUE | State::SHORT_JUMP => Effect::Jumps,
        _ => Effect::FallsThrough,
    }
}

fn encode<M: Machine>(state: State, displacement: i32) -> Vec<u8> {
    let code = state.encode::<M::A>(displacement);
    assert_eq!(code.len(), state.kind().bytes::<M::A>());
    code.to_vec()
}

fn decode<M: Machine>(kind: Kind, bytes: &[u8], displacement: i32) -> Option<State> {
    kind.decode::<M::A>(Code::new(kind.number(), bytes), Some(displacement))
}

fn change<M: Machine>(from: State, to: State, displacement: i32) -> CodeChange {
    CodeChange { old: from.encode::<M::A>(displacement), new: to.encode::<M::A>(displacement) }
}

fn step<M: Machine>(number: u8, change: CodeChange) -> Option<StepBytes> {
    change.step::<M::A>(number)
}

fn undo<M: Machine>(number: u8, change: CodeChange) -> Option<StepBytes> {
    change.undo::<M::A>(number)
}

fn steps<M: Machine>() -> std::ops::Range<u8> {
    0..<M::A as Arch>::STEPS
}

/// Flips of a site, and of a naked function.
fn pairs<M: Machine>() -> impl Iterator<Item = (State, State)> {
    let sites = M::STATES.iter().flat_map(|&from| M::STATES.iter().map(move |&to| (from, to)));
    sites.filter(|(from, to)| from != to).chain([(NAKED[0], NAKED[1]), (NAKED[1], NAKED[0])])
}

fn states<M: Machine>() -> impl Iterator<Item = State> {
    M::STATES.iter().copied().chain(NAKED)
}

fn every_fetch_is_one_legal_instruction<M: Machine>() {
    let mut fetches = 0;
    for &displacement in M::DISPLACEMENTS {
        for (from, to) in pairs::<M>() {
            fetches += follow::<M>(step::<M>, undo::<M>, from, to, displacement).unwrap();
        }
    }
    println!("{fetches} fetches");
}

/// If a step never reached a site, the site is undone with the others when a second writer cleans up: that does no harm.
fn undo_is_harmless_where_nothing_was_done<M: Machine>() {
    for &displacement in M::DISPLACEMENTS {
        for (from, to) in pairs::<M>() {
            let change = change::<M>(from, to, displacement);
            for begun in steps::<M>() {
                let mut bytes = encode::<M>(from, displacement);
                for number in (0..=begun).rev() {
                    let Some(step_bytes) = undo::<M>(number, change) else { continue };
                    for torn in mixtures::<M>(&bytes, step_bytes) {
                        let seen = M::effect(&torn, displacement).unwrap();
                        let legal = [effect_of::<M>(from), effect_of::<M>(to)];
                        assert!(legal.contains(&seen), "{from:?} -> {to:?}: {torn:02x?}");
                    }
                    bytes = written::<M>(&bytes, step_bytes);
                }
                assert_eq!(bytes, encode::<M>(from, displacement), "{from:?} -> {to:?} from step {begun}");
            }
        }
    }
}

fn states_round_trip<M: Machine>() {
    for &displacement in M::DISPLACEMENTS {
        for state in states::<M>() {
            let filled = Template::of::<M::A>(state).unwrap().fill::<M::A>(displacement);
            assert_eq!(filled, state.encode::<M::A>(displacement));
            let bytes = encode::<M>(state, displacement);
            assert_eq!(M::effect(&bytes, displacement).unwrap(), effect_of::<M>(state));
            let decoded = decode::<M>(state.kind(), &bytes, displacement).unwrap();
            assert!(
                decoded == state || M::look_alike(state, decoded, displacement),
                "{state:?} decodes as {decoded:?}"
            );
        }
    }
}

/// Every point of every flip decodes as a state with the same effect: what a forked process finds is not foreign.
fn points_in_between_are_states<M: Machine>() {
    for &displacement in M::DISPLACEMENTS {
        for (from, to) in pairs::<M>() {
            let mut bytes = encode::<M>(from, displacement);
            for number in steps::<M>() {
                let Some(step_bytes) = step::<M>(number, change::<M>(from, to, displacement)) else { continue };
                for mixed in mixtures::<M>(&bytes, step_bytes) {
                    let state = decode::<M>(from.kind(), &mixed, displacement);
                    let state = state.unwrap_or_else(|| panic!("{from:?} -> {to:?}: {mixed:02x?} is foreign"));
                    assert_eq!(effect_of::<M>(state), M::effect(&mixed, displacement).unwrap());
                }
                bytes = written::<M>(&bytes, step_bytes);
            }
        }
    }
}

fn a_step_to_where_one_is_already<M: Machine>() {
    for state in states::<M>() {
        for action in [0, 1] {
            let to = state.toward::<M::A>(action, Some(0));
            assert_eq!(to == State::JUMP || to == State::TRUE, action == 1);
            assert_eq!(to == state, state.action::<M::A>() == action, "{state:?}");
            assert_eq!(state.kind(), to.kind());
        }
        assert_eq!(state.as_emitted::<M::A>().action::<M::A>(), state.action::<M::A>());
    }
}

/// The two states of a naked function change in one write, in the last step: no state is in between, and a batch takes no further step for it.
fn a_naked_function_changes_at_once<M: Machine>() {
    for (from, to) in [(NAKED[0], NAKED[1]), (NAKED[1], NAKED[0])] {
        let change = change::<M>(from, to, 0);
        let steps: Vec<_> = steps::<M>().filter_map(|number| Some((number, step::<M>(number, change)?))).collect();
        let [(number, step_bytes)] = steps[..] else { panic!("{steps:?}") };
        assert!(number + 1 == <M::A as Arch>::STEPS && (<M::A as Arch>::SINGLE_STORE || step_bytes.len == 1));
    }
}

/// The reach of the jump, to the last byte, and what it cannot encode.
fn reach<M: Machine>() {
    let unit = M::UNIT;
    let origin = ADDRESS + M::ORIGIN;
    let to = |distance: i64| <M::A as Arch>::displacement(ADDRESS, origin.wrapping_add_signed(distance));
    let (least, most) = (i64::from(*M::REACH.start()), i64::from(*M::REACH.end()));
    for inside in [0, unit, -unit, least, most] {
        assert_eq!(to(inside), Some(inside as i32));
    }
    // On machines that reach all addresses, displacements wrap.
    if (most - least + unit) as u64 != 1 << M::BITS.min(63) {
        assert_eq!([to(least - unit), to(most + unit)], [None; 2]);
        assert_eq!([to(least * 2), to(most * 2 + unit)], [None; 2]);
    }
    assert!((1..4).filter(|&odd| odd < unit).all(|odd| to(odd).is_none()));
    for odd in (1..4).filter(|_| <M::A as Arch>::SINGLE_STORE) {
        assert_eq!(<M::A as Arch>::displacement(ADDRESS + odd, origin + odd), None, "a site that is no word");
    }
}

/// Broken twins: each must be found out by the walk above.
fn broken_steps_are_found_out<M: Machine>() {
    fn nothing(_: u8, _: CodeChange) -> Option<StepBytes> {
        None
    }
    let (from, to) = (State::NOP, State::JUMP);
    let displacement = in_reach::<M>(0x0102_0304);
    for steps in M::BROKEN.iter().chain([&(nothing as Steps)]) {
        assert!(follow::<M>(*steps, undo::<M>, from, to, displacement).is_err());
    }
    for broken in [nothing as Steps, step::<M>, M::BROKEN[0]] {
        assert!(follow::<M>(step::<M>, broken, from, to, displacement).is_err());
    }
    assert!(follow::<M>(step::<M>, undo::<M>, from, to, displacement).is_ok());
    for steps in M::BROKEN_NAKED {
        assert!(follow::<M>(*steps, *steps, NAKED[0], NAKED[1], 0).is_err());
    }
    assert!(follow::<M>(step::<M>, undo::<M>, NAKED[0], NAKED[1], 0).is_ok());
}

/// The tests, for each instruction set.
macro_rules! each {
    ($($module:ident $Machine:ty,)*) => { $(
        mod $module {
            use super::*;
            each! { @ $Machine, every_fetch_is_one_legal_instruction undo_is_harmless_where_nothing_was_done
                states_round_trip points_in_between_are_states a_step_to_where_one_is_already
                a_naked_function_changes_at_once reach templates_that_are_like any_displacement any_addresses any_bytes retargets switches call_sites
                broken_steps_are_found_out }
        }
    )* };
    (@ $Machine:ty, $($test:ident)*) => { $(
        #[test]
        fn $test() {
            super::$test::<$Machine>();
        }
    )* };
}

each! {
    on_aarch64 aarch64::Oracle,
    on_arm arm::Oracle,
    on_i686 x86::Oracle<32>,
    on_loongarch64 loongarch64::Oracle,
    on_powerpc64 powerpc64::Oracle,
    on_riscv32 riscv::Oracle32,
    on_riscv64 riscv::Oracle64,
    on_s390x s390x::Oracle,
    on_x86_64 x86::Oracle<64>,
}
