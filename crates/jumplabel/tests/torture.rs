//! Torture: threads execute sites as fast as they can while others flip them, with each writer, at each alignment, for 1,
//! 64 and 10,000 sites; and broken writers, which must be found out.
//!
//! ```text
//!   test ── starts itself again ──► run: a process with one writer
//!    │                               readers   execute sites; every result must be one of the site's two arms, and
//!    │                                         the promised one while a promise stands (promise)
//!    │                               flipper   visits cell after cell (cells): flips, restores, batches, counts,
//!    │                                         refusals; every outcome is checked (flips)
//!    └◄── rows, or a signal ─────────┘
//! ```
//!
//! A torn instruction traps (sites), a missing one breaks a promise. A run fails where no reader ran during the flips of a
//! cell; the table says during how many of a cell's transactions readers ran ("met"), and the lines below it in how much
//! of the time, and how much of all processors' time the threads had.
//!
//! The three writers share `JUMPLABEL_TORTURE_SECONDS`: 60 where nothing is said, 10 in debug builds. The twins take what
//! they need until they are found out. `make torture` runs for an hour.
//!
//! Every instruction set that has sites has arrays of them (number_asm). Elsewhere than on x86 a flip is one store, which no
//! writer can tear: there are no twins that do (torn). Under an emulator (JUMPLABEL_EMULATOR names it, for the runs) all of
//! it is slower, and no processor shows what it has fetched ahead; the threads, the locks and the mappings are real.
#![cfg(all(any(target_os = "linux", windows), jumplabel_sites))]

#[cfg(target_arch = "x86_64")]
#[path = "torture/calls.rs"]
mod calls;
#[path = "torture/cells.rs"]
mod cells;
#[path = "torture/change.rs"]
mod change;
#[path = "torture/child.rs"]
mod child;
#[path = "torture/fault.rs"]
mod fault;
#[path = "torture/flips.rs"]
mod flips;
#[path = "torture/number_asm.rs"]
mod number_asm;
#[path = "torture/promise.rs"]
mod promise;
#[path = "torture/readers.rs"]
mod readers;
#[path = "torture/refusing.rs"]
mod refusing;
#[path = "torture/report.rs"]
mod report;
#[path = "torture/run.rs"]
mod run;
#[path = "torture/sites.rs"]
mod sites;
#[path = "torture/tally.rs"]
mod tally;
#[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
#[path = "torture/torn.rs"]
mod torn;
#[path = "torture/twins.rs"]
mod twins;

use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jumplabel::{WriterKind, set_writer};
#[cfg(unix)]
use jumplabel_testing::writers;
use jumplabel_testing::{clock, pages, scenario};

use cells::{CELLS, Cell, Kind};
use child::{Report, run_in_child};
use report::Row;
use run::run;
use twins::Twin;

/// The rows of the runs that have ended. Runs come one after the other, because they need all processors.
static RUNS: Mutex<Vec<Row>> = Mutex::new(Vec::new());

/// A twin that was not found out in this time will not be.
const TWIN: Duration = Duration::from_secs(20);

/// The number of writers.
const WRITERS: u32 = if cfg!(windows) { 1 } else { 3 };

#[test]
#[cfg(unix)]
fn procmem() {
    if !writers::works(Some(WriterKind::Procmem)) {
        return println!("procmem: skipped, because the emulator goes on running what it has translated");
    }
    torture("procmem", WriterKind::Procmem);
}

#[test]
fn mprotect() {
    torture("mprotect", WriterKind::Mprotect);
}

#[test]
#[cfg(unix)]
fn remap() {
    torture("remap", WriterKind::Remap);
}

/// The control of the twins: the same writer without the fault.
#[test]
fn twin_that_takes_all_steps_passes() {
    let report = twin("twin_that_takes_all_steps_passes", Duration::from_secs(1), Twin::STEPS);
    assert!(report.is_good(), "{}", report.ended());
}

