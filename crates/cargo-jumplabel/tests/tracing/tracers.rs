//! Tracers of a running program, which attach to the tracepoint of all callsites: test-crates/traced with the patched tracing.
#![cfg(target_arch = "x86_64")]

use std::os::unix::fs::FileExt;
use std::process::Command;

use jumplabel_testing::cargo::run;

use crate::live::Traced;
use crate::programs;

/// A tracer of `tracing:reached`: while it is attached, each callsite has its key on, and the subscriber is shown no more than before.
#[test]
fn traced_by_others() {
    let program = &programs().patched;
    let mut traced = Traced::start(program, "off");
    let quiet = traced.works();
    let is_on =
        |traced: &Traced| traced.0.prints(&["list", "trace:noisy@noisy/src/lib.rs:9"]).contains("TRACE event, on");
    assert!(!is_on(&traced));
    let notes = run(Command::new("readelf").arg("-nW").arg(program));
    let note =
        notes.split("stapsdt ").find(|note| note.contains("Name: reached\n")).unwrap_or_else(|| panic!("{notes}"));
    assert!(
        note.contains("Provider: tracing\n") && note.contains("Arguments: 8@0(%rax) 8@8(%rax) 8@16(%rax)"),
        "{note}"
    );
    let number = |text: &str| u64::from_str_radix(text.trim().trim_start_matches("0x"), 16).unwrap();
    let semaphore = number(note.split("Semaphore: ").nth(1).unwrap().lines().next().unwrap());
    let process = format!("/proc/{}", traced.0.child.id());
    let maps = std::fs::read_to_string(format!("{process}/maps")).unwrap();
    let first = maps.lines().find(|line| line.ends_with(program.to_str().unwrap())).unwrap();
    let address = semaphore + number(first.split('-').next().unwrap());
    // As a tool does that does not know the kernel's way.
    let set = |to: u16| {
        let memory = std::fs::OpenOptions::new().write(true).open(format!("{process}/mem")).unwrap();
        memory.write_all_at(&to.to_le_bytes(), address).unwrap();
    };
    set(1);
    while !is_on(&traced) {
        std::thread::yield_now();
    }
    assert_eq!(traced.works(), quiet);
    set(0);
    while is_on(&traced) {
        std::thread::yield_now();
    }
    assert_eq!(traced.works(), quiet);
}
