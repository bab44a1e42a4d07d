//! A change of keys from outside, while all threads of the process are stopped.
//!
//! ```text
//!   plan     counts and bytes are read and checked; nothing is written
//!   mark     the process is told that sites and counts may not agree: the next owner of its lock makes them agree
//!   code     each site in one write, which the system does whole or not at all; a site on two pages in the steps of a live change. No other byte
//!            is written: meanwhile the system can set or remove a uprobe beside a site
//!   counts   the words of the keys
//!   unmark
//! ```
//!
//! If somebody kills this tool in the middle, the system lets the threads go. Each site then holds one of its valid instructions. The guard
//! (`force::guard`), the next flip in the process, or the next `set --force` makes all sites do what the counts say.

use std::io;
use std::sync::atomic::{AtomicI32, Ordering};

use jumplabel::Error;
use jumplabel::key::count::{self, Transition};
use jumplabel_format::{Code, State};

use super::contents::action;
use super::live::Live;
use super::locks::Locks;
use super::memory::{PAGE, Pages};
use super::threads::Stopped;
use crate::failure::Failure;
use crate::machine::Machine;

/// A key, by its number, and the change of its count. `None` leaves the count as it is, and only mends the sites that do not do what the count
/// says.
pub type Wanted = (usize, Option<count::Change>);

/// The writes of a change.
pub struct Plan {
    edits: Vec<Edit>,
    counts: Vec<Count>,
    marks: Vec<(u64, [u32; 2])>,
}

/// The sites of a key that a change writes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    All,
    Differing,
}

struct Edit {
    address: u64,
    old: Code,
    new: Code,
}

impl Edit {
    fn page(&self) -> u64 {
        self.address / PAGE as u64
    }

    fn end(&self) -> u64 {
        self.address + self.old.len() as u64
    }

    fn is_on_two_pages(&self) -> bool {
        (self.end() - 1) / PAGE as u64 != self.page()
    }
}

/// The count of a key, before and after the change.
pub struct Count {
    pub key: usize,
    pub old: i32,
    pub new: i32,
    /// Whether the change adds or removes one user.
    pub is_counted: bool,
    address: u64,
}

impl Plan {
    /// Plans the change. An error says why nothing may be written.
    pub fn make(live: &Live, locks: &Locks, wanted: &[Wanted]) -> Result<Plan, Failure> {
        let mut plan = Plan { edits: Vec::new(), counts: Vec::new(), marks: locks.marks.clone() };
        let pages = &Pages::of(&live.memory);
        for &(number, change) in wanted {
            let key = &live.keys[number];
            let refused =
                |why: &dyn std::fmt::Display| Failure::Refused(format!("{}: {why}: nothing is set", key.name));
            if change.is_some() && live.is_due(pages, key)? {
                return Err(refused(
                    &"the process is about to take a user of it off (a deferred decrement): try again later",
                ));
            }
            let old = live.count(pages, key)?;
            let Some(change) = change else {
                plan.bring(live, pages, number, count::users(old) > 0, Which::Differing)?;
                continue;
            };
            let word = AtomicI32::new(old);
            let transition = count::begin(&word, change).map_err(|misuse| refused(&Error::from(misuse)))?;
            count::publish(&word, transition);
            let new = word.load(Ordering::Relaxed);
            if new != old {
                let is_counted = matches!(change, count::Change::Inc | count::Change::Dec);
                plan.counts.push(Count { key: number, old, new, is_counted, address: key.address });
            }
            let on = count::users(new) > 0;
            let which = match transition {
                Transition::TurnOn | Transition::TurnOff => Which::All,
                _ if locks.disagree => Which::All,
                // The count stays, but something else may have changed the key's sites.
                Transition::Done => Which::Differing,
                Transition::Join | Transition::Leave => continue,
            };
            plan.bring(live, pages, number, on, which)?;
        }
        if locks.disagree {
            let others = (0..live.keys.len()).filter(|number| wanted.iter().all(|(chosen, _)| chosen != number));
            for number in others.collect::<Vec<_>>() {
                let on = count::users(live.count(pages, &live.keys[number])?) > 0;
                plan.bring(live, pages, number, on, Which::All)?;
            }
        }
        plan.edits.sort_by_key(|edit| edit.address);
        Ok(plan)
    }

