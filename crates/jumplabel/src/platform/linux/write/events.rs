//! A log of what the writers do to code, in order. A test checks the log, because no emulator and hardly any processor shows the effect of a flush
//! that was left out.

use crate::arch::Act;

/// One entry of the log: something that a writer did.
#[cfg_attr(not(test), allow(dead_code))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// The writer stored bytes, the first of them at this address.
    Store(usize),
    /// The writer did this act of cache maintenance.
    Act(Act),
    /// The writer asked for a core sync.
    CoreSync,
}

/// Writes an event to the log. Does nothing except in tests.
#[cfg(not(test))]
#[inline]
pub(super) const fn log(_: Event) {}
#[cfg(test)]
pub(super) use tests::log;

#[cfg(test)]
mod tests {
    use super::Event;
    use super::Event::{Act as Acted, CoreSync, Store};
    use crate::arch::{self, Act, Machine, Native};
    use crate::{WriterKind, static_branch_unlikely, static_key};
    use std::cell::RefCell;
    use std::vec::Vec;

    std::thread_local! { static EVENTS: RefCell<Vec<Event>> = const { RefCell::new(Vec::new()) }; }

    pub(in super::super) fn log(event: Event) {
        EVENTS.with_borrow_mut(|events| events.push(event));
    }

    static_key! { static KEY: false; }

    #[inline(never)] // If this were inlined, each copy would be a site.
    fn check() -> bool {
        static_branch_unlikely!(KEY)
    }

    /// Returns the number of runs in `events`, or an error if `events` do not consist of runs. A run consists of stores, then of the cache
    /// maintenance that the processor needs for their addresses, and then of a core sync.
    fn keeps_the_order(events: &[Event]) -> Result<usize, &'static str> {
        let (mut at, mut runs) = (0, 0);
        while at < events.len() {
            let stored: Vec<usize> = events[at..]
                .iter()
                .map_while(|event| if let Store(site) = event { Some(*site) } else { None })
                .collect();
            if stored.is_empty() {
                return Err("maintenance or a core sync without a store");
            }
            at += stored.len();
            let mut needed = Vec::new();
            if cfg!(target_arch = "arm") {
                needed.extend(stored.iter().map(|&site| Acted(Act::Invalidate(site)))); // by a system call
            }
            arch::maintain(stored.into_iter(), Native::caches(), |act| needed.push(Acted(act)));
            needed.push(CoreSync);
            if !events[at..].starts_with(&needed) {
                return Err("not what the processor needs");
            }
            at += needed.len();
            runs += 1;
        }
        Ok(runs)
    }

    /// The events of three flips of the key, off, on and off, by this writer after its self-test. `None` if the writer does not work here.
    fn flips(writer: WriterKind) -> Option<Vec<Event>> {
        crate::set_writer(Some(writer));
        let usable = KEY.enable().is_ok(); // This runs the self-test. Under some emulators, `procmem` fails it.
        EVENTS.take();
        for on in if usable { [false, true, false].as_slice() } else { &[] } {
            if *on { KEY.enable() } else { KEY.disable() }.unwrap();
            assert_eq!(check(), *on);
        }
        crate::set_writer(None);
        usable.then(|| EVENTS.take())
    }

    #[test]
    #[cfg_attr(not(jumplabel_sites), ignore = "nothing is written without sites")]
    fn stores_maintenance_core_sync() {
        let mut used = 0;
        for writer in [WriterKind::Mprotect, WriterKind::Procmem] {
            let Some(events) = flips(writer) else { continue };
            used += 1;
            assert_eq!(keeps_the_order(&events), Ok(3), "{writer:?} {events:?}");
            // Controls: the check notices if any one event is left out or comes too early.
            for left_out in 0..events.len() {
                let mut broken = events.clone();
                broken.remove(left_out);
                assert_ne!(keeps_the_order(&broken), Ok(3), "{broken:?}");
            }
            for early in 1..events.len() {
                let mut broken = events.clone();
                broken.swap(early - 1, early);
                assert!(broken == events || keeps_the_order(&broken) != Ok(3), "{broken:?}");
            }
        }
        assert!(used > 0);
        // The log contains acts of maintenance if, and only if, this processor needs such acts.
        let acts = matches!(Native::caches(), arch::Caches::Acts { .. });
        let Some(events) = flips(WriterKind::Mprotect) else { panic!("no mprotect") };
        assert_eq!(events.contains(&Acted(Act::Serialise)), acts);
    }
}
