//! The tables of an object: its keys, static calls and modes, and their sites. docs/table-format.md describes the format.
//!
//! ```text
//!   object_record finds the object's record, which leads to the rest
//!   declaration   names, files and lines
//!   entry         sites
//!   holding       what sites hold
//!   stub          the functions that the linker's stubs lead to
//! ```

mod declaration;
mod entry;
mod holding;
mod object_record;
mod stub;

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::rc::Rc;

pub use entry::{Arm, COPIED, Place, Site};
#[cfg(target_os = "linux")]
pub use holding::Now;
pub use object_record::find;
pub use stub::function_at;

use crate::failure::Failure;
use crate::image::Image;
use declaration::Declaration;
use jumplabel::format;
use jumplabel_agent::tracepoints;

/// The tables of one object.
#[derive(Default)]
pub struct Table {
    /// The subjects, ordered by their names.
    pub subjects: Vec<Subject>,
    pub sites: Vec<Site>,
    /// The numbers of the sites, ordered by where the sites start.
    by_start: Vec<usize>,
    /// A sentence for each damaged thing.
    pub damage: Vec<String>,
    /// The number of sentences at the beginning of `damage` that come from reading the tables. The sentences after them are about what sites hold.
    read: usize,
}

/// A subject: a key, call or mode to which sites belong.
pub struct Subject {
    pub name: String,
    pub declared: Option<Rc<Declared>>,
    pub is: Is,
    /// The subject's place.
    pub place: Place,
    /// If `place` comes from a slot: the slot's address, and the distance of `place` from the address that the loader puts into the slot.
    pub slot: Option<(u64, u64)>,
    /// The numbers of the subject's sites.
    pub sites: Vec<usize>,
}

/// The position of a declaration in the source.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize)]
pub struct Declared {
    pub file: String,
    pub line: u32,
    pub column: u32,
}

/// The kind of a subject, with its state: in a file, at the start of the program; in a process, now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Is {
    /// A key: on or off. `None` for the key of another object, because its state is not known.
    Key(Option<bool>),
    /// The key of a tracepoint, which is on if the tracepoint has probes.
    Tracepoint(Option<bool>),
    /// A static call, with the function that it leads to.
    Call(Option<u64>),
    /// A mode: its number, and how many modes there are.
    Mode { mode: u8, count: u8 },
}

/// The most bytes of a site, including those in front of it.
#[cfg(target_os = "linux")]
const LONGEST: u64 = 16;

/// The most subjects. A hostile file could claim billions in a few bytes.
const SUBJECTS: usize = 1 << 20;

impl Table {
    /// Reads the tables. An object without tables has empty ones. Fails only if nothing of the tables can be used.
    pub fn read(image: &Image) -> Result<Table, Failure> {
        let mut table = Table::default();
        let Some(bounds) = object_record::find(image)? else { return Ok(table) };
        let mut here: HashMap<Place, Vec<usize>> = HashMap::new();
        let mut declarations = Vec::new();
        let mut known = HashSet::new();
        for record in bounds.keys {
            match Declaration::read(image, record) {
                // An `inline` key of C++ has a record for each file that sees the declaration.
                Ok(declaration) if !known.insert(declaration.identity()) => {}
                Ok(declaration) => declarations.push(declaration),
                Err(why) => table.damage.push(format!("the record of a key at {record:#x} {why}")),
            }
        }
        let calls = declarations.iter().filter(|one| one.is_call);
        let calls: HashSet<_> = calls.map(|one| one.object.clone()).collect();
        for declaration in &declarations {
            let is_tracepoint = !declaration.is_call && calls.contains(&declaration.object);
            for (name, place, offset) in declaration.elements() {
                if table.subjects.len() == SUBJECTS {
                    return Err(Failure::Refused(format!("damaged: more than {SUBJECTS} keys")));
                }
                let default = Some(declaration.default);
                let is = match () {
                    () if declaration.is_call => Is::Call(None),
                    () if declaration.is_mode => Is::mode(image, &place),
                    () if is_tracepoint => Is::Tracepoint(default),
                    () => Is::Key(default),
                };
                here.entry(place.clone()).or_default().push(table.subjects.len());
                let declared = Some(Rc::clone(&declaration.declared));
                let slot = declaration.slot.map(|slot| (slot, offset));
                table.subjects.push(Subject { name, declared, is, place, slot, sites: Vec::new() });
            }
        }
        table.read_entries(image, &bounds.table, here);
        table.by_start = (0..table.sites.len()).collect();
        table.by_start.sort_by_key(|&site| table.sites[site].start());
        // The sort is stable, so that the elements of an array keep their order: 9 before 10.
        table.subjects.sort_by(|a, b| a.stem().cmp(b.stem()));
        table.read = table.damage.len();
        table.judge(image);
        Ok(table)
    }

