//! The ways to do the operations of a turn: without a table, through a table of pointers, by patched call sites, by static calls, and in place. All
//! unsafe code here relies on one promise: callers pass the words of a lock, a processor and an entry.
#![allow(clippy::undocumented_unsafe_blocks)]

use std::arch::asm;

use jumplabel_paravirt::irq::{self, Words};
use jumplabel_paravirt::lock::{self, TICKET};
use jumplabel_paravirt::pte;

use super::sites::{self, DIRECT, INDIRECT};

/// A way to do the operations.
///
/// # Safety
/// Callers keep the contract of the operations of the same names in jumplabel-paravirt.
pub trait Way {
    unsafe fn enter(lock: *mut u32) -> u64;
    unsafe fn leave(lock: *mut u32);
    unsafe fn save(cpu: *const Words) -> u64;
    unsafe fn disable(cpu: *const Words);
    unsafe fn restore(cpu: *const Words, flags: u64);
    unsafe fn set(entry: *mut u64, value: u64);
    unsafe fn read(entry: *const u64) -> u64;
}

/// Takes `enter` from one way, `leave` from another, and the other operations from a third.
pub struct Mixed<Lock, Unlock, Others>(Lock, Unlock, Others);

/// Native instructions, without a table.
pub struct Plain;
/// Native instructions with a lock prefix that UP mode takes out.
pub struct Up;
/// Calls through a table of pointers. In `Direct`, the same calls are patched to direct calls.
pub struct Indirect;
pub struct Direct;
pub struct Static;
pub struct InPlace;

macro_rules! way {
    ($way:ident: $enter:expr, $leave:expr, $save:expr, $disable:expr, $restore:expr, $set:expr, $read:expr) => {
        impl Way for $way {
            #[inline(always)]
            unsafe fn enter(lock: *mut u32) -> u64 {
                unsafe { $enter(TICKET, lock) }
            }
            #[inline(always)]
            unsafe fn leave(lock: *mut u32) {
                unsafe { $leave(lock) }
            }
            #[inline(always)]
            unsafe fn save(cpu: *const Words) -> u64 {
                unsafe { $save(cpu) }
            }
            #[inline(always)]
            unsafe fn disable(cpu: *const Words) {
                unsafe { $disable(cpu) }
            }
            #[inline(always)]
            unsafe fn restore(cpu: *const Words, flags: u64) {
                unsafe { $restore(cpu, flags) }
            }
            #[inline(always)]
            unsafe fn set(entry: *mut u64, value: u64) {
                unsafe { $set(entry, value) }
            }
            #[inline(always)]
            unsafe fn read(entry: *const u64) -> u64 {
                unsafe { $read(entry) }
            }
        }
    };
}

/// The instructions of jumplabel-paravirt's native forms. They are encoded as short as possible, because they need no room for a jump of another
/// backend.
mod plain {
    use super::{Words, asm};

    #[inline(always)]
    pub unsafe fn enter(mut ticket: u64, lock: *mut u32) -> u64 {
        unsafe { asm!("lock xadd dword ptr [{}], {:e}", in(reg) lock, inout(reg) ticket, options(nostack)) };
        ticket
    }
    #[inline(always)]
    pub unsafe fn enter_up(mut ticket: u64, lock: *mut u32) -> u64 {
        unsafe {
            asm!(jumplabel::lock_prefix!(), "xadd dword ptr [{}], {:e}", in(reg) lock, inout(reg) ticket, options(nostack));
        }
        ticket
    }
    #[inline(always)]
    pub unsafe fn leave(lock: *mut u32) {
        unsafe { asm!("inc word ptr [{}]", in(reg) lock, options(nostack)) };
    }
    #[inline(always)]
    pub unsafe fn save(cpu: *const Words) -> u64 {
        let flags;
        unsafe { asm!("mov {:e}, dword ptr [{}]", out(reg) flags, in(reg) cpu, options(nostack)) };
        flags
    }
    #[inline(always)]
    pub unsafe fn disable(cpu: *const Words) {
        unsafe { asm!("mov dword ptr [{}], 0", in(reg) cpu, options(nostack)) };
    }
    #[inline(always)]
    pub unsafe fn restore(cpu: *const Words, flags: u64) {
        unsafe { asm!("mov dword ptr [{}], {:e}", in(reg) cpu, in(reg) flags, options(nostack)) };
    }
    #[inline(always)]
    pub unsafe fn set(entry: *mut u64, value: u64) {
        unsafe { asm!("mov qword ptr [{}], {}", in(reg) entry, in(reg) value, options(nostack)) };
    }
    #[inline(always)]
    pub unsafe fn read(entry: *const u64) -> u64 {
        let value;
        unsafe { asm!("mov {}, qword ptr [{}]", out(reg) value, in(reg) entry, options(nostack)) };
        value
    }
}

