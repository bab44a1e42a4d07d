//! A process that has an agent.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::programs::{program, scratch};

/// A process that has an agent, and a directory of its own.
pub struct Server {
    pub runtime: PathBuf,
    pub child: Child,
}

impl Server {
    /// With the words of `JUMPLABEL_AGENT`. When this returns, it listens.
    pub fn start(name: &str, words: &str) -> Server {
        let runtime = scratch(&format!("live-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&runtime).unwrap();
        let mut command = Command::new(program());
        command.arg("serve").env("XDG_RUNTIME_DIR", &runtime).env("JUMPLABEL_AGENT", words);
        let child = command.stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let server = Server { runtime, child };
        server.ready();
        server
    }

    pub fn ready(&self) {
        while self.tool(&["list", &self.pid()]).0 == 3 {
            std::thread::yield_now();
        }
    }

    pub fn pid(&self) -> String {
        self.child.id().to_string()
    }

    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_jumplabel"));
        command.args(words).env("XDG_RUNTIME_DIR", &self.runtime);
        command
    }

    /// The exit code, and both streams.
    pub fn tool(&self, words: &[&str]) -> (i32, String, String) {
        let output = self.command(words).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }

    #[track_caller]
    pub fn prints(&self, words: &[&str]) -> String {
        let (code, out, err) = self.tool(words);
        assert_eq!((code, &*err), (0, ""), "{words:?}\n{out}");
        out
    }

    #[track_caller]
    pub fn refuses(&self, words: &[&str], code: i32, why: &str) {
        let (ended, out, err) = self.tool(words);
        assert!(ended == code && out.is_empty() && err.contains(why), "{words:?}: {ended}\n{out}{err}");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.runtime);
    }
}
