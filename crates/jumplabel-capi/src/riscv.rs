//! Ready-made functions for `struct jumplabel_machine` on RISC-V: those of [`jumplabel_kernel::riscv`] with names of C. include/jumplabel/riscv.h
//! says what each function does, and under which conditions it works.

use core::ffi::c_int;

use jumplabel_kernel::riscv::{self, Window};

#[unsafe(no_mangle)]
extern "C" fn jumplabel_riscv_tp() -> usize {
    riscv::tp()
}

#[unsafe(no_mangle)]
extern "C" fn jumplabel_riscv_interrupts_off() -> u64 {
    riscv::interrupts_off()
}

#[unsafe(no_mangle)]
extern "C" fn jumplabel_riscv_restore(interrupts: u64) {
    riscv::restore(interrupts);
}

#[unsafe(no_mangle)]
extern "C" fn jumplabel_riscv_serialise() {
    riscv::serialise();
}

#[unsafe(no_mangle)]
extern "C" fn jumplabel_riscv_nanoseconds() -> u64 {
    riscv::nanoseconds()
}

#[unsafe(no_mangle)]
extern "C" fn jumplabel_riscv_wait() {
    riscv::wait();
}

#[unsafe(no_mangle)]
extern "C" fn jumplabel_riscv_sbi(hart: usize) {
    riscv::sbi(hart);
}

#[unsafe(no_mangle)]
extern "C" fn jumplabel_riscv_clint(hart: usize) {
    riscv::clint(hart);
}

#[unsafe(no_mangle)]
extern "C" fn jumplabel_riscv_acknowledge() -> bool {
    riscv::acknowledge()
}

/// The window for a kernel that runs at its physical addresses, so that both differences are 0.
const WINDOW: Window = Window::new(0, 0);

#[unsafe(no_mangle)]
extern "C" fn jumplabel_riscv_map(address: usize, alias: &mut usize) -> c_int {
    match WINDOW.open(address) {
        Ok(found) => {
            *alias = found;
            0
        }
        Err(refusal) => refusal.as_errno().unwrap_or(crate::machine::NO_SYSTEM),
    }
}

#[unsafe(no_mangle)]
extern "C" fn jumplabel_riscv_unmap(alias: usize) {
    WINDOW.close(alias);
}
