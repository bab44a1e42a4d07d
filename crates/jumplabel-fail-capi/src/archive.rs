//! Hides the names of libjumplabel-fail.a, as libjumplabel.a hides its names: src/archive.rs of jumplabel-capi says why.

/// The names of libjumplabel, which is part of libjumplabel-fail.a. (The file is a symbolic link, so that this crate's package contains it.)
#[cfg(feature = "capi")]
#[path = "libjumplabel.rs"]
mod capi;

#[cfg(jumplabel_archive)]
core::arch::global_asm!(
    ".hidden jumplabel_fail_cfg",
    ".hidden jumplabel_fail_cfg_callback",
    ".hidden jumplabel_fail_error",
    ".hidden jumplabel_fail_free_",
    ".hidden jumplabel_fail_is_any_",
    ".hidden jumplabel_fail_layer",
    ".hidden jumplabel_fail_list",
    ".hidden jumplabel_fail_owner_",
    ".hidden jumplabel_fail_reach_",
    ".hidden jumplabel_fail_remove",
    ".hidden jumplabel_fail_setup",
    ".hidden jumplabel_fail_sync",
    ".hidden jumplabel_fail_teardown",
);
