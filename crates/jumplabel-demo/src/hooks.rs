//! The eight hooks of the indexer's loop, and the four ways to switch them.
//!
//! ```text
//!                          G = Out      false                        the hooks are compiled out
//!  if G::on::<TRACE>()     G = Keys     one instruction, patched     what this program is about
//!      hooks.trace(..)     G = Atomics  load, test, jump             what one would write without keys
//!                          G = In       true                         the hooks are compiled in
//! ```
//!
//! The loop is generic over [`Gate`], so all four ways run the same source with the same hooks. A hook reads the loop's variables and writes only to
//! the thread's own [`Hooks`]; it never touches the index. Each hook counts how often it ran. A hook that runs while it is off, or is left out while
//! it is on, is a wrong result like any other.

use std::sync::atomic::{AtomicBool, Ordering};

use jumplabel::{Batch, Error, Outcome, restore_pristine, static_branch_likely, static_branch_unlikely, static_key};

use crate::hash::{FOLD, hash_of};

/// The number of hooks.
pub const COUNT: usize = 8;
/// The names of the hooks.
pub const NAMES: [&str; COUNT] = ["trace", "statistics", "verify", "sample", "lengths", "case", "doubled", "lines"];

/// The hook that writes each word's hash and line into a ring buffer.
pub const TRACE: usize = 0;
/// The hook that counts letters, and keeps the longest word.
pub const STATISTICS: usize = 1;
/// The hook that computes the word's hash again, the plain way.
pub const VERIFY: usize = 2;
/// The hook that keeps each 64th word.
pub const SAMPLE: usize = 3;
/// The hook that keeps a histogram of word lengths.
pub const LENGTHS: usize = 4;
/// The hook that checks the case-folding table against the standard library.
pub const CASE: usize = 5;
/// The hook that counts words that are written twice in a row.
pub const DOUBLED: usize = 6;
/// The hook that keeps the longest line. It runs once a line, not once a word.
pub const LINES: usize = 7;

static_key! {
    /// The switches of the hooks.
    pub static KEYS: [false; COUNT];
}

/// The same switches as plain atomics, to compare with.
static ATOMICS: [AtomicBool; COUNT] = [const { AtomicBool::new(false) }; COUNT];

/// A way to switch the hooks.
pub trait Gate {
    /// Returns whether the hook is on.
    fn on<const HOOK: usize>() -> bool;
}

/// The hooks are compiled out.
pub struct Out;
/// A static key switches each hook.
pub struct Keys;
/// A relaxed atomic switches each hook.
pub struct Atomics;
/// The hooks are compiled in.
pub struct In;

impl Gate for Out {
    #[inline(always)]
    fn on<const HOOK: usize>() -> bool {
        false
    }
}

impl Gate for Keys {
    #[inline(always)]
    fn on<const HOOK: usize>() -> bool {
        static_branch_unlikely!(KEYS[HOOK])
    }
}

impl Gate for Atomics {
    #[inline(always)]
    fn on<const HOOK: usize>() -> bool {
        ATOMICS[HOOK].load(Ordering::Relaxed)
    }
}

impl Gate for In {
    #[inline(always)]
    fn on<const HOOK: usize>() -> bool {
        true
    }
}

/// Sets all keys to the states in `bits`, bit n for hook n, in one batch.
pub fn set_keys(bits: u8) -> Result<Outcome, Error> {
    let batch = KEYS.iter().enumerate().fold(Batch::new(), |batch, (hook, key)| batch.set(key, bits >> hook & 1 != 0));
    batch.commit()
}

/// Restores the instructions that the compiler emitted, at sites of keys that are off.
pub fn restore_keys() -> Result<(), Error> {
    KEYS.iter().try_for_each(|key| restore_pristine(key).map(drop))
}

/// Sets all atomics to `on`.
pub fn set_atomics(on: bool) {
    for atomic in &ATOMICS {
        atomic.store(on, Ordering::Relaxed);
    }
}

