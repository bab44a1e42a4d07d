//! What a tool finds in a process whose threads it has stopped, beside the tables; and what it leaves there if it is killed while it
//! changes keys.
//!
//! ```text
//!   Runtime ── PROCESS_STATE ──► pointer ──► LOCK         0: nobody patches
//!      └─ PHASE                              CONSISTENT   0: whoever takes the lock next brings all sites to what their keys are
//! ```
//!
//! Before it changes code, the tool stores 0 in `CONSISTENT`, and 1 again when code and counts agree. A process that has never flipped has
//! no such state; then [`FORCED`] in `PHASE` stands for that 0.

use core::mem::offset_of;

use super::Runtime;

/// Of the phase, in a [`Runtime`]: four bytes, [`IDLE`], [`FORCED`], or what a flip has come to.
pub const PHASE: usize = offset_of!(Runtime, phase);
/// Of the pointer to the first [`Object`](super::Object) of the list.
pub const OBJECTS: usize = offset_of!(Runtime, objects);
/// Of the pointer to the state that the instances of a process share, which begins with a pointer to the words below; null until it exists.
pub const PROCESS_STATE: usize = offset_of!(Runtime, process_state);
/// Of the word of the lock.
pub const LOCK: usize = 0;
/// Of the word that says whether sites agree with their keys.
pub const CONSISTENT: usize = 4;

/// The phase of an instance that is not flipping.
pub const IDLE: u32 = 0;
/// The phase of an instance that has no process state yet, in a process that a tool began to change. The instance then begins with sites
/// that may not agree with their keys.
pub const FORCED: u32 = 4;
