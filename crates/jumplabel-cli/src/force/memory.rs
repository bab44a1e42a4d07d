//! The memory of another process, through `/proc/PID/mem`. The system lets this tool read any mapped memory there. It also lets the tool write code
//! that the process itself cannot write (proc(5); the kernel's `mem_rw`, which gives the process a page of its own).

use std::cell::RefCell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;

use super::Pid;

pub struct Memory(File);

/// The size of a page on x86-64.
pub const PAGE: usize = 4 << 10;

/// Pages as they were when each was first read. So 10,000 sites take only as many system calls as there are pages with sites.
pub struct Pages<'memory> {
    memory: &'memory Memory,
    pages: RefCell<HashMap<u64, Box<[u8; PAGE]>>>,
}

impl<'memory> Pages<'memory> {
    pub fn of(memory: &'memory Memory) -> Pages<'memory> {
        Pages { memory, pages: RefCell::default() }
    }

    pub fn read(&self, mut address: u64, mut bytes: &mut [u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let at = (address % PAGE as u64) as usize;
            let (now, later) = bytes.split_at_mut(bytes.len().min(PAGE - at));
            let mut pages = self.pages.borrow_mut();
            let page = match pages.entry(address - at as u64) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => {
                    let mut page = Box::new([0; PAGE]);
                    self.memory.read(*new.key(), &mut *page)?;
                    new.insert(page)
                }
            };
            now.copy_from_slice(&page[at..at + now.len()]);
            address += now.len() as u64;
            bytes = later;
        }
        Ok(())
    }

    pub fn word(&self, address: u64) -> io::Result<u32> {
        let mut word = [0; 4];
        self.read(address, &mut word)?;
        Ok(u32::from_le_bytes(word))
    }

    pub fn pointer(&self, address: u64) -> io::Result<u64> {
        let mut pointer = [0; 8];
        self.read(address, &mut pointer)?;
        Ok(u64::from_le_bytes(pointer))
    }
}

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
