//! Clients that follow what happens at names of layers.
//!
//! ```text
//!   trace trace:h2::*      the names that match now ─► Layer::follow: what all clients follow, in one batch
//!   20 times a second      Layer::records ─► to each client that follows the record's name
//!   a client goes          Layer::follow: what is left
//! ```
//!
//! A client that does not read is told how many records it has lost.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use jumplabel_layer::Handle;
use jumplabel_selector::Selector;
use serde_json::value::RawValue;

use super::clients::{Client, Clients};
use super::event::Event;
use super::follows::{Follows, is_same};
use super::refused::Refused;
use crate::layer;
use crate::protocol::{Answer, Peer, Traced};

/// How often records are taken.
const PERIOD: Duration = Duration::from_millis(50);
/// So many records in a second, if nobody says how many.
const PER_SECOND: u32 = 10_000;

/// What all of them follow together.
#[derive(Default)]
pub struct Followers {
    /// Layers that were told to follow something.
    active: Vec<&'static Handle>,
    /// Who they are.
    who: Vec<Peer>,
    next: Option<Instant>,
}

impl Followers {
    /// When records are to be taken.
    pub fn next(&self) -> Option<Instant> {
        self.next
    }

    /// `trace`: the client follows some names, and no more what it followed before.
    pub fn answer(
        &mut self,
        clients: &mut Clients,
        at: usize,
        items: &[Selector],
        per_second: Option<u32>,
        event: &mut Option<Event>,
    ) -> Result<Answer, Refused> {
        if !clients.may_watch() {
            return Err((3, "too many clients watch already".to_owned()));
        }
        let by = clients.all[at].peer;
        let added = self.add(&mut clients.all, at, items, per_second);
        let what = || items.iter().map(Selector::to_string).collect::<Vec<_>>().join(",");
        *event = match &added {
            Ok(_) => Some(Event::Followed { by, what: Some(what()) }),
            Err((4, why)) => Some(Event::Refused { by, why: why.clone() }),
            Err(_) => None,
        };
        Ok(Answer { follows: Some(added?), ..Answer::new() })
    }

    /// How many names there are.
    fn add(
        &mut self,
        clients: &mut [Client],
        at: usize,
        items: &[Selector],
        per_second: Option<u32>,
    ) -> Result<usize, Refused> {
        let follows = Follows::chosen(items, per_second.unwrap_or(PER_SECOND))?;
        let count = follows.names.len();
        let before = clients[at].follows.replace(follows);
        if let Err(why) = self.update(clients) {
            clients[at].follows = before;
            // It was so before.
            let _ = self.update(clients);
            return Err((4, why));
        }
        Ok(count)
    }

    /// Ends what only clients followed that are not among these any more. What there is to log.
    pub fn end(&mut self, clients: &[Client]) -> Vec<Event> {
        let mut gone = self.who.clone();
        for peer in of(clients).map(|(peer, _)| peer) {
            if let Some(at) = gone.iter().position(|other| *other == peer) {
                gone.swap_remove(at);
            }
        }
        if gone.is_empty() {
            return Vec::new();
        }
        let failed = self.update(clients).err();
        let ended = gone.into_iter().map(|by| Event::Followed { by, what: None });
        ended.chain(failed.map(|why| Event::Trouble(format!("what nobody follows is still noted: {why}")))).collect()
    }

    /// Tells layers what all clients follow.
    fn update(&mut self, clients: &[Client]) -> Result<(), String> {
        self.who = of(clients).map(|(peer, _)| peer).collect();
        let per_second = of(clients).map(|(_, follows)| follows.per_second).max().unwrap_or(0);
        for layer in layer::served() {
            let all = of(clients).flat_map(|(_, follows)| &follows.names);
            let names: BTreeSet<&str> = all.filter(|name| is_same(name.layer, layer)).map(|name| &*name.name).collect();
            let was_active = self.active.iter().any(|active| is_same(active, layer));
            if !names.is_empty() || was_active {
                layer.follow(&Vec::from_iter(names.iter().copied()), per_second)?;
            }
            self.active.retain(|active| !is_same(active, layer));
            self.active.extend((!names.is_empty()).then_some(layer));
        }
        self.next = (!self.active.is_empty()).then(|| Instant::now() + PERIOD);
        Ok(())
    }

    /// Takes the records that there are, and tells them, if it is time.
    pub fn tell(&mut self, clients: &mut [Client]) {
        let now = Instant::now();
        if self.next.is_none_or(|next| next > now) {
            return;
        }
        self.next = Some(now + PERIOD);
        for &layer in &self.active {
            let lost = layer.records(|name, record| {
                for follows in clients.iter_mut().filter_map(|client| client.follows.as_mut()) {
                    if follows.includes(layer, name) {
                        follows.records.extend(RawValue::from_string(record.to_owned()));
                    }
                }
            });
            clients.iter_mut().filter_map(|client| client.follows.as_mut()).for_each(|follows| follows.lost += lost);
        }
        for client in clients {
            let reads = client.reads();
            let Some(follows) = client.follows.as_mut() else { continue };
            let records = std::mem::take(&mut follows.records);
            if !reads {
                follows.lost += records.len() as u64;
            } else if !records.is_empty() || follows.lost > 0 {
                let traced = Traced { records, lost: std::mem::take(&mut follows.lost) };
                client.answer(&Answer { traced: Some(traced), ..Answer::new() });
            }
        }
    }
}

fn of(clients: &[Client]) -> impl Iterator<Item = (Peer, &Follows)> {
    clients.iter().filter_map(|client| client.follows.as_ref().map(|follows| (client.peer, follows)))
}
