//! A uprobe on an instruction of this program: the kernel's own, or what the kernel writes, in the same order.
//!
//! ```text
//!               kernel/events/uprobes.c, arch/x86/kernel/uprobes.c (Linux 6.18)
//!   set         cc over the first byte
//!   hit         the instruction of the file is carried out. If that is a nop of five bytes, the site becomes a call:
//!               the four bytes behind cc, then e8 over cc
//!   removed     if it is a call: cc over e8, the four bytes of the file, then the first byte of the file; else that alone
//! ```

use std::fs::{File, OpenOptions};
use std::io::{Error, Write};
use std::os::unix::fs::FileExt;

/// Who writes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum By {
    /// The kernel.
    Kernel,
    /// This process writes. It must not execute the instruction meanwhile.
    Writes,
}

/// A write to a file in this directory makes a probe. Only root can mount it.
const TRACEFS: &str = "/sys/kernel/tracing";

const NOP: [u8; 5] = [0x0f, 0x1f, 0x44, 0, 0];

/// Both. Without tracefs, prints a message, and returns only the second.
pub fn all() -> &'static [By] {
    let events = || OpenOptions::new().append(true).open(format!("{TRACEFS}/uprobe_events"));
    // In a mount namespace of its own, so that the system stays as it is.
    let mount = || {
        // SAFETY: only this process, whose thread this is, sees the other mounts.
        unsafe {
            let private = libc::MS_REC | libc::MS_PRIVATE;
            libc::unshare(libc::CLONE_NEWNS) == 0
                && libc::mount(c"none".as_ptr(), c"/".as_ptr(), std::ptr::null(), private, std::ptr::null()) == 0
                && libc::mount(c"t".as_ptr(), c"/sys/kernel/tracing".as_ptr(), c"tracefs".as_ptr(), 0, std::ptr::null())
                    == 0
        }
    };
    if events().is_ok() || (mount() && events().is_ok()) {
        return &[By::Kernel, By::Writes];
    }
    println!("no uprobes of the kernel here, which need root and tracefs: the same writes instead");
    &[By::Writes]
}

/// A probe that is set. It is removed when this is dropped.
pub struct Probe {
    by: By,
    address: usize,
    /// The bytes of the file at the place.
    file: [u8; 5],
    name: String,
}

impl Probe {
    /// Sets a probe.
    ///
    /// # Errors The kernel's error, if it does not want a probe there.
    pub fn set(by: By, address: usize) -> std::io::Result<Probe> {
        let (path, offset) = place(address);
        let mut file = [0; 5];
        File::open(&path)?.read_exact_at(&mut file, offset)?;
        let name = format!("jumplabel_{}_{address:x}", std::process::id());
        let mut probe = Probe { by, address, file, name };
        match by {
            By::Writes => write(address, &[0xcc]),
            By::Kernel => {
                tell("uprobe_events", &format!("p:{} {path}:{offset:#x}", probe.name))?;
                if let Err(error) = probe.enable(true) {
                    probe.by = By::Writes;
                    tell("uprobe_events", &format!("-:{}", probe.name))?;
                    std::mem::forget(probe);
                    return Err(error);
                }
            }
        }
        Ok(probe)
    }

    /// Calls `run`, which executes the instruction. Returns its results; none if only the writes are made.
    pub fn hit<T>(&self, run: impl Fn() -> T) -> Vec<T> {
        if self.by == By::Kernel {
            return (0..5).map(|_| run()).collect();
        }
        if self.file == NOP {
            write(self.address + 1, &[1, 2, 3, 4]);
            write(self.address, &[0xe8]);
        }
        Vec::new()
    }

    fn enable(&self, on: bool) -> std::io::Result<()> {
        tell(&format!("events/uprobes/{}/enable", self.name), if on { "1" } else { "0" })
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        if self.by == By::Kernel {
            self.enable(false).unwrap();
            return tell("uprobe_events", &format!("-:{}", self.name)).unwrap();
        }
        if bytes::<1>(self.address) == [0xe8] {
            write(self.address, &[0xcc]);
            write(self.address + 1, &self.file[1..]);
        }
        write(self.address, &self.file[..1]);
    }
}

/// The bytes that are there now.
pub fn bytes<const N: usize>(address: usize) -> [u8; N] {
    // SAFETY: code of this program.
    unsafe { (address as *const [u8; N]).read_volatile() }
}

fn write(address: usize, bytes: &[u8]) {
    let memory = OpenOptions::new().write(true).open("/proc/self/mem").unwrap();
    memory.write_all_at(bytes, address as u64).unwrap();
}

fn tell(file: &str, line: &str) -> std::io::Result<()> {
    let mut file = OpenOptions::new().append(true).open(format!("{TRACEFS}/{file}"))?;
    match file.write(line.as_bytes())? {
        0 => Err(Error::other("nothing was written")),
        _ => Ok(()),
    }
}

/// The file that is mapped at the address, and the address's place in the file. Asks again if the page is just being moved.
fn place(address: usize) -> (String, u64) {
    let path = std::env::current_exe().unwrap().display().to_string();
    let offset = (0..1000).find_map(|_| offset(address)).expect("code of this program");
    (path, offset)
}

fn offset(address: usize) -> Option<u64> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    maps.lines().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (start, end) = words[0].split_once('-')?;
        let [start, end, offset] = [start, end, words[2]].map(|number| u64::from_str_radix(number, 16).unwrap());
        (start..end).contains(&(address as u64)).then(|| address as u64 - start + offset)
    })
}
