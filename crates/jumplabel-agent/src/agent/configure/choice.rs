//! Finds the names of a layer that the items of a request `set` choose.

use std::collections::BTreeMap;

use jumplabel_layer::{Handle, REMOVE};
use jumplabel_selector::{Assignment, Selector, What};

use super::Wanted;
use crate::agent::no_remote;
use crate::agent::refused::{self, Refused};
use crate::subject::Subject;

/// The names that the items choose, each once, with their new values. If several items choose the same name, the last item counts.
pub fn choose(layer: &Handle, all: &[Subject], items: &[Selector]) -> Result<Vec<Wanted>, Refused> {
    let mut chosen: BTreeMap<String, Wanted> = BTreeMap::new();
    for item in items {
        let value = value(layer, item)?;
        let of_layer =
            |subject: &&Subject| subject.said.as_ref().is_some_and(|said| said.layer.prefix() == layer.prefix());
        let mut any = false;
        for subject in all.iter().filter(of_layer) {
            if subject.is(&item.what).map_err(|why| (2, format!("`{item}`: {why}")))? {
                any = true;
                check(layer, &subject.name, value.as_deref())?;
                let Some(said) = &subject.said else { continue };
                let wanted = chosen.entry(subject.name.clone()).or_insert_with(|| Wanted {
                    name: said.name.clone(),
                    value: None,
                    before: said.value.clone(),
                    revision: said.revision,
                    // If keys have this name, the loop below adds up the sites of these keys instead.
                    sites: Some(said.sites).filter(|&sites| sites > 0 && subject.address == 0),
                });
                wanted.value.clone_from(&value);
            }
        }
        if !any {
            let wanted = without_key(layer, all, item, value)?;
            chosen.insert(format!("{}{}", layer.prefix(), wanted.name), wanted);
        }
    }
    // A name stands for the sites of all keys that have it; several keys can have the same name.
    for subject in all.iter().filter(|subject| subject.said.is_some() && subject.address != 0) {
        if let Some(wanted) = chosen.get_mut(&subject.name) {
            *wanted.sites.get_or_insert(0) += subject.sites;
        }
    }
    for name in chosen.keys() {
        let forbids = all.iter().filter(|subject| subject.name == *name).find_map(no_remote::forbids);
        if let Some(forbidden) = forbids.or_else(|| no_remote::forbids_name(name)) {
            return Err((4, forbidden.refuses(name)));
        }
    }
    Ok(chosen.into_values().collect())
}

/// The name that an item chooses if no subject has that name, but the layer takes it ([`Handle::takes`]). An error if the layer does not take it.
fn without_key(layer: &Handle, all: &[Subject], item: &Selector, value: Option<String>) -> Result<Wanted, Refused> {
    let nothing = || (1, refused::nothing(item, &Subject::meant(all, item)));
    let What::Name(glob) = &item.what else { return Err(nothing()) };
    let name = glob.text().strip_prefix(layer.prefix()).unwrap_or_default();
    let takes = if name.contains(['*', '?']) || value.is_none() { None } else { layer.takes(name) };
    let sites = Some(takes.ok_or_else(nothing)?).filter(|&sites| sites > 0);
    check(layer, glob.text(), value.as_deref())?;
    Ok(Wanted { name: name.to_owned(), value, before: None, revision: 0, sites })
}

/// The value that an item sets; `None` if the item removes what is configured.
fn value(layer: &Handle, item: &Selector) -> Result<Option<String>, Refused> {
    match &item.assignment {
        Some(Assignment::Target(value)) if value == REMOVE => Ok(None),
        Some(assignment @ (Assignment::On | Assignment::Off | Assignment::Target(_))) => {
            Ok(Some(assignment.value().to_owned()))
        }
        _ => Err((2, format!("`{item}`: {}", layer.values()))),
    }
}

fn check(layer: &Handle, full_name: &str, value: Option<&str>) -> Result<(), Refused> {
    let name = full_name.strip_prefix(layer.prefix()).unwrap_or(full_name);
    let Some(value) = value else { return Ok(()) };
    layer.check(name, value).map_err(|why| (2, format!("{full_name} cannot be `{value}`: {why}; {}", layer.values())))
}
