//! Asks the processes of a host for the states of the keys that wishes name.

use std::collections::BTreeMap;

use jumplabel_agent::protocol::Request;

use super::Wish;
use super::member::{Member, side_by_side};
use super::report::Host;

/// The most failures that a report describes.
const FAILED: usize = 10;

/// Asks each process that is not late, counts the answers, and makes the host's report.
pub fn take(members: &[Member], wishes: &BTreeMap<String, Wish>, revision: i64) -> Host {
    let mut host = Host { version: 1, revision, ..Host::default() };
    let (late, here): (Vec<&Member>, Vec<&Member>) = members.iter().partition(|member| member.is_late());
    let answers = side_by_side(&here, |member| {
        let of = wishes.values().filter(|wish| wish.is_for(&member.name));
        let selectors: Vec<_> = of.filter_map(|wish| wish.selector.parse().ok()).collect();
        let request = if selectors.is_empty() { Request::Hello } else { Request::List(selectors) };
        move |worker| worker.ask(&request)
    });
    for (member, answer) in here.iter().zip(answers) {
        match answer {
            Some(Ok(answer)) => {
                for row in answer.keys.into_iter().flatten() {
                    *host.keys.entry(row.key).or_default().entry(row.state).or_default() += 1;
                }
            }
            Some(Err(_)) if member.state().is_gone => continue,
            Some(Err(failure)) => host.failed.push(format!("{}: {failure}", member.id())),
            None => host.failed.push(format!("{} does not answer", member.id())),
        }
        host.failed.extend(member.state().failed.values().map(|why| format!("{}: {why}", member.id())));
    }
    host.failed.extend(late.iter().map(|member| format!("{} does not answer", member.id())));
    host.late = members.iter().filter(|member| member.is_late()).count();
    host.failed.truncate(FAILED);
    host.processes = members.iter().filter(|member| !member.state().is_gone).count();
    host
}
