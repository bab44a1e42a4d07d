//! Tests for Windows: sites and tables in PE files, and the writer. `make wine` runs them.
#![cfg(all(windows, jumplabel_sites))]

#[path = "windows/cost.rs"]
mod cost;
#[path = "windows/damaged.rs"]
mod damaged;
#[path = "windows/image.rs"]
mod image;
#[path = "windows/imports.rs"]
mod imports;
#[path = "windows/modules.rs"]
mod modules;
#[path = "windows/protection.rs"]
mod protection;
#[path = "windows/unwind.rs"]
mod unwind;

use jumplabel::{Error, WriterKind, set_writer, static_branch_unlikely, static_key};
use jumplabel_testing::scenario::{Scenario, passes};

static_key! { static KEY: false; }

#[inline(never)]
fn check() -> bool {
    static_branch_unlikely!(KEY)
}

/// Windows has only one writer. If the variable asks for another one, nothing is written.
#[test]
fn the_writer_that_is_asked_for() {
    for name in ["", "auto", "mprotect", "procmem", "remap", "virtualprotect", "a name of more bytes"] {
        Scenario::new().env("JUMPLABEL_WRITER", name).passes(|| {
            let expected = match &*std::env::var("JUMPLABEL_WRITER").unwrap() {
                "" | "auto" | "mprotect" => Ok(Some(WriterKind::Mprotect)),
                "procmem" | "remap" => Err(Error::NoWriter),
                _ => Err(Error::UnknownWriter),
            };
            assert_eq!(KEY.enable().map(|outcome| outcome.writer), expected);
            assert_eq!(check(), expected.is_ok());
        });
    }
}

/// The same, if the program asks for another writer.
#[test]
fn the_writer_that_the_program_asks_for() {
    passes(|| {
        set_writer(Some(WriterKind::Remap));
        assert_eq!((KEY.enable(), check()), (Err(Error::NoWriter), false));
        set_writer(None);
        assert_eq!(KEY.enable().unwrap().writer, Some(WriterKind::Mprotect));
        assert!(check());
    });
}