    fn read_entries(&mut self, image: &Image, entries: &object_record::Entries, mut here: HashMap<Place, Vec<usize>>) {
        for (number, entry) in entries.clone().enumerate() {
            let looked = Site::read(image, entry, entries.bounds()).and_then(|site| {
                let Some(mut site) = site else { return Ok(None) };
                site.look_at_file(image).map(|()| Some(site))
            });
            let site = match looked {
                Ok(Some(site)) => site,
                Ok(None) => continue,
                Err(why) => {
                    self.damage.push(format!("entry {number} of the table, at {entry:#x}, {why}"));
                    continue;
                }
            };
            let subjects = here.entry(site.place.clone()).or_insert_with(|| {
                self.subjects.push(Subject::undeclared(image, &site));
                vec![self.subjects.len() - 1]
            });
            for &subject in subjects.iter() {
                let subject = &mut self.subjects[subject];
                subject.sites.push(self.sites.len());
                if let (format::JUMP, Is::Call(target)) = (site.kind.number(), &mut subject.is) {
                    *target = Some(function_at(image, site.target));
                }
            }
            self.sites.push(site);
        }
    }

    /// Whether a site covers the byte at `address`.
    #[cfg(target_os = "linux")]
    pub fn has_site_at(&self, address: u64) -> bool {
        let behind = self.by_start.partition_point(|&site| self.sites[site].start() <= address);
        let sites = self.by_start[..behind].iter().rev().map(|&site| &self.sites[site]);
        let mut near = sites.take_while(|site| address - site.start() < LONGEST);
        near.any(|site| address < site.address.saturating_add(site.bytes.len() as u64))
    }

    /// Sentences about what is wrong with the tables themselves, and not with what sites hold.
    #[cfg(target_os = "linux")]
    pub fn unreadable(&self) -> &[String] {
        &self.damage[..self.read]
    }

    /// Finds the sites that do not do what their subject says, and adds sentences about them to `damage`. A second call replaces these sentences.
    pub fn judge(&mut self, image: &Image) {
        self.damage.truncate(self.read);
        for subject in &self.subjects {
            let differ =
                subject.sites.iter().filter(|&&site| self.sites[site].agrees(image, subject.is) == Some(false));
            let (differ, of) = (differ.count(), subject.sites.len());
            if differ > 0 {
                let how = if differ == 1 { "differs" } else { "differ" };
                let sites = if of == 1 { "site" } else { "sites" };
                self.damage.push(format!("{}: {differ} of {of} {sites} {how} from the table", subject.name));
            }
        }
    }
}

impl Is {
    /// Reads the mode at a place (docs/table-format.md, "Mode").
    fn mode(image: &Image, place: &Place) -> Is {
        let bytes = if let Place::Here(address) = place { image.array::<8>(*address) } else { None };
        bytes.map_or(Is::Mode { mode: 0, count: 0 }, |[_, mode, count, ..]| Is::Mode { mode, count })
    }
}

impl Subject {
    /// The word for the subject's kind.
    pub fn kind(&self) -> &'static str {
        match self.is {
            Is::Key(_) => "key",
            Is::Tracepoint(_) => "tracepoint",
            Is::Call(_) => "call",
            Is::Mode { .. } => "mode",
        }
    }

    /// The facts that decide whether the subject belongs to a tracepoint.
    pub fn row(&self) -> tracepoints::Row<'_> {
        let place = self.declared.as_ref().map_or(("", 0, 0), |at| (&*at.file, at.line, at.column));
        tracepoints::Row { name: &self.name, kind: self.kind(), place }
    }

    /// The subject's name. For an element of an array, the name of the array.
    fn stem(&self) -> &str {
        self.name.split_once('[').map_or(&*self.name, |(stem, _)| stem)
    }

    /// Makes the subject of a site whose key, call or mode has no record, such as a key of C or a mode that nobody sets. Its name is that of its
    /// symbol, or, in a stripped file, its address.
    fn undeclared(image: &Image, site: &Site) -> Subject {
        let name = match &site.place {
            Place::Here(address) => image.symbols().place(*address).unwrap_or_else(|| format!("{address:#x}")),
            Place::Import(name, 0) => name.clone(),
            Place::Import(name, offset) => format!("{name}+{offset:#x}"),
        };
        let is = match site.kind.number() {
            format::JUMP | format::CALL_SITE => Is::Call(None),
            format::SWITCH | format::OP if !site.is_alternative => Is::mode(image, &site.place),
            _ => {
                let flags =
                    if let Place::Here(address) = site.place { image.word(address.wrapping_add(4)) } else { None };
                Is::Key(flags.map(|flags| flags & 1 != 0).or_else(|| site.emitted_default(image)))
            }
        };
        Subject { name, declared: None, is, place: site.place.clone(), slot: site.slot, sites: Vec::new() }
    }
}

/// The addresses of adjacent records, each of which has `bytes` bytes.
fn rows(range: Range<u64>, bytes: usize) -> std::iter::StepBy<Range<u64>> {
    range.step_by(bytes)
}
