//! A terminal that tmux makes, and processes to look at.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread::yield_now;

use crate::programs::program;
use crate::server::Server;

/// A terminal of its own, in which a shell runs the tool, and then says how it ended.
pub struct Terminal<'server> {
    server: &'server Server,
    /// Of its socket, whose path must be short, and of what the shell writes.
    pub folder: PathBuf,
}

/// As a word for the shell.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.to_str().unwrap().replace('\'', "'\\''"))
}

impl<'server> Terminal<'server> {
    pub fn start(server: &'server Server, words: &str, width: u16, height: u16) -> Terminal<'server> {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let name = format!("jumplabel-{}-top{}", std::process::id(), NUMBER.fetch_add(1, Relaxed));
        let folder = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let [before, pid, after] = ["before", "pid", "after"].map(|name| quoted(&folder.join(name)));
        let terminal = Terminal { server, folder };
        fs::write(terminal.folder.join("conf"), "set -g status off\nset -g default-shell /bin/sh\n").unwrap();
        // The inner shell is replaced by the tool, so its number is the tool's.
        let tool = quoted(env!("CARGO_BIN_EXE_jumplabel").as_ref());
        let shell = format!(
            "echo before; stty -g > {before}; sh -c 'echo $$ > \"$0\"; exec \"$@\"' {pid} {tool} top {words}; \
             echo code $?; stty -g > {after}; echo over; exec cat"
        );
        let (width, height) = (width.to_string(), height.to_string());
        terminal.tmux(&["new-session", "-d", "-x", &width, "-y", &height, &shell]);
        terminal
    }

    pub fn tmux(&self, words: &[&str]) -> String {
        let mut tmux = Command::new("tmux");
        tmux.arg("-S").arg(self.folder.join("socket")).arg("-f").arg(self.folder.join("conf"));
        tmux.args(words).env("XDG_RUNTIME_DIR", &self.server.runtime).env("RUST_BACKTRACE", "0").env_remove("TMUX");
        let output = tmux.output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Waits until the screen has all of that; returns it.
    pub fn shows(&self, words: &[&str]) -> String {
        loop {
            let screen = self.tmux(&["capture-pane", "-p"]);
            if words.iter().all(|word| screen.contains(word)) {
                return screen;
            }
            let is_there = words.contains(&"over") || !screen.contains("\nover");
            assert!(is_there, "it has ended, and not shown {words:?}:\n{screen}");
            yield_now();
        }
    }

    /// Types letters.
    pub fn types(&self, letters: &str) {
        self.tmux(&["send-keys", "-l", letters]);
    }

    /// Presses a key by its name.
    pub fn press(&self, key: &str) {
        self.tmux(&["send-keys", key]);
    }

    /// Asks the terminal about itself.
    pub fn is(&self, what: &str) -> String {
        self.tmux(&["display-message", "-p", &format!("#{{{what}}}")]).trim().to_owned()
    }

    /// Waits for the end of the tool: the screen is as it was before, with a line more, and so are the terminal's modes.
    pub fn restored(&self, code: i32, words: &[&str]) {
        let screen = self.shows(&[&format!("code {code}\n"), "over"]);
        assert!(screen.starts_with("before\n") && words.iter().all(|word| screen.contains(word)), "{screen}");
        assert!(!screen.contains("jumplabel top   "), "{screen}");
        assert_eq!([self.is("alternate_on"), self.is("cursor_flag")], ["0", "1"]);
        let modes = ["before", "after"].map(|name| fs::read_to_string(self.folder.join(name)).unwrap());
        assert!(modes[0] == modes[1] && !modes[0].is_empty(), "{modes:?}");
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        let _ = Command::new("tmux").arg("-S").arg(self.folder.join("socket")).arg("kill-server").status();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Another process beside that of a server, of the same user. It ends when this is dropped.
pub struct Another(pub Child);

impl Another {
    /// When this returns, it listens.
    pub fn start(server: &Server, words: &str) -> Another {
        let mut command = Command::new(program());
        command.arg("serve").env("XDG_RUNTIME_DIR", &server.runtime).env("JUMPLABEL_AGENT", words);
        let another = Another(command.stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        while server.tool(&["list", &another.id().to_string()]).0 == 3 {
            yield_now();
        }
        another
    }

    pub fn id(&self) -> u32 {
        self.0.id()
    }

    pub fn signal(&self, signal: i32) {
        // SAFETY: a number, of a child that is not waited for yet.
        assert_eq!(unsafe { libc::kill(self.id().try_into().unwrap(), signal) }, 0);
    }
}

impl Drop for Another {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
