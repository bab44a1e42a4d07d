//! Three tables of operations in user space, like those that Linux has for its guests (`struct pv_lock_ops`, `pv_irq_ops`, `pv_mmu_ops`). A program
//! has no interrupts and no page tables, so words in memory stand for these. Linux's other groups (init, time, cpu, apic) are left out: nothing in a
//! program could stand for their work.
//!
//! | table | in place | calls | backends |
//! |---|---|---|---|
//! | [`lock::LOCK`] | `enter`, `leave`, `look` | `slow`, `trylock`, `wait` | a ticket lock; a byte lock, as closed arms and as functions |
//! | [`irq::IRQ`] | `save`, `disable`, `enable`, `restore` | | a flag; a mask that a host sees, as closed arms and as functions |
//! | [`pte::PTE`] | `make`, `read`, `set` | | entries as they are; moved by a distance, as closed arms and as functions |
//!
//! The native backend comes first in each row. An operation is in place if its native form is one instruction of at least 5 bytes, or if it does
//! nothing (a nop); the others are static calls. A *closed arm* is a piece of assembler, out of line, that does the operation, with a call at most
//! on its slow path (docs/ops.md).
//!
//! The ticket lock and the byte lock use a lock's word in different formats. So set a backend of `LOCK` only while nobody holds a lock.

pub mod irq;
pub mod lock;
pub mod pte;
