//! `--force`: keys of a program without an agent, whose threads run through its sites, are changed by the tool alone.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod force {
    pub mod busy;
    pub mod changes;
    mod doctor;
    pub mod figures;
    mod hooks;
    pub mod killed;
    pub mod refused;
    mod repair;
}
