//! The words that a tool reads or writes, besides the tables, in a process whose threads the tool has stopped. If the tool is killed while it changes
//! keys, the words keep the last values that the tool wrote. The constants below are the offsets of these words, and values of the phase.
//!
//! ```text
//!   Runtime ── PROCESS_STATE ──► pointer ──► LOCK         0: nobody holds the lock
//!      └─ PHASE                              CONSISTENT   0: the next thread that takes the lock sets all sites as their keys say
//! ```
//!
//! Before the tool changes code, it stores 0 in `CONSISTENT`. When the code agrees with the counts, it stores the earlier value again, which is
//! usually 1. A process that has never flipped has no process state, so it has no `CONSISTENT`. In such a process, [`FORCED`] in `PHASE` means the
//! same as a 0 in `CONSISTENT`.

use core::mem::offset_of;

use super::Runtime;

/// The offset of the phase in a [`Runtime`]. The phase is a number of four bytes: [`IDLE`], [`FORCED`], or a phase of a flip.
pub const PHASE: usize = offset_of!(Runtime, phase);
/// The offset, in a [`Runtime`], of the pointer to the first [`Object`](super::Object) of the instance.
pub const OBJECTS: usize = offset_of!(Runtime, objects);
/// The offset, in a [`Runtime`], of the pointer to the state that the instances of a process share. The pointer is null until that state exists. The
/// first word of the state is a pointer to the words at [`LOCK`] and [`CONSISTENT`].
pub const PROCESS_STATE: usize = offset_of!(Runtime, process_state);
/// The offset of the lock's word from the address that the first word of the process state holds.
pub const LOCK: usize = 0;
/// The offset, from the same address, of a word that is 0 if sites may not agree with their keys, and otherwise 1.
pub const CONSISTENT: usize = 4;

/// The phase of an instance that is not flipping.
pub const IDLE: u32 = 0;
/// The phase that a tool sets before it changes a process whose instance has no process state. If the tool is killed before it has finished, this
/// phase tells the instance that sites may not agree with their keys.
pub const FORCED: u32 = 4;
