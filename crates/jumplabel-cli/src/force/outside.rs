//! Reads what a process's agent library says to tools: whether an agent runs, and which keys nobody may change from outside.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use jumplabel_agent::outside::{COUNT, DECLARED, FORBIDDEN, MAGIC, PID, SOCKET, TEXT, VERSION};
use jumplabel_selector::Selector;

use super::live::Live;
use super::{Pid, threads};
use crate::failure::Failure;

/// The most items of a list, and the most bytes of a text.
const MOST: usize = 4096;

impl Live {
    /// The agent's socket, as a path that this process can open. `None` if the process has no agent.
    pub fn agent(&self) -> Result<Option<PathBuf>, Failure> {
        for record in self.find(MAGIC, VERSION) {
            let number = self.memory.word(record + PID as u64).map_err(|error| self.lost(&error))?;
            // The child of a raw `clone` has its parent's memory, and so this record, but not its parent's agent.
            if number != 0 && inside(self.pid) == Some(number) {
                let socket = self.memory.pointer(record + SOCKET as u64).map_err(|error| self.lost(&error))?;
                let path = self.text(socket, None)?;
                let path = Path::new(OsStr::from_bytes(&path)).strip_prefix("/").map(Path::to_owned);
                let path = path.map_err(|_| self.damaged("its agent's socket has no absolute path"))?;
                // If the first thread has ended, the system shows no root for it. So another thread that is alive gives the root.
                return Ok(Some(Path::new(&format!("/proc/{}/root", threads::alive(self.pid)?)).join(path)));
            }
        }
        Ok(None)
    }

    /// The keys that nobody may change from outside: the number of each, and the selector that forbids it.
    pub fn forbidden(&self) -> Result<Vec<(usize, String)>, Failure> {
        let mut all = Vec::new();
        for text in self.selectors()? {
            let selector: Selector =
                text.parse().map_err(|why| self.damaged(&format!("`{text}` is to be protected: {why}")))?;
            // A selector that chooses only static calls or modes forbids no key.
            let Ok(keys) = self.choose(&selector) else { continue };
            if keys.is_empty() {
                return Err(self.damaged(&format!("`{text}` is to be protected, and nothing matches it")));
            }
            all.extend(keys.into_iter().map(|key| (key, text.clone())));
        }
        Ok(all)
    }

    /// The selectors of the keys that nobody may change from outside, as the program has written them.
    fn selectors(&self) -> Result<Vec<String>, Failure> {
        let lost = |error| self.lost(&error);
        let pointer = |address: u64| self.memory.pointer(address).map_err(lost);
        let mut texts = Vec::new();
        for record in self.find(MAGIC, VERSION) {
            let (first, count) = (pointer(record + DECLARED as u64)?, pointer(record + COUNT as u64)?);
            texts.extend((0..count.min(MOST as u64)).map(|number| first.wrapping_add(number * 16)));
            let mut next = pointer(record + FORBIDDEN as u64)?;
            while next != 0 {
                texts.push(next.wrapping_add(TEXT as u64));
                next = pointer(next)?;
                if texts.len() > MOST {
                    return Err(self.damaged("the list of what nobody may change has no end"));
                }
            }
        }
        let text = |at: u64| {
            let bytes = self.text(pointer(at)?, Some(pointer(at.wrapping_add(8))?))?;
            String::from_utf8(bytes).map_err(|_| self.damaged("what nobody may change is no text"))
        };
        texts.into_iter().map(text).collect()
    }

    /// Reads a text of `length` bytes, or up to the first zero byte.
    fn text(&self, address: u64, length: Option<u64>) -> Result<Vec<u8>, Failure> {
        let mut text = Vec::new();
        while length != Some(text.len() as u64) {
            let [byte] =
                self.memory.array(address.wrapping_add(text.len() as u64)).map_err(|error| self.lost(&error))?;
            if length.is_none() && byte == 0 {
                break;
            }
            text.push(byte);
            if text.len() > MOST {
                return Err(self.damaged("a text has no end"));
            }
        }
        Ok(text)
    }

    fn damaged(&self, what: &str) -> Failure {
        Failure::Refused(format!("{}: {what}: nothing is set", self.pid))
    }
}

/// The number that a process has in its own container, which may differ from the number outside.
fn inside(pid: Pid) -> Option<u32> {
    threads::status(pid, "NSpid")?.split_whitespace().last()?.parse().ok()
}
