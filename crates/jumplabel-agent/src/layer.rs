//! The layers ([`jumplabel_layer`]) that the program has handed to its agent, and the names that belong to them.
//!
//! ```text
//!   fail:save     a key, and `fail:` is the prefix of a layer that was served      what the layer says of the name
//!   fail:computed no key; the layer has something configured for it                a subject of its own
//!   fail:other    a key, and no layer was served, or it does not know the name     nobody can set it
//! ```
//!
//! The layers are in a list that only grows. Reading it takes no lock, so a process may fork meanwhile.

use std::fmt;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use jumplabel_layer::Handle;

struct Served {
    next: *const Served,
    layer: &'static Handle,
}

static FIRST: AtomicPtr<Served> = AtomicPtr::new(ptr::null_mut());

/// A layer's report of one of its names.
pub struct Said {
    pub layer: &'static Handle,
    /// The name without the prefix.
    pub name: String,
    pub value: Option<String>,
    pub revision: u64,
    pub note: String,
    pub sites: usize,
}

/// The error of [`serve`]: another layer has the prefix already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServeError {
    prefix: &'static str,
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ServeError { prefix } = self;
        write!(
            f,
            "names that begin with `{prefix}` belong to another layer already: a process serves one copy of a crate that has them"
        )
    }
}

impl std::error::Error for ServeError {}

/// Lets agents of this process list and configure the names of a layer: `serve(jumplabel_fail::layer())`.
///
/// This takes effect at once, and never ends. You may call it before or after [`start`](crate::start). Children of a fork have the layer, too. A
/// second call for the same layer changes nothing. Costs a few words of memory. Not for signal handlers.
///
/// # Errors
/// Another layer has the prefix already. It may be the layer of another copy of the same crate, in a shared library. Then nothing has changed.
pub fn serve(layer: &'static Handle) -> Result<(), ServeError> {
    let mut first = FIRST.load(Ordering::Acquire);
    let element = Box::into_raw(Box::new(Served { next: first, layer }));
    loop {
        if let Some(other) = from(first).find(|other| other.prefix() == layer.prefix()) {
            // SAFETY: the element is not in the list, so nobody else has seen it.
            drop(unsafe { Box::from_raw(element) });
            return if ptr::eq(other, layer) { Ok(()) } else { Err(ServeError { prefix: layer.prefix() }) };
        }
        // SAFETY: the element is not in the list yet, so nobody else has seen it.
        unsafe { (*element).next = first };
        match FIRST.compare_exchange(first, element, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => return Ok(()),
            Err(other) => first = other,
        }
    }
}

fn from(first: *const Served) -> impl Iterator<Item = &'static Handle> {
    // SAFETY: elements are complete before they enter the list, and are never freed.
    let of = |element: *const Served| unsafe { element.as_ref() };
    std::iter::successors(of(first), move |element: &&Served| of(element.next)).map(|element| element.layer)
}

/// All layers that are served.
pub fn served() -> impl Iterator<Item = &'static Handle> {
    from(FIRST.load(Ordering::Acquire))
}

/// The layer with whose prefix a name, or a pattern of names, begins.
pub fn of(name: &str) -> Option<&'static Handle> {
    served().find(|layer| name.starts_with(layer.prefix()))
}

/// The reports of all layers.
pub fn all_said() -> Vec<Said> {
    let mut all = Vec::new();
    for layer in served() {
        layer.entries(|entry| {
            all.push(Said {
                layer,
                name: entry.name.to_owned(),
                value: entry.value.map(str::to_owned),
                revision: entry.revision,
                note: entry.note.to_owned(),
                sites: entry.sites,
            });
        });
    }
    all
}

/// Why a key of this name cannot be flipped, as the end of a sentence that begins with the name. `None` if the name is not one of a layer.
pub fn forbids(name: &str) -> Option<String> {
    if let Some(layer) = of(name) {
        let (kind, values, prefix) = (layer.kind(), layer.values(), layer.prefix());
        return Some(format!(
            "is {kind}, which does nothing until it is configured: choose it by names that begin with {prefix}, and {values}"
        ));
    }
    jumplabel_layer::reserved(name).map(|what| {
        format!("is {what}, which does nothing until it is configured: have the program serve its layer to the agent (jumplabel_agent::serve)")
    })
}

impl Said {
    /// The name with the prefix.
    pub fn full_name(&self) -> String {
        format!("{}{}", self.layer.prefix(), self.name)
    }
}
