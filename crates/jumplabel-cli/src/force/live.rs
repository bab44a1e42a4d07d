//! A running process: its objects, and their keys as the process's memory has them.

use std::collections::{HashMap, HashSet};
use std::io;

use jumplabel::format::process::OBJECTS;
use jumplabel_agent::tracepoints::{self, Part};
use jumplabel_format::layout::{MAGIC, VERSION};
use jumplabel_selector::{Selector, What};

use super::memory::Memory;
use super::objects::{self, Loaded, Mapping};
use super::{Pid, threads};
use crate::failure::Failure;
use crate::machine::Machine;
use crate::selection;
use crate::table::{Declared, Is, Place, Subject};
use crate::target::{Object, Target};

/// A running process.
pub struct Live {
    pub pid: Pid,
    pub memory: Memory,
    pub target: Target,
    pub loaded: Vec<Loaded>,
    /// The addresses of the library's instances.
    pub runtimes: Vec<u64>,
    pub keys: Vec<Key>,
    pub by_address: HashMap<u64, usize>,
}

/// The head of a record in memory: two words that nothing else begins with, and a version.
pub struct Head {
    /// The number of the object that contains the record.
    pub object: usize,
    pub address: u64,
    pub version: u32,
}

/// A key, with the facts that all objects give about it.
pub struct Key {
    /// The address of the count; the flags come after it.
    pub address: u64,
    pub name: String,
    pub declared: Option<Declared>,
    pub is_tracepoint: bool,
    /// The sites, each as the number of its object and its own number there.
    pub sites: Vec<(usize, usize)>,
}

impl Live {
    /// Reads the tables of all loaded objects. The process runs on meanwhile.
    pub fn read(pid: Pid) -> Result<Live, Failure> {
        const TRIES: usize = 10;
        let alive = threads::alive(pid)?;
        let mut tries = 0;
        loop {
            let maps = objects::mappings(alive)?;
            tries += 1;
            match Live::of(pid, alive, &maps) {
                // An object that was found may have been unloaded meanwhile, or may be loaded only in part. Then the mappings change, and another try
                // helps.
                Err(_) if tries < TRIES && objects::mappings(alive)? != maps => {}
                live => return live,
            }
        }
    }

    fn of(pid: Pid, alive: Pid, maps: &[Mapping]) -> Result<Live, Failure> {
        let memory = Memory::open(alive).map_err(|error| threads::unreachable(pid, &error))?;
        let (objects, loaded) = objects::read(alive, &memory, maps)?;
        let target = Target { name: pid.to_string(), objects };
        let (runtimes, keys, by_address) = (Vec::new(), Vec::new(), HashMap::new());
        let mut live = Live { pid, memory, target, loaded, runtimes, keys, by_address };
        if let Some(other) =
            live.target.objects.iter().map(|object| object.image.machine).find(|&machine| machine != Machine::X86_64)
        {
            let name = other.name();
            return Err(Failure::OutOfReach(format!("{pid}: a process of {name}: --force changes those of x86_64")));
        }
        live.runtimes = live.find(MAGIC, VERSION);
        live.collect()?;
        live.look_at_lists()?;
        Ok(live)
    }

    /// Whether the objects that were read are still loaded, and the library's list in the process has no other. The mappings of other files may have
    /// changed.
    pub fn is_same(&self) -> Result<bool, Failure> {
        let maps = objects::mappings(threads::alive(self.pid)?)?;
        Ok(self.loaded.iter().all(|loaded| maps.contains(&loaded.first)) && self.look_at_lists().is_ok())
    }

    pub fn lost(&self, error: &io::Error) -> Failure {
        Failure::OutOfReach(format!("{}: its memory cannot be read: {error}", self.pid))
    }

    /// The addresses of the records that begin with `magic` and have this version, in data that the process may write.
    pub fn find(&self, magic: [u32; 2], version: u32) -> Vec<u64> {
        self.heads(magic).into_iter().filter(|head| head.version == version).map(|head| head.address).collect()
    }

    /// All records that begin with `magic`, whatever their version.
    pub fn heads(&self, magic: [u32; 2]) -> Vec<Head> {
        let (magic, mut found) = (magic.map(u32::to_le_bytes).concat(), Vec::new());
        for (number, (object, loaded)) in self.target.objects.iter().zip(&self.loaded).enumerate() {
            for (start, data) in object.image.data() {
                let first = (start.wrapping_neg() % 8) as usize;
                for at in (first..data.len().saturating_sub(16)).step_by(8).filter(|&at| data[at..].starts_with(&magic))
                {
                    let address = loaded.bias.wrapping_add(start + at as u64);
                    let head = self.memory.array::<12>(address).unwrap_or_default();
                    if let Some((words, version)) = head.split_last_chunk::<4>()
                        && *words == magic
                    {
                        found.push(Head { object: number, address, version: u32::from_le_bytes(*version) });
                    }
                }
            }
        }
        found
    }

