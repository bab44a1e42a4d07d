//! A process as a target of commands that read: everything that its tables describe, in the state that its memory has now.
//!
//! ```text
//!   key                     its count
//!   mode                    its number
//!   static call             its target; if that is 0, the default, which the entry of its trampoline names, in any object
//!   alternatives            their key; if it is on, the arm of the last feature that this processor has
//!   site                    its bytes in memory, which are judged like those of a file (`Site::look`)
//! ```

use std::collections::HashMap;

use jumplabel::key::count;
use jumplabel_format::layout::JUMP;

use super::hooks;
use super::live::{Live, resolve};
use super::memory::Pages;
use crate::failure::Failure;
use crate::table::{Is, Now, Site, function_at};
use crate::target::{Object, Target};

/// The facts about subjects that are known only from all objects together.
struct Present<'live> {
    live: &'live Live,
    pages: Pages<'live>,
    /// The declared names of subjects, by address.
    names: HashMap<u64, String>,
    /// The defaults of static calls, by the calls' addresses: the targets that the files give them.
    defaults: HashMap<u64, u64>,
}

/// The present state of a subject, and what decides the contents of its sites.
struct Subject {
    is: Is,
    name: Option<String>,
    now: Now,
    sites: Vec<usize>,
}

impl Live {
    /// The process as a target: its objects, with the present state of keys, static calls, modes and sites.
    pub fn into_target(mut self) -> Result<Target, Failure> {
        let mut objects = std::mem::take(&mut self.target.objects);
        for (object, loaded) in objects.iter_mut().zip(&self.loaded) {
            object.bias = loaded.bias;
        }
        let mut present =
            Present { live: &self, pages: Pages::of(&self.memory), names: HashMap::new(), defaults: HashMap::new() };
        objects.iter().for_each(|object| present.know(object));
        for number in 0..objects.len() {
            let subjects: Result<Vec<_>, _> =
                (0..objects[number].table.subjects.len()).map(|at| present.subject(&objects[number], at)).collect();
            let subjects = subjects?;
            let elsewhere = subjects.iter().filter_map(|one| present.elsewhere(&objects, number, one.is)).collect();
            let object = &mut objects[number];
            object.elsewhere = elsewhere;
            for (at, Subject { is, name, now, sites }) in subjects.into_iter().enumerate() {
                let subject = &mut object.table.subjects[at];
                subject.is = is;
                subject.name = name.unwrap_or_else(|| subject.name.clone());
                for site in sites {
                    present.look(object, site, is, now)?;
                }
            }
            object.judge();
        }
        Ok(Target { name: self.pid.to_string(), objects })
    }
}

impl Present<'_> {
    /// Adds the names and the defaults that an object gives.
    fn know(&mut self, object: &Object) {
        let resolve = |place, slot| resolve(&self.live.memory, object.bias, place, slot);
        for subject in object.table.subjects.iter().filter(|subject| subject.declared.is_some()) {
            if let Some(there) = resolve(&subject.place, subject.slot) {
                self.names.insert(there, subject.name.clone());
            }
        }
        for site in object.table.sites.iter().filter(|site| site.kind.number() == JUMP) {
            if let Some(there) = resolve(&site.place, site.slot) {
                self.defaults.insert(there, function_at(&object.image, site.home).wrapping_add(object.bias));
            }
        }
    }

    /// The present state of a subject of an object. It is unknown if no object in the process has the subject.
    fn subject(&self, object: &Object, number: usize) -> Result<Subject, Failure> {
        let subject = &object.table.subjects[number];
        let mut now = Now { is_live: true, ..Now::default() };
        let there = resolve(&self.live.memory, object.bias, &subject.place, subject.slot);
        let sites = subject.sites.clone();
        let Some(there) = there else {
            let is = match subject.is {
                Is::Key(_) => Is::Key(None),
                Is::Tracepoint(_) => Is::Tracepoint(None),
                Is::Call(_) => Is::Call(None),
                Is::Mode { .. } => Is::Mode { mode: 0, count: 0 },
            };
            return Ok(Subject { is, name: None, now, sites });
        };
        let lost = |error| self.live.lost(&error);
        let is = match subject.is {
            Is::Key(_) | Is::Tracepoint(_) => {
                let on = count::users(self.pages.word(there).map_err(lost)?.cast_signed()) > 0;
                if let Is::Key(_) = subject.is { Is::Key(Some(on)) } else { Is::Tracepoint(Some(on)) }
            }
            Is::Mode { .. } => {
                let [_, mode, count, _] = self.pages.word(there).map_err(lost)?.to_le_bytes();
                now.mode = Some(mode.into());
                Is::Mode { mode, count }
            }
            Is::Call(_) => {
                let pointer = |number: u64| self.pages.pointer(there.wrapping_add(number * 8)).map_err(lost);
                let (slot, target, default) = (pointer(0)?, pointer(1)?, pointer(2)?);
                let of_file = || self.defaults.get(&there).copied();
                let target = [target, default].into_iter().find(|&there| there != 0).or_else(of_file);
                let here = |address: u64| address.wrapping_sub(object.bias);
                now.by_slot = Some(if slot == 0 { 0 } else { here(slot) });
                Is::Call(target.map(|target| function_at(&object.image, here(target))))
            }
        };
        Ok(Subject { is, name: self.names.get(&there).cloned(), now, sites })
    }

    /// The target of a static call and the name of the function there, if the function is in another object.
    fn elsewhere(&self, objects: &[Object], number: usize, is: Is) -> Option<(u64, String)> {
        let Is::Call(Some(target)) = is else { return None };
        let there = target.wrapping_add(objects[number].bias);
        let other = self.live.loaded.iter().position(|loaded| loaded.bounds.contains(&there));
        if other == Some(number) {
            return None;
        }
        let name = other.map(|other| objects[other].function(there.wrapping_sub(objects[other].bias)));
        Some((target, name.unwrap_or_else(|| format!("{there:#x}"))))
    }

    /// Looks at a site whose subject is `is`, with the bytes that the memory has.
    fn look(&self, object: &mut Object, number: usize, is: Is, now: Now) -> Result<(), Failure> {
        let is_hooked = hooks::is_hooked(object, object.bias, &self.pages, &object.table.sites[number]);
        let site = &mut object.table.sites[number];
        let mut bytes = [0; 8];
        let bytes = &mut bytes[..site.in_front + site.bytes.len()];
        self.pages.read(site.start().wrapping_add(object.bias), bytes).map_err(|error| self.live.lost(&error))?;
        let mode =
            if let (Is::Key(Some(on)), true) = (is, site.is_alternative) { Some(feature(site, on)) } else { now.mode };
        site.look(&object.image, bytes, Now { mode, ..now });
        site.is_unlinked = false;
        if is_hooked {
            (site.is_hooked, site.state) = (true, None);
        }
        Ok(())
    }
}

/// The number of the arm that a site of an alternative should hold.
fn feature(site: &Site, on: bool) -> u32 {
    let is_present = |mode: &u32| on && *mode != 0 && jumplabel::alternatives::has_number(*mode);
    site.arms.iter().map(|arm| arm.mode).rfind(is_present).unwrap_or(0)
}
