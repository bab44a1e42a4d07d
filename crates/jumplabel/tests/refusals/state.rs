//! The state that a refused flip must leave as it was: the sites, the counts, and the executable part of the process's map.

use std::cell::RefCell;
use std::fs::File;
use std::io::{Read, Seek};

use jumplabel::arch::Native;
use jumplabel::{Error, Outcome, RawKey, for_each_site};
use jumplabel_format::layout::BRANCH;
use jumplabel_format::{Arch, Code, Kind};

/// Looks at some keys and their sites, and at the map through a descriptor that stays open whatever becomes of /proc or of limits.
pub struct Watch {
    keys: Vec<&'static RawKey>,
    /// The address of each site, and the target of its jump.
    sites: Vec<(usize, usize)>,
    maps: RefCell<File>,
}

/// The state at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    sites: Vec<Site>,
    counts: Vec<(i32, bool)>,
    pub map: Vec<Mapping>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Site {
    address: usize,
    bytes: [u8; Native::SIZE],
    /// Whether the site jumps. `None`: it holds another instruction.
    jumps: Option<bool>,
}

/// A range of executable addresses with one protection and one file, however many mappings it takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Mapping {
    start: usize,
    end: usize,
    pub protection: String,
    offset: u64,
    pub path: String,
}

impl Watch {
    pub fn new(keys: impl IntoIterator<Item = &'static RawKey>) -> Watch {
        let keys: Vec<&RawKey> = keys.into_iter().collect();
        let mut sites = Vec::new();
        for key in &keys {
            for_each_site(key, |site| sites.push((site.address, site.target))).unwrap();
        }
        Watch { keys, sites, maps: RefCell::new(File::open("/proc/self/maps").unwrap()) }
    }

    pub fn state(&self) -> State {
        let sites = self.sites.iter().map(|&(address, target)| Site::at(address, target)).collect();
        let counts = self.keys.iter().map(|key| (key.count(), key.is_enabled())).collect();
        State { sites, counts, map: self.map() }
    }

    /// Asserts that `flip` is refused and has changed nothing. Returns the error.
    #[track_caller]
    pub fn refused(&self, flip: impl FnOnce() -> Result<Outcome, Error>) -> Error {
        let before = self.state();
        let error = flip().expect_err("was not refused");
        assert_eq!(self.state(), before, "{error:?} changed something");
        assert!(!error.to_string().is_empty());
        error
    }

    /// The executable part of the map.
    pub fn map(&self) -> Vec<Mapping> {
        let mut text = String::new();
        let mut file = self.maps.borrow_mut();
        file.rewind().unwrap();
        file.read_to_string(&mut text).unwrap();
        let mut map: Vec<Mapping> = Vec::new();
        for new in text.lines().map(Mapping::parse).filter(|mapping| mapping.protection.contains('x')) {
            match map.last_mut() {
                Some(last) if last.goes_on_as(&new) => last.end = new.end,
                _ => map.push(new),
            }
        }
        map
    }
}

impl State {
    /// The part of the state that a program can observe: the arm that each site takes, and the counts.
    pub fn behaviour(&self) -> State {
        let arm = |&site: &Site| Site { bytes: [0; Native::SIZE], ..site };
        State { sites: self.sites.iter().map(arm).collect(), counts: self.counts.clone(), map: Vec::new() }
    }
}

impl Site {
    fn at(address: usize, target: usize) -> Site {
        // SAFETY: code of this program.
        let bytes = unsafe { (address as *const [u8; Native::SIZE]).read_volatile() };
        let decode = |displacement| Kind::of(BRANCH)?.decode::<Native>(Code::new(BRANCH, &bytes), Some(displacement));
        let state = Native::displacement(address as u64, target as u64).and_then(decode);
        Site { address, bytes, jumps: state.map(|state| !state.falls_through()) }
    }
}

/// Whether anything in `map` is executable and writable.
pub fn is_open(map: &[Mapping]) -> bool {
    map.iter().any(|mapping| mapping.protection.contains('w'))
}

impl Mapping {
    fn parse(line: &str) -> Mapping {
        let mut words = line.split_whitespace();
        let (start, end) = words.next().unwrap().split_once('-').unwrap();
        let number = |word| usize::from_str_radix(word, 16).unwrap();
        let protection = words.next().unwrap().to_string();
        let offset = u64::from_str_radix(words.next().unwrap(), 16).unwrap();
        let path = words.nth(2).unwrap_or("").to_string();
        Mapping { start: number(start), end: number(end), protection, offset, path }
    }

    fn goes_on_as(&self, next: &Mapping) -> bool {
        self.end == next.start
            && self.protection == next.protection
            && self.path == next.path
            && self.offset + (self.end - self.start) as u64 == next.offset
    }
}
