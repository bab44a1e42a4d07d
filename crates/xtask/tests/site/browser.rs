//! Chromium without a window. Its process ends with the test.

use std::cell::RefCell;
use std::path::Path;
use std::process::{Child, Command, Stdio};

pub const CHROMIUM: &str = "chromium";

pub struct Browser(RefCell<Child>);

impl Browser {
    /// Opens a page. The browser has a profile of its own, and makes no requests in the background.
    pub fn start(page: &str) -> Browser {
        let profile = Path::new(env!("CARGO_TARGET_TMPDIR")).join("chromium");
        let _ = std::fs::remove_dir_all(&profile);
        let mut chromium = Command::new(CHROMIUM);
        // Root cannot use the sandbox. A container may have no /dev/shm. With a debugging port, the browser keeps running.
        chromium.args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--remote-debugging-port=0",
        ]);
        chromium.args(["--no-first-run", "--disable-extensions", "--disable-background-networking", "--disable-sync"]);
        chromium.args([
            "--disable-background-timer-throttling",
            "--disable-renderer-backgrounding",
            "--window-size=1400,1000",
        ]);
        chromium.arg(format!("--user-data-dir={}", profile.display())).arg(page);
        Browser(RefCell::new(
            chromium.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap(),
        ))
    }

    /// Fails if the browser has ended.
    pub fn must_run(&self) {
        let ended = self.0.borrow_mut().try_wait().unwrap();
        assert!(ended.is_none(), "{CHROMIUM}: {ended:?}");
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.0.get_mut().kill();
        let _ = self.0.get_mut().wait();
    }
}
