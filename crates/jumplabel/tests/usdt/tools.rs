//! The commands of docs/usdt.md: bpftrace, perf and gdb, where they are installed.

use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use jumplabel::{emit, tracepoint, usdt};
use jumplabel_testing::scenario::passes;
use jumplabel_testing::stop::Stop;

tracepoint! { tools, said(number: u32, text: &str); }

/// Runs a command of the shell where tracefs is mounted, in a namespace of its own, so that the system stays as it is.
fn shell(command: &str) -> Output {
    let mount = "[ -e /sys/kernel/tracing/uprobe_events ] || mount -t tracefs t /sys/kernel/tracing 2>/dev/null;";
    let text = format!("{mount} {command}");
    Command::new("unshare").args(["--mount", "timeout", "-k1", "60", "sh", "-c", &text]).output().unwrap()
}

fn has(tool: &str, works: &str) -> bool {
    let has = Command::new("unshare").arg("--version").output().is_ok() && shell(works).status.success();
    if !has {
        println!("skipped: needs {tool}, root, and a kernel that lets it work: {works}");
    }
    has
}

fn program() -> String {
    std::env::current_exe().unwrap().display().to_string()
}

/// Runs a command that traces this process, while a thread emits and the tracepoint follows.
fn emitting(command: &str) -> Output {
    usdt::watch().unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _stop = Stop(&stop);
        scope.spawn(|| {
            while !stop.load(Relaxed) {
                emit!(said, 4711, "hello");
                std::thread::yield_now();
            }
        });
        shell(command)
    })
}

/// bpftrace lists tracepoints, attaches, which turns the tracepoint on, gets its arguments, and leaves.
#[test]
fn bpftrace() {
    passes(|| {
        if !has("bpftrace", "bpftrace -e 'BEGIN { exit(); }'") {
            return;
        }
        let (program, own) = (program(), std::process::id());
        let place = format!("usdt:{program}:tools:said");
        let printed = |command: String| String::from_utf8_lossy(&shell(&command).stdout).into_owned();
        assert_eq!(printed(format!("bpftrace -l 'usdt:{program}:tools:*'")).trim(), place);
        assert!(printed(format!("bpftrace -l -p {own} 'usdt:*'")).contains(":tools:said\n"));

        // Several emissions, because the first one reaches the tracer by a breakpoint, and later ones by a call.
        let show = "{ printf(\"%d %s\\n\", arg0, str(arg1, arg2)); @n++; if (@n > 5) { exit(); } }";
        let output = emitting(&format!("bpftrace -p {own} -e '{place} {show}'"));
        let text = String::from_utf8_lossy(&output.stdout);
        let lines: Vec<_> = text.lines().filter(|line| line.starts_with("4711")).collect();
        assert!(lines.len() >= 5 && lines.iter().all(|&line| line == "4711 hello"), "{output:?}");
        while said.key().is_enabled() {
            std::thread::yield_now();
        }
    });
}

/// gdb lists tracepoints, attaches, which turns the tracepoint on, prints an argument, and leaves.
#[test]
fn gdb() {
    passes(|| {
        let own = std::process::id();
        let attach = format!("gdb -nx -batch -p {own}");
        if !has("gdb", &format!("{attach} -ex 'info inferiors' | grep -q 'process {own}'")) {
            return;
        }
        let listed = shell(&format!("{attach} -ex 'info probes stap tools'"));
        assert!(String::from_utf8_lossy(&listed.stdout).contains(" said "), "{listed:?}");

        let commands = ["break -probe-stap tools:said", "continue", "print $_probe_arg0", "delete"];
        let commands: String = commands.iter().map(|command| format!(" -ex '{command}'")).collect();
        let output = emitting(&format!("{attach}{commands}"));
        assert!(String::from_utf8_lossy(&output.stdout).contains("$1 = 4711\n"), "{output:?}");
        while said.key().is_enabled() {
            std::thread::yield_now();
        }
    });
}

/// perf lists tracepoints.
#[test]
fn perf() {
    passes(|| {
        let home = std::env::temp_dir().join(format!("jumplabel-usdt-{}", std::process::id()));
        std::fs::create_dir_all(&home).unwrap();
        let cache = format!("HOME={} PERF_BUILDID_DIR=", home.display());
        if !has("perf", "perf --version") {
            return;
        }
        let list = shell(&format!("{cache} perf buildid-cache --add {} && {cache} perf list sdt", program()));
        std::fs::remove_dir_all(&home).unwrap();
        let text = String::from_utf8_lossy(&list.stdout);
        assert!(text.contains("sdt_tools:said"), "{list:?}");
    });
}
