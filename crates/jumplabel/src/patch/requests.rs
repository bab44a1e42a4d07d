//! The requests of a transaction, each with its effect on the sites.

use super::Request;
use super::patchable::{Effect, Patchable};
use crate::error::Error;
use crate::platform::notices::Notices;
use crate::platform::{Held, Objects, Visibility};
use crate::sort::sort_unstable_by;

/// A request in a transaction. (A [`Request`] has only the caller's data, because a list of them can be on the stack.)
#[derive(Clone, Copy)]
pub(super) struct PendingRequest<'a> {
    pub(super) patchable: &'a dyn Patchable,
    change: usize,
    pub(super) effect: Effect,
    /// The place of the request in the caller's list.
    order: u32,
}

impl<'a> PendingRequest<'a> {
    /// A request whose change has not begun.
    pub(super) const fn new(Request { patchable, change }: Request<'a>, order: u32) -> PendingRequest<'a> {
        PendingRequest { patchable, change, effect: Effect::None, order }
    }

    /// Begins the change, and records the effect of the change on the sites.
    pub(super) fn begin(&mut self, held: &Held<Objects>) -> Result<(), Error> {
        self.effect = self.patchable.begin(self.change, held)?;
        Ok(())
    }

    /// Shows the new setting to threads that execute a site in the middle of its change: [`Patchable::expose`]. Called before the sites are written.
    pub(super) fn expose(&self) {
        if let Effect::New(setting) | Effect::Same(setting) = self.effect {
            self.patchable.expose(setting);
        }
    }

    /// Publishes the request. Called after the sites were patched. `visibility` says when other threads see the new bytes; `None` if that is not
    /// known.
    #[inline(never)]
    pub(super) fn publish(&mut self, visibility: Option<Visibility>) {
        match visibility {
            Some(Visibility::Immediate) => self.patchable.set_eventual(false),
            Some(Visibility::Eventual) if matches!(self.effect, Effect::Same(_) | Effect::New(_)) => {
                self.patchable.set_eventual(true);
            }
            _ => {}
        }
        let new = if let Effect::New(setting) = self.effect { Some(setting) } else { None };
        self.patchable.publish(self.change, new);
        self.add_user_if(Effect::Joins);
    }

    /// Takes back the change, if it has begun. Called when the sites are as they were.
    #[inline(never)]
    pub(super) fn abandon(&mut self) {
        self.patchable.abandon();
        self.add_user_if(Effect::Left);
    }

    /// Counts one user more if the change has this effect. A second call does nothing.
    #[inline(never)]
    fn add_user_if(&mut self, effect: Effect) {
        if self.effect == effect {
            self.patchable.add_user();
            self.effect = Effect::None;
        }
    }
}

/// Adds a notice for each key and mode that has changed. Called after the requests were published.
#[cold]
#[inline(never)]
pub(super) fn add_notices(requests: &[PendingRequest<'_>], notices: &mut Notices) {
    for request in requests {
        if let Effect::New(setting) = request.effect {
            notices.add(request.patchable.notice_number(), setting);
        }
    }
}

/// If several requests are for one patchable, keeps only the last of them. Returns the number of kept requests. Afterwards, these are the first ones
/// in `requests`, in the order of the patchables' addresses.
pub(super) fn last_wins(requests: &mut [PendingRequest<'_>]) -> usize {
    if requests.len() < 2 {
        return requests.len();
    }
    // Two requests are for the same patchable if the address is the same, even if the types of the two references differ.
    let address = |request: &PendingRequest<'_>| core::ptr::from_ref(request.patchable).cast::<u8>();
    sort_unstable_by(requests, |a, b| (address(a), a.order) < (address(b), b.order));
    // The last request for a patchable replaces those before it.
    let mut kept: usize = 0;
    for at in 0..requests.len() {
        let Some(&request) = requests.get(at) else { break };
        let before = kept.checked_sub(1).filter(|&last| requests.get(last).map(address) == Some(address(&request)));
        let place = before.unwrap_or(kept);
        if let Some(there) = requests.get_mut(place) {
            *there = request;
            kept = place + 1;
        }
    }
    kept
}
