//! Measures the cost of a request for a server that uses axum, with upstream's tracing and with the patched one: its time and the server's
//! instructions. The requests use HTTP/2, for which h2, hyper and tower-http have many callsites.

#[path = "../servers/clients.rs"]
#[allow(dead_code, reason = "the tests of servers use all of it")]
mod clients;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use jumplabel_testing::cargo::{Build, run};

use super::median;
use super::project::running::Running;
use super::project::{copy, succeeds};
use clients::Connection;

fn built(patched: bool) -> PathBuf {
    let folder = copy("served", if patched { "requests-patched" } else { "requests-upstream" });
    if patched {
        succeeds(&folder, &["tracing"]);
    }
    let to = folder.join("target");
    let mut command = Build::of("served").args(&["--release"]).command("build");
    run(command.current_dir(&folder).env("CARGO_TARGET_DIR", &to).env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "3"));
    to.join("release/served")
}

/// How the servers are started, and changed while they run.
struct Case {
    what: &'static str,
    /// The filters of the server with upstream's tracing, and of that with keys.
    filters: [&'static str; 2],
    /// What an operator sets in the server with keys.
    set: Option<&'static str>,
}

const CASES: [Case; 4] = [
    Case { what: "off", filters: ["off"; 2], set: None },
    Case { what: "info", filters: ["info"; 2], set: None },
    Case { what: "info,other=trace", filters: ["info,other=trace"; 2], set: None },
    // Upstream's server gets the filter that shows the same events.
    Case { what: "h2's events shown", filters: ["info,h2=trace", "info"], set: Some("trace:h2::*=on") },
];

impl Case {
    fn start(&self, which: usize, command: &mut Command) -> Running {
        let running = Running::start(command.args([self.filters[which], "quiet"]).stdout(Stdio::piped()), "ready ");
        if let Some(item) = self.set.filter(|_| which == 1) {
            running.prints(&["set", item]);
        }
        running
    }
}

fn address(running: &Running) -> &str {
    &running.ready["ready ".len()..]
}

/// The processor time of one request, in microseconds. Only the server's one thread is counted, so waiting for the client does not count.
fn time(server: &Running, connection: &mut Connection) -> f64 {
    const REQUESTS: u32 = 1000;
    let ran = || -> f64 {
        let words = fs::read_to_string(format!("/proc/{}/schedstat", server.child.id())).unwrap();
        words.split_whitespace().next().unwrap().parse().unwrap()
    };
    let before = ran();
    (0..REQUESTS).for_each(|_| assert!(connection.get().ends_with("hello\n")));
    (ran() - before) / 1000.0 / f64::from(REQUESTS)
}

/// The median times of one request for each of two servers, measured in turns.
fn in_turns(servers: &[Running; 2]) -> [f64; 2] {
    let mut connections = servers.each_ref().map(|server| Connection::to(address(server)));
    let mut times = [Vec::new(), Vec::new()];
    for turn in 0..41 {
        for ((server, connection), times) in servers.iter().zip(&mut connections).zip(&mut times) {
            let time = time(server, connection);
            if turn > 0 {
                times.push(time);
            }
        }
    }
    times.map(median)
}

/// The number of instructions that the server executes from its start to its end, if it answers this number of requests.
fn instructions(program: &Path, case: &Case, which: usize, requests: usize) -> f64 {
    let says = program.with_file_name("callgrind");
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--smc-check=all", "--callgrind-out-file=/dev/null"]);
    command.arg(program).stderr(fs::File::create(&says).unwrap());
    let running = case.start(which, &mut command);
    let mut connection = Connection::to(address(&running));
    (0..requests).for_each(|_| assert!(connection.get().ends_with("hello\n")));
    run(Command::new("kill").args(["-TERM", &running.child.id().to_string()]));
    let said = loop {
        let said = fs::read_to_string(&says).unwrap();
        if said.contains("Collected : ") && said.ends_with('\n') {
            break said;
        }
        std::thread::yield_now();
    };
    let (_, count) = said.split_once("Collected : ").unwrap();
    count.split_whitespace().next().unwrap().parse().unwrap()
}

#[test]
#[ignore = "measures"]
fn a_request_of_a_server() {
    let programs = [built(false), built(true)];
    let sizes = programs.each_ref().map(|program| run(Command::new("size").arg(program)));
    println!("a request, with upstream's tracing and with keys:\n{}\n{}", sizes[0], sizes[1]);
    for case in &CASES {
        let servers = [0, 1].map(|which| case.start(which, &mut Command::new(&programs[which])));
        let times = in_turns(&servers);
        drop(servers);
        let counts = [0, 1].map(|which| {
            let [few, many] = [200, 1200].map(|requests| instructions(&programs[which], case, which, requests));
            (many - few) / 1000.0
        });
        println!(
            "{:18} us {:.2} {:.2} ({:.3}), instructions {:.0} {:.0} ({:.3})",
            case.what,
            times[0],
            times[1],
            times[1] / times[0],
            counts[0],
            counts[1],
            counts[1] / counts[0]
        );
    }
    // Two servers with keys. An operator shows h2's events in the second one, and ends that.
    let servers = [0, 1].map(|_| CASES[1].start(1, &mut Command::new(&programs[1])));
    for (when, item) in
        [("before", None), ("while h2's events are shown", CASES[3].set), ("after", Some("trace:h2::*=remove"))]
    {
        if let Some(item) = item {
            servers[1].prints(&["set", item]);
        }
        let [other, this] = in_turns(&servers);
        println!("{when:27} us {other:.2} {this:.2} ({:.3})", this / other);
    }
}
