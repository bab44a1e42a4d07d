//! This program's code, and ways to get the bytes of its file back.

use std::fs::File;
use std::ops::Range;
use std::os::fd::AsRawFd;

use jumplabel::Lock;

/// A way to get the file's bytes back.
#[derive(Clone, Copy, Debug)]
pub enum Way {
    /// The pages are given back, as programs do to save memory.
    Advice,
    /// The file is mapped once more, in the same place.
    Mapping,
}

pub const WAYS: [Way; 2] = [Way::Advice, Way::Mapping];

impl Way {
    /// Gives all of this program's code the bytes of its file, while this thread holds the lock.
    pub fn stray(self) {
        let (mappings, lock) = (mappings(), Lock::take().unwrap());
        self.stray_unlocked(&mappings);
        drop(lock);
    }

    /// Like `stray`, while others may flip.
    pub fn stray_unlocked(self, mappings: &Mappings) {
        for (range, offset) in &mappings.ranges {
            let (start, bytes) = (range.start as *mut libc::c_void, range.len());
            match self {
                // SAFETY: private pages of a file, which they are read from again.
                Way::Advice => assert_eq!(unsafe { libc::madvise(start, bytes, libc::MADV_DONTNEED) }, 0),
                Way::Mapping => {
                    let (protection, flags) = (libc::PROT_READ | libc::PROT_EXEC, libc::MAP_PRIVATE | libc::MAP_FIXED);
                    // SAFETY: the same file, in the place where it is.
                    let new =
                        unsafe { libc::mmap(start, bytes, protection, flags, mappings.file.as_raw_fd(), *offset) };
                    assert_eq!(new, start);
                }
            }
        }
    }
}

/// The mappings of this program's code, and its file.
pub struct Mappings {
    ranges: Vec<(Range<usize>, libc::off_t)>,
    file: File,
}

/// The mappings at this moment: flips may cut them.
pub fn mappings() -> Mappings {
    let name = std::env::current_exe().unwrap();
    let file = File::open(&name).unwrap();
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let ranges = maps.lines().filter(|line| line.ends_with(name.to_str().unwrap())).filter_map(|line| {
        let mut words = line.split_whitespace();
        let (addresses, protection, offset) = (words.next()?, words.next()?, words.next()?);
        let number = |text| usize::from_str_radix(text, 16).unwrap();
        let (start, end) = addresses.split_once('-')?;
        protection.contains('x').then(|| (number(start)..number(end), number(offset) as libc::off_t))
    });
    Mappings { ranges: ranges.collect(), file }
}