    /// Adds the edits that make sites of a key do what the key says.
    fn bring(&mut self, live: &Live, pages: &Pages<'_>, number: usize, on: bool, which: Which) -> Result<(), Failure> {
        let key = &live.keys[number];
        for &at in &key.sites {
            // A site that loads its key is right in every state of the key.
            if which == Which::Differing && live.difference(pages, key, at, on)?.is_none() {
                continue;
            }
            let (site, contents) = (live.site(at), live.contents(pages, at)?);
            let refused = |why: &str| {
                Err(Failure::Refused(format!(
                    "{}: the site at {:#x} {why}: nothing is set",
                    key.name, contents.address
                )))
            };
            let Some(action) = action(site, on) else {
                return refused("is a lock prefix or an alternative, which the program alone can change");
            };
            let Some(state) = contents.state else {
                return refused(match contents.is_hooked {
                    true => "is not run, because somebody has hooked the function",
                    false => "holds foreign bytes (a debugger's breakpoint, or another tool's)",
                });
            };
            // A site that loads its key is right, so it need not jump to its arm. The next flip in the process makes it jump there.
            if state == State::LOADS && action == 1 {
                continue;
            }
            let to = Machine::X86_64.toward(state, action);
            let Some(bytes) = Machine::X86_64.encode(to, contents.address, contents.target) else {
                return refused("leads too far");
            };
            let new = Code::new(site.kind.number(), &bytes);
            if new != contents.code {
                self.edits.push(Edit { address: contents.address, old: contents.code, new });
            }
        }
        Ok(())
    }

    /// The number of sites that the change writes.
    pub fn sites(&self) -> usize {
        self.edits.len()
    }

    /// The counts that change.
    pub fn counts(&self) -> &[Count] {
        &self.counts
    }

    /// The number of pages on which changed sites begin.
    pub fn pages(&self) -> usize {
        let mut pages: Vec<_> = self.edits.iter().map(Edit::page).collect();
        pages.dedup();
        pages.len()
    }

    /// Whether a thread is inside an instruction that changes. Such a thread would go on in the middle of another instruction.
    pub fn meets(&self, pointers: &[u64]) -> bool {
        let inside =
            |edit: &Edit| pointers.iter().any(|&at| at > edit.address && at < edit.address + edit.old.len() as u64);
        self.edits.iter().any(inside)
    }

    /// Makes the writes. If the system refuses one, takes back those before it. Calls `before` before each write.
    pub fn carry_out(&self, live: &Live, stopped: &Stopped, before: &mut dyn FnMut()) -> Result<(), Failure> {
        let mut write = |address: u64, bytes: &[u8]| {
            before();
            live.memory.write(address, bytes)
        };
        let done = self.write(&mut write);
        if let Err(error) = done {
            let back = self.edits.iter().rev().try_for_each(|edit| {
                // The site may have come to any step of its edit.
                let now = Code::new(0, &live.memory.array::<8>(edit.address)?[..edit.old.len()]);
                if now == Code::new(0, &edit.old) { Ok(()) } else { write(edit.address, &edit.old) }
            });
            let back = back
                .and_then(|()| self.counts.iter().try_for_each(|count| write(count.address, &count.old.to_le_bytes())));
            let back = back.and_then(|()| self.mark(1, &mut write));
            let what = if back.is_ok() {
                "nothing is set"
            } else {
                "sites and counts may differ until the program flips a key"
            };
            let why = format!(
                "{}: the system refuses to write its memory: {error} (proc_mem.force_override?): {what}",
                live.pid
            );
            return Err(Failure::Refused(why));
        }
        stopped.serialise()
    }

    fn write(&self, write: &mut dyn FnMut(u64, &[u8]) -> io::Result<()>) -> io::Result<()> {
        self.mark(0, write)?;
        for edit in &self.edits {
            if !edit.is_on_two_pages() {
                write(edit.address, &edit.new)?;
                continue;
            }
            for piece in Machine::X86_64.steps(edit.old, edit.new) {
                write(edit.address + u64::from(piece.offset), piece.bytes())?;
            }
        }
        for count in &self.counts {
            write(count.address, &count.new.to_le_bytes())?;
        }
        self.mark(1, write)
    }

    fn mark(&self, which: usize, write: &mut dyn FnMut(u64, &[u8]) -> io::Result<()>) -> io::Result<()> {
        self.marks.iter().try_for_each(|(address, words)| write(*address, &words[which].to_le_bytes()))
    }
}
