//! What the agent must not change: a list of selectors that only grows. It is read and extended without a lock, so a process may fork at any time.

use std::sync::atomic::Ordering;

use jumplabel_selector::{Selector, What};

use super::StartError;
use crate::outside::{Forbidden, OUTSIDE, Text};
use crate::subject::Subject;

/// Forbids changes of everything that these selectors and those of `startup!` choose. An agent calls this when it starts, because all keys of the
/// program are known by then.
pub fn forbid(selectors: &[(String, Option<String>)]) -> Result<(), StartError> {
    let mut declared = OUTSIDE.declared().iter().map(|text| text.get());
    declared.try_for_each(no_remote)?;
    selectors.iter().try_for_each(|(selector, reason)| forbid_one(selector, reason.as_deref()))
}

/// Forbids the agent to change anything that this selector chooses: `auth.*`, `file:src/license.rs`. The selector has no value. Use this for keys
/// that guard a permission. If a request `set` would change such a key, the agent refuses the whole request; `list` shows which keys these are.
///
/// The ban takes effect at once, and never ends. You may call this before or after [`start`](crate::start). The ban also holds in children of a fork,
/// and for objects that are loaded later. It binds the agent, and `jumplabel set --force`, which reads the list in the process's memory. It does not
/// bind the user who starts the program with the variable `JUMPLABEL`, nor the program itself.
///
/// # Errors
/// [`StartError::NoRemote`] if the selector makes no sense or chooses nothing now: otherwise nobody would notice a misspelt selector, which protects
/// nothing. If a key is in an object that is loaded later, call this after that object is loaded.
pub fn no_remote(selector: &str) -> Result<(), StartError> {
    forbid_one(selector, None)
}

/// Forbids changes as [`no_remote`] does, and gives a reason. An operator who tries to change such a key sees the reason. If there are several
/// reasons for a key, the operator sees the last one.
///
/// ```
/// # jumplabel::static_key! { #[key(name = "auth.strict")] static STRICT: true; }
/// jumplabel_agent::no_remote_because("auth.*", "the audit demands a restart")?;
/// # Ok::<(), jumplabel_agent::StartError>(())
/// ```
///
/// ```text
/// auth.strict: the program lets nobody change it from outside (`auth.*`: the audit demands a restart): nothing is set
/// ```
///
/// # Errors
/// Those of [`no_remote`].
pub fn no_remote_because(selector: &str, reason: &str) -> Result<(), StartError> {
    forbid_one(selector, Some(reason))
}

fn forbid_one(selector: &str, reason: Option<&str>) -> Result<(), StartError> {
    // `each` begins with the newest element, which counts if a selector is in the list twice.
    let known = each().find(|element| element.text.get() == selector);
    if known.is_some_and(|element| reason.is_none() || element.reason == reason) {
        return Ok(());
    }
    let refused = |why: String| StartError::NoRemote { selector: selector.to_owned(), why };
    let Selector { what, assignment } = selector.parse().map_err(refused)?;
    if let Some(assignment) = assignment {
        return Err(refused(format!("leave out what it is to be: {}", assignment.value())));
    }
    let all = Subject::all().map_err(|error| refused(error.to_string()))?;
    let chosen: Result<Vec<bool>, _> = all.iter().map(|subject| subject.is(&what)).collect();
    if !chosen.map_err(|why| refused(why.to_owned()))?.contains(&true) {
        return Err(refused("nothing matches, so that it would protect nothing".to_owned()));
    }
    let mut first = OUTSIDE.forbidden.load(Ordering::Acquire);
    let text = Text::new(String::leak(selector.to_owned()));
    let reason = reason.map(|reason| &*String::leak(reason.to_owned()));
    let element = Box::into_raw(Box::new(Forbidden { next: first, text, what, reason }));
    while let Err(other) = OUTSIDE.forbidden.compare_exchange(first, element, Ordering::AcqRel, Ordering::Acquire) {
        first = other;
        // SAFETY: the element is not in the list yet, so no other thread accesses it.
        unsafe { (*element).next = first };
    }
    Ok(())
}

/// All elements of the list, the newest first.
fn each() -> impl Iterator<Item = &'static Forbidden> {
    // SAFETY: a pointer in the list is null or leads to an element that was complete before it entered the list, and that is never freed.
    let of = |element: *const Forbidden| unsafe { element.as_ref() };
    std::iter::successors(of(OUTSIDE.forbidden.load(Ordering::Acquire)), move |element| of(element.next))
}

impl Forbidden {
    /// The message for an operator who tries to change the key or the name `name`.
    pub fn refuses(&self, name: &str) -> String {
        format!("{name}: the program lets nobody change it from outside ({}): nothing is set", self.why())
    }

    /// The selector, with the reason if the program has given one.
    pub fn why(&self) -> String {
        let reason = self.reason.map(|reason| format!(": {reason}")).unwrap_or_default();
        format!("`{}`{reason}", self.text.get())
    }
}

/// The element that forbids a change of the subject, if there is one.
pub fn forbids(subject: &Subject) -> Option<&'static Forbidden> {
    // `is` gives no error here: `forbid_one` has refused selectors (`fn:`) that this process cannot compare with subjects.
    first(|what| subject.is(what).unwrap_or(true))
}

/// The element that forbids configuring a name without a key, if there is one.
pub fn forbids_name(name: &str) -> Option<&'static Forbidden> {
    first(|what| matches!(what, What::Name(glob) if glob.matches(name)))
}

/// Of the elements whose selector fits: the newest one with a reason or, if none has a reason, the newest one.
fn first(is_it: impl Fn(&What) -> bool) -> Option<&'static Forbidden> {
    let mut those = each().filter(|element| is_it(&element.what));
    let newest = those.next()?;
    if newest.reason.is_some() { Some(newest) } else { those.find(|element| element.reason.is_some()).or(Some(newest)) }
}