/// The results of checks of the keys at this moment, bit n for hook n. These sites are laid out for "on", unlike those in the loop. So each
/// transaction flips some sites to a jump and some to a nop.
#[inline(never)]
pub fn checked_keys() -> u8 {
    let on = [
        static_branch_likely!(KEYS[0]),
        static_branch_likely!(KEYS[1]),
        static_branch_likely!(KEYS[2]),
        static_branch_likely!(KEYS[3]),
        static_branch_likely!(KEYS[4]),
        static_branch_likely!(KEYS[5]),
        static_branch_likely!(KEYS[6]),
        static_branch_likely!(KEYS[7]),
    ];
    on.iter().rev().fold(0, |bits, &on| bits << 1 | u8::from(on))
}

const RING: usize = 1024;
const SAMPLES: usize = 256;
const LONGEST: usize = 32;

/// The notes that the hooks of one thread make.
pub struct Hooks<'a> {
    /// The number of times that each hook ran.
    pub ran: [u64; COUNT],
    /// How often `verify` and `case` found something wrong.
    pub failures: u64,
    letters: u64,
    longest_word: &'a [u8],
    longest_line: usize,
    doubled: u64,
    previous: u64,
    lengths: [u64; LONGEST + 1],
    ring: Box<[(u64, u32); RING]>,
    samples: Box<[&'a [u8]; SAMPLES]>,
}

impl Default for Hooks<'_> {
    fn default() -> Self {
        Hooks {
            ran: [0; COUNT],
            failures: 0,
            letters: 0,
            longest_word: b"",
            longest_line: 0,
            doubled: 0,
            previous: 0,
            lengths: [0; LONGEST + 1],
            ring: Box::new([(0, 0); RING]),
            samples: Box::new([b""; SAMPLES]),
        }
    }
}

/// All functions are out of line and cold in all four ways, so the ways differ only in the switch.
impl<'a> Hooks<'a> {
    #[cold]
    #[inline(never)]
    pub fn trace(&mut self, hash: u64, line: u32) {
        self.ring[self.ran[TRACE] as usize % RING] = (hash, line);
        self.ran[TRACE] += 1;
    }

    #[cold]
    #[inline(never)]
    pub fn statistics(&mut self, word: &'a [u8]) {
        self.ran[STATISTICS] += 1;
        self.letters += word.len() as u64;
        if word.len() > self.longest_word.len() {
            self.longest_word = word;
        }
    }

    #[cold]
    #[inline(never)]
    pub fn verify(&mut self, word: &[u8], hash: u64) {
        self.ran[VERIFY] += 1;
        self.failures += u64::from(hash != hash_of(word));
    }

    #[cold]
    #[inline(never)]
    pub fn sample(&mut self, word: &'a [u8]) {
        let number = self.ran[SAMPLE] as usize;
        if number.is_multiple_of(64) {
            self.samples[number / 64 % SAMPLES] = word;
        }
        self.ran[SAMPLE] += 1;
    }

    #[cold]
    #[inline(never)]
    pub fn lengths(&mut self, word: &[u8]) {
        self.ran[LENGTHS] += 1;
        self.lengths[word.len().min(LONGEST)] += 1;
    }

    #[cold]
    #[inline(never)]
    pub fn case(&mut self, word: &[u8]) {
        self.ran[CASE] += 1;
        let differs = |&byte: &u8| FOLD[usize::from(byte)] != byte.to_ascii_lowercase();
        self.failures += u64::from(word.iter().any(differs));
    }

    #[cold]
    #[inline(never)]
    pub fn doubled(&mut self, hash: u64) {
        self.ran[DOUBLED] += 1;
        self.doubled += u64::from(hash == self.previous);
        self.previous = hash;
    }

    #[cold]
    #[inline(never)]
    pub fn lines(&mut self, bytes: usize) {
        self.ran[LINES] += 1;
        self.longest_line = self.longest_line.max(bytes);
    }
}
