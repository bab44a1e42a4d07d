//! The words that a tool reads, besides the tables, in a process whose threads it has stopped. It also writes some of these words. If the tool is
//! killed while it changes keys, the words keep the last values that it wrote. The constants below are the offsets of these words, and values of
//! the phase.
//!
//! ```text
//!   Runtime ── PROCESS_STATE ──► pointer ──► LOCK         0: nobody holds the lock
//!      └─ PHASE                              CONSISTENT   0: the next thread that takes the lock sets all sites as their keys say
//! ```
//!
//! Before the tool changes code, it stores 0 in `CONSISTENT`. When code and counts agree, it stores 1 again. A process that has never flipped
//! has no process state, so it has no `CONSISTENT`. In such a process, [`FORCED`] in `PHASE` means the same as a 0 in `CONSISTENT`.

use core::mem::offset_of;

use super::Runtime;

/// The offset in a [`Runtime`] of the phase, a number of four bytes: [`IDLE`], [`FORCED`], or a phase of a flip.
pub const PHASE: usize = offset_of!(Runtime, phase);
/// The offset in a [`Runtime`] of the pointer to the first [`Object`](super::Object) of its list.
pub const OBJECTS: usize = offset_of!(Runtime, objects);
/// The offset in a [`Runtime`] of the pointer to the state that the instances of a process share. The pointer is null until that state exists. The
/// first word of the state holds the address of the words of [`LOCK`] and [`CONSISTENT`].
pub const PROCESS_STATE: usize = offset_of!(Runtime, process_state);
/// The offset of the lock's word from the address in the first word of the process state.
pub const LOCK: usize = 0;
/// The offset, from the same address, of a word that is 0 if sites may not agree with their keys, and else 1.
pub const CONSISTENT: usize = 4;

/// The phase of an instance that is not flipping.
pub const IDLE: u32 = 0;
/// The phase that a tool gives to an instance without process state before it changes the process. If the tool does not finish, this phase tells
/// the instance that sites may not agree with their keys.
pub const FORCED: u32 = 4;
