//! The words that a tool reads in a process whose threads it has stopped, besides the tables. Also the words that the tool leaves there if
//! it is killed while it changes keys.
//!
//! ```text
//!   Runtime ── PROCESS_STATE ──► pointer ──► LOCK         0: nobody patches
//!      └─ PHASE                              CONSISTENT   0: the next thread that takes the lock sets all sites as their keys say
//!
//! Before the tool changes code, it stores 0 in `CONSISTENT`. When code and counts agree, it stores 1 again. A process that has never
//! flipped has no such state; there, [`FORCED`] in `PHASE` stands for that 0.

use core::mem::offset_of;

use super::Runtime;

/// The offset in a [`Runtime`] of the phase. It has four bytes: [`IDLE`], [`FORCED`], or a phase of a flip.
pub const PHASE: usize = offset_of!(Runtime, phase);
/// The offset of the pointer to the first [`Object`](super::Object) of the list.
pub const OBJECTS: usize = offset_of!(Runtime, objects);
/// The offset of the pointer to the state that the instances of a process share. The state begins with a pointer to the words below. Null
/// until it exists.
pub const PROCESS_STATE: usize = offset_of!(Runtime, process_state);
/// The offset of the word of the lock.
pub const LOCK: usize = 0;
/// The offset of the word that says whether sites agree with their keys.
pub const CONSISTENT: usize = 4;

/// The phase of an instance that is not flipping.
pub const IDLE: u32 = 0;
/// The phase of an instance without process state, after a tool began to change its process. The instance then begins with sites that may
/// not agree with their keys.
pub const FORCED: u32 = 4;
