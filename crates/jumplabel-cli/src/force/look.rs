//! `list` and `check` of a process without an agent. They only read the process's memory, so they stop no thread.

use std::collections::HashSet;

use jumplabel::key::count;
use jumplabel_agent::protocol::{Answer, Declared, Row};
use jumplabel_format::State;
use jumplabel_selector::Selector;

use super::contents::foreign;
use super::live::Live;
use super::memory::Pages;
use super::{chosen, pid, word_of};
use crate::failure::{DIFFERS, DONE, Failure};
use crate::selection::{self, Chosen};
use crate::table::Is;
use crate::target::{Object, Target};

/// `list`: the keys that the selectors choose.
pub fn list(target: &str, selectors: &[Selector]) -> Result<Answer, Failure> {
    let live = Live::read(pid(target)?)?;
    live.is_readable()?;
    if live.keys.is_empty() {
        let what = "no keys, but static calls or modes, of which its agent has a list, or the file";
        return Err(Failure::OutOfReach(format!("{}: {what}", live.pid)));
    }
    let (chosen, pages) = (chosen(&live, selectors)?, Pages::of(&live.memory));
    let (mut rows, forbidden) = (Vec::new(), live.forbidden().unwrap_or_default());
    for number in chosen {
        let key = &live.keys[number];
        let users = count::users(live.count(&pages, key)?);
        let (mut differing, mut loading) = (0, 0);
        for &site in &key.sites {
            differing += usize::from(live.difference(&pages, key, site, users > 0)?.is_some());
            loading += usize::from(live.contents(&pages, site)?.state == Some(State::LOADS));
        }
        let at = key.declared.as_ref();
        let declared = Declared {
            file: at.map_or_else(String::new, |at| at.file.clone()),
            line: at.map_or(0, |at| at.line),
            column: at.map_or(0, |at| at.column),
        };
        rows.push(Row {
            key: key.name.clone(),
            kind: if key.is_tracepoint { "tracepoint" } else { "key" }.to_owned(),
            state: word_of(users > 0).to_owned(),
            count: Some(users),
            sites: key.sites.len(),
            declared,
            no_remote: forbidden.iter().any(|&(key, _)| key == number),
            reverts_in: None,
            probes: None,
            note: None,
            since: None,
            differing,
            loading,
        });
    }
    Ok(Answer { keys: Some(rows), ..Answer::new() })
}

/// `check`: compares keys, static calls and modes with the selectors' values, and reports damage in their tables.
pub fn check(target: &str, selectors: &[Selector]) -> Result<Answer, Failure> {
    let target = super::target(target)?;
    let unreadable = |object: &Object| {
        object.table.unreadable().iter().map(|why| format!("{}: {why}", object.path)).collect::<Vec<_>>()
    };
    let mut sentences: Vec<_> = target.objects.iter().flat_map(unreadable).collect();
    if selectors.is_empty() {
        sentences.extend(differences(&target));
    }
    let chosen: Vec<_> = selectors.iter().map(|selector| (selector, selection::by(&target, selector))).collect();
    for (selector, chosen) in &chosen {
        if chosen.is_empty() {
            return Err(Failure::Nothing(selection::nothing(&target, selector)));
        }
        chosen.iter().for_each(|one| differing(one, &mut sentences));
    }
    let mut status = if sentences.is_empty() { DONE } else { Failure::Refused(String::new()).code() };
    for (wanted, chosen) in chosen.iter().filter_map(|(selector, chosen)| Some((selector.assignment.as_ref()?, chosen)))
    {
        for one in chosen {
            if let Some(complaint) = one.complaint(wanted)? {
                sentences.push(complaint);
                status = status.max(DIFFERS);
            }
        }
    }
    // Several selectors may choose the same subject.
    once(&mut sentences);
    Ok(Answer { status, differences: Some(sentences), ..Answer::new() })
}

/// A sentence for each site of a process that does something else than its subject says.
pub fn differences(target: &Target) -> Vec<String> {
    let mut sentences = Vec::new();
    selection::every(target).iter().for_each(|one| differing(one, &mut sentences));
    once(&mut sentences);
    sentences
}

/// Removes repeated sentences. Several objects may know of one subject.
fn once(sentences: &mut Vec<String>) {
    let mut known = HashSet::new();
    sentences.retain(|sentence| known.insert(sentence.clone()));
}

/// Adds a sentence for each site of one subject that does something else than the subject says.
fn differing(one: &Chosen<'_>, sentences: &mut Vec<String>) {
    let (object, subject) = (one.object, one.subject);
    let sites = one.sites.iter().map(|&(_, site)| &object.table.sites[site]);
    for site in sites.filter(|site| site.agrees(&object.image, subject.is) == Some(false)) {
        let place = format!("{}: the site at {:#x}", subject.name, site.address.wrapping_add(object.bias));
        let Some(state) = site.state else {
            sentences.push(format!("{place} {}", foreign(site.is_hooked, &site.bytes)));
            continue;
        };
        let to = match (subject.is, site.holds) {
            (Is::Call(_), _) => format!(" to {}", object.function(site.target)),
            (Is::Mode { .. }, Some(mode)) => format!(" of {mode}"),
            _ => String::new(),
        };
        let kind = if let Is::Tracepoint(_) = subject.is { "key" } else { subject.kind() };
        sentences.push(format!("{place} is `{}`{to}, and the {kind} is {}", state.name(), subject.state(object)));
    }
}
