//! `check --repair`: mends sites that something outside the library has changed. If such a site holds what the file has, or another of its states, it
//! does again what its key says. A site in none of its states is not touched.

use jumplabel::key::count;
use jumplabel_agent::protocol::{Answer, Verified};
use jumplabel_selector::Selector;

use super::change::Wanted;
use super::live::Live;
use super::memory::Pages;
use super::{How, attempt, chosen, pid};
use crate::failure::Failure;

/// Mends the sites of the keys that the selectors choose, or of all keys. If no site differs, no thread is stopped.
pub fn verify(target: &str, selectors: &[Selector]) -> Result<Answer, Failure> {
    let pid = pid(target)?;
    let (how, mut sites) = (How { dry_run: false, runs: false }, 0);
    if !strayed(&Live::read(pid)?, selectors)?.is_empty() {
        let (_, plan, _) = attempt(pid, &|live| strayed(live, selectors), how, &mut || ())?;
        sites = plan.sites();
    }
    Ok(Answer { verified: Some(Verified { sites }), ..Answer::new() })
}

/// The keys with at least one site that does not do what the key says. `None`: the repair leaves the key's count as it is.
fn strayed(live: &Live, selectors: &[Selector]) -> Result<Vec<Wanted>, Failure> {
    let (mut keys, pages) = (Vec::new(), Pages::of(&live.memory));
    for number in chosen(live, selectors)? {
        let key = &live.keys[number];
        let on = count::users(live.count(&pages, key)?) > 0;
        for &site in &key.sites {
            if live.difference(&pages, key, site, on)?.is_some() {
                keys.push((number, None));
                break;
            }
        }
    }
    Ok(keys)
}
