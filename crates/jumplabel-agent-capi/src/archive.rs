//! Hides the names of libjumplabel-agent.a, as libjumplabel.a hides its names: src/archive.rs of jumplabel-capi says why.

/// The names of libjumplabel, which is part of libjumplabel-agent.a.
#[cfg(feature = "capi")]
#[path = "../../jumplabel-capi/src/archive.rs"]
mod capi;

#[cfg(jumplabel_archive)]
core::arch::global_asm!(
    ".hidden jumplabel_agent_no_remote",
    ".hidden jumplabel_agent_no_remote_because",
    ".hidden jumplabel_agent_on_change",
    ".hidden jumplabel_agent_pause",
    ".hidden jumplabel_agent_resume",
    ".hidden jumplabel_agent_serve",
    ".hidden jumplabel_agent_start",
    ".hidden jumplabel_startup",
);
