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
#[path = "encoding/riscv64.rs"]
mod riscv64;
#[path = "encoding/s390x.rs"]
mod s390x;
#[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
#[path = "encoding/short.rs"]
mod short;
#[path = "encoding/x86.rs"]
mod x86;

use std::ops::RangeInclusive;

use jumplabel::arch::{Arch, Change, Code, Demand, Kind, Leads, Piece, Sites, State, Template};
use proptest::prelude::*;

const ADDRESS: u64 = 0x5555_5004;

/// What a thread does that executes a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    FallsThrough,
    Jumps,
    /// Loads the number that a naked function returns, where that is what changes.
    Loads(i32),
}

/// One way of changing a site: the piece that a step writes.
type Steps = fn(u8, Change) -> Option<Piece>;

/// What is known of an instruction set.
trait Machine {
    type A: Sites;
    /// The states of a check's site.
    const STATES: &'static [State] = &[State::NOP, State::JUMP];
    /// Whether a naked key's function has an instruction of its own, which loads what it returns.
    const LOADS: bool = false;
    /// What displacements count from, behind the site's address.
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

/// What a thread should do.
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

fn change<M: Machine>(from: State, to: State, displacement: i32) -> Change {
    Change { old: from.encode::<M::A>(displacement), new: to.encode::<M::A>(displacement) }
}

fn step<M: Machine>(number: u8, change: Change) -> Option<Piece> {
    change.step::<M::A>(number)
}

fn undo<M: Machine>(number: u8, change: Change) -> Option<Piece> {
    change.undo::<M::A>(number)
}

fn steps<M: Machine>() -> std::ops::Range<u8> {
    0..<M::A as Arch>::STEPS
}

/// What the site may hold while `piece` is written over `bytes`: all of it the old or the new, or, where pieces are not stored
/// as a whole, each byte. The last is all new.
fn mixtures<M: Machine>(bytes: &[u8], piece: Piece) -> Vec<Vec<u8>> {
    let all = (1u32 << piece.len) - 1;
    let masks = (0..=all).filter(|new| piece.demand == Demand::Nothing || [0, all].contains(new));
    let mixture = |new: u32| {
        let mut mixed = bytes.to_vec();
        for (at, &byte) in piece.bytes().iter().enumerate().filter(|(at, _)| new >> at & 1 != 0) {
            mixed[usize::from(piece.offset) + at] = byte;
        }
        mixed
    };
    masks.map(mixture).collect()
}

fn written<M: Machine>(bytes: &[u8], piece: Piece) -> Vec<u8> {
    mixtures::<M>(bytes, piece).pop().unwrap()
}

/// Follows `there` from one state to another, and `back` from every point on the way. How many fetches were looked at.
fn follow<M: Machine>(there: Steps, back: Steps, from: State, to: State, displacement: i32) -> Result<usize, String> {
    let legal = [effect_of::<M>(from), effect_of::<M>(to)];
    let fetch = |bytes: &[u8]| {
        let seen = M::effect(bytes, displacement)?;
        if legal.contains(&seen) { Ok(()) } else { Err(format!("{from:?} -> {to:?}: {bytes:02x?} {seen:?}")) }
    };
    walk::<M>(there, back, change::<M>(from, to, displacement), fetch)
}

/// The same for any change: all that a thread may fetch on the way goes to `fetch`.
fn walk<M: Machine>(
    there: Steps,
    back: Steps,
    change: Change,
    fetch: impl Fn(&[u8]) -> Result<(), String>,
) -> Result<usize, String> {
    let (mut fetches, mut bytes) = (0, change.old.to_vec());
    let mut fetch = |bytes: &[u8]| {
        fetches += 1;
        fetch(bytes)
    };
    fetch(&bytes)?;
    for number in steps::<M>() {
        let Some(piece) = there(number, change) else { continue };
        for mixed in mixtures::<M>(&bytes, piece) {
            fetch(&mixed)?;
            // Refused here: the writer got as far as `mixed`.
            let mut undone = mixed.clone();
            for number in (0..=number).rev() {
                let Some(piece) = back(number, change) else { continue };
                for torn in mixtures::<M>(&undone, piece) {
                    fetch(&torn)?;
                    undone = torn;
                }
            }
            if undone != *change.old {
                return Err(format!("{change:02x?} undone from {mixed:02x?}: {undone:02x?}"));
            }
        }
        bytes = written::<M>(&bytes, piece);
    }
    if bytes != *change.new {
        return Err(format!("{change:02x?} ends at {bytes:02x?}"));
    }
    Ok(fetches)
}

/// From one target of a trampoline to another: a thread goes to the old one, to the new one, or on behind, to the slot.
fn retarget<M: Machine>(there: Steps, back: Steps, from: (State, i32), to: (State, i32)) -> Result<usize, String> {
    let change = Change { old: from.0.encode::<M::A>(from.1), new: to.0.encode::<M::A>(to.1) };
    walk::<M>(there, back, change, |bytes| {
        let leads = [from.1, to.1].map(|displacement| M::effect(bytes, displacement));
        match leads.iter().flatten().next() {
            Some(Effect::Jumps | Effect::FallsThrough) => Ok(()),
            _ => Err(format!("{from:02x?} -> {to:02x?}: {leads:?}")),
        }
    })
}

/// Trampolines, from each target to each other one, by way of the slot or not.
fn retargets<M: Machine>() {
    let ends = M::DISPLACEMENTS.iter().map(|&to| (State::DIRECT, to));
    let ends: Vec<(State, i32)> = ends.chain([(State::INDIRECT, M::DISPLACEMENTS[0])]).collect();
    let kind = State::DIRECT.kind();
    for &from in &ends {
        let held = encode::<M>(from.0, from.1);
        assert_eq!(decode::<M>(kind, &held, from.1), Some(from.0));
        assert_eq!(kind.leads_somewhere::<M::A>(from.0.encode::<M::A>(from.1)).is_some(), from.0 == State::DIRECT);
        for &to in ends.iter().filter(|to| **to != from) {
            retarget::<M>(step::<M>, undo::<M>, from, to).unwrap();
            let elsewhere = from.0 == State::DIRECT && from.1 != to.1;
            assert_eq!(decode::<M>(kind, &held, to.1).is_none(), elsewhere, "a jump to elsewhere is foreign");
        }
        assert_eq!(from.0.toward::<M::A>(0, Some(0)), State::DIRECT);
        assert_eq!(from.0.toward::<M::A>(0, None), State::INDIRECT);
    }
    // A broken twin: all at once, as bytes; half of a word.
    let [near, far] = [in_reach::<M>(0x0102_0304), in_reach::<M>(0x1234_5678)].map(|to| (State::DIRECT, to));
    let at_once: Steps = |number, change| {
        let bytes = change.new.iter().copied().chain([0; 8]).take(8).collect::<Vec<u8>>();
        let len = if <M::A as Arch>::WHOLE { 2 } else { change.new.len() as u8 };
        (number == 0).then(|| Piece { offset: 0, len, bytes: bytes.try_into().unwrap(), demand: demand::<M::A>() })
    };
    assert!(retarget::<M>(at_once, undo::<M>, near, far).is_err());
    assert!(retarget::<M>(step::<M>, undo::<M>, near, far).is_ok());
}

/// What a whole word asks for.
fn demand<A: Arch>() -> Demand {
    if A::WHOLE { Demand::OneStore } else { Demand::Nothing }
}

/// Switches, from each arm to each other one. A site of one word jumps all the time, because nothing lies behind it; others may go on
/// behind, to the stub, from where they come back to any arm.
fn switches<M: Machine>() {
    let whole = <M::A as Arch>::WHOLE;
    let kind = State::TO_ARM.kind();
    let change = |from: i32, to: i32| {
        let [old, new] = [from, to].map(|displacement| State::TO_ARM.encode::<M::A>(displacement));
        Change { old, new }
    };
    let take = |there: Steps, from: i32, to: i32| {
        walk::<M>(there, undo::<M>, change(from, to), |bytes| {
            let effects = [from, to].map(|displacement| M::effect(bytes, displacement));
            let legal = |effect: &Effect| *effect == Effect::Jumps || *effect == Effect::FallsThrough && !whole;
            let legal = effects.iter().flatten().any(legal);
            let state = [from, to].into_iter().find_map(|arm| decode::<M>(kind, bytes, arm));
            match state {
                Some(State::TO_ARM | State::TO_STUB) if legal => Ok(()),
                _ => Err(format!("{from:#x} -> {to:#x}: {bytes:02x?} {effects:?} {state:?}")),
            }
        })
    };
    for &from in M::DISPLACEMENTS {
        let held = encode::<M>(State::TO_ARM, from);
        assert_eq!((held.len(), M::effect(&held, from)), (kind.bytes::<M::A>(), Ok(Effect::Jumps)));
        assert!(kind.leads_somewhere::<M::A>(Code::new(kind.number(), &held)).is_some());
        for &to in M::DISPLACEMENTS.iter().filter(|to| **to != from) {
            take(step::<M>, from, to).unwrap();
            assert_eq!(decode::<M>(kind, &held, to), None, "another arm's jump is foreign");
        }
    }
    let stub = encode::<M>(State::TO_STUB, 0);
    assert_eq!(decode::<M>(kind, &stub, 0), if whole { None } else { Some(State::TO_STUB) });
    for state in [State::TO_ARM, State::TO_STUB] {
        assert_eq!(state.toward::<M::A>(0, Some(0)), State::TO_ARM);
        assert!(Template::of::<M::A>(state).is_none(), "what the entry says is no displacement");
    }
    // Broken twins: half of a word, or bytes at once; by way of what falls through, behind which a site of one word has nothing.
    let [near, far] = [0x0102_0304, 0x1234_5678].map(in_reach::<M>);
    let half: Steps = |number, change| {
        let bytes = change.new.iter().copied().chain([0; 8]).take(8).collect::<Vec<u8>>();
        let len = if <M::A as Arch>::WHOLE { 2 } else { change.new.len() as u8 };
        (number == 0).then(|| Piece { offset: 0, len, bytes: bytes.try_into().unwrap(), demand: demand::<M::A>() })
    };
    let by_nothing: Steps = |number, change| {
        let nothing = State::TO_STUB.encode::<M::A>(0);
        let bytes = nothing.iter().copied().chain([0; 8]).take(8).collect::<Vec<u8>>();
        let piece =
            Piece { offset: 0, len: nothing.len() as u8, bytes: bytes.try_into().unwrap(), demand: demand::<M::A>() };
        if number == 0 { Some(piece) } else { step::<M>(number, change) }
    };
    for broken in [half, by_nothing] {
        assert!(take(broken, near, far).is_err());
    }
    take(step::<M>, near, far).unwrap();
}

/// Calls that a table lists: from one function to another, in the last step; old or new, and nothing in between.
fn call_sites<M: Machine>() {
    let kind = State::CALLS.kind();
    let lies = |at: usize| kind.leads::<M::A>(0x4000 + at);
    if <M::A as Arch>::TAIL.is_none() {
        assert_eq!(decode::<M>(kind, &[0; 4], 0), None, "a site that there is not");
        return assert_eq!(lies(0), Leads::ToTarget);
    }
    for at in 0..64 {
        assert_eq!(lies(at), if at % 8 > 4 { Leads::ToTarget } else { Leads::AnywhereInReach });
    }
    for &from in M::DISPLACEMENTS {
        for &to in M::DISPLACEMENTS.iter().filter(|to| **to != from) {
            let change = change_of_call::<M>(from, to);
            let legal = [&*change.old, &*change.new];
            let fetch = |bytes: &[u8]| if legal.contains(&bytes) { Ok(()) } else { Err(format!("{bytes:02x?}")) };
            walk::<M>(step::<M>, undo::<M>, change, fetch).unwrap();
            let steps: Vec<u8> = steps::<M>().filter(|&number| step::<M>(number, change).is_some()).collect();
            assert_eq!(steps, [<M::A as Arch>::STEPS - 1]);
            assert_eq!(decode::<M>(kind, &change.old, from), Some(State::CALLS));
            assert_eq!(decode::<M>(kind, &change.old, to), None, "a call of another function is foreign");
            assert!(kind.leads_somewhere::<M::A>(change.old).is_some());
        }
    }
    // The broken twin: byte by byte.
    let torn: Steps =
        |number, change| step::<M>(number, change).map(|piece| Piece { demand: Demand::Nothing, ..piece });
    let change = change_of_call::<M>(0x0102_0304, 0x1234_5678);
    let fetch = |bytes: &[u8]| if *bytes == *change.old || *bytes == *change.new { Ok(()) } else { Err(String::new()) };
    assert!(walk::<M>(torn, undo::<M>, change, fetch).is_err());
}

fn change_of_call<M: Machine>(from: i32, to: i32) -> Change {
    let [old, new] = [from, to].map(|displacement| State::CALLS.encode::<M::A>(displacement));
    Change { old, new }
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

/// A site that was never reached by a step is undone with the others when a second writer cleans up.
fn undo_is_harmless_where_nothing_was_done<M: Machine>() {
    for &displacement in M::DISPLACEMENTS {
        for (from, to) in pairs::<M>() {
            let change = change::<M>(from, to, displacement);
            for begun in steps::<M>() {
                let mut bytes = encode::<M>(from, displacement);
                for number in (0..=begun).rev() {
                    let Some(piece) = undo::<M>(number, change) else { continue };
                    for torn in mixtures::<M>(&bytes, piece) {
                        let seen = M::effect(&torn, displacement).unwrap();
                        let legal = [effect_of::<M>(from), effect_of::<M>(to)];
                        assert!(legal.contains(&seen), "{from:?} -> {to:?}: {torn:02x?}");
                    }
                    bytes = written::<M>(&bytes, piece);
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

/// Every point of every flip decodes as a state with the same effect: what a copied process finds is not foreign.
fn points_in_between_are_states<M: Machine>() {
    for &displacement in M::DISPLACEMENTS {
        for (from, to) in pairs::<M>() {
            let mut bytes = encode::<M>(from, displacement);
            for number in steps::<M>() {
                let Some(piece) = step::<M>(number, change::<M>(from, to, displacement)) else { continue };
                for mixed in mixtures::<M>(&bytes, piece) {
                    let state = decode::<M>(from.kind(), &mixed, displacement);
                    let state = state.unwrap_or_else(|| panic!("{from:?} -> {to:?}: {mixed:02x?} is foreign"));
                    assert_eq!(effect_of::<M>(state), M::effect(&mixed, displacement).unwrap());
                }
                bytes = written::<M>(&bytes, piece);
            }
        }
    }
}

fn a_step_to_where_one_is_already<M: Machine>() {
    for state in states::<M>() {
        for goal in [0, 1] {
            let to = state.toward::<M::A>(goal, Some(0));
            assert_eq!(to == State::JUMP || to == State::TRUE, goal == 1);
            assert_eq!(to == state, state.does::<M::A>() == goal, "{state:?}");
            assert_eq!(state.kind(), to.kind());
        }
        assert_eq!(state.as_emitted::<M::A>().does::<M::A>(), state.does::<M::A>());
    }
}

/// The two states of a naked function change in one write, in the last step: nothing is in between, and a batch takes no step
/// more for it.
fn a_naked_function_changes_at_once<M: Machine>() {
    for (from, to) in [(NAKED[0], NAKED[1]), (NAKED[1], NAKED[0])] {
        let change = change::<M>(from, to, 0);
        let pieces: Vec<_> = steps::<M>().filter_map(|number| Some((number, step::<M>(number, change)?))).collect();
        let [(number, piece)] = pieces[..] else { panic!("{pieces:?}") };
        assert!(number + 1 == <M::A as Arch>::STEPS && (<M::A as Arch>::WHOLE || piece.len == 1));
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
    // Where all addresses are in reach, they wrap.
    if (most - least + unit) as u64 != 1 << M::BITS.min(63) {
        assert_eq!([to(least - unit), to(most + unit)], [None; 2]);
        assert_eq!([to(least * 2), to(most * 2 + unit)], [None; 2]);
    }
    assert!((1..4).filter(|&odd| odd < unit).all(|odd| to(odd).is_none()));
    for odd in (1..4).filter(|_| <M::A as Arch>::WHOLE) {
        assert_eq!(<M::A as Arch>::displacement(ADDRESS + odd, origin + odd), None, "a site that is no word");
    }
}

/// A displacement that the jump can encode, out of any number.
fn in_reach<M: Machine>(any: i32) -> i32 {
    let (least, most) = (i64::from(*M::REACH.start()), i64::from(*M::REACH.end()));
    (least + (i64::from(any) - i64::from(i32::MIN)) * M::UNIT % (most - least + M::UNIT)) as i32
}

/// `address` as there is one.
fn wrapped<M: Machine>(address: u64) -> u64 {
    address & u64::MAX >> (64 - M::BITS)
}

/// Anywhere, and near the ends of what addresses and signed numbers can be.
fn addresses<M: Machine>() -> impl Strategy<Value = u64> {
    let largest = u64::MAX >> (64 - M::BITS);
    let ends = [0, largest / 2, largest];
    prop_oneof![
        any::<u64>().prop_map(wrapped::<M>),
        (0..ends.len(), -9..9i64).prop_map(move |(at, near)| wrapped::<M>(ends[at].wrapping_add_signed(near)))
    ]
}

fn property<S: Strategy>(strategy: S, test: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let config = ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() };
    proptest::test_runner::TestRunner::new(config).run(&strategy, test).unwrap();
}

fn any_displacement<M: Machine>() {
    property((any::<i32>(), any::<prop::sample::Index>()), |(any, pair)| {
        let pairs: Vec<_> = pairs::<M>().collect();
        let &(from, to) = pair.get(&pairs);
        let followed = follow::<M>(step::<M>, undo::<M>, from, to, in_reach::<M>(any));
        prop_assert!(followed.is_ok(), "{:?}", followed);
        Ok(())
    });
}

/// No panic, and an answer that leads back, for whatever a damaged table says.
fn any_addresses<M: Machine>() {
    property((addresses::<M>(), any::<i32>(), addresses::<M>()), |(address, near, far)| {
        let (near, word) = (in_reach::<M>(near), address & !3);
        let target = wrapped::<M>(word.wrapping_add(M::ORIGIN).wrapping_add_signed(near.into()));
        prop_assert_eq!(<M::A as Arch>::displacement(word, target), Some(near));
        if let Some(distance) = <M::A as Arch>::displacement(address, far) {
            let target = address.wrapping_add(M::ORIGIN).wrapping_add_signed(distance.into());
            prop_assert_eq!(wrapped::<M>(target), far);
        }
        Ok(())
    });
}

/// Foreign bytes are seen as such: only what has the effect of a state is taken for one.
fn any_bytes<M: Machine>() {
    let inputs = (any::<[u8; 7]>(), any::<i32>(), any::<prop::sample::Index>(), any::<u8>());
    property(inputs, |(bytes, any, state, kept)| {
        let displacement = in_reach::<M>(any);
        let all: Vec<State> = states::<M>().collect();
        let state = *state.get(&all);
        let held = encode::<M>(state, displacement);
        let mixed = |(at, byte): (usize, &u8)| if kept >> at & 1 != 0 { *byte } else { bytes[at] };
        let bytes: Vec<u8> = held.iter().enumerate().map(mixed).collect();
        if let Some(state) = decode::<M>(state.kind(), &bytes, displacement) {
            prop_assert_eq!(M::effect(&bytes, displacement), Ok(effect_of::<M>(state)));
        }
        Ok(())
    });
}

/// Broken twins: each must be found out by the walk above.
fn broken_steps_are_found_out<M: Machine>() {
    fn nothing(_: u8, _: Change) -> Option<Piece> {
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
                a_naked_function_changes_at_once reach any_displacement any_addresses any_bytes retargets switches call_sites
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
    on_riscv64 riscv64::Oracle,
    on_s390x s390x::Oracle,
    on_x86_64 x86::Oracle<64>,
}
