//! Files that tests make and then start.
//!
//! A file cannot be started while any process has it open for writing. If this process wrote it, and another test forked meanwhile, the child would
//! have it open until it starts its own program. So a separate process, which does not fork, writes the file.

use std::path::Path;
use std::process::Command;

/// Copies a program, with its permissions.
pub fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    let output = Command::new("cp").arg(from).arg(to).output()?;
    match output.status.success() {
        true => Ok(()),
        false => Err(std::io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned())),
    }
}

/// Writes a program over an existing file, and keeps the file's permissions.
pub fn write(to: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut written = to.as_os_str().to_owned();
    written.push(".written");
    std::fs::write(&written, bytes)?;
    copy(written.as_ref(), to)?;
    std::fs::remove_file(written)
}

/// Replaces a program that this process has written by a copy, which can be started at once.
pub fn release(program: &Path) -> std::io::Result<()> {
    let mut copied = program.as_os_str().to_owned();
    copied.push(".copied");
    copy(program, copied.as_ref())?;
    std::fs::rename(copied, program)
}

/// Waits until a process that was just spawned runs its program. `spawn` can return before that: `/proc/PID/environ` and `maps` are empty until the
/// kernel has made the new address space. They are empty again after the first thread has ended, which may be before the first look here.
pub fn wait_until_begun(pid: u32) {
    while std::fs::read(format!("/proc/{pid}/environ")).map_or(true, |found| found.is_empty())
        && !first_thread_has_ended(pid)
    {
        std::thread::yield_now();
    }
}

/// True if a process's first thread has ended. Its other threads may run on, but from then on `/proc/PID` has no `exe`, `maps` or `mem`.
pub fn first_thread_has_ended(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap().contains(") Z ")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::process::Command;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// Makes 200 programs with `copy` while other threads start programs. Returns the number of those programs that cannot be started.
    fn refused(copy: impl Fn(&Path, &Path)) -> usize {
        let directory = std::env::temp_dir().join(format!("jumplabel-copied-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let program = Path::new("/bin/true");
        let is_over = AtomicBool::new(false);
        let refused = std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        Command::new(program).status().unwrap();
                    }
                });
            }
            let refused = (0..200).filter(|number| {
                let to = directory.join(number.to_string());
                copy(program, &to);
                Command::new(&to).status().is_err()
            });
            let refused = refused.count();
            is_over.store(true, Ordering::Relaxed);
            refused
        });
        fs::remove_dir_all(&directory).unwrap();
        refused
    }

    #[test]
    #[cfg_attr(miri, ignore = "starts programs")]
    fn a_copy_starts() {
        assert_eq!(refused(|from, to| super::copy(from, to).unwrap()), 0);
        assert_eq!(
            refused(|from, to| {
                super::copy(from, to).unwrap();
                super::write(to, &fs::read(from).unwrap()).unwrap()
            }),
            0
        );
    }
}
