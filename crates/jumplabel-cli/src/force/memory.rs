//! The memory of another process, by `/proc/PID/mem`: reads what is mapped, and writes code that the process itself cannot write
//! (proc(5); the kernel's `mem_rw`, which gives the process a page of its own).

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;

use super::Pid;

pub struct Memory(File);

impl Memory {
    pub fn open(pid: Pid) -> io::Result<Memory> {
        let file = OpenOptions::new().read(true).write(true).open(format!("/proc/{pid}/mem"))?;
        Ok(Memory(file))
    }

    pub fn read(&self, address: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.0.read_exact_at(bytes, address)
    }

    pub fn array<const BYTES: usize>(&self, address: u64) -> io::Result<[u8; BYTES]> {
        let mut array = [0; BYTES];
        self.read(address, &mut array)?;
        Ok(array)
    }

    pub fn word(&self, address: u64) -> io::Result<u32> {
        self.array(address).map(u32::from_le_bytes)
    }

    pub fn pointer(&self, address: u64) -> io::Result<u64> {
        self.array(address).map(u64::from_le_bytes)
    }

    pub fn write(&self, address: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all_at(bytes, address)
    }
}
