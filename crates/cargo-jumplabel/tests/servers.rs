//! Tests `cargo jumplabel tracing` on servers: test-crates/served, which uses axum, and h2's examples. Cargo downloads some hundred crates for them
//! and compiles for minutes. So the tests run only on request, as in `make release-check`: `cargo test -p cargo-jumplabel --test servers --
//! --ignored`.

#[path = "servers/clients.rs"]
mod clients;
#[path = "servers/examples.rs"]
mod examples;
mod project;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use jumplabel_testing::cargo::{Build, run};
use project::running::Running;
use project::{copy, repository};

/// Builds a copy of test-crates/served, with h2's examples added, in which the two commands of docs/tracing.md were run. Returns its programs'
/// folder.
fn programs() -> &'static Path {
    static PROGRAMS: OnceLock<PathBuf> = OnceLock::new();
    PROGRAMS.get_or_init(|| {
        let folder = copy("served", "served");
        let installed = folder.join("target/installed");
        let cargo = |verb: &str, arguments: &[&str]| {
            let mut command = Build::of("served").command(verb);
            let path = std::env::var_os("PATH").unwrap_or_default();
            let path = std::env::join_paths([installed.join("bin")].into_iter().chain(std::env::split_paths(&path)));
            command.current_dir(&folder).env("CARGO_TARGET_DIR", folder.join("target")).env("PATH", path.unwrap());
            run(command.args(arguments))
        };
        let (repository, root) = (repository(), format!("--root={}", installed.display()));
        let package = repository.join("crates/cargo-jumplabel");
        cargo("install", &["--quiet", "--path", package.to_str().unwrap(), &root]);
        let says = cargo("jumplabel", &["tracing", "--jumplabel", repository.to_str().unwrap()]);
        assert!(says.contains("has a static key now"), "{says}");
        examples::put_into(&folder);
        cargo("build", &["--release", "--quiet"]);
        cargo("jumplabel", &["tracing", "--check"]);
        folder.join("target/release")
    })
}

/// A server, and a function that sends requests to it. The server prints lines about each request; `is_last` finds the last one.
struct Server<Ask: Fn() -> String> {
    running: Running,
    ask: Ask,
    is_last: fn(&str) -> bool,
}

impl<Ask: Fn() -> String> Server<Ask> {
    /// The server's answer to `ask`, and the lines that it has printed until then.
    fn answers(&mut self) -> (String, Vec<String>) {
        let answer = (self.ask)();
        (answer, self.running.says_until(self.is_last))
    }

    fn set(&self, targets: &[&str], time: &str) -> String {
        let items: Vec<String> = targets.iter().map(|target| format!("trace:{target}=on")).collect();
        let items = items.iter().map(String::as_str);
        self.running.prints(&["set"].into_iter().chain(items).chain(["--for", time]).collect::<Vec<_>>())
    }

    /// Returns whether the key of an event at the lowest level is on.
    fn has_traces(&self) -> bool {
        self.running.prints(&["list", "trace:*"]).contains("TRACE event, on")
    }

    /// Nothing is shown at first, then callsites of these targets, then nothing again. The answers stay the same.
    fn shows_for_a_while(&mut self, targets: &[&str], lines: &[&str]) {
        let is_shown = |said: &[String]| {
            said.iter().any(|line| ["tower_http", "h2::", "hyper"].iter().any(|target| line.contains(target)))
        };
        let (answer, before) = self.answers();
        assert!(!is_shown(&before), "{before:#?}");
        let says = self.set(targets, "1000s");
        assert!(says.contains("(by itself in 1000 s)"), "{says}");
        assert!(self.has_traces(), "{}", self.running.prints(&["list", "trace:*"]));
        let (same, shown) = self.answers();
        assert_eq!(same, answer);
        for line in lines {
            assert!(shown.iter().any(|shown| shown.contains(line)), "{line}: {shown:#?}");
        }
        // Callsites that nobody asked for are not shown.
        assert!(!shown.iter().any(|line| line.contains("h2::proto")), "{shown:#?}");
        self.set(targets, "1s");
        loop {
            let (same, said) = self.answers();
            assert_eq!(same, answer);
            if !is_shown(&said) {
                break;
            }
        }
        assert!(!self.has_traces(), "{}", self.running.prints(&["list", "trace:*"]));
    }
}

