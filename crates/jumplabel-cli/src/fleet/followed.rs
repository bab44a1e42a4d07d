//! The wishes that a follower has carried out, in a file beside the sockets of the processes. The next follower does not carry them out again,
//! because an operator may have set the keys since.
//!
//! ```text
//!   {"version":1,"processes":{"web.4711":{
//!      "birth":[27,1763900000000000000],                        of its socket; a later process of the same number has another
//!      "wishes":{"/jumplabel/set/web*/net.*":{"revision":42,"value":"on"}},
//!      "before":{"net.trace":"off"}}}}                          the keys' values before any wish changed them
//! ```

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The wishes carried out in all processes, by `NAME.PID`.
pub type AllFollowed = BTreeMap<String, Followed>;

/// Distinguishes a socket from a later one of the same name: the number of its file, and when the file was made, in nanoseconds since 1970.
pub type Birth = (u64, i64);

/// The wishes carried out in one process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Followed {
    pub birth: Birth,
    /// For the key of each wish in etcd: the revision that was carried out or refused, and its value.
    pub wishes: BTreeMap<String, Carried>,
    /// For the selector of each key: the key's value before any wish changed it.
    pub before: BTreeMap<String, String>,
}

/// A wish as it was when it was carried out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Carried {
    pub revision: i64,
    pub value: String,
}

/// The contents of the file.
#[derive(Serialize, Deserialize)]
struct Whole {
    version: u32,
    processes: AllFollowed,
}

const VERSION: u32 = 1;
/// The most bytes of the file. Each key that a wish has changed in a process takes some 40.
const LONGEST: u64 = 256 << 20;

/// The birth of a socket, which is also the birth of the process that made it.
pub fn birth(socket: &Path) -> io::Result<Birth> {
    let found = socket.symlink_metadata()?;
    Ok((found.ino(), found.mtime().saturating_mul(1_000_000_000).saturating_add(found.mtime_nsec())))
}

/// The file that belongs to a prefix.
pub struct File {
    path: PathBuf,
    /// The contents of the file, as far as this follower knows.
    written: AllFollowed,
}

impl File {
    pub fn of(directory: &Path, prefix: &str) -> File {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        let encoded = |byte: u8| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02x}") };
        let name: String = prefix.bytes().map(encoded).collect();
        File { path: directory.join(format!("followed{name}.json")), written: AllFollowed::new() }
    }

    /// Reads the wishes that the previous follower has carried out.
    pub fn read(&mut self) -> io::Result<AllFollowed> {
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
        let file = match std::fs::OpenOptions::new().read(true).custom_flags(flags).open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(AllFollowed::new()),
            opened => opened.map_err(|error| self.named(error))?,
        };
        let mut text = Vec::new();
        if file.metadata()?.is_file() {
            file.take(LONGEST).read_to_end(&mut text).map_err(|error| self.named(error))?;
        }
        let whole: Whole = serde_json::from_slice(&text).map_err(|error| self.named(error.into()))?;
        self.written.clone_from(&whole.processes);
        Ok(whole.processes)
    }

    /// Writes the file if its contents change. At any moment, the file on the disk is complete.
    pub fn write(&mut self, all: AllFollowed) -> io::Result<()> {
        if self.written == all {
            return Ok(());
        }
        let whole = Whole { version: VERSION, processes: all };
        let new = self.path.with_extension("new");
        let _ = std::fs::remove_file(&new);
        let write = || {
            let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
            file.write_all(&serde_json::to_vec(&whole)?)?;
            std::fs::rename(&new, &self.path)
        };
        write().map_err(|error| self.named(error))?;
        self.written = whole.processes;
        Ok(())
    }

    fn named(&self, error: io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("{}: {error}", self.path.display()))
    }
}
