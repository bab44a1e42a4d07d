//! The programs and libraries that a process has loaded: their files, their tables, and the distance between addresses in memory and in the file.
//!
//! The file that was mapped may have been replaced or removed since, and its path may belong to another root. So a file counts only if its first
//! bytes equal those of the mapping.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::memory::Memory;
use super::{Pid, threads};
use crate::failure::Failure;
use crate::image::Image;
use crate::input;
use crate::target::Object;

/// A loaded object.
pub struct Loaded {
    /// An address in memory is higher by this than the same address in the file.
    pub bias: u64,
    /// The object's addresses in memory.
    pub bounds: std::ops::Range<u64>,
    /// The mapping of the object's first page.
    pub first: Mapping,
}

/// A mapping, from a line of `/proc/PID/maps` (proc(5)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    start: u64,
    end: u64,
    is_code: bool,
    offset: u64,
    path: String,
}

impl Mapping {
    fn parse(line: &str) -> Option<Mapping> {
        let mut words = line.splitn(6, ' ');
        let (start, end) = words.next()?.split_once('-')?;
        let permissions = words.next()?;
        let offset = u64::from_str_radix(words.next()?, 16).ok()?;
        let path = words.nth(2).unwrap_or_default().trim_start().to_owned();
        let [start, end] = [start, end].map(|number| u64::from_str_radix(number, 16).ok());
        Some(Mapping { start: start?, end: end?, is_code: permissions.contains('x'), offset, path })
    }
}

impl Mapping {
    /// Whether the mapping has code at `at` that comes from `offset` in its file. Code that the library's writer `remap` has put there comes from no
    /// file.
    fn has_code(&self, at: u64, offset: u64) -> bool {
        let is_there = self.is_code && (self.start..self.end).contains(&at);
        is_there && (!self.path.starts_with('/') || self.offset + (at - self.start) == offset)
    }
}

/// The mappings of files, and all mappings of code.
pub fn mappings(pid: Pid) -> Result<Vec<Mapping>, Failure> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).map_err(|error| threads::unreachable(pid, &error))?;
    Ok(maps
        .lines()
        .filter_map(Mapping::parse)
        .filter(|mapping| mapping.path.starts_with('/') || mapping.is_code)
        .collect())
}

/// Reads the loaded objects. Leaves out an object if no file begins with the same bytes: [`Live`](super::live::Live) finds out whether that
/// matters.
pub fn read(pid: Pid, memory: &Memory, maps: &[Mapping]) -> Result<(Vec<Object>, Vec<Loaded>), Failure> {
    let (mut objects, mut loaded) = (Vec::new(), Vec::new());
    let begins = maps.iter().filter(|mapping| mapping.offset == 0 && mapping.path.starts_with('/'));
    for mapping in begins {
        if memory.array(mapping.start).ok() != Some(object::elf::ELFMAG) {
            continue;
        }
        let Some((image, path)) = open(pid, memory, mapping)? else { continue };
        let Some(first) = image.first_page() else { continue };
        let bias = mapping.start.wrapping_sub(first);
        // A file that is only read (by a debugger, or for a backtrace) is not loaded. Also, the code of a small file can begin on the file's first
        // page. Then the mapping of the code begins as the file does, but is not the object's first.
        if !image.code().all(|(at, offset)| maps.iter().any(|mapping| mapping.has_code(at.wrapping_add(bias), offset)))
        {
            continue;
        }
        let bounds = image.bounds();
        let object = Object::read(image, &path)?;
        loaded.push(Loaded {
            bias,
            first: mapping.clone(),
            bounds: bounds.start.wrapping_add(bias)..bounds.end.wrapping_add(bias),
        });
        objects.push(object);
    }
    Ok((objects, loaded))
}

/// Opens the file of a mapping. `None` if no file begins as the mapping does.
fn open(pid: Pid, memory: &Memory, mapping: &Mapping) -> Result<Option<(Image, String)>, Failure> {
    let name = mapping.path.strip_suffix(" (deleted)").unwrap_or(&mapping.path);
    let range = format!("{:x}-{:x}", mapping.start, mapping.end);
    let places = [
        format!("/proc/{pid}/exe"),               // The program's own file, even if it was removed.
        format!("/proc/{pid}/map_files/{range}"), // Any mapped file, even if it was removed, but for root only.
        format!("/proc/{pid}/root{name}"),
    ];
    for place in places.map(PathBuf::from) {
        if !begins_alike(&place, memory, mapping) {
            continue;
        }
        return match Image::open(&place) {
            Ok(image) => Ok(Some((image, name.to_owned()))),
            Err(Failure::OutOfReach(_)) => Ok(None), // For another instruction set, for example, and mapped as data.
            Err(failure) => Err(failure.of(name)),
        };
    }
    Ok(None)
}

/// Whether the first bytes of the file and of the mapping are equal. They contain the ELF header, the program headers, and in most files the
/// build-id.
fn begins_alike(file: &Path, memory: &Memory, mapping: &Mapping) -> bool {
    const BYTES: usize = 1024;
    let (mut here, mut there) = ([0; BYTES], [0; BYTES]);
    let Ok((file, _)) = input::open(file) else { return false };
    // A file may be shorter than `BYTES`. In memory, zeros follow its end.
    let Ok(bytes) = file.read_at(&mut here, 0) else { return false };
    bytes >= 64 && memory.read(mapping.start, &mut there).is_ok() && here[..bytes] == there[..bytes]
}
