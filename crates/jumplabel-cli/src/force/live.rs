//! The keys of a process, as its memory has them: counts, and what sites hold.

use std::collections::HashMap;
use std::io;

use jumplabel::arch::{Code, State};
use jumplabel::format::process::{CONSISTENT, FORCED, IDLE, LOCK, OBJECTS, PHASE, SHARED};
use jumplabel::format::{BRANCH, MAGIC, NAKED, SHORT, VERSION};
use jumplabel::key::count;
use jumplabel_selector::{Selector, What};

use super::memory::{Memory, Pages};
use super::objects::{self, Loaded, Mapping};
use super::{Pid, threads};
use crate::failure::Failure;
use crate::machine::Machine;
use crate::selection;
use crate::table::{Declared, Is, Place, Site, Subject};
use crate::target::Target;

/// A process.
pub struct Live {
    pub pid: Pid,
    pub memory: Memory,
    pub target: Target,
    loaded: Vec<Loaded>,
    /// Addresses of the library's copies.
    runtimes: Vec<u64>,
    pub keys: Vec<Key>,
    by_address: HashMap<u64, usize>,
}

/// A key, whichever objects know of it.
pub struct Key {
    /// Of the count; the flags are behind it.
    pub address: u64,
    pub name: String,
    pub declared: Option<Declared>,
    pub is_tracepoint: bool,
    /// Numbers of objects, and of their sites.
    pub sites: Vec<(usize, usize)>,
}

/// What a site holds now.
pub struct Held {
    pub address: u64,
    pub target: u64,
    pub code: Code,
    pub state: Option<State>,
}

/// What of the library's state decides whether keys may be changed from outside.
pub struct Locks {
    /// The word of the lock; 0 if nobody has it.
    pub owner: u32,
    /// A flip of the process's own could not be taken back.
    pub is_stuck: bool,
    /// Where to store, and what, while sites and counts may not agree; and what to store afterwards.
    pub marks: Vec<(u64, [u32; 2])>,
    /// Whether a tool was killed in the middle, or the process was copied in the middle of a flip.
    pub disagree: bool,
}

/// Bits of a key's flags: a deferred decrement is due (docs/table-format.md, "Key").
const DUE: u32 = 1 << 1;

