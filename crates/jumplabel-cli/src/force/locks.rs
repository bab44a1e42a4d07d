//! Finds out whether keys may be changed from outside now.

use std::io;

use jumplabel::format::process::{CONSISTENT, FORCED, IDLE, LOCK, PHASE, PROCESS_STATE};

use super::live::Live;
use crate::failure::Failure;

/// The parts of the library's state that decide whether keys may be changed from outside.
pub struct Locks {
    /// The word of the library's lock: the number of the thread that holds it, with the lock's flags, or 0.
    pub owner: u32,
    /// Whether a flip of the process's own has failed, and the process could not take it back.
    pub is_stuck: bool,
    /// The marks: the address of each, the word to store while sites and counts may not agree, and the word to store afterwards.
    pub marks: Vec<(u64, [u32; 2])>,
    /// Whether sites and counts may not agree now, because somebody killed a tool in the middle of a change, or the process was forked in the middle
    /// of a flip.
    pub disagree: bool,
}

impl Live {
    /// Reads the state of the library's instances.
    pub fn locks(&self) -> Result<Locks, Failure> {
        let mut locks = Locks { owner: 0, is_stuck: false, marks: Vec::new(), disagree: false };
        let lost = |error: io::Error| self.lost(&error);
        for &runtime in &self.runtimes {
            let phase = self.memory.word(runtime + PHASE as u64).map_err(lost)?;
            let state = self.memory.pointer(runtime + PROCESS_STATE as u64).map_err(lost)?;
            locks.is_stuck |= phase != IDLE && phase != FORCED;
            let (address, marks) = if state == 0 {
                (runtime + PHASE as u64, [FORCED, phase])
            } else {
                let words = self.memory.pointer(state).map_err(lost)?;
                let lock = self.memory.word(words + LOCK as u64).map_err(lost)?;
                locks.owner = if lock == 0 { locks.owner } else { lock };
                let address = words + CONSISTENT as u64;
                (address, [0, self.memory.word(address).map_err(lost)?])
            };
            locks.disagree |= marks[0] == marks[1];
            if !locks.marks.iter().any(|&(known, _)| known == address) {
                locks.marks.push((address, marks));
            }
        }
        Ok(locks)
    }
}
