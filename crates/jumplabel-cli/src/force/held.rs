//! What keys and their sites are now: counts, and what is in memory where the sites are.

use jumplabel::arch::{Code, State};
use jumplabel::format::{BRANCH, NAKED, SHORT};
use jumplabel::key::count;

use super::live::{Key, Live, resolve};
use super::memory::Pages;
use crate::failure::Failure;
use crate::machine::Machine;
use crate::table::{Is, Site};
use crate::target::Target;

/// What a site holds now.
pub struct Held {
    pub address: u64,
    pub target: u64,
    pub code: Code,
    pub state: Option<State>,
}

/// Bits of a key's flags: a deferred decrement is due (docs/table-format.md, "Key").
const DUE: u32 = 1 << 1;

impl Live {
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
}

/// What a site does if its key is on or off, as a number; `None` if it is not changed from outside.
pub fn goal(site: &Site, on: bool) -> Option<usize> {
    match site.kind.number() {
        BRANCH | SHORT => Some(usize::from(on != site.arm)),
        NAKED => Some(usize::from(on)),
        _ => None,
    }
}
