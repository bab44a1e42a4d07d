//! Clients that follow names of layers: each client gets the records of the events at its names.
//!
//! ```text
//!   trace trace:h2::*      the names that match now ─► Layer::follow with the names that all clients follow, in one batch
//!   20 times a second      Layer::records ─► each record to the clients that follow its name
//!   a client goes          Layer::follow with the names that the other clients follow
//! ```
//!
//! A client that does not keep up with reading loses records. When it reads again, the agent tells it how many.

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

/// The time between two reads of the layers' records.
const PERIOD: Duration = Duration::from_millis(50);
/// The limit of records in a second for a client that sets none.
const PER_SECOND: u32 = 10_000;
/// The largest number of bytes of records in one answer, unless the first record alone is longer. Together with [`Client::reads`], this bounds the
/// bytes that wait for a client that does not read.
const PART: usize = 32 << 10;
/// The time after which the agent calls the layers' `follow` again if one of them has refused.
const AGAIN: Duration = Duration::from_secs(1);

/// The names that all clients together follow.
#[derive(Default)]
pub struct Followers {
    /// The layers that follow something now.
    active: Vec<&'static Handle>,
    /// The clients that followed something when the layers were last told.
    who: Vec<Peer>,
    /// The next time to take records.
    next: Option<Instant>,
    /// The next time to tell the layers what all clients follow, if one of them has refused.
    again: Option<Instant>,
}

impl Followers {
    /// The next time to take records, or to tell layers again what is followed.
    pub fn next(&self) -> Option<Instant> {
        [self.next, self.again].into_iter().flatten().min()
    }

    /// True if it is time to tell layers again what is followed.
    fn is_due_again(&self) -> bool {
        self.again.is_some_and(|again| again <= Instant::now())
    }

    /// Answers `trace`: client number `at` follows the names that the items choose, and no longer the names that it followed before.
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

    /// Lets a client follow the names that the items choose. Returns the number of these names.
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
            // The client goes on following its earlier names. If a layer refuses that, `end` tries again later.
            let _ = self.update(clients);
            return Err((4, why));
        }
        Ok(count)
    }

    /// Stops following the names that only departed clients followed. Returns the events to log.
    pub fn end(&mut self, clients: &[Client]) -> Vec<Event> {
        let mut gone = self.who.clone();
        for peer in of(clients).map(|(peer, _)| peer) {
            if let Some(at) = gone.iter().position(|other| *other == peer) {
                gone.swap_remove(at);
            }
        }
        if gone.is_empty() && !self.is_due_again() {
            return Vec::new();
        }
        let failed = self.update(clients).err();
        let ended = gone.into_iter().map(|by| Event::Followed { by, what: None });
        ended.chain(failed.map(|why| Event::Trouble(format!("what nobody follows is still noted: {why}")))).collect()
    }

    /// Tells each layer which of its names the clients follow, all clients together. Returns the first error, if there is one.
    fn update(&mut self, clients: &[Client]) -> Result<(), String> {
        self.who = of(clients).map(|(peer, _)| peer).collect();
        let per_second = of(clients).map(|(_, follows)| follows.per_second).max().unwrap_or(0);
        let mut result = Ok(());
        for layer in layer::served() {
            let all = of(clients).flat_map(|(_, follows)| &follows.names);
            let names: BTreeSet<&str> = all.filter(|name| is_same(name.layer, layer)).map(|name| &*name.name).collect();
            let was_active = self.active.iter().any(|active| is_same(active, layer));
            if names.is_empty() && !was_active {
                continue;
            }
            let told = layer.follow(&Vec::from_iter(names.iter().copied()), per_second);
            let is_active = !names.is_empty() || told.is_err();
            result = result.and(told);
            self.active.retain(|active| !is_same(active, layer));
            self.active.extend(is_active.then_some(layer));
        }
        let now = Instant::now();
        self.next = (!self.active.is_empty()).then(|| now + PERIOD);
        self.again = result.is_err().then(|| now + AGAIN);
        result
    }

    /// Takes the layers' new records and sends them to the clients, if it is time for that.
    pub fn tell(&mut self, clients: &mut [Client]) {
        if self.next.is_none_or(|next| next > Instant::now()) {
            return;
        }
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
        clients.iter_mut().for_each(tell);
        // The period begins at the end. Otherwise, if this took longer than the period, the agent would do it without a pause.
        self.next = Some(Instant::now() + PERIOD);
    }
}

/// Sends a client its records as long as it keeps up with reading. The rest is lost.
fn tell(client: &mut Client) {
    let Some(follows) = client.follows.as_mut() else { return };
    let (records, mut lost) = (std::mem::take(&mut follows.records), std::mem::take(&mut follows.lost));
    let mut records = records.into_iter().peekable();
    while client.reads() && (records.peek().is_some() || lost > 0) {
        let mut bytes = 0;
        let part = std::iter::from_fn(|| {
            records
                .next_if(|record| bytes == 0 || bytes + record.get().len() <= PART)
                .inspect(|record| bytes += record.get().len())
        });
        let traced = Traced { records: part.collect(), lost: std::mem::take(&mut lost) };
        client.answer(&Answer { traced: Some(traced), ..Answer::new() });
    }
    if let Some(follows) = client.follows.as_mut() {
        follows.lost += lost + records.count() as u64;
    }
}

fn of(clients: &[Client]) -> impl Iterator<Item = (Peer, &Follows)> {
    clients.iter().filter_map(|client| client.follows.as_ref().map(|follows| (client.peer, follows)))
}
