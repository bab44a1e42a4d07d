//! The tool, on programs and libraries that are built here: of several instruction sets, stripped and not, position-independent and
//! not, with debug information and without, whole and damaged.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu", not(miri)))]

#[path = "cli/c.rs"]
mod c;
#[path = "cli/commands.rs"]
mod commands;
#[path = "cli/daemon.rs"]
mod daemon;
#[path = "cli/damaged.rs"]
mod damaged;
#[path = "cli/documents.rs"]
mod documents;
#[path = "cli/fail.rs"]
mod fail;
#[path = "cli/hostile.rs"]
mod hostile;
#[path = "cli/install_tool.rs"]
mod install_tool;
#[path = "cli/link.rs"]
mod link;
#[path = "cli/link_c.rs"]
mod link_c;
#[path = "cli/link_refused.rs"]
mod link_refused;
#[path = "cli/link_short.rs"]
mod link_short;
#[path = "cli/linker.rs"]
mod linker;
#[path = "cli/live.rs"]
mod live;
#[path = "cli/machines.rs"]
mod machines;
#[path = "cli/ops.rs"]
mod ops;
#[path = "cli/pages.rs"]
mod pages;
#[path = "cli/present.rs"]
mod present;
#[path = "cli/programs.rs"]
mod programs;
#[path = "cli/refused.rs"]
mod refused;
#[path = "cli/repair.rs"]
mod repair;
#[path = "cli/server.rs"]
mod server;
#[path = "cli/stripped.rs"]
mod stripped;
#[path = "cli/terminal.rs"]
mod terminal;
#[path = "cli/top.rs"]
mod top;
#[path = "cli/tracepoints.rs"]
mod tracepoints;
#[path = "cli/windows.rs"]
mod windows;
