//! The request `set`, for names that belong to a layer.
//!
//! ```text
//!   mod           the layer that a request is for, and the batch that carries the request out
//!   choice        the names that the items choose, with their new values
//!   configured    the names that the agent has configured, and when it takes each configuration back
//! ```

mod choice;
mod configured;

use std::time::Instant;

use jumplabel_layer::{Handle, REMOVE, Setting};
use jumplabel_selector::{Selector, What};

pub use configured::Configured;

use super::refused::{self, Refused};
use super::reverts;
use crate::layer;
use crate::protocol::{Changed, Done, Peer, item};

/// A name of a layer, and the value that it shall get.
#[derive(Clone)]
pub struct Wanted {
    /// The name without the prefix.
    name: String,
    /// The value that the name shall get. `None` removes the present value.
    value: Option<String>,
    before: Option<String>,
    /// The revision of the present value.
    revision: u64,
    /// The number of sites that the name stands for. `None` if no key has the name, and the layer does not know the number.
    sites: Option<usize>,
}

/// The layer to which all items belong; `None` if all items choose keys. An error if the items are mixed: a request is of keys, or of one layer.
pub fn layer_of(items: &[Selector]) -> Result<Option<&'static Handle>, Refused> {
    let of = |item: &Selector| match &item.what {
        What::Name(glob) => layer::of(glob.text()),
        _ => None,
    };
    let mut layers = items.iter().map(of);
    let first = layers.next().flatten();
    if layers.all(|other| other.map(Handle::prefix) == first.map(Handle::prefix)) {
        return Ok(first);
    }
    let prefixes: Vec<_> = layer::served().map(|layer| format!("{}*", layer.prefix())).collect();
    Err((
        2,
        format!(
            "one flip is of keys, or of names of one layer ({}): set them one after the other",
            prefixes.join(", ")
        ),
    ))
}

/// Answers `set` for names of `layer`: carries out all items or none.
pub fn set(
    layer: &'static Handle,
    items: &[Selector],
    seconds: Option<u32>,
    dry_run: bool,
    by: Peer,
    made: &mut Configured,
) -> Result<Done, Refused> {
    let all = refused::all()?;
    let wanted = choice::choose(layer, &all, items)?;
    let now = Instant::now();
    let due = match seconds.map(|seconds| reverts::due(now, seconds)) {
        Some(None) => return Err((2, "so late a time does not exist: give fewer seconds".to_owned())),
        due => due.flatten(),
    };
    if due.is_some() && !made.has_room(wanted.len()) {
        return Err((4, "too many changes wait to be taken back: set some without `for`".to_owned()));
    }
    let changes: Vec<&Wanted> =
        wanted.iter().filter(|wanted| wanted.value.is_some() || wanted.before.is_some()).collect();
    let settings: Vec<Setting<'_>> = changes.iter().map(|wanted| wanted.setting(None)).collect();
    let mut done = Done { dry_run, ..of(layer, changes.iter().copied()) };
    if settings.is_empty() {
        return Ok(done);
    }
    let configured = layer.configure(&settings, dry_run).map_err(|why| (4, format!("nothing is set: {why}")))?;
    if dry_run {
        return Ok(done);
    }
    (done.pages, done.nanoseconds) = (configured.pages, now.elapsed().as_nanos().try_into().unwrap_or(u64::MAX));
    for wanted in changes {
        made.note(layer, wanted, configured.revision, Some(by), now, due);
    }
    done.reverts_in = seconds.map(u64::from);
    Ok(done)
}

/// Describes the changes of a batch.
fn of<'a>(layer: &Handle, changes: impl Iterator<Item = &'a Wanted> + Clone) -> Done {
    let name = |wanted: &Wanted| format!("{}{}", layer.prefix(), wanted.name);
    let state = |value: &Option<String>| value.clone().unwrap_or_else(|| "off".to_owned());
    let changed = |wanted: &Wanted| Changed {
        key: name(wanted),
        from: state(&wanted.before),
        to: state(&wanted.value),
        sites: wanted.sites.unwrap_or(0),
    };
    let undo = |wanted: &Wanted| {
        let back = wanted.before.as_deref().unwrap_or(REMOVE);
        item(&jumplabel_selector::literal(&name(wanted), &format!("={back}")))
    };
    let note = |wanted: &Wanted| {
        let is_computed = wanted.sites.is_none() && wanted.value.is_some();
        is_computed.then(|| {
            format!("{} is no name in the program's text: it counts where the program computes this name", name(wanted))
        })
    };
    Done {
        undo: changes.clone().map(undo).collect::<Vec<_>>().join(","),
        notes: changes.clone().filter_map(note).collect(),
        changes: changes.map(changed).collect(),
        ..Done::default()
    }
}

impl Wanted {
    fn setting(&self, only_at: Option<u64>) -> Setting<'_> {
        Setting { name: &self.name, value: self.value.as_deref(), only_at }
    }
}
