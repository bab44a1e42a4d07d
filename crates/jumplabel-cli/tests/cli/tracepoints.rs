//! Tracepoints: a key, which lists show, and a static call, which they leave out.

use std::process::{Command, Stdio};

use crate::programs::{prints, program, scratch};
use crate::server::Server;

/// The static call of a tracepoint, which only the library leads anywhere, is listed if it is asked for, and for programs that read.
#[test]
fn calls_of_tracepoints() {
    let row = "operated::packet  operated::_::__walk      1  src/lib.rs:42\n";
    assert!(!prints("list", program(), &[]).contains("operated::packet"));
    assert!(prints("list", program(), &["*packet"]).ends_with(row));
    assert!(prints("list", program(), &["--json"]).contains("\"operated::packet\""));
    assert!(prints("sites", program(), &[]).contains("operated::packet"));
}

/// The program turns tracepoints on and off whenever it adds or removes a probe. An operator who sets a tracepoint is told what holds.
#[test]
fn noted() {
    let server = Server::start("tracepoint", "name=web");
    let listed = |selectors: &[&str]| server.prints(&[&["list", "@web"], selectors].concat());
    assert!(listed(&[]).contains("net:packet") && !listed(&[]).contains("operated::packet"));
    assert!(listed(&["*packet"]).contains("operated::packet"));
    let note = "note: net:packet has no probe, and so it calls nobody; the program turns it on or off again when it adds or removes a probe";
    let printed = server.prints(&["set", "@web", "net:packet=on", "--dry-run"]);
    assert!(printed.lines().any(|line| line == note), "{printed}");
    let printed = server.prints(&["set", "@web", "net:packet=on", "net.trace=on"]);
    assert!(printed.lines().any(|line| line == note), "{printed}");
    assert!(listed(&["net:packet"]).contains("  no probe, since "), "{}", listed(&["net:packet"]));
    // What was so is no news, and off is what it is without probes.
    server.refuses(&["set", "@web", "net:packet+1"], 2, "net:packet is a tracepoint, which its probes turn on and off");
    assert!(!server.prints(&["set", "@web", "net*+1", "--dry-run"]).contains("net:packet"));
    assert_eq!(server.prints(&["set", "@web", "net:packet=on"]), "nothing to change\n");
    assert!(!server.prints(&["set", "@web", "net:packet=off"]).contains("note"));
    assert!(!server.prints(&["set", "@web", "net.trace=off"]).contains("note"));
}

/// The same without an agent, where nobody knows how many probes there are.
#[test]
fn noted_by_force() {
    let runtime = scratch(&format!("live-{}-forced", std::process::id()));
    std::fs::create_dir_all(&runtime).unwrap();
    let child = Command::new(program()).arg("serve").stdin(Stdio::null()).spawn().unwrap();
    let server = Server { runtime, child };
    let pid = server.pid();
    while server.tool(&["list", "--force", &pid]).0 != 0 {
        std::thread::yield_now();
    }
    server.refuses(&["set", "--force", &pid, "net:packet+1"], 2, "net:packet is a tracepoint, which its probes turn");
    let printed = server.prints(&["set", "--force", &pid, "net:packet=on", "net.trace+1"]);
    let note = "note: net:packet is a tracepoint: the program turns it on or off again when it adds or removes a probe";
    assert_eq!(printed.lines().filter(|line| line.starts_with("note")).collect::<Vec<_>>(), [note], "{printed}");
}
