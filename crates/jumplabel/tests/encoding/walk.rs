//! All bytes that a thread may fetch while a site goes from one state to another, and back.

use jumplabel_format::{CodeChange, Demand, State, StepBytes};

use super::{Machine, Steps, change, effect_of, steps};

/// All bytes that the site may hold while `step_bytes` is written over `bytes`: the old or the new ones or, if bytes are not stored as a whole, any
/// mixture. The last is all new.
pub(super) fn mixtures<M: Machine>(bytes: &[u8], step_bytes: StepBytes) -> Vec<Vec<u8>> {
    let all = (1u32 << step_bytes.len) - 1;
    let masks = (0..=all).filter(|new| step_bytes.demand == Demand::Nothing || [0, all].contains(new));
    let mixture = |new: u32| {
        let mut mixed = bytes.to_vec();
        for (at, &byte) in step_bytes.bytes().iter().enumerate().filter(|(at, _)| new >> at & 1 != 0) {
            mixed[usize::from(step_bytes.offset) + at] = byte;
        }
        mixed
    };
    masks.map(mixture).collect()
}

pub(super) fn written<M: Machine>(bytes: &[u8], step_bytes: StepBytes) -> Vec<u8> {
    mixtures::<M>(bytes, step_bytes).pop().unwrap()
}

/// Follows `there` from one state to another, and `back` from every point on the way. Returns the number of fetches.
pub(super) fn follow<M: Machine>(
    there: Steps,
    back: Steps,
    from: State,
    to: State,
    displacement: i32,
) -> Result<usize, String> {
    let legal = [effect_of::<M>(from), effect_of::<M>(to)];
    let fetch = |bytes: &[u8]| {
        let seen = M::effect(bytes, displacement)?;
        if legal.contains(&seen) { Ok(()) } else { Err(format!("{from:?} -> {to:?}: {bytes:02x?} {seen:?}")) }
    };
    walk::<M>(there, back, change::<M>(from, to, displacement), fetch)
}

/// Like the function above, for any change: `fetch` gets everything that a thread may fetch on the way.
pub(super) fn walk<M: Machine>(
    there: Steps,
    back: Steps,
    change: CodeChange,
    fetch: impl Fn(&[u8]) -> Result<(), String>,
) -> Result<usize, String> {
    let (mut fetches, mut bytes) = (0, change.old.to_vec());
    let mut fetch = |bytes: &[u8]| {
        fetches += 1;
        fetch(bytes)
    };
    fetch(&bytes)?;
    for number in steps::<M>() {
        let Some(step_bytes) = there(number, change) else { continue };
        for mixed in mixtures::<M>(&bytes, step_bytes) {
            fetch(&mixed)?;
            // The write is refused here: the writer got as far as `mixed`.
            let mut undone = mixed.clone();
            for number in (0..=number).rev() {
                let Some(step_bytes) = back(number, change) else { continue };
                for torn in mixtures::<M>(&undone, step_bytes) {
                    fetch(&torn)?;
                    undone = torn;
                }
            }
            if undone != *change.old {
                return Err(format!("{change:02x?} undone from {mixed:02x?}: {undone:02x?}"));
            }
        }
        bytes = written::<M>(&bytes, step_bytes);
    }
    if bytes != *change.new {
        return Err(format!("{change:02x?} ends at {bytes:02x?}"));
    }
    Ok(fetches)
}
