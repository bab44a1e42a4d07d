//! A site with arms that lies on two pages, one of which holds the file's bytes again.
//!
//! Whoever gives back or replaces one of the two pages leaves the beginning of one instruction of the site and the end of another. So the
//! site strayed, as one does whose bytes are all the file's. (At a check, [`decode`](crate::arch::Branch::decode) knows that.)

use super::Patchable;
use super::comparison::{Literal, displacement};
use crate::arch::{Arch, Code, Kind, Native};
use crate::format::{Arm, Entry};

/// The least distance between two pages.
const PAGE: usize = 4 << 10;

/// `code`, if it is such a mixture. It does nothing that a patchable can want.
#[cold]
pub(super) fn literal(entry: &Entry, patchable: &dyn Patchable, code: Code) -> Option<Literal> {
    let on_first = PAGE - entry.code() % PAGE;
    if Native::SINGLE_STORE || on_first >= code.len() {
        return None;
    }
    let kind = Kind::of(entry.kind())?;
    let state = kind.emitted::<Native>(0)?;
    let (mut begins, mut ends) = (false, false);
    for action in entry.arms().iter().map(Arm::address) {
        let jump = displacement(kind, entry, action).map(|displacement| state.encode::<Native>(displacement));
        for one in [patchable.literal(entry, action), jump].into_iter().flatten() {
            if one == code {
                return None;
            }
            begins |= one.get(..on_first) == code.get(..on_first);
            ends |= one.get(on_first..) == code.get(on_first..);
        }
    }
    (begins && ends).then_some(Literal { state, code, action: 0 })
}