#[test]
#[ignore = "downloads and compiles some hundred crates"]
fn axum() {
    let running = Running::start(Command::new(programs().join("served")).arg("info"), "ready ");
    let address = running.ready["ready ".len()..].to_owned();
    let rows = running.prints(&["list", "trace:*"]);
    let has = |target: &str, level: &str| rows.lines().any(|row| row.starts_with(target) && row.contains(level));
    assert!(has("trace:tower_http::trace::make_span@tower-http-", "DEBUG span"), "{rows}");
    assert!(
        has("trace:h2::codec::framed_read@h2-", "TRACE event") && has("trace:served@src/main.rs:", "DEBUG"),
        "{rows}"
    );
    let ask = || {
        let answers = clients::http1(&address) + &clients::http2(&address);
        assert!(
            answers.contains("hello\n") && answers.contains("\r\n\r\n5") && answers.contains("404 Not Found"),
            "{answers}"
        );
        clients::get(&address, "/mark");
        answers
    };
    let mut server = Server { running, ask, is_last: |line| line == "marked" };
    server.shows_for_a_while(
        &["tower_http", "h2::codec"],
        &[
            "request{method=GET uri=/add/2/3 version=HTTP/1.1}: tower_http::trace::on_request: started processing request",
            "tower_http::trace::on_response: finished processing request",
            "h2::codec::framed_read: received frame=Headers",
            "h2::codec::framed_write: send frame=Data",
        ],
    );
}

/// While everything is off, each site in h2's own functions is one nop: it neither loads nor jumps. (hyper has no callsites unless it is built with
/// `--cfg hyper_unstable_tracing`.)
#[test]
#[ignore = "downloads and compiles some hundred crates"]
fn one_nop() {
    let running = Running::start(Command::new(programs().join("served")).args(["off", "quiet"]), "ready ");
    let process = running.child.id().to_string();
    let states = || {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let words = ["jumplabel", "sites", &process, "fn:h2*"].map(Into::into);
        assert_eq!(jumplabel_cli::run(words, &mut out, &mut err), 0, "{}", String::from_utf8_lossy(&err));
        let rows = String::from_utf8(out).unwrap();
        let is_nop = |row: &&str| ["nop", "test"].contains(&row.split_whitespace().nth(2).unwrap());
        (rows.lines().skip(1).filter(is_nop).count(), rows.lines().count() - 1, rows)
    };
    let (nops, all, rows) = states();
    assert!(nops == all && all > 50, "{nops} of {all}\n{rows}");
    // Sites of callsites that are shown jump.
    running.prints(&["set", "trace:h2=on"]);
    let (nops, all, rows) = states();
    assert!(nops * 10 < all, "{nops} of {all}\n{rows}");
}

#[test]
#[ignore = "downloads and compiles some hundred crates"]
fn examples_of_h2() {
    let running = Running::start(&mut Command::new(programs().join("h2_server")), "listening on Ok(");
    let address = running.ready["listening on Ok(".len()..].trim_end_matches(')').to_owned();
    let ask = || {
        let said = run(Command::new(programs().join("h2_client")).arg(&address));
        assert!(said.contains("GOT CHUNK = b\"hello \"") && said.contains("GOT CHUNK = b\"world\\n\""), "{said}");
        // Leaves out the client's own state, which it prints with the body.
        said.lines().filter_map(|line| line.split(" body: ").next()).collect()
    };
    // The client may close the connection before the server has sent everything.
    let is_last = |line: &str| line.contains("connection CLOSE") || line.contains("-> err=");
    Server { running, ask, is_last }
        .shows_for_a_while(&["h2::codec"], &["h2::codec::framed_read: received frame=Headers"]);
    assert!(
        fs::read_to_string(programs().join("../../Cargo.toml")).unwrap().contains("jumplabel-patches/tracing-core")
    );
}