    /// Collects all keys, each with its sites in all objects.
    fn collect(&mut self) -> Result<(), Failure> {
        for (number, object) in self.target.objects.iter().enumerate() {
            let bias = self.loaded[number].bias;
            let resolve = |place: &Place, slot| resolve(&self.memory, bias, place, slot);
            for subject in &object.table.subjects {
                let is_tracepoint = matches!(subject.is, Is::Tracepoint(_));
                if !is_tracepoint && !matches!(subject.is, Is::Key(_)) {
                    continue;
                }
                let Some(address) = resolve(&subject.place, subject.slot) else { continue };
                let key = *self.by_address.entry(address).or_insert(self.keys.len());
                if key == self.keys.len() {
                    let (name, declared) = (subject.name.clone(), None);
                    self.keys.push(Key { address, name, declared, is_tracepoint, sites: Vec::new() });
                }
                let key = &mut self.keys[key];
                if let Some(declared) = &subject.declared {
                    (key.name, key.declared) = (subject.name.clone(), Some((**declared).clone()));
                    key.is_tracepoint |= is_tracepoint;
                }
            }
            for (index, site) in object.table.sites.iter().enumerate() {
                let key = resolve(&site.place, site.slot).and_then(|address| self.by_address.get(&address));
                if let Some(&key) = key {
                    self.keys[key].sites.push((number, index));
                }
            }
        }
        let is_empty = |object: &Object| object.table.subjects.is_empty() && object.table.unreadable().is_empty();
        if self.target.objects.iter().all(is_empty) {
            return Err(Failure::OutOfReach(format!("{}: no keys", self.pid)));
        }
        self.keys.sort_by(|one, other| one.name.cmp(&other.name));
        self.by_address = self.keys.iter().enumerate().map(|(number, key)| (key.address, number)).collect();
        Ok(())
    }

    /// Returns an error if no key is known because a table cannot be read.
    pub fn is_readable(&self) -> Result<(), Failure> {
        let damage = |object: &Object| Some(format!("{}: {}", object.path, object.table.unreadable().first()?));
        match self.target.objects.iter().find_map(damage) {
            Some(why) if self.keys.is_empty() => Err(Failure::Refused(format!("{}: damaged: {why}", self.pid))),
            _ => Ok(()),
        }
    }

    /// Returns an error if the process lists an object that was not read, because that object could have sites of the same keys.
    fn look_at_lists(&self) -> Result<(), Failure> {
        const MANY: usize = 1 << 16;
        let mut seen = 0;
        for &runtime in &self.runtimes {
            let mut at = self.memory.pointer(runtime + OBJECTS as u64).map_err(|error| self.lost(&error))?;
            while at != 0 {
                if !self.loaded.iter().any(|loaded| loaded.bounds.contains(&at)) {
                    let what = format!(
                        "the object at {at:#x} has sites, and its file cannot be read: it was removed or replaced"
                    );
                    return Err(Failure::OutOfReach(format!(
                        "{}: {what}; be root, who can read it all the same",
                        self.pid
                    )));
                }
                seen += 1;
                if seen > MANY {
                    return Err(Failure::Refused(format!("{}: damaged: its list of objects has no end", self.pid)));
                }
                // The first word of each object leads to the next object.
                at = self.memory.pointer(at).map_err(|error| self.lost(&error))?;
            }
        }
        Ok(())
    }

    /// The keys that a selector chooses, each once.
    pub fn choose(&self, selector: &Selector) -> Result<Vec<usize>, Failure> {
        if let What::Object(glob) = &selector.what {
            let is_in = |key: &Key| self.path(key).is_some_and(|path| glob.matches_path(path));
            return Ok((0..self.keys.len()).filter(|&number| is_in(&self.keys[number])).collect());
        }
        let chosen = selection::by(&self.target, selector);
        let mut keys: Vec<_> = chosen.iter().filter_map(|one| self.key_of(one.subject, one.object)).collect();
        keys.sort_unstable();
        keys.dedup();
        if keys.is_empty() && !chosen.is_empty() {
            let what =
                "is a static call or a mode: --force changes keys; the program can change the rest, or its agent";
            return Err(Failure::Usage(format!("`{selector}` {what}")));
        }
        Ok(keys)
    }

    /// The keys that belong to tracepoints.
    pub fn tracepoints(&self) -> HashSet<usize> {
        let mut keys = HashSet::new();
        for object in &self.target.objects {
            let subjects = &object.table.subjects;
            let parts = tracepoints::parts(subjects.iter().map(Subject::row));
            let of_tracepoints = subjects.iter().zip(parts).filter(|(_, part)| *part == Part::Key);
            keys.extend(of_tracepoints.filter_map(|(subject, _)| self.key_of(subject, object)));
        }
        keys
    }

    /// The path of the object that contains a key. Other objects may have sites of the key, and name it, too.
    fn path(&self, key: &Key) -> Option<&str> {
        let number = self.loaded.iter().position(|loaded| loaded.bounds.contains(&key.address))?;
        Some(&self.target.objects[number].path)
    }

    fn key_of(&self, subject: &Subject, object: &crate::target::Object) -> Option<usize> {
        if !matches!(subject.is, Is::Key(_) | Is::Tracepoint(_)) {
            return None;
        }
        let number = self.target.objects.iter().position(|one| std::ptr::eq(one, object))?;
        let address = resolve(&self.memory, self.loaded[number].bias, &subject.place, subject.slot)?;
        self.by_address.get(&address).copied()
    }
}

/// The address of the subject at `place`. `None` if no loaded object has the subject.
pub fn resolve(memory: &Memory, bias: u64, place: &Place, slot: Option<(u64, u64)>) -> Option<u64> {
    match (place, slot) {
        (_, Some((slot, offset))) => {
            let there = memory.pointer(slot.wrapping_add(bias)).ok().filter(|&there| there != 0)?;
            Some(there.wrapping_add(offset))
        }
        (Place::Here(address), None) => Some(address.wrapping_add(bias)),
        (Place::Import(..), None) => None,
    }
}
