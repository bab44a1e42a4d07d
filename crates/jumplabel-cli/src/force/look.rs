//! `list` and `check` of a process without an agent: reading stops nobody.

use jumplabel::key::count;
use jumplabel_agent::protocol::{Answer, Declared, Row};
use jumplabel_selector::{Assignment, Selector};

use super::live::Live;
use super::memory::Pages;
use super::{chosen, pid, word_of};
use crate::failure::{DIFFERS, DONE, Failure};

/// `list`.
pub fn list(target: &str, selectors: &[Selector]) -> Result<Answer, Failure> {
    let live = Live::read(pid(target)?)?;
    let (chosen, pages) = (chosen(&live, selectors)?, Pages::of(&live.memory));
    let (mut rows, forbidden) = (Vec::new(), live.forbidden().unwrap_or_default());
    for number in chosen {
        let key = &live.keys[number];
        let users = count::users(live.count(&pages, key)?);
        let mut differing = 0;
        for &site in &key.sites {
            differing += usize::from(live.difference(&pages, key, site, users > 0)?.is_some());
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
            since: None,
            differing,
        });
    }
    Ok(Answer { keys: Some(rows), ..Answer::new() })
}

/// `check`.
pub fn check(target: &str, selectors: &[Selector]) -> Result<Answer, Failure> {
    let live = Live::read(pid(target)?)?;
    let (mut differences, mut status, pages) = (Vec::new(), DONE, Pages::of(&live.memory));
    for key in chosen(&live, selectors)?.into_iter().map(|number| &live.keys[number]) {
        let on = count::users(live.count(&pages, key)?) > 0;
        for &site in &key.sites {
            if let Some(difference) = live.difference(&pages, key, site, on)? {
                status = Failure::Refused(String::new()).code();
                differences.push(difference);
            }
        }
    }
    for selector in selectors {
        let Some(wanted) = &selector.assignment else { continue };
        for number in live.choose(selector)? {
            let key = &live.keys[number];
            let on = count::users(live.count(&pages, key)?) > 0;
            let is_so = match wanted {
                Assignment::On => on,
                Assignment::Off => !on,
                _ => {
                    return Err(Failure::Usage(format!(
                        "{} cannot be `{}`: it is a key, on or off",
                        key.name,
                        wanted.value()
                    )));
                }
            };
            if !is_so {
                differences.push(format!("{} is {}, not {}", key.name, word_of(on), wanted.value()));
                status = status.max(DIFFERS);
            }
        }
    }
    Ok(Answer { status, differences: Some(differences), ..Answer::new() })
}
