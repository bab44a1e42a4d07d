//! The layers ([`jumplabel_layer`]) that the program has handed to its agent, and the names that belong to them.
//!
//! ```text
//!   a name such as    key   layer with the prefix                     what the agent lists
//!   fail:save         yes   served, and it reports the name           the key, with the layer's value
//!   fail:computed     no    served, and it reports the name           the name, without a key
//!   fail:other        yes   not served, or it reports no such name    the key; an operator cannot set it
//! ```
//!
//! The layers are in a list that only grows. It is read and extended without a lock, so a process may fork at any time.

use std::fmt;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use jumplabel_layer::Handle;

struct Served {
    next: *const Served,
    layer: &'static Handle,
}

static FIRST: AtomicPtr<Served> = AtomicPtr::new(ptr::null_mut());

/// What a layer reports about one of its names.
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
/// A call takes effect at once, for the life of the process and of its children. You may call this before or after [`start`](crate::start). A second
/// call for the same layer changes nothing. Costs a few words of memory. Do not call this in signal handlers.
///
/// # Errors
/// Another layer has the same prefix already, for example that of another copy of the same crate in a shared library. Then nothing has changed.
pub fn serve(layer: &'static Handle) -> Result<(), ServeError> {
    let mut first = FIRST.load(Ordering::Acquire);
    let element = Box::into_raw(Box::new(Served { next: first, layer }));
    loop {
        if let Some(other) = from(first).find(|other| other.prefix() == layer.prefix()) {
            // SAFETY: the element comes from `Box::into_raw`, and is not in the list, so no other thread accesses it.
            drop(unsafe { Box::from_raw(element) });
            return if ptr::eq(other, layer) { Ok(()) } else { Err(ServeError { prefix: layer.prefix() }) };
        }
        // SAFETY: the element comes from `Box::into_raw`, and is not in the list yet, so no other thread accesses it.
        unsafe { (*element).next = first };
        match FIRST.compare_exchange(first, element, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => return Ok(()),
            Err(other) => first = other,
        }
    }
}

fn from(first: *const Served) -> impl Iterator<Item = &'static Handle> {
    // SAFETY: a pointer in the list is null or leads to an element that was complete before it entered the list, and that is never freed.
    let of = |element: *const Served| unsafe { element.as_ref() };
    std::iter::successors(of(first), move |element: &&Served| of(element.next)).map(|element| element.layer)
}

/// All layers that are served.
pub fn served() -> impl Iterator<Item = &'static Handle> {
    from(FIRST.load(Ordering::Acquire))
}

/// The layer to which a name, or a pattern of names, belongs: the name begins with the layer's prefix.
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

/// The reason why a key of this name cannot be flipped by an operator, as the end of a sentence that begins with the name. `None` if the name belongs
/// to no layer.
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