/// Makes a call through pointer number `$at` of a table. The call instruction itself reads the pointer.
macro_rules! call {
    ($table:ident $at:literal $record:expr, ($first:expr, $second:expr)) => {{
        let result: u64;
        asm!(
            "2: call qword ptr [rip + {table} + {at}]", $record, "# {number}", table = sym $table, at = const 8 * $at, number = const $at,
            inout("rdi") $first => _, inout("rsi") $second => _, out("rax") result, clobber_abi("C")
        );
        result
    }};
    ($table:ident $at:literal $record:expr, ($first:expr)) => {{
        let result: u64;
        asm!(
            "2: call qword ptr [rip + {table} + {at}]", $record, "# {number}", table = sym $table, at = const 8 * $at, number = const $at,
            inout("rdi") $first => _, out("rax") result, clobber_abi("C")
        );
        result
    }};
}

macro_rules! by_pointers {
    ($module:ident $table:ident $record:expr) => {
        mod $module {
            use super::{$table, Words, asm};

            #[inline(always)]
            pub unsafe fn enter(ticket: u64, lock: *mut u32) -> u64 {
                unsafe { call!($table 0 $record, (ticket, lock)) }
            }
            #[inline(always)]
            pub unsafe fn leave(lock: *mut u32) {
                unsafe { call!($table 1 $record, (lock)) };
            }
            #[inline(always)]
            pub unsafe fn save(cpu: *const Words) -> u64 {
                unsafe { call!($table 2 $record, (cpu)) }
            }
            #[inline(always)]
            pub unsafe fn disable(cpu: *const Words) {
                unsafe { call!($table 3 $record, (cpu)) };
            }
            #[inline(always)]
            pub unsafe fn restore(cpu: *const Words, flags: u64) {
                unsafe { call!($table 4 $record, (cpu, flags)) };
            }
            #[inline(always)]
            pub unsafe fn set(entry: *mut u64, value: u64) {
                unsafe { call!($table 5 $record, (entry, value)) };
            }
            #[inline(always)]
            pub unsafe fn read(entry: *const u64) -> u64 {
                unsafe { call!($table 6 $record, (entry)) }
            }
        }
    };
}

by_pointers! { indirect INDIRECT "" }
by_pointers! { direct DIRECT ".pushsection ops_call_sites,\"awR\"\n.balign 8\n.quad 2b,{number}\n.popsection" }

jumplabel::static_call! {
    static ENTER: unsafe extern "C" fn(u64, *mut u32) -> u64 = sites::ticket_enter;
    static LEAVE: unsafe extern "C" fn(*mut u32) = sites::ticket_leave;
    static SAVE: unsafe extern "C" fn(*const Words) -> u64 = irq::native_save;
    static DISABLE: unsafe extern "C" fn(*const Words) = irq::native_disable;
    static RESTORE: unsafe extern "C" fn(*const Words, u64) = irq::native_restore;
    static SET: unsafe extern "C" fn(*mut u64, u64) = pte::native_set;
    static READ: unsafe extern "C" fn(*const u64) -> u64 = pte::native_read;
}

way! { Plain: plain::enter, plain::leave, plain::save, plain::disable, plain::restore, plain::set, plain::read }
way! { Up: plain::enter_up, plain::leave, plain::save, plain::disable, plain::restore, plain::set, plain::read }
way! { Indirect: indirect::enter, indirect::leave, indirect::save, indirect::disable, indirect::restore, indirect::set, indirect::read }
way! { Direct: direct::enter, direct::leave, direct::save, direct::disable, direct::restore, direct::set, direct::read }
way! { Static: ENTER, LEAVE, SAVE, DISABLE, RESTORE, SET, READ }
way! { InPlace: lock::enter, lock::leave, irq::save, irq::disable, irq::restore, pte::set, pte::read }

impl<Lock: Way, Unlock: Way, Others: Way> Way for Mixed<Lock, Unlock, Others> {
    #[inline(always)]
    unsafe fn enter(lock: *mut u32) -> u64 {
        unsafe { Lock::enter(lock) }
    }
    #[inline(always)]
    unsafe fn leave(lock: *mut u32) {
        unsafe { Unlock::leave(lock) }
    }
    #[inline(always)]
    unsafe fn save(cpu: *const Words) -> u64 {
        unsafe { Others::save(cpu) }
    }
    #[inline(always)]
    unsafe fn disable(cpu: *const Words) {
        unsafe { Others::disable(cpu) }
    }
    #[inline(always)]
    unsafe fn restore(cpu: *const Words, flags: u64) {
        unsafe { Others::restore(cpu, flags) }
    }
    #[inline(always)]
    unsafe fn set(entry: *mut u64, value: u64) {
        unsafe { Others::set(entry, value) }
    }
    #[inline(always)]
    unsafe fn read(entry: *const u64) -> u64 {
        unsafe { Others::read(entry) }
    }
}
