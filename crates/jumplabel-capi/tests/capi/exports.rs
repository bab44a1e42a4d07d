//! What the libraries show to others.

use std::process::Command;

use crate::prefix::{prefix, printed, succeeds};

/// All of it: anything else is an accident, anything missing breaks programs.
const EXPORTS: &str = "\
__static_key_deferred_flush __static_key_slow_dec_deferred \
jump_label_lock jump_label_text_reserved jump_label_unlock \
jumplabel_batch_commit jumplabel_dec jumplabel_dec_deferred jumplabel_disable jumplabel_enable jumplabel_for_each_key \
jumplabel_for_each_site jumplabel_inc jumplabel_prepare jumplabel_register_object jumplabel_seal jumplabel_seal_keys_ jumplabel_set_warn \
jumplabel_set_writer jumplabel_settle jumplabel_strerror jumplabel_unregister_object \
static_key_disable static_key_disable_cpuslocked static_key_enable static_key_enable_cpuslocked \
static_key_fast_inc_not_disabled static_key_slow_dec static_key_slow_dec_cpuslocked static_key_slow_inc \
static_key_slow_inc_cpuslocked";

#[test]
fn exported_symbols() {
    let library = prefix().join("lib/libjumplabel.so");
    let symbols = printed(&succeeds(Command::new("nm").args(["-D", "--defined-only"]).arg(library)));
    let mut names: Vec<_> = symbols.lines().filter_map(|line| line.split_whitespace().last()).collect();
    names.sort_unstable();
    assert_eq!(names.join(" "), EXPORTS);
}

#[test]
fn soname_and_dependencies() {
    let library = prefix().join("lib/libjumplabel.so");
    let dynamic = printed(&succeeds(Command::new("readelf").arg("-dW").arg(library)));
    assert!(dynamic.contains("Library soname: [libjumplabel.so.0]"), "{dynamic}");
    let of_the_system = ["libc.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2", "libm.so.6"];
    for needed in dynamic.lines().filter(|line| line.contains("(NEEDED)")) {
        assert!(of_the_system.iter().any(|name| needed.contains(name)), "{needed}");
    }
}
