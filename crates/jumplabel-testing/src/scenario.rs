//! Scenarios: a test that changes its process (writer, filters, limits, forks, signals) runs in one of its own.
//!
//! ```text
//!  #[test] fn name() { passes(|| body) }
//!     parent  starts this test binary again for this one test, waits no longer than the limit, judges how it ended
//!     child   finds JUMPLABEL_SCENARIO in its environment and runs the body
//! ```
//!
//! A deadlock therefore fails instead of hanging, and a broken twin may die or hang without harm: [`Scenario::fails`] and
//! [`Scenario::hangs`] demand that it does.

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

/// How a child ends whose body has come to its end: unlike 0, not how a test binary ends that has run no test at all.
const DONE: i32 = 77;

/// How long a scenario that should end may take on a busy machine; [`patience`] times that.
const LIMIT: Duration = Duration::from_secs(120);

/// How long one that should hang is watched.
const WATCHED: Duration = Duration::from_secs(3);

#[cfg(unix)]
pub use system::{end, fork, reap, wait_for};

/// A child process to be.
pub struct Scenario(Command);

/// A scenario that must end well.
pub fn passes<F: FnOnce()>(body: F) {
    Scenario::new().passes(body);
}

/// Whether this process is a scenario's, or a test's.
pub fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// What runs programs of this instruction set, where the machine cannot.
pub fn emulator() -> Option<std::ffi::OsString> {
    std::env::var_os("JUMPLABEL_EMULATOR")
}

/// What starts this program again.
pub fn this_program() -> Command {
    let program = std::env::current_exe().unwrap();
    let Some(emulator) = emulator() else { return Command::new(program) };
    let mut command = Command::new(emulator);
    command.arg(program);
    command
}

/// How many times slower than a processor the machine is that this runs on, where an emulated kernel (cargo xtask guests) says so.
pub fn slowness() -> u32 {
    std::env::var("JUMPLABEL_SLOWNESS").map_or(1, |slowness| slowness.parse().expect("JUMPLABEL_SLOWNESS is a number"))
}

/// So many rounds; fewer on a slow machine, which has as many dangerous moments in each.
pub fn rounds(number: usize) -> usize {
    number.div_ceil(slowness() as usize)
}

/// So many rounds of which each shows what all of them show; a tenth under an emulator of a processor, where a flip that takes
/// microseconds takes 20 milliseconds.
pub fn repeats(number: usize) -> usize {
    if emulator().is_some() { number.div_ceil(10) } else { number }
}

/// How many times [`LIMIT`] a scenario may take.
fn patience() -> u32 {
    slowness().max(if emulator().is_some() { 3 } else { 1 })
}

impl Default for Scenario {
    fn default() -> Scenario {
        Scenario(this_program())
    }
}

impl Scenario {
    /// This test, once more.
    pub fn new() -> Scenario {
        Scenario::default()
    }

    /// With a variable in the child's environment.
    pub fn env(mut self, name: &str, value: &str) -> Scenario {
        self.0.env(name, value);
        self
    }

    /// The body must end well.
    pub fn passes<F: FnOnce()>(self, body: F) {
        let (status, output) = self.run(body, LIMIT * patience());
        print!("{output}");
        match status {
            None => panic!("still running after {:?}: a deadlock?\n{output}", LIMIT * patience()),
            Some(status) => assert!(status.code() == Some(DONE), "{status}\n{output}"),
        }
    }

    /// The body must end with a panic whose message contains `complaint`: a broken twin that is found out.
    pub fn fails<F: FnOnce()>(self, complaint: &str, body: F) {
        let (status, output) = self.run(body, LIMIT * patience());
        let failed = status.is_some_and(|status| !status.success());
        assert!(failed && output.contains(complaint), "expected to fail with {complaint:?}: {status:?}\n{output}");
    }

    /// The body must not end: a broken twin that deadlocks.
    pub fn hangs<F: FnOnce()>(self, body: F) {
        let (status, output) = self.run(body, WATCHED * slowness());
        assert!(status.is_none(), "expected to hang: {status:?}\n{output}");
    }

    /// In the child runs the body and does not return; in the parent, how the child ended (`None`: it did not).
    fn run<F: FnOnce()>(mut self, body: F, limit: Duration) -> (Option<ExitStatus>, String) {
        if is_child() {
            body();
            std::process::exit(DONE);
        }
        // The body's type is named after the function that it stands in: crate::module::test::{{closure}}.
        let name = std::any::type_name::<F>().split_once("::").unwrap().1;
        let test = name.strip_suffix("::{{closure}}").expect("the body is a closure that stands in the test");
        let output = system::tempfile();
        self.0.args(["--exact", test, "--nocapture", "--test-threads=1"]).env(CHILD, test).env("RUST_BACKTRACE", "0");
        self.0.stdout(output.try_clone().unwrap()).stderr(output.try_clone().unwrap());
        let mut child = system::start(&mut self.0);
        (wait(&mut child, limit), contents(output))
    }
}

/// Ends a scenario that this system is too old or too strict for. The caller has said why.
pub fn skip() -> ! {
    std::process::exit(DONE)
}

/// Waits for `child`, and ends it and its group at the limit.
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
