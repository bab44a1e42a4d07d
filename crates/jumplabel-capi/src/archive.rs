//! The names of the C API are hidden in libjumplabel.a: a program or a library that is linked with it finds them, and shows none
//! of them to others. So a plugin with an instance of its own calls that instance, whatever else is loaded, and instances meet by their ELF
//! notes. The shared library shows the same names, so that `make install` (install/libraries) builds the crate twice.

#[cfg(jumplabel_archive)]
core::arch::global_asm!(
    ".hidden __static_call_return0",
    ".hidden __static_key_deferred_flush",
    ".hidden __static_key_slow_dec_deferred",
    ".hidden jump_label_lock",
    ".hidden jump_label_text_reserved",
    ".hidden jump_label_unlock",
    ".hidden jumplabel_alternatives_apply",
    ".hidden jumplabel_alternatives_has",
    ".hidden jumplabel_commit",
    ".hidden jumplabel_dec",
    ".hidden jumplabel_dec_deferred",
    ".hidden jumplabel_disable",
    ".hidden jumplabel_enable",
    ".hidden jumplabel_for_each_call",
    ".hidden jumplabel_for_each_key",
    ".hidden jumplabel_for_each_mode",
    ".hidden jumplabel_for_each_site",
    ".hidden jumplabel_ops_seal",
    ".hidden jumplabel_ops_set",
    ".hidden jumplabel_loading",
    ".hidden jumplabel_prepare",
    ".hidden jumplabel_prepare_key",
    ".hidden jumplabel_inc",
    ".hidden jumplabel_register_object",
    ".hidden jumplabel_restore_pristine",
    ".hidden jumplabel_seal",
    ".hidden jumplabel_seal_keys_",
    ".hidden jumplabel_set_all",
    ".hidden jumplabel_set_warn",
    ".hidden jumplabel_set_writer",
    ".hidden jumplabel_static_call_update",
    ".hidden jumplabel_static_mode_set",
    ".hidden jumplabel_strerror",
    ".hidden jumplabel_trace_enter_",
    ".hidden jumplabel_trace_leave_",
    ".hidden jumplabel_trace_probes_",
    ".hidden jumplabel_trace_register_",
    ".hidden jumplabel_trace_synchronize_",
    ".hidden jumplabel_trace_unregister_",
    ".hidden jumplabel_usdt_look",
    ".hidden jumplabel_usdt_watch",
    ".hidden jumplabel_unregister_object",
    ".hidden jumplabel_up_enter",
    ".hidden jumplabel_up_is_on",
    ".hidden jumplabel_up_leave",
    ".hidden jumplabel_verify",
    ".hidden jumplabel_verify_key",
    ".hidden static_key_disable",
    ".hidden static_key_disable_cpuslocked",
    ".hidden static_key_enable",
    ".hidden static_key_enable_cpuslocked",
    ".hidden static_key_fast_inc_not_disabled",
    ".hidden static_key_slow_dec",
    ".hidden static_key_slow_dec_cpuslocked",
    ".hidden static_key_slow_inc",
    ".hidden static_key_slow_inc_cpuslocked",
);

#[cfg(all(jumplabel_archive, jumplabel_sites, target_arch = "x86_64"))]
core::arch::global_asm!(".hidden jumplabel_op_thunk_");

// Programs in C have no unwinder where the C library is musl (Debian's gcc brings glibc's), and the library has no panics that
// would need one. With one in the program, these find it. Without std, nothing asks for it.
#[cfg(all(jumplabel_archive, not(jumplabel_installed), target_env = "musl"))]
core::arch::global_asm!(
    ".weak _Unwind_Backtrace",
    ".weak _Unwind_DeleteException",
    ".weak _Unwind_GetDataRelBase",
    ".weak _Unwind_GetIP",
    ".weak _Unwind_GetIPInfo",
    ".weak _Unwind_GetLanguageSpecificData",
    ".weak _Unwind_GetRegionStart",
    ".weak _Unwind_GetTextRelBase",
    ".weak _Unwind_RaiseException",
    ".weak _Unwind_Resume",
    ".weak _Unwind_SetGR",
    ".weak _Unwind_SetIP",
);
