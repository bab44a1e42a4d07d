//! A log of what the writers do to code, in order. A test needs the log, because no emulator, and hardly any processor, shows that a flush was left
//! out.

use crate::arch::Act;

/// Something that a writer did.
#[cfg_attr(not(test), allow(dead_code))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// The writer stored bytes at this address.
    Store(usize),
    /// The writer did this cache maintenance.
    Act(Act),
    /// The writer made all threads serialise.
    CoreSync,
}

/// Writes an event to the log, but only in tests.
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

    #[inline(never)] // Not inlined, so that the check is one site.
    fn check() -> bool {
        static_branch_unlikely!(KEY)
    }

    /// Checks that `events` consist of runs of stores, each followed by the maintenance of its sites, in order, and then by a core sync. Returns
    /// the number of runs.
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

    /// Everything that was logged while the key was flipped on and off by a writer that had already passed its self-test.
    fn flips(writer: WriterKind) -> Option<Vec<Event>> {
        crate::set_writer(Some(writer));
        let usable = KEY.enable().is_ok(); // Some emulators do not notice the writes of procmem.
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
            // Broken twins: if a writer leaves anything out, or does anything too early, the check finds it.
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
        // The events above include maintenance only if the processor needs maintenance.
        let acts = matches!(Native::caches(), arch::Caches::Acts { .. });
        let Some(events) = flips(WriterKind::Mprotect) else { panic!("no mprotect") };
        assert_eq!(events.contains(&Acted(Act::Serialise)), acts);
    }
}
