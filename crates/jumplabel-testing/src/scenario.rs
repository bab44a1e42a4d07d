//! Scenarios: tests that run in a process of their own, because they change it (its writer, filters, limits, forks, signals).
//!
//! ```text
//!  #[test] fn name() { passes(|| body) }
//!     parent  starts this test binary again for this one test, waits for a limited time, judges how it ended
//!     child   finds JUMPLABEL_SCENARIO in its environment and runs the body
//! ```
//!
//! So a test that deadlocks fails, and does not hang. A broken twin may die or hang without harm: [`Scenario::fails`] demands that it fails,
//! [`Scenario::hangs`] that it hangs.

#[cfg(unix)]
#[path = "scenario/unix.rs"]
mod system;
#[cfg(windows)]
#[path = "scenario/windows.rs"]
mod system;

use std::fs::File;
use std::io::{Read, Seek};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

const CHILD: &str = "JUMPLABEL_SCENARIO";

/// The exit status of a child whose body has returned. It is not 0, because a test binary in which no test matches also ends with 0.
const DONE: i32 = 77;

/// The time limit of a scenario that must end, on a busy machine. It is multiplied by [`patience`].
const LIMIT: Duration = Duration::from_secs(120);

/// The time for which a scenario that must hang is watched.
const WATCHED: Duration = Duration::from_secs(3);

#[cfg(unix)]
pub use system::{end, fork, reap, wait_for};

/// A scenario that is not started yet.
pub struct Scenario(Command);

/// Runs a body that must return, in a process of its own.
pub fn passes<F: FnOnce()>(body: F) {
    Scenario::new().passes(body);
}

/// True if this process is the child of a scenario.
pub fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// The emulator that runs programs of this instruction set, if the machine cannot run them.
pub fn emulator() -> Option<std::ffi::OsString> {
    std::env::var_os("JUMPLABEL_EMULATOR")
}

/// The command that starts this program again.
pub fn this_program() -> Command {
    let program = std::env::current_exe().unwrap();
    let Some(emulator) = emulator() else { return Command::new(program) };
    let mut command = Command::new(emulator);
    command.arg(program);
    command
}

/// The factor by which this machine is slower than a real processor. It is 1, unless the machine is an emulated one of `cargo xtask guests`.
pub fn slowness() -> u32 {
    std::env::var("JUMPLABEL_SLOWNESS").map_or(1, |slowness| slowness.parse().expect("JUMPLABEL_SLOWNESS is a number"))
}

/// The number of rounds to run, if each round has many dangerous moments: `number`, or fewer on a slow machine. A round takes longer there, but has
/// as many such moments.
pub fn rounds(number: usize) -> usize {
    number.div_ceil(slowness() as usize)
}

/// The number of rounds to run, if all rounds show the same: `number`, or a tenth under an emulator of a processor. There a flip takes not
/// microseconds but 20 milliseconds.
pub fn repeats(number: usize) -> usize {
    if emulator().is_some() { number.div_ceil(10) } else { number }
}

/// The factor for [`LIMIT`].
fn patience() -> u32 {
    slowness().max(if emulator().is_some() { 3 } else { 1 })
}

impl Default for Scenario {
    fn default() -> Scenario {
        Scenario(this_program())
    }
}

impl Scenario {
    /// A scenario of the test that calls this.
    pub fn new() -> Scenario {
        Scenario::default()
    }

    /// Adds a variable to the child's environment.
    pub fn env(mut self, name: &str, value: &str) -> Scenario {
        self.0.env(name, value);
        self
    }

    /// Runs the body, which must return.
    pub fn passes<F: FnOnce()>(self, body: F) {
        let (status, output) = self.run(body, LIMIT * patience());
        print!("{output}");
        match status {
            None => panic!("still running after {:?}: a deadlock?\n{output}", LIMIT * patience()),
            Some(status) => assert!(status.code() == Some(DONE), "{status}\n{output}"),
        }
    }

    /// Runs the body, which must fail, with `complaint` in its output: the test has noticed a broken twin.
    pub fn fails<F: FnOnce()>(self, complaint: &str, body: F) {
        let (status, output) = self.run(body, LIMIT * patience());
        let failed = status.is_some_and(|status| !status.success());
        assert!(failed && output.contains(complaint), "expected to fail with {complaint:?}: {status:?}\n{output}");
    }

    /// Runs the body, which must not end: a broken twin must deadlock.
    pub fn hangs<F: FnOnce()>(self, body: F) {
        let (status, output) = self.run(body, WATCHED * slowness());
        assert!(status.is_none(), "expected to hang: {status:?}\n{output}");
    }

    /// In the child, runs the body, and exits. In the parent, returns how the child ended, or `None` if it did not end in time, and its output.
    fn run<F: FnOnce()>(mut self, body: F, limit: Duration) -> (Option<ExitStatus>, String) {
        if is_child() {
            body();
            std::process::exit(DONE);
        }
        // The name of the body's type contains the function around it: crate::module::test::{{closure}}.
        let name = std::any::type_name::<F>().split_once("::").unwrap().1;
        let test = name.strip_suffix("::{{closure}}").expect("the body is a closure that stands in the test");
        let output = system::tempfile();
        self.0.args(["--exact", test, "--nocapture", "--test-threads=1"]).env(CHILD, test).env("RUST_BACKTRACE", "0");
        self.0.stdout(output.try_clone().unwrap()).stderr(output.try_clone().unwrap());
        let mut child = system::start(&mut self.0);
        (wait(&mut child, limit), contents(output))
    }
}

/// Ends a scenario as passed, on a system that is too old or too strict for it. The caller has printed why.
pub fn skip() -> ! {
    std::process::exit(DONE)
}

/// Waits for `child`, no longer than `limit`. Then ends all processes of its group.
fn wait(child: &mut Child, limit: Duration) -> Option<ExitStatus> {
    let start = Instant::now();
    let mut status = child.try_wait().unwrap();
    while status.is_none() && start.elapsed() < limit {
        std::thread::sleep(Duration::from_millis(2));
        status = child.try_wait().unwrap();
    }
    system::end_all(child);
    if status.is_none() {
        child.wait().unwrap();
    }
    status
}

fn contents(mut file: File) -> String {
    let mut bytes = Vec::new();
    file.rewind().unwrap();
    file.read_to_end(&mut bytes).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}
