//! Recognises torn sites. A site with arms is torn if it lies across two pages, and only one of these pages has the bytes of the file again.
//!
//! If something gives one of the two pages back to the system, or replaces that page, the site holds the beginning of one of its instructions and the
//! end of another one. The library repairs a torn site like a site that holds all bytes of the file again. (The site of a check can be torn, too;
//! [`decode`](crate::arch::Branch::decode) recognises that.)

use super::Patchable;
use super::comparison::{Literal, displacement};
use crate::arch::{Arch, Code, Kind, Native};
use crate::format::{Arm, Entry};

/// The size of a page on the system that has the smallest pages.
const PAGE: usize = 4 << 10;

/// A literal that holds `code`, if `code` is a mixture of two instructions of the site. Otherwise `None`. The literal's action is 0, which no
/// patchable can want.
#[inline]
pub(super) fn literal(entry: &Entry, patchable: &dyn Patchable, code: Code) -> Option<Literal> {
    let on_first = PAGE - entry.code() % PAGE;
    if Native::SINGLE_STORE || on_first >= code.len() { None } else { mixture(on_first, entry, patchable, code) }
}

/// Does the work of [`literal`] for a site that has `on_first` bytes on its first page. This is a function of its own, because it needs much of the
/// stack, and few sites lie across two pages.
#[cold]
#[inline(never)]
fn mixture(on_first: usize, entry: &Entry, patchable: &dyn Patchable, code: Code) -> Option<Literal> {
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
