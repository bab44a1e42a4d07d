//! Properties that hold for any displacement, any address and any bytes.

use jumplabel_format::{Arch, State, Template};
use proptest::prelude::*;

use super::{Machine, decode, effect_of, encode, follow, pairs, states, step, undo};

/// A displacement that the jump can encode, out of any number.
pub(super) fn in_reach<M: Machine>(any: i32) -> i32 {
    let (least, most) = (i64::from(*M::REACH.start()), i64::from(*M::REACH.end()));
    (least + (i64::from(any) - i64::from(i32::MIN)) * M::UNIT % (most - least + M::UNIT)) as i32
}

/// `address` without the bits that an address does not have.
pub(super) fn wrapped<M: Machine>(address: u64) -> u64 {
    address & u64::MAX >> (64 - M::BITS)
}

/// Addresses anywhere, and near the ends of the ranges of addresses and of signed numbers.
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

pub(super) fn any_displacement<M: Machine>() {
    property((any::<i32>(), any::<prop::sample::Index>()), |(any, pair)| {
        let pairs: Vec<_> = pairs::<M>().collect();
        let &(from, to) = pair.get(&pairs);
        let followed = follow::<M>(step::<M>, undo::<M>, from, to, in_reach::<M>(any));
        prop_assert!(followed.is_ok(), "{:?}", followed);
        Ok(())
    });
}

/// Whatever a damaged table says, there is no panic, and an answer leads back.
pub(super) fn any_addresses<M: Machine>() {
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

/// Foreign bytes count as foreign: only bytes with the effect of a state are taken for that state.
pub(super) fn any_bytes<M: Machine>() {
    let inputs = (any::<[u8; 7]>(), any::<i32>(), any::<prop::sample::Index>(), any::<u8>());
    property(inputs, |(bytes, any, state, kept)| {
        let displacement = in_reach::<M>(any);
        let all: Vec<State> = states::<M>().collect();
        let state = *state.get(&all);
        let held = encode::<M>(state, displacement);
        let mixed = |(at, byte): (usize, &u8)| if kept >> at & 1 != 0 { *byte } else { bytes[at] };
        let bytes: Vec<u8> = held.iter().enumerate().map(mixed).collect();
        let found = decode::<M>(state.kind(), &bytes, displacement);
        // A torn site may do anything.
        if let Some(state) = found.filter(|state| ![State::TORN, State::SHORT_TORN].contains(state)) {
            prop_assert_eq!(M::effect(&bytes, displacement), Ok(effect_of::<M>(state)));
        }
        Ok(())
    });
}

/// Sites of similar templates change in the same bytes, by the same amount: one of them stands for all.
pub(super) fn templates_that_are_like<M: Machine>() {
    let template = |state| Template::of::<M::A>(state);
    for (from, to) in pairs::<M>() {
        let (Some(before), Some(after)) = (template(from), template(to)) else { continue };
        let differs = |displacement| {
            let [old, new] = [before, after].map(|template| template.fill::<M::A>(displacement));
            old.iter().zip(&*new).map(|(old, new)| old ^ new).collect::<Vec<u8>>()
        };
        let all = M::DISPLACEMENTS.iter().all(|&displacement| differs(displacement) == differs(M::DISPLACEMENTS[0]));
        assert!(all || !before.is_like(after), "{from:?} to {to:?}");
    }
}
