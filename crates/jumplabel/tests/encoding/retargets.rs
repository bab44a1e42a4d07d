//! Sites that lead to more than two places: trampolines, switches, calls that a table lists.

use jumplabel_format::{Arch, Code, CodeChange, Demand, Leads, State, StepBytes, Template};

use super::{Effect, Machine, Steps, decode, encode, in_reach, step, steps, undo, walk};

/// Changes a trampoline from one target to another. A thread goes to the old one, to the new one, or falls through, to the slot.
fn retarget<M: Machine>(there: Steps, back: Steps, from: (State, i32), to: (State, i32)) -> Result<usize, String> {
    let change = CodeChange { old: from.0.encode::<M::A>(from.1), new: to.0.encode::<M::A>(to.1) };
    walk::<M>(there, back, change, |bytes| {
        let leads = [from.1, to.1].map(|displacement| M::effect(bytes, displacement));
        match leads.iter().flatten().next() {
            Some(Effect::Jumps | Effect::FallsThrough) => Ok(()),
            _ => Err(format!("{from:02x?} -> {to:02x?}: {leads:?}")),
        }
    })
}

/// Changes trampolines from each target to each other one, through the slot or not.
pub(super) fn retargets<M: Machine>() {
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
        let len = if <M::A as Arch>::SINGLE_STORE { 2 } else { change.new.len() as u8 };
        (number == 0).then(|| StepBytes { offset: 0, len, bytes: bytes.try_into().unwrap(), demand: demand::<M::A>() })
    };
    assert!(retarget::<M>(at_once, undo::<M>, near, far).is_err());
    assert!(retarget::<M>(step::<M>, undo::<M>, near, far).is_ok());
}

/// The demand of a change of a whole word.
fn demand<A: Arch>() -> Demand {
    if A::SINGLE_STORE { Demand::SingleStore } else { Demand::Nothing }
}

/// Changes switches from each arm to each other one. A site of one word always jumps, because no code follows it. Others may fall through to the
/// stub, from which a thread reaches any arm.
pub(super) fn switches<M: Machine>() {
    let whole = <M::A as Arch>::SINGLE_STORE;
    let kind = State::TO_ARM.kind();
    let change = |from: i32, to: i32| {
        let [old, new] = [from, to].map(|displacement| State::TO_ARM.encode::<M::A>(displacement));
        CodeChange { old, new }
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
        let len = if <M::A as Arch>::SINGLE_STORE { 2 } else { change.new.len() as u8 };
        (number == 0).then(|| StepBytes { offset: 0, len, bytes: bytes.try_into().unwrap(), demand: demand::<M::A>() })
    };
    let by_nothing: Steps = |number, change| {
        let nothing = State::TO_STUB.encode::<M::A>(0);
        let bytes = nothing.iter().copied().chain([0; 8]).take(8).collect::<Vec<u8>>();
        let step_bytes = StepBytes {
            offset: 0,
            len: nothing.len() as u8,
            bytes: bytes.try_into().unwrap(),
            demand: demand::<M::A>(),
        };
        if number == 0 { Some(step_bytes) } else { step::<M>(number, change) }
    };
    for broken in [half, by_nothing] {
        assert!(take(broken, near, far).is_err());
    }
    take(step::<M>, near, far).unwrap();
}

/// Calls that a table lists: from one function to another, in the last step; old or new, and nothing in between.
pub(super) fn call_sites<M: Machine>() {
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
    let torn: Steps = |number, change| {
        step::<M>(number, change).map(|step_bytes| StepBytes { demand: Demand::Nothing, ..step_bytes })
    };
    let change = change_of_call::<M>(0x0102_0304, 0x1234_5678);
    let fetch = |bytes: &[u8]| if *bytes == *change.old || *bytes == *change.new { Ok(()) } else { Err(String::new()) };
    assert!(walk::<M>(torn, undo::<M>, change, fetch).is_err());
}

fn change_of_call<M: Machine>(from: i32, to: i32) -> CodeChange {
    let [old, new] = [from, to].map(|displacement| State::CALLS.encode::<M::A>(displacement));
    CodeChange { old, new }
}
