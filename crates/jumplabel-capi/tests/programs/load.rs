//! The instructions of a load, counted by callgrind.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use crate::story::succeeds;

/// The number of descriptors that a program may have here.
pub const DESCRIPTORS: &str = "1012";

/// A command that runs a program under callgrind, which counts only while one of these functions runs.
fn valgrind(folder: &Path, functions: &[&str]) -> (Command, PathBuf) {
    let out = folder.join("callgrind.out");
    let _ = fs::remove_file(&out);
    // Valgrind keeps some descriptors for itself, and accepts no other limit than the rest: DESCRIPTORS.
    let mut command = Command::new("prlimit");
    command
        .args(["--nofile=1024:1024", "valgrind", "--tool=callgrind", "--smc-check=all", "--quiet"])
        .current_dir(folder);
    command.arg(format!("--callgrind-out-file={}", out.display()));
    command.args(functions.iter().map(|function| format!("--toggle-collect={function}")));
    (command, out)
}

fn total(out: &Path) -> u64 {
    let text = fs::read_to_string(out).unwrap_or_else(|error| panic!("{}: {error}", out.display()));
    let total = text.lines().find_map(|line| line.strip_prefix("totals: "));
    total.unwrap_or_else(|| panic!("no totals in {}", out.display())).trim().parse().unwrap()
}

/// The instructions of a program that ends by itself.
pub fn of_program(folder: &Path, functions: &[&str], words: &[&str]) -> u64 {
    let (mut command, out) = valgrind(folder, functions);
    succeeds(command.args(words));
    total(&out)
}

/// An empty folder for one load, with a path that is short enough for sockets. It is removed at the end.
pub struct Short(pub PathBuf);

impl Short {
    pub fn new(name: &str) -> Short {
        let path = std::env::temp_dir().join(format!("jumplabel-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        Short(path)
    }
}

impl Drop for Short {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A server under callgrind. SIGTERM ends it.
pub struct Server(Child);

impl Server {
    /// Repeats `what` until it returns a value, up to ten minutes, because callgrind is slow. Fails if the server ends.
    pub fn eventually<T>(&mut self, mut what: impl FnMut() -> Option<T>) -> T {
        for _ in 0..6000 {
            if let Some(got) = what() {
                return got;
            }
            assert_eq!(self.0.try_wait().unwrap(), None, "the server has ended: server.log");
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        panic!("the server does not answer")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.0.id().to_string()).status();
        let _ = self.0.wait();
    }
}

/// The instructions of a server while `client` uses it.
pub fn of_server(folder: &Path, functions: &[&str], words: &[&str], client: impl FnOnce(&mut Server)) -> u64 {
    let (mut command, out) = valgrind(folder, functions);
    // The output of valgrind and the server, in case it ends early.
    let said = fs::File::create(folder.join("server.log")).unwrap();
    command.args(words).stdout(said.try_clone().unwrap()).stderr(said);
    let mut server = Server(command.spawn().unwrap());
    client(&mut server);
    drop(server);
    total(&out)
}