#[test]
fn twin_that_forgets_a_site_is_found_out() {
    let report = twin("twin_that_forgets_a_site_is_found_out", TWIN, Twin::FORGETS);
    complained(&report, "while its key was");
}

#[test]
#[cfg(target_arch = "x86_64")]
fn twin_that_forgets_slots_is_found_out() {
    let _alone = RUNS.lock().unwrap_or_else(PoisonError::into_inner);
    let report = run_in_child("twin_that_forgets_slots_is_found_out", TWIN, |time| {
        Twin::FORGETS_SLOTS.install();
        run(WriterKind::Custom, time, |cell| cell.kind == Kind::Retarget)
    });
    complained(&report, "was promised");
}

/// A displacement that is written under the jump's opcode leads to traps.
#[test]
#[cfg(target_arch = "x86_64")]
fn twin_that_writes_displacements_under_a_jump_is_found_out() {
    let _alone = RUNS.lock().unwrap_or_else(PoisonError::into_inner);
    let report = run_in_child("twin_that_writes_displacements_under_a_jump_is_found_out", TWIN, |time| {
        Twin { store: Some(torn::bytes), ..Twin::STEPS }.install();
        run(WriterKind::Custom, time, |cell| cell.kind == Kind::Retarget)
    });
    torn::trapped(&report);
}

#[test]
fn twin_that_does_not_roll_back_is_found_out() {
    let _alone = RUNS.lock().unwrap_or_else(PoisonError::into_inner);
    let report = run_in_child("twin_that_does_not_roll_back_is_found_out", TWIN, |time| {
        refusing::DROPS_UNDO.store(true, Ordering::Relaxed);
        set_writer(Some(WriterKind::Mprotect));
        run(WriterKind::Mprotect, time, |cell| cell.kind == Kind::Refused)
    });
    complained(&report, "not as before after a refusal");
}

/// All cells with one writer.
fn torture(test: &str, writer: WriterKind) {
    let mut runs = RUNS.lock().unwrap_or_else(PoisonError::into_inner);
    let report = run_in_child(test, budget() / WRITERS, |time| {
        set_writer(Some(writer));
        run(writer, time, |_| true)
    });
    runs.extend(report.rows.iter().cloned());
    report::print(&report.rows);
    report::print_sums(test, &report.rows);
    report::print_sums("all writers so far", &runs);
    println!("{test}: threads ran {:.0} % of all processors' time", 100.0 * report.busy);
    assert!(report.is_good(), "{test}: {}", report.ended());
    for (cell, Cell { name, sites, .. }) in CELLS.iter().enumerate() {
        let happened = |row: &Row| row.cell == cell && row.site_flips > 0 && row.executions > 0 && row.met > 0;
        assert!(report.rows.iter().any(happened), "{test}: nothing happened in {name} {sites}");
    }
}

/// The cells where a site can be torn, with a writer that is not one of the library's.
fn twin(test: &str, time: Duration, twin: Twin) -> Report {
    let _alone = RUNS.lock().unwrap_or_else(PoisonError::into_inner);
    run_in_child(test, time, |time| {
        twin.install();
        run(WriterKind::Custom, time, |cell| ["crosses 64", "crosses page", "retarget", "short"].contains(&cell.name))
    })
}

/// Asserts that the suite itself reported the fault.
fn complained(report: &Report, complaint: &str) {
    let found = report.failures.iter().any(|failure| failure.contains(complaint));
    assert!(found, "not found out: {}", report.ended());
    println!("found out: {}", report.ended());
}

/// The time of all writers together.
fn budget() -> Duration {
    let given = std::env::var("JUMPLABEL_TORTURE_SECONDS").ok();
    let seconds = given.map_or(if cfg!(debug_assertions) { 10 } else { 60 }, |seconds| {
        seconds.parse().expect("JUMPLABEL_TORTURE_SECONDS is a number of seconds")
    });
    Duration::from_secs(seconds)
}
