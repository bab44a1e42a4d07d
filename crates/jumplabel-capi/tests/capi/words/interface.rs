//! The words of the headers that belong to their interface: a program may not define macros of these names.

/// The first parts of Linux's names, and of names in the same style.
const FAMILIES: [&str; 19] = [
    "static_key",
    "static_call",
    "static_mode",
    "static_naked_key",
    "jump_entry",
    "jump_label",
    "JUMP_LABEL",
    "tracepoint",
    "tp_func_",
    "trace_",
    "register_trace_",
    "unregister_trace_",
    "check_trace_callback_type_",
    "pv_ops",
    "pv_hooks",
    "pv_thread",
    "up_",
    // Functions in tests/c/words.c itself.
    "w_",
    "W_",
];

/// Members that programs use, by header; and the operand %[ret] of `<jumplabel/pv_ops.h>`.
const MEMBERS: &str = "key enable address target arm size bytes state sites \
    name name_length path path_length module module_length file file_length line column element \
    call mode number arms by uid \
    text function \
    code meta \
    cpu interrupts_off restore interrupt serialise map nanoseconds wait unmap clean relax patience code_end start end \
    init thread_start thread_exit ret";

/// Macros that a program defines for `<jumplabel/sdt.h>`, as for `<sys/sdt.h>`.
const SDT: &str = "STAP_SDT_ARG_CONSTRAINT SDT_USE_VARIADIC";

/// Names in `namespace jumplabel`, and names that it uses from the standard library.
const CXX: &str = "enabled_scope lock_scope change set_all error std initializer_list begin \
    vlog set sink set_sink to_stdio message level stream string string_view vector ostream ostringstream append data empty find find_last_of fwrite \
    npos stderr push_back remove_prefix rfind size size_t str substr to_string VLOG VLOG_IS_ON";

/// Functions of the system that `<jumplabel/up_threads.h>` defines itself, and names that it uses.
const SYSTEM: &str = "pthread_create thrd_create pthread_t pthread_attr_t dlsym RTLD_NEXT";

pub fn is_interface(word: &str) -> bool {
    let lists = [MEMBERS, CXX, SYSTEM, SDT];
    FAMILIES.iter().any(|family| word.starts_with(family))
        || lists.iter().any(|list| list.split_whitespace().any(|known| known == word))
}