impl Live {
    /// Reads the tables of all objects that are loaded. Nothing is stopped.
    pub fn read(pid: Pid) -> Result<Live, Failure> {
        const TRIES: usize = 10;
        let alive = threads::alive(pid)?;
        let mut tries = 0;
        loop {
            let maps = objects::mappings(alive)?;
            tries += 1;
            match Live::of(pid, alive, &maps) {
                // What it found there may have been unloaded meanwhile, or be loaded in part.
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

    /// The objects, with keys alone, which are what they are now; and so are their sites.
    pub fn into_target(mut self) -> Result<Target, Failure> {
        let (mut now, pages) = (Vec::new(), Pages::of(&self.memory));
        for key in &self.keys {
            for &at in &key.sites {
                now.push((at, self.held(&pages, at)?));
            }
        }
        let mut objects = std::mem::take(&mut self.target.objects);
        for ((object, site), held) in now {
            let site = &mut objects[object].table.sites[site];
            (site.bytes, site.state, site.instruction) = (held.code, held.state, held.code.to_vec());
            site.is_unlinked = false;
        }
        for (number, object) in objects.iter_mut().enumerate() {
            let bias = self.loaded[number].bias;
            object.table.subjects.retain_mut(|subject| {
                let there = resolve(&self.memory, bias, &subject.place, subject.slot);
                let key = there.and_then(|there| self.by_address.get(&there)).map(|&key| &self.keys[key]);
                let on = key.and_then(|key| self.count(&pages, key).ok()).map(|count| count::users(count) > 0);
                match &mut subject.is {
                    Is::Key(was) | Is::Tracepoint(was) => *was = on,
                    _ => return false,
                }
                // Others name it by what declares it.
                if let Some(key) = key {
                    subject.name.clone_from(&key.name);
                }
                true
            });
            object.judge();
        }
        Ok(Target { name: self.target.name, objects })
    }

    /// Whether the same objects are loaded as when they were read. What else is mapped may change.
    pub fn is_same(&self) -> Result<bool, Failure> {
        let maps = objects::mappings(threads::alive(self.pid)?)?;
        Ok(self.loaded.iter().all(|loaded| maps.contains(&loaded.first)) && self.look_at_lists().is_ok())
    }

    pub fn lost(&self, error: &io::Error) -> Failure {
        Failure::OutOfReach(format!("{}: its memory cannot be read: {error}", self.pid))
    }

    /// Addresses of what begins with words that nothing else has, and a version, in data that the program may write.
    pub fn find(&self, magic: [u32; 2], version: u32) -> Vec<u64> {
        let (magic, mut found) = (magic.map(u32::to_le_bytes).concat(), Vec::new());
        for (object, loaded) in self.target.objects.iter().zip(&self.loaded) {
            for (start, data) in object.image.data() {
                let first = (start.wrapping_neg() % 8) as usize;
                for at in (first..data.len().saturating_sub(16)).step_by(8).filter(|&at| data[at..].starts_with(&magic))
                {
                    let address = loaded.bias.wrapping_add(start + at as u64);
                    let head = self.memory.array::<12>(address).unwrap_or_default();
                    if head[..8] == magic && head[8..] == version.to_le_bytes() {
                        found.push(address);
                    }
                }
            }
        }
        found
    }

    /// All keys, with the sites of all objects.
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
        if self.keys.is_empty() {
            return Err(Failure::OutOfReach(format!("{}: no keys", self.pid)));
        }
        self.keys.sort_by(|one, other| one.name.cmp(&other.name));
        self.by_address = self.keys.iter().enumerate().map(|(number, key)| (key.address, number)).collect();
        Ok(())
    }

    /// All objects that the process itself lists must be among those that were read: the rest could have sites of the same keys.
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
                // The next one is the first word of each.
                at = self.memory.pointer(at).map_err(|error| self.lost(&error))?;
            }
        }
        Ok(())
    }

    /// What the library's copies say.
    pub fn locks(&self) -> Result<Locks, Failure> {
        let mut locks = Locks { owner: 0, is_stuck: false, marks: Vec::new(), disagree: false };
        let lost = |error: io::Error| self.lost(&error);
        for &runtime in &self.runtimes {
            let phase = self.memory.word(runtime + PHASE as u64).map_err(lost)?;
            let shared = self.memory.pointer(runtime + SHARED as u64).map_err(lost)?;
            locks.is_stuck |= phase != IDLE && phase != FORCED;
            let (address, marks) = if shared == 0 {
                (runtime + PHASE as u64, [FORCED, phase])
            } else {
                let words = self.memory.pointer(shared).map_err(lost)?;
                let lock = self.memory.word(words + LOCK as u64).map_err(lost)?;
                locks.owner = if lock == 0 { locks.owner } else { lock };
                let address = words + CONSISTENT as u64;
                (address, [0, self.memory.word(address).map_err(lost)?])
            };
            locks.disagree |= marks[0] == marks[1];
            if !locks.marks.iter().any(|&(known, _)| known == address) {
                locks.marks.push((address, marks));
            }
        }
        Ok(locks)
    }

    /// The word of a key, which begins with its count.
    pub fn count(&self, pages: &Pages<'_>, key: &Key) -> Result<i32, Failure> {
        pages.word(key.address).map(u32::cast_signed).map_err(|error| self.lost(&error))
    }

    /// Whether a deferred decrement is due.
    pub fn is_due(&self, pages: &Pages<'_>, key: &Key) -> Result<bool, Failure> {
        pages.word(key.address + 4).map(|flags| flags & DUE != 0).map_err(|error| self.lost(&error))
    }

    pub fn site(&self, (object, site): (usize, usize)) -> &Site {
        &self.target.objects[object].table.sites[site]
    }

    /// What a site holds.
    pub fn held(&self, pages: &Pages<'_>, at: (usize, usize)) -> Result<Held, Failure> {
        let (site, bias) = (self.site(at), self.loaded[at.0].bias);
        let (address, target) = (site.address.wrapping_add(bias), site.target.wrapping_add(bias));
        let mut bytes = [0; 8];
        let bytes = &mut bytes[..site.bytes.len()];
        pages.read(address, bytes).map_err(|error| self.lost(&error))?;
        let code = Code::new(site.kind.number(), bytes);
        Ok(Held { address, target, code, state: Machine::X86_64.decode(site.kind, code, address, target) })
    }

    /// What a site that does something else than its key says does: nothing, if all is well.
    pub fn difference(
        &self,
        pages: &Pages<'_>,
        key: &Key,
        at: (usize, usize),
        on: bool,
    ) -> Result<Option<String>, Failure> {
        let (site, held) = (self.site(at), self.held(pages, at)?);
        let name = &key.name;
        let Some(state) = held.state else {
            return Ok(match site.kind.number() {
                BRANCH | NAKED | SHORT => {
                    Some(format!("{name}: the site at {:#x} holds foreign bytes {:02x?}", held.address, &held.code[..]))
                }
                _ => None, // What the others hold, their own tables say.
            });
        };
        let is_so = goal(site, on).is_none_or(|goal| Machine::X86_64.does(state) == goal)
            || site.loads && Machine::X86_64.does(state) != 0;
        let state = state.name();
        let is = if on { "on" } else { "off" };
        Ok((!is_so).then(|| format!("{name}: the site at {:#x} is `{state}`, and the key is {is}", held.address)))
    }

    /// The keys that a selector chooses, each once.
    pub fn choose(&self, selector: &Selector) -> Result<Vec<usize>, Failure> {
        if let What::Object(glob) = &selector.what {
            let is_in = |key: &Key| self.path(key).is_some_and(|path| glob.matches_end(path, "/"));
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

    /// The object that a key lies in: others have sites of it, and name it, too.
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

/// Where a key is; `None` if nobody has it.
fn resolve(memory: &Memory, bias: u64, place: &Place, slot: Option<(u64, u64)>) -> Option<u64> {
    match (place, slot) {
        (_, Some((slot, offset))) => {
            let there = memory.pointer(slot.wrapping_add(bias)).ok().filter(|&there| there != 0)?;
            Some(there.wrapping_add(offset))
        }
        (Place::Here(address), None) => Some(address.wrapping_add(bias)),
        (Place::Import(..), None) => None,
    }
}

/// What a site does if its key is on or off, as a number; `None` if it is not changed from outside.
pub fn goal(site: &Site, on: bool) -> Option<usize> {
    match site.kind.number() {
        BRANCH | SHORT => Some(usize::from(on != site.arm)),
        NAKED => Some(usize::from(on)),
        _ => None,
    }
}
