//! All that a thread may fetch while a site goes from one state to another, and back.

use jumplabel::arch::{Demand, Piece, Rewrite, State};

use super::{Machine, Steps, change, effect_of, steps};

/// What the site may hold while `piece` is written over `bytes`: all of it the old or the new, or, where pieces are not stored
/// as a whole, each byte. The last is all new.
pub(super) fn mixtures<M: Machine>(bytes: &[u8], piece: Piece) -> Vec<Vec<u8>> {
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

pub(super) fn written<M: Machine>(bytes: &[u8], piece: Piece) -> Vec<u8> {
    mixtures::<M>(bytes, piece).pop().unwrap()
}

/// Follows `there` from one state to another, and `back` from every point on the way. How many fetches were looked at.
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

/// The same for any change: all that a thread may fetch on the way goes to `fetch`.
pub(super) fn walk<M: Machine>(
    there: Steps,
    back: Steps,
    change: Rewrite,
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
