//! Three tables of operations as Linux has them for its guests (`struct pv_lock_ops`, `pv_irq_ops`, `pv_mmu_ops`), in user space. A program has no
//! interrupts and no page tables, so words in memory stand for them. Linux's other groups (init, time, cpu, apic) are out of scope: nothing in a
//! program could stand for their work.
//!
//! | table | in place | calls | backends |
//! |---|---|---|---|
//! | [`lock::LOCK`] | `enter`, `leave`, `look` | `slow`, `trylock`, `wait` | a ticket lock; a byte lock, as closed arms and as functions |
//! | [`irq::IRQ`] | `save`, `disable`, `enable`, `restore` | | a flag; a mask that a host sees, as closed arms and as functions |
//! | [`pte::PTE`] | `make`, `read`, `set` | | entries as they are; moved by a distance, as closed arms and as functions |
//!
//! An operation is in place if it is one instruction of at least 5 bytes. The word of a lock has another format in each backend, so set a backend of
//! `LOCK` only while nobody holds a lock.

pub mod irq;
pub mod lock;
pub mod pte;
