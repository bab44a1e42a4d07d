//! The names of layers that the agent has configured, and when the agent takes each configuration back.
//!
//! ```text
//!   set fail:a=return for 30        pending: in 30 s, fail:a gets back the value that it had, or none
//!   set fail:a=panic for 60         pending: in 60 s, fail:a gets back the value that it had before the first of these requests
//!   set fail:a=panic                nothing is pending
//! ```
//!
//! Each batch of a layer has a revision. If the program itself configures a name, the name gets another revision, and the agent leaves it alone. If
//! the layer refuses to take a configuration back although nobody else has configured the name, the configuration stays pending, and the agent tries
//! again every second.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use jumplabel_layer::{Handle, Setting};

use super::Wanted;
use crate::agent::reverts::AGAIN;
use crate::layer;
use crate::protocol::{Done, Peer, Since};
use crate::subject::Subject;

/// The largest number of names that the agent remembers.
const MOST: usize = 4096;

/// The agent's last configuration of a name.
struct Made {
    when: Instant,
    by: Option<Peer>,
    revision: u64,
    pending: Option<Pending>,
}

#[derive(Clone)]
struct Pending {
    due: Instant,
    /// The value that the name gets back; `None` if it had no value.
    back: Option<String>,
    /// Why the last try was refused; `None` if there was no try yet.
    refused: Option<String>,
}

/// The agent's last configurations, by the names with their prefixes.
#[derive(Default)]
pub struct Configured(BTreeMap<String, Made>);

impl Configured {
    /// True if the agent can remember `count` more configurations.
    pub fn has_room(&self, count: usize) -> bool {
        self.0.len() + count <= MOST
    }

    /// Notes a configuration. The agent takes it back at the time `due`, or never if `due` is `None`.
    pub fn note(
        &mut self,
        layer: &Handle,
        wanted: &Wanted,
        revision: u64,
        by: Option<Peer>,
        when: Instant,
        due: Option<Instant>,
    ) {
        let full_name = format!("{}{}", layer.prefix(), wanted.name);
        let earlier = self.0.remove(&full_name).filter(|made| made.revision == wanted.revision);
        let back = earlier.and_then(|made| made.pending).map_or_else(|| wanted.before.clone(), |pending| pending.back);
        let pending = due.map(|due| Pending { due, back, refused: None });
        let revision = if wanted.value.is_some() { revision } else { 0 };
        // A name whose configuration is removed for good need not be remembered.
        if (pending.is_some() || wanted.value.is_some()) && self.0.len() < MOST {
            self.0.insert(full_name, Made { when, by, revision, pending });
        }
    }

    fn of(&self, subject: &Subject) -> Option<&Made> {
        let said = subject.said.as_ref()?;
        self.0.get(&subject.name).filter(|made| made.revision == said.revision)
    }

    /// When the agent set the subject's present value, and who asked for that. `None` if the agent did not set it.
    pub fn since(&self, subject: &Subject, now: Instant) -> Option<Since> {
        let made = self.of(subject)?;
        Some(Since { seconds: now.saturating_duration_since(made.when).as_secs(), by: made.by })
    }

    /// The number of seconds until the agent takes back the subject's present value. `None` if the agent does not take it back.
    pub fn seconds_left(&self, subject: &Subject, now: Instant) -> Option<u64> {
        let due = self.of(subject)?.pending.as_ref()?.due;
        Some(due.saturating_duration_since(now).as_millis().div_ceil(1000) as u64)
    }

    /// The time at which the agent takes back the next configuration. `None` if nothing is pending.
    pub fn next(&self) -> Option<Instant> {
        self.0.values().filter_map(|made| made.pending.as_ref()).map(|pending| pending.due).min()
    }

    /// Lets the agent take back nothing before `until`. Called if the agent could not list the subjects, so that it does not know which names there
    /// are.
    pub fn postpone(&mut self, until: Instant) {
        let pending = self.0.values_mut().filter_map(|made| made.pending.as_mut());
        pending.for_each(|pending| pending.due = pending.due.max(until));
    }

    /// Takes back the configurations that are due: all names of a layer in one batch or, if the layer refuses the batch, each name by itself. Those
    /// that the layer refuses are due again after a pause. Returns what was done, and the names whose configurations stay, each with the reason. A name
    /// is left out if the last try had the same reason.
    pub fn carry_out(&mut self, all: &[Subject], now: Instant, pause: Duration) -> (Vec<Done>, Vec<(String, String)>) {
        let is_due = |made: &Made| made.pending.as_ref().is_some_and(|pending| pending.due <= now);
        let names: Vec<String> = self.0.iter().filter(|(_, made)| is_due(made)).map(|(name, _)| name.clone()).collect();
        let mut due: BTreeMap<String, Made> = names.into_iter().filter_map(|name| self.0.remove_entry(&name)).collect();
        let (mut done, mut refused, mut kept) = (Vec::new(), Vec::new(), Vec::new());
        for layer in layer::served() {
            let back = |(name, made): (&String, &Made)| {
                let own = name.strip_prefix(layer.prefix())?.to_owned();
                let before = said_of(all, name).find_map(|subject| subject.said.as_ref()?.value.clone());
                let sites = Some(said_of(all, name).map(|subject| subject.sites).sum());
                let value = made.pending.clone()?.back;
                Some(Wanted { name: own, value, before, revision: made.revision, sites })
            };
            let back: Vec<Wanted> = due.iter().filter_map(back).collect();
            self.together(layer, &back, now, &mut done, &mut refused);
        }
        for (name, why) in refused {
            let revision = said_of(all, &name).find_map(|subject| Some(subject.said.as_ref()?.revision)).unwrap_or(0);
            match due.remove(&name) {
                Some(Made { when, by, revision: own, pending: Some(Pending { back, refused: told, .. }) })
                    if own == revision =>
                {
                    if told.as_ref() != Some(&why) {
                        kept.push((name.clone(), format!("{why}; {AGAIN}")));
                    }
                    let pending = Some(Pending { due: Instant::now() + pause, back, refused: Some(why) });
                    self.0.insert(name, Made { when, by, revision, pending });
                }
                _ => kept.push((name, why)),
            }
        }
        (done, kept)
    }

    fn together(
        &mut self,
        layer: &'static Handle,
        back: &[Wanted],
        now: Instant,
        done: &mut Vec<Done>,
        refused: &mut Vec<(String, String)>,
    ) {
        let settings: Vec<Setting<'_>> = back.iter().map(|wanted| wanted.setting(Some(wanted.revision))).collect();
        let start = Instant::now();
        match layer.configure(&settings, false) {
            _ if back.is_empty() => {}
            Ok(configured) => {
                for wanted in back {
                    self.note(layer, wanted, configured.revision, None, now, None);
                }
                let nanoseconds = start.elapsed().as_nanos().try_into().unwrap_or(u64::MAX);
                done.push(Done {
                    pages: configured.pages,
                    nanoseconds,
                    undo: String::new(),
                    notes: Vec::new(),
                    ..super::of(layer, back.iter())
                });
            }
            Err(why) if back.len() == 1 => refused.push((format!("{}{}", layer.prefix(), back[0].name), why)),
            Err(_) => back.chunks(1).for_each(|one| self.together(layer, one, now, done, refused)),
        }
    }
}

/// The subjects that have this name, with its prefix, and that a layer has reported.
fn said_of<'all>(all: &'all [Subject], name: &str) -> impl Iterator<Item = &'all Subject> {
    all.iter().filter(move |subject| subject.name == name && subject.said.is_some())
}
