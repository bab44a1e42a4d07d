//! The work that the loop does after it has looked up a word: a switch among three arms.

use jumplabel::{modes, static_mode, static_switch};

use crate::word::Entry;

modes! {
    /// The work after a word was looked up and its entry was changed.
    pub enum Lookup {
        /// Nothing is done.
        Plain,
        /// The lookup is counted.
        Counted,
        /// The word is looked up again: its entry must exist, and its last line must be the present one.
        Checked,
    }
}

static_mode! {
    /// The mode of the lookups of all threads.
    pub static LOOKUP: Lookup = Plain;
}

/// The counts of what the arms did in one thread.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Lookups {
    /// The number of lookups in the mode `Counted`.
    pub counted: u64,
    /// The number of lookups that were checked.
    pub checked: u64,
    /// The number of checked lookups that found the wrong entry.
    pub failures: u64,
}

impl Lookups {
    /// The counts that `times` lookups in one mode must give.
    pub fn all(mode: Lookup, times: u64) -> Lookups {
        let in_mode = |of| if mode == of { times } else { 0 };
        Lookups { counted: in_mode(Lookup::Counted), checked: in_mode(Lookup::Checked), failures: 0 }
    }

    /// The work of the arm `Checked`. Counts a check, and also a failure unless the last line of `found` is `line`.
    #[inline(never)]
    pub fn check(&mut self, found: Option<&Entry>, line: u32) {
        self.checked += 1;
        self.failures += u64::from(found.and_then(|entry| entry.lines.last()) != Some(&line));
    }

    /// Adds the counts of another thread or pass.
    pub fn add(&mut self, other: Lookups) {
        self.counted += other.counted;
        self.checked += other.checked;
        self.failures += other.failures;
    }
}

/// Runs a switch, and returns the mode whose arm it took.
#[inline(never)]
pub fn taken() -> Lookup {
    static_switch!(LOOKUP, { Plain => Lookup::Plain, Counted => Lookup::Counted, Checked => Lookup::Checked })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_entry_is_a_failure() {
        let entry = Entry { count: 2, lines: vec![1, 3] };
        let mut lookups = Lookups::default();
        lookups.check(Some(&entry), 3);
        assert_eq!(lookups, Lookups::all(Lookup::Checked, 1));
        lookups.check(Some(&entry), 1);
        lookups.check(None, 3);
        assert_eq!((lookups.checked, lookups.failures), (3, 2));
    }
}
