//! Tests of `cargo xtask beside`: its output, when it ends, and that a signal ends its commands.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Output};

fn xtask(arguments: &[&str]) -> Command {
    let mut xtask = Command::new(env!("CARGO_BIN_EXE_xtask"));
    // Keeps rows out of the table of the stage in which this test runs, and ignores the limit of time of that stage.
    xtask.env_remove("JUMPLABEL_STAGE_ROWS").env_remove("JUMPLABEL_STAGES_UNTIL");
    xtask.args(arguments);
    xtask
}

fn beside(commands: &[&str]) -> (Output, String) {
    let output = xtask(&[&["beside"], commands].concat()).output().unwrap();
    let printed = String::from_utf8(output.stdout.clone()).unwrap();
    (output, printed)
}

fn succeeds(program: &str, arguments: &[&str]) {
    assert!(Command::new(program).args(arguments).status().unwrap().success(), "{program} {arguments:?}");
}

/// If two commands print by turns, their outputs are shown one after the other. Each has both streams in the order in which they were written.
#[test]
fn output_is_whole() {
    let talk = |name: &str| format!("for i in 1 2 3; do echo {name} $i; sleep 0.05; echo {name} $i >&2; done");
    let (output, printed) = beside(&[&talk("a"), &talk("b")]);
    assert!(output.status.success(), "{printed}");
    for name in ["a", "b"] {
        let lines: String = (1..=3).map(|i| format!("{name} {i}\n{name} {i}\n")).collect();
        let (command, rest) = (talk(name), printed.as_str());
        let rest = rest.split_once(&format!("== {command}\n{lines}== ")).unwrap_or_else(|| panic!("{printed}")).1;
        let end = rest.lines().next().unwrap();
        assert!(end.ends_with(&format!(" s, status 0: {command}")), "{end}");
    }
}

/// A failed command is shown with its output and its status, and named at the end. All others still run.
#[test]
fn a_failure_is_named() {
    let many: Vec<&str> = ["echo why; exit 7"].into_iter().chain(["true"; 10]).collect();
    let (output, printed) = beside(&many);
    assert_eq!(output.status.code(), Some(1));
    assert!(printed.contains("\nwhy\n== ") && printed.contains("status 7: echo why; exit 7\n"), "{printed}");
    assert_eq!(printed.matches("status 0: true").count(), 10, "{printed}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.ends_with("failed: echo why; exit 7\n"), "{said}");
    let (output, printed) = beside(&["kill -9 $$"]);
    assert!(!output.status.success() && printed.contains("status 137"), "{printed}");
}

/// A command after the limit of time does not run, and has a row that says so. A command before it runs.
#[test]
fn late_commands_are_left_out() {
    let rows = Path::new(env!("CARGO_TARGET_TMPDIR")).join("beside-rows");
    for (until, runs) in [("1", false), ("99999999999", true)] {
        std::fs::write(&rows, "").unwrap();
        let mut xtask = xtask(&["beside", "echo ran"]);
        let output = xtask.env("JUMPLABEL_STAGE_ROWS", &rows).env("JUMPLABEL_STAGES_UNTIL", until).output().unwrap();
        let (printed, table) = (String::from_utf8(output.stdout).unwrap(), std::fs::read_to_string(&rows).unwrap());
        assert!(output.status.success() && printed.lines().any(|line| line == "ran") == runs, "{until}: {printed}");
        assert!(printed.contains("== left out: echo ran\n") != runs, "{until}: {printed}");
        assert!(table.starts_with("  echo ran ") && table.contains("left out") != runs, "{until}: {table}");
    }
}

/// If all stages are after the limit of time, the table says so, and nothing fails.
#[test]
fn late_stages_are_left_out() {
    let output = xtask(&["stages", "coffee"]).env("JUMPLABEL_STAGES_UNTIL", "1").output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && printed.starts_with("coffee ") && printed.contains("left out"), "{printed}");
    assert!(!xtask(&["stages", "coffee"]).output().unwrap().status.success(), "no such goal");
}

/// A process that a command leaves behind holds the command's output open. It keeps nobody waiting.
#[test]
fn waits_for_commands_alone() {
    let (output, printed) = beside(&["sleep 1000 & echo $!"]);
    assert!(output.status.success(), "{printed}");
    succeeds("kill", &[printed.lines().nth(1).unwrap()]);
}

/// A signal to xtask alone also ends the processes that its commands have started.
#[test]
fn a_signal_ends_all() {
    for signal in ["-INT", "-TERM", "-HUP"] {
        // The FIFO stays open for writing as long as a descendant lives.
        let fifo = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("beside{signal}"));
        let _ = std::fs::remove_file(&fifo);
        let fifo = fifo.to_str().unwrap();
        succeeds("mkfifo", &[fifo]);
        let mut child =
            xtask(&["beside", &format!("(exec 3>{fifo}; echo started >&3; sleep 20; echo survived >&3) & wait")])
                .spawn()
                .unwrap();
        let mut open = BufReader::new(File::open(fifo).unwrap());
        let mut line = String::new();
        open.read_line(&mut line).unwrap();
        assert_eq!(line, "started\n");
        succeeds("kill", &[signal, &child.id().to_string()]);
        assert_eq!(child.wait().unwrap().code(), Some(130), "{signal}");
        line.clear();
        open.read_to_string(&mut line).unwrap();
        assert_eq!(line, "", "{signal}");
    }
}
