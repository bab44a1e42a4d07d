//! `check --repair`: sites that something outside the library has changed, to what the file has or to another state of theirs, do again what
//! their keys say. What is no state of theirs is not touched.

use jumplabel::key::count;
use jumplabel_agent::protocol::{Answer, Verified};
use jumplabel_selector::Selector;

use super::change::Wanted;
use super::live::Live;
use super::memory::Pages;
use super::{How, attempt, chosen, pid};
use crate::failure::Failure;

/// Brings them back, of the keys that the selectors choose; of all, if there is none. Where nothing differs, no thread is stopped.
pub fn verify(target: &str, selectors: &[Selector]) -> Result<Answer, Failure> {
    let pid = pid(target)?;
    let (how, mut sites) = (How { dry_run: false, runs: false }, 0);
    if !strayed(&Live::read(pid)?, selectors)?.is_empty() {
        let (_, plan, _) = attempt(pid, &|live| strayed(live, selectors), how, &mut || ())?;
        sites = plan.sites();
    }
    Ok(Answer { verified: Some(Verified { sites }), ..Answer::new() })
}

/// The keys of which a site differs. Their counts stay.
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
