//! Turns sites that were built as plain jumps (`jumplabel_short`) into nops, if they should fall through at first.
//!
//! ```text
//!   entry    bit 7 of the meta word    the site falls through at first, and is a jump     cleared
//!   site     eb rel8      -> 66 90
//!            e9 rel32     -> 0f 1f 44 00 00
//!   mark     1 -> 2       the object's constructor has nothing to bring to its first state
//! ```
//!
//! The assembler decides the size of a site. A site that should begin as a jump is right already. All sites are verified before any is turned.

use jumplabel_format::State;
use jumplabel_format::layout::{BRANCH, LINKED, LOADING, SHORT, TO_LINK, UNLINKED};
use serde::Serialize;

use super::changes::Changes;
use super::program::Program;
use crate::failure::Failure;
use crate::table::Site;

/// The checks that this pass has found.
#[derive(Debug, Default, Serialize)]
pub struct Found {
    /// The number of checks of two bytes, and of checks of five.
    pub short: usize,
    pub long: usize,
    /// The number of checks of each size that were jumps and are nops now.
    pub turned_short: usize,
    pub turned_long: usize,
}

/// Finds the sites to turn, and adds their changes to `changes`.
pub fn run(program: &Program, changes: &mut Changes) -> Result<Found, Failure> {
    let mut found = Found::default();
    let damaged = |site: &Site, why: &str| Failure::Refused(format!("damaged: the site at {:#x} {why}", site.address));
    let mut places = Vec::new();
    for site in program.table.sites.iter().filter(|site| matches!(site.kind.number(), BRANCH | SHORT | LOADING)) {
        let is_short = site.kind.number() == SHORT;
        found.short += usize::from(is_short);
        found.long += usize::from(!is_short);
        let state = site.state.ok_or_else(|| damaged(site, "holds foreign bytes"))?;
        if !site.is_unlinked {
            continue;
        }
        let (jump, nop) = if is_short { (State::SHORT_JUMP, State::SHORT_NOP) } else { (State::JUMP, State::NOP) };
        if state != jump {
            return Err(damaged(site, "is to be linked, and no jump to its arm"));
        }
        let meta = program.image.word(site.entry + 12).ok_or_else(|| damaged(site, "has no entry"))?;
        let bytes = program.image.machine.encode(nop, site.address, site.target);
        changes.write(site.address, &bytes.ok_or_else(|| damaged(site, "cannot be a nop"))?);
        changes.write(site.entry + 12, &(meta & !UNLINKED).to_le_bytes());
        places.push((site.address, site.address + site.bytes.len() as u64));
        found.turned_short += usize::from(is_short);
        found.turned_long += usize::from(!is_short);
    }
    places.sort_unstable();
    if let Some(pair) = places.windows(2).find(|pair| pair[0].1 > pair[1].0) {
        return Err(Failure::Refused(format!("damaged: two sites at {:#x}", pair[1].0)));
    }
    for &mark in &program.marks {
        match program.image.word(mark) {
            Some(TO_LINK) => changes.write(mark, &LINKED.to_le_bytes()),
            Some(0 | LINKED) => {}
            _ => return Err(Failure::Refused(format!("damaged: a mark at {mark:#x} that means nothing"))),
        }
    }
    Ok(found)
}
