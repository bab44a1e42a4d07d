//! Tests `cargo jumplabel fail` on a program that uses raft-engine (test-crates/engine). Raft-engine's authors have put some 30 fail points into it.
//! Cargo downloads raft-engine, and compiles it for minutes. So this runs only on request, as in `make release-check`: `cargo test -p cargo-jumplabel
//! --test engine -- --ignored`.

#[path = "engine/built.rs"]
mod built;
mod project;

use std::io::Write;
use std::process::Command;

use built::{built, data};
use project::running::Running;

/// Makes the program write something. Returns what it says about that.
fn writes(running: &mut Running) -> String {
    writeln!(running.stdin).unwrap();
    let last = std::cell::RefCell::new(String::new());
    running.says_until(|line| {
        line.clone_into(&mut last.borrow_mut());
        true
    });
    last.into_inner()
}

/// The fail points of the engine are listed. When one is set while the program runs, a write fails as its authors intended.
#[test]
#[ignore = "compiles a storage engine: make upstream"]
fn points_of_a_storage_engine() {
    let program = built(true, "failpoints", "engine");
    let mut running = Running::start(Command::new(&program).arg(data(&program)), "ready");
    assert_eq!(writes(&mut running), "Ok(true) Some(true)");
    let rows = running.prints(&["list", "fail:*"]);
    let points: Vec<_> = rows.lines().filter(|row| row.starts_with("fail:") && row.contains(" off ")).collect();
    assert!(points.len() > 25, "{rows}");
    for point in ["file_pipe_log::append", "log_file::write::err", "write_barrier::leader_exit"] {
        assert!(points.iter().any(|row| row.starts_with(&format!("fail:{point} "))), "{point}: {rows}");
    }
    // `1*return` works once; then writes succeed again. The value whose write failed is not there.
    let set = running.prints(&["set", "fail:log_file::write::err=1*return"]);
    assert!(set.contains("1*return"), "{set}");
    let failed = writes(&mut running);
    assert!(failed.starts_with("Err(") && failed.ends_with("Some(false)"), "{failed}");
    assert_eq!(writes(&mut running), "Ok(true) Some(true)");
    let row = running.prints(&["list", "fail:log_file::write::err"]);
    assert!(row.contains("reached 2 times"), "{row}");
    running.prints(&["set", "fail:log_file::write::err=remove"]);
    assert_eq!(writes(&mut running), "Ok(true) Some(true)");
}
