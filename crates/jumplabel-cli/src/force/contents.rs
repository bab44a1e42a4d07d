//! Reads the present state of keys and their sites: the counts, and the bytes in memory at the sites.

use jumplabel_format::layout::{BRANCH, LOADING, NAKED, SHORT};
use jumplabel_format::{Code, State};

use super::hooks;
use super::live::{Key, Live};
use super::memory::Pages;
use crate::failure::Failure;
use crate::machine::Machine;
use crate::table::Site;

/// The present contents of a site.
pub struct Contents {
    pub address: u64,
    pub target: u64,
    pub code: Code,
    pub state: Option<State>,
    /// Whether a hook keeps threads from running the site, as in [`Site`].
    pub is_hooked: bool,
}

/// The words for a site that is in none of its states.
pub fn foreign(is_hooked: bool, bytes: &[u8]) -> String {
    match is_hooked {
        true => "is not run: somebody has hooked the function, with a jump in front of the site".to_owned(),
        false => format!("holds foreign bytes {bytes:02x?}"),
    }
}

/// The bit in a key's flags that says that a deferred decrement is due (docs/table-format.md, "Key").
const DUE: u32 = 1 << 1;

impl Live {
    /// The count of a key, which is in the key's first word.
    pub fn count(&self, pages: &Pages<'_>, key: &Key) -> Result<i32, Failure> {
        pages.word(key.address).map(u32::cast_signed).map_err(|error| self.lost(&error))
    }

    /// Whether a deferred decrement of the key is due.
    pub fn is_due(&self, pages: &Pages<'_>, key: &Key) -> Result<bool, Failure> {
        pages.word(key.address + 4).map(|flags| flags & DUE != 0).map_err(|error| self.lost(&error))
    }

    pub fn site(&self, (object, site): (usize, usize)) -> &Site {
        &self.target.objects[object].table.sites[site]
    }

    /// Reads the contents of a site.
    pub fn contents(&self, pages: &Pages<'_>, at: (usize, usize)) -> Result<Contents, Failure> {
        let (site, bias) = (self.site(at), self.loaded[at.0].bias);
        let there = |address: u64| address.wrapping_add(bias);
        // For a site that can load its key, `decode` takes the stub as the target.
        let target = if site.straight.is_some() { site.home } else { site.target };
        let (address, target, straight) = (there(site.address), there(target), site.straight.map(there));
        let mut bytes = [0; 8];
        let bytes = &mut bytes[..site.in_front + site.bytes.len()];
        pages.read(there(site.start()), bytes).map_err(|error| self.lost(&error))?;
        let (front, bytes) = bytes.split_at(site.in_front);
        let code = Code::new(site.kind.number(), bytes);
        let (state, target) = site.decode(Machine::X86_64, code, address, target, straight);
        let object = &self.target.objects[at.0];
        let is_hooked = site.is_foreign(front) || hooks::is_hooked(object, bias, pages, site);
        Ok(Contents { address, target, code, state: state.filter(|_| !is_hooked), is_hooked })
    }

    /// A sentence that says what a site does, if that is not what its key says. `None` if the site does what its key says.
    pub fn difference(
        &self,
        pages: &Pages<'_>,
        key: &Key,
        at: (usize, usize),
        on: bool,
    ) -> Result<Option<String>, Failure> {
        let (site, contents) = (self.site(at), self.contents(pages, at)?);
        let name = &key.name;
        let Some(state) = contents.state else {
            return Ok(match site.kind.number() {
                BRANCH | NAKED | SHORT | LOADING => {
                    let foreign = foreign(contents.is_hooked, &contents.code);
                    Some(format!("{name}: the site at {:#x} {foreign}", contents.address))
                }
                _ => None, // `check` judges sites of other kinds by their tables.
            });
        };
        let is_so =
            action(site, on).is_none_or(|action| Machine::X86_64.action(state) == action) || state == State::LOADS;
        let state = state.name();
        let is = if on { "on" } else { "off" };
        Ok((!is_so).then(|| format!("{name}: the site at {:#x} is `{state}`, and the key is {is}", contents.address)))
    }
}

/// The action, as a number, of a site whose key is on or off. `None` if sites of this kind are not changed from outside.
pub fn action(site: &Site, on: bool) -> Option<usize> {
    match site.kind.number() {
        BRANCH | SHORT | LOADING => Some(usize::from(on != site.arm)),
        NAKED => Some(usize::from(on)),
        _ => None,
    }
}
