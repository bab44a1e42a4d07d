//! Cache maintenance: the acts after which a processor can fetch, as code, the bytes that were stored as data.
//!
//! ```text
//!   stage      what is true afterwards
//!   store      this processor's data cache has the new instruction
//!   clean      the memory that instruction caches read has the new one  an act for each site, then wait
//!   invalidate no instruction cache has the old instruction             an act for each site, then wait
//!   serialise  this processor no longer has the old instruction fetched ahead
//!   core sync  no other processor has it fetched ahead (see `platform`)
//! ```
//!
//! The order is the same on all instruction sets, so it is defined here. The arch file says which stages between the store and core sync an
//! instruction set needs, and which instructions carry them out. If an instruction set needs one of these stages, its sites never lie across two
//! cache lines. So one act on the site's address is enough for each site.

/// The cache maintenance that a processor needs before it can fetch stored instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caches {
    /// Nothing, because instruction fetches see stores.
    Coherent,
    /// Acts of this processor. [`maintain`] lists them in their order.
    Acts {
        /// Whether the data cache must be cleaned.
        clean: bool,
        /// Whether instruction caches must be invalidated.
        invalidate: bool,
    },
    /// A system call, because no program can reach the caches of other processors.
    System,
}

/// One act of cache maintenance. An arch file carries it out; a test records it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Writes the line at an address back to the memory that instruction caches read.
    Clean(usize),
    /// Drops the line at an address from the instruction caches of all processors.
    Invalidate(usize),
    /// Waits until the earlier acts have happened everywhere.
    Complete,
    /// Drops the instructions that this processor has fetched ahead.
    Serialise,
}

/// Carries out the acts of cache maintenance after the code at `sites` was stored. Calls `act` for each act that `caches` asks for, in their order.
pub fn maintain(sites: impl Iterator<Item = usize> + Clone, caches: Caches, mut act: impl FnMut(Act)) {
    let Caches::Acts { clean, invalidate } = caches else { return };
    if clean {
        sites.clone().for_each(|site| act(Act::Clean(site)));
    }
    act(Act::Complete);
    if invalidate {
        sites.for_each(|site| act(Act::Invalidate(site)));
        act(Act::Complete);
    }
    act(Act::Serialise);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;
    use std::vec::Vec;

    fn record(caches: Caches) -> Vec<Act> {
        let mut acts = Vec::new();
        maintain([8, 64].into_iter(), caches, |act| acts.push(act));
        acts
    }

    /// Every needed act happens, in the order of the manuals (Arm ARM B2.4.4; Power ISA book II, 1.8).
    #[test]
    fn sequence() {
        use Act::{Clean, Complete, Invalidate, Serialise};
        let acts = |clean, invalidate| record(Caches::Acts { clean, invalidate });
        let full = vec![Clean(8), Clean(64), Complete, Invalidate(8), Invalidate(64), Complete, Serialise];
        assert_eq!(acts(true, true), full);
        assert_eq!(acts(false, true), full[2..]);
        assert_eq!(acts(true, false), [Clean(8), Clean(64), Complete, Serialise]);
        assert_eq!(acts(false, false), [Complete, Serialise]);
        assert_eq!(record(Caches::Coherent), []);
        assert_eq!(record(Caches::System), []);
    }
}
