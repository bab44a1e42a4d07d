//! The names of layers that one client follows.

use std::collections::HashMap;

use jumplabel_layer::Handle;
use jumplabel_selector::{Selector, What};
use serde_json::value::RawValue;

use super::no_remote;
use super::refused::{self, Refused};
use crate::layer;
use crate::subject::Subject;

/// The names that a client follows, and the records that wait to be sent to the client.
pub struct Follows {
    pub names: Vec<Name>,
    pub per_second: u32,
    /// For a layer's prefix and a name, whether the client follows that name. Only names that have had records are in this map.
    known: HashMap<(&'static str, String), bool>,
    /// The records that are to be sent to the client.
    pub records: Vec<Box<RawValue>>,
    pub lost: u64,
}

/// A layer's name, without the prefix.
pub struct Name {
    pub layer: &'static Handle,
    pub name: String,
}

impl Follows {
    /// The names that the items choose, to be followed by a client with at most `per_second` records in a second.
    pub fn chosen(items: &[Selector], per_second: u32) -> Result<Follows, Refused> {
        let names = chosen(&refused::all()?, items)?;
        Ok(Follows { names, per_second, known: HashMap::new(), records: Vec::new(), lost: 0 })
    }

    pub fn includes(&mut self, layer: &'static Handle, name: &str) -> bool {
        let key = (layer.prefix(), name.to_owned());
        let names = &self.names;
        *self.known.entry(key).or_insert_with(|| {
            names.iter().any(|chosen| is_same(chosen.layer, layer) && layer.covers(&chosen.name, name))
        })
    }
}

pub fn is_same(one: &Handle, other: &Handle) -> bool {
    std::ptr::eq(one, other)
}

/// The names that the items choose.
fn chosen(all: &[Subject], items: &[Selector]) -> Result<Vec<Name>, Refused> {
    let mut names = Vec::new();
    for item in items {
        let before = names.len();
        let mut other = None;
        for subject in all {
            if subject.is(&item.what).map_err(|why| (2, format!("`{item}`: {why}")))? {
                match &subject.said {
                    Some(said) => names.push(Name { layer: said.layer, name: said.name.clone() }),
                    None => other = Some(subject),
                }
            }
        }
        if names.len() > before {
            continue;
        }
        if let Some(subject) = other {
            let (name, what) = (&subject.name, subject.word());
            let why = "a key has no events; callsites have, if the program serves them (jumplabel_tracing::layer)";
            return Err((2, format!("`{item}`: {name} is a {what}: {why}")));
        }
        let name = without_key(item).ok_or_else(|| (1, refused::nothing(item, &Subject::meant(all, item))))?;
        names.push(name);
    }
    for Name { layer, name } in &names {
        let name = format!("{}{name}", layer.prefix());
        if let Some(forbidden) = no_remote::forbids_name(&name) {
            let why = forbidden.why();
            return Err((4, format!("{name}: the program lets nobody follow it from outside ({why})")));
        }
    }
    Ok(names)
}

/// The name that an item chooses if no subject has that name, but a layer takes it, for example a module. `None` if no layer takes it.
fn without_key(item: &Selector) -> Option<Name> {
    let What::Name(glob) = &item.what else { return None };
    let layer = layer::of(glob.text())?;
    let name = glob.text().strip_prefix(layer.prefix())?;
    let is_one = !name.contains(['*', '?']) && layer.takes(name).is_some();
    is_one.then(|| Name { layer, name: name.to_owned() })
}
