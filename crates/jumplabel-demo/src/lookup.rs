//! What the loop does at each lookup of a word: a switch among three arms.

use jumplabel::{modes, static_mode, static_switch};

use crate::word::Entry;

modes! {
    /// What is done after a word was looked up and its entry changed.
    pub enum Lookup {
        /// Nothing.
        Plain,
        /// It is counted.
        Counted,
        /// It is looked up again: the entry must be there, with the line.
        Checked,
    }
}

static_mode! {
    /// Of all threads.
    pub static LOOKUP: Lookup = Plain;
}

/// What the arms of one thread did.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Lookups {
    /// How many were counted.
    pub counted: u64,
    /// How many were checked.
    pub checked: u64,
    /// How many of these found the wrong entry.
    pub failures: u64,
}

impl Lookups {
    /// What `times` lookups come to in one mode.
    pub fn all(mode: Lookup, times: u64) -> Lookups {
        let in_mode = |of| if mode == of { times } else { 0 };
        Lookups { counted: in_mode(Lookup::Counted), checked: in_mode(Lookup::Checked), failures: 0 }
    }

    /// The arm `Checked`.
    #[inline(never)]
    pub fn check(&mut self, found: Option<&Entry>, line: u32) {
        self.checked += 1;
        self.failures += u64::from(found.and_then(|entry| entry.lines.last()) != Some(&line));
    }

    /// Adds those of another thread or pass.
    pub fn add(&mut self, other: Lookups) {
        self.counted += other.counted;
        self.checked += other.checked;
        self.failures += other.failures;
    }
}

/// The mode by the arm that is taken at this moment.
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
