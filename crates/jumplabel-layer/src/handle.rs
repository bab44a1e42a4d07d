//! [`Handle`]: a layer as functions and texts in C's format, so that an agent of another build of this crate can use it.
//!
//! ```text
//!   agent                        layer, perhaps of another build
//!     entries(visit) ───────────► for each: visit(data, RawEntry)
//!     configure(settings) ──────► Layer::configure; says (data, why) if it is refused
//!     records(tell) ────────────► for each: tell(data, name, record)
//! ```
//!
//! Neither side frees memory of the other: a text that is passed in a call is only borrowed until the call returns.

use std::ffi::c_void;

use crate::{Done, Entry, Layer, Setting};

/// The version of the structures below.
const VERSION: u32 = 2;

/// A text in C's format. It is valid for the length of the call that passes it; the texts in a [`Handle`] live as long as the program. A null address
/// stands for no text.
#[repr(C)]
#[derive(Clone, Copy)]
struct Text {
    at: *const u8,
    length: usize,
}

#[repr(C)]
struct RawEntry {
    name: Text,
    value: Text,
    revision: u64,
    note: Text,
    sites: usize,
}

#[repr(C)]
struct RawSetting {
    name: Text,
    value: Text,
    is_conditional: bool,
    only_at: u64,
}

/// A function that receives a text. `data` is the pointer that came with the function.
type Say = extern "C" fn(data: *mut c_void, text: Text);
type Visit = extern "C" fn(data: *mut c_void, entry: *const RawEntry);
type Tell = extern "C" fn(data: *mut c_void, name: Text, record: Text);

/// A [`Layer`] as an agent gets it. The agent may come from another build of this crate.
#[repr(C)]
pub struct Handle {
    version: u32,
    prefix: Text,
    kind: Text,
    values: Text,
    entries: extern "C" fn(Visit, *mut c_void),
    takes: extern "C" fn(Text, *mut usize) -> bool,
    check: extern "C" fn(Text, Text, Say, *mut c_void) -> bool,
    configure: extern "C" fn(*const RawSetting, usize, bool, Say, *mut c_void, *mut u64, *mut usize) -> bool,
    follow: extern "C" fn(*const Text, usize, u32, Say, *mut c_void) -> bool,
    records: extern "C" fn(Tell, *mut c_void) -> u64,
    covers: extern "C" fn(Text, Text) -> bool,
}

// SAFETY: the texts and functions live as long as the program, and nobody changes them.
unsafe impl Sync for Handle {}

impl Text {
    const fn of(text: &str) -> Text {
        Text { at: text.as_ptr(), length: text.len() }
    }

    fn optional(text: Option<&str>) -> Text {
        text.map_or(Text { at: std::ptr::null(), length: 0 }, Text::of)
    }

    /// The text; `None` if there is no text.
    ///
    /// # Safety
    /// The address is null, or `of` made this value of a text that lives as long as `'a`.
    unsafe fn get<'a>(self) -> Option<&'a str> {
        // SAFETY: `at` is not null. So the caller guarantees that `of` made this value of a `&str` that lives as long as `'a`: its bytes are UTF-8.
        (!self.at.is_null())
            .then(|| unsafe { std::str::from_utf8_unchecked(std::slice::from_raw_parts(self.at, self.length)) })
    }

    /// The text; empty if there is no text.
    ///
    /// # Safety
    /// The conditions of [`get`](Self::get).
    unsafe fn or_empty<'a>(self) -> &'a str {
        // SAFETY: the caller guarantees that the address is null, or that `of` made this value of a text that lives as long as `'a`.
        unsafe { self.get() }.unwrap_or_default()
    }
}

impl Handle {
    /// The handle of a layer.
    #[must_use]
    pub const fn of<L: Layer>() -> Handle {
        let [prefix, kind, values] = [Text::of(L::PREFIX), Text::of(L::KIND), Text::of(L::VALUES)];
        let (entries, takes, check, configure) = (entries::<L>, takes::<L>, check::<L>, configure::<L>);
        let (follow, records, covers) = (follow::<L>, records::<L>, covers::<L>);
        Handle { version: VERSION, prefix, kind, values, entries, takes, check, configure, follow, records, covers }
    }

    /// A handle that comes from C. `None` if it is null, or has a version that this build does not know.
    ///
    /// # Safety
    /// `handle` is null or comes from [`Handle::of`] in any build of this crate, and it lives as long as the program.
    #[must_use]
    pub unsafe fn from_c(handle: *const c_void) -> Option<&'static Handle> {
        // SAFETY: the caller passes null or a handle of some version. All versions begin with their number.
        let version = unsafe { handle.cast::<u32>().as_ref() }?;
        // SAFETY: a handle of this version has the layout of `Handle`. The caller guarantees that it lives as long as the program.
        (*version == VERSION).then(|| unsafe { &*handle.cast() })
    }

    /// The layer's [`Layer::PREFIX`].
    #[must_use]
    pub fn prefix(&self) -> &'static str {
        // SAFETY: `Handle::of` made this text of a `&'static str`.
        unsafe { self.prefix.or_empty() }
    }

    /// The layer's [`Layer::KIND`].
    #[must_use]
    pub fn kind(&self) -> &'static str {
        // SAFETY: `Handle::of` made this text of a `&'static str`.
        unsafe { self.kind.or_empty() }
    }

    /// The layer's [`Layer::VALUES`].
    #[must_use]
    pub fn values(&self) -> &'static str {
        // SAFETY: `Handle::of` made this text of a `&'static str`.
        unsafe { self.values.or_empty() }
    }

    /// Calls the layer's [`Layer::entries`].
    pub fn entries(&self, mut visit: impl FnMut(Entry<'_>)) {
        extern "C" fn visited(data: *mut c_void, entry: *const RawEntry) {
            // SAFETY: `data` is the pointer to `visit` that the call below passes, and only this function uses `visit` during that call. The layer
            // passes an entry that lives as long as this call.
            let (visit, entry) = unsafe { (&mut *data.cast::<&mut dyn FnMut(Entry<'_>)>(), &*entry) };
            // SAFETY: the layer passes texts that live as long as this call.
            let (name, value, note) = unsafe { (entry.name.or_empty(), entry.value.get(), entry.note.or_empty()) };
            visit(Entry { name, value, revision: entry.revision, note, sites: entry.sites });
        }
        let mut visit: &mut dyn FnMut(Entry<'_>) = &mut visit;
        (self.entries)(visited, (&raw mut visit).cast());
    }

    /// Calls the layer's [`Layer::takes`].
    #[must_use]
    pub fn takes(&self, name: &str) -> Option<usize> {
        let mut sites = 0;
        (self.takes)(Text::of(name), &raw mut sites).then_some(sites)
    }

    /// Calls the layer's [`Layer::check`].
    ///
    /// # Errors
    /// Those of the layer's function.
    pub fn check(&self, name: &str, value: &str) -> Result<(), String> {
        let mut why = String::new();
        let is_one = (self.check)(Text::of(name), Text::of(value), said, (&raw mut why).cast());
        if is_one { Ok(()) } else { Err(why) }
    }

    /// Calls the layer's [`Layer::configure`].
    ///
    /// # Errors
    /// Those of the layer's function.
    pub fn configure(&self, settings: &[Setting<'_>], dry_run: bool) -> Result<Done, String> {
        let raw = |setting: &Setting<'_>| RawSetting {
            name: Text::of(setting.name),
            value: Text::optional(setting.value),
            is_conditional: setting.only_at.is_some(),
            only_at: setting.only_at.unwrap_or(0),
        };
        let raw: Vec<RawSetting> = settings.iter().map(raw).collect();
        let (mut why, mut done) = (String::new(), Done::default());
        let (to, revision, pages) = ((&raw mut why).cast(), &raw mut done.revision, &raw mut done.pages);
        let is_done = (self.configure)(raw.as_ptr(), raw.len(), dry_run, said, to, revision, pages);
        if is_done { Ok(done) } else { Err(why) }
    }

    /// Calls the layer's [`Layer::follow`].
    ///
    /// # Errors
    /// Those of the layer's function.
    pub fn follow(&self, names: &[&str], per_second: u32) -> Result<(), String> {
        let raw: Vec<Text> = names.iter().copied().map(Text::of).collect();
        let mut why = String::new();
        let is_done = (self.follow)(raw.as_ptr(), raw.len(), per_second, said, (&raw mut why).cast());
        if is_done { Ok(()) } else { Err(why) }
    }

    /// Calls the layer's [`Layer::records`].
    pub fn records(&self, mut visit: impl FnMut(&str, &str)) -> u64 {
        extern "C" fn told(data: *mut c_void, name: Text, record: Text) {
            // SAFETY: `data` is the pointer to `visit` that the call below passes, and only this function uses `visit` during that call. The layer's
            // texts live as long as this call.
            let (visit, name, record) =
                unsafe { (&mut *data.cast::<&mut dyn FnMut(&str, &str)>(), name.or_empty(), record.or_empty()) };
            visit(name, record);
        }
        let mut visit: &mut dyn FnMut(&str, &str) = &mut visit;
        (self.records)(told, (&raw mut visit).cast())
    }

    /// Calls the layer's [`Layer::covers`].
    #[must_use]
    pub fn covers(&self, chosen: &str, name: &str) -> bool {
        (self.covers)(Text::of(chosen), Text::of(name))
    }
}

/// Receives the reason of a refusal from a layer, and appends it to the `String` at `data`.
extern "C" fn said(data: *mut c_void, text: Text) {
    // SAFETY: the functions of `Handle` pass this function with a pointer to a `String` of their own. The layer's text lives as long as this call.
    let (why, text) = unsafe { (&mut *data.cast::<String>(), text.or_empty()) };
    why.push_str(text);
}

/// Returns the value of `result`. If it is an error, calls `say` with the reason, and returns `None`.
fn tell<T>(result: Result<T, String>, say: Say, data: *mut c_void) -> Option<T> {
    result.map_err(|why| say(data, Text::of(&why))).ok()
}

extern "C" fn entries<L: Layer>(visit: Visit, data: *mut c_void) {
    L::entries(&mut |Entry { name, value, revision, note, sites }| {
        let (name, value, note) = (Text::of(name), Text::optional(value), Text::of(note));
        let raw = RawEntry { name, value, revision, note, sites };
        visit(data, &raw);
    });
}

extern "C" fn takes<L: Layer>(name: Text, to: *mut usize) -> bool {
    // SAFETY: the agent passes a text that lives as long as this call.
    let Some(sites) = L::takes(unsafe { name.or_empty() }) else { return false };
    // SAFETY: the agent passes a valid pointer to a number of its own.
    unsafe { *to = sites };
    true
}

extern "C" fn check<L: Layer>(name: Text, value: Text, say: Say, data: *mut c_void) -> bool {
    // SAFETY: the agent passes texts that live as long as this call.
    let (name, value) = unsafe { (name.or_empty(), value.or_empty()) };
    tell(L::check(name, value), say, data).is_some()
}

extern "C" fn configure<L: Layer>(
    settings: *const RawSetting,
    count: usize,
    dry_run: bool,
    say: Say,
    data: *mut c_void,
    revision: *mut u64,
    pages: *mut usize,
) -> bool {
    // SAFETY: the agent passes an array of `count` elements, which lives as long as this call.
    let raw = if count == 0 { &[][..] } else { unsafe { std::slice::from_raw_parts(settings, count) } };
    let setting = |raw: &RawSetting| {
        // SAFETY: the agent passes texts that live as long as this call.
        let (name, value) = unsafe { (raw.name.or_empty(), raw.value.get()) };
        Setting { name, value, only_at: raw.is_conditional.then_some(raw.only_at) }
    };
    let settings: Vec<Setting<'_>> = raw.iter().map(setting).collect();
    let Some(done) = tell(L::configure(&settings, dry_run), say, data) else { return false };
    // SAFETY: the agent passes valid pointers to two numbers of its own.
    unsafe {
        *revision = done.revision;
        *pages = done.pages;
    }
    true
}

extern "C" fn follow<L: Layer>(names: *const Text, count: usize, per_second: u32, say: Say, data: *mut c_void) -> bool {
    // SAFETY: the agent passes an array of `count` elements, which lives as long as this call.
    let raw = if count == 0 { &[][..] } else { unsafe { std::slice::from_raw_parts(names, count) } };
    // SAFETY: the agent passes texts that live as long as this call.
    let names: Vec<&str> = raw.iter().map(|name| unsafe { name.or_empty() }).collect();
    tell(L::follow(&names, per_second), say, data).is_some()
}

extern "C" fn records<L: Layer>(tell: Tell, data: *mut c_void) -> u64 {
    L::records(&mut |name, record| tell(data, Text::of(name), Text::of(record)))
}

extern "C" fn covers<L: Layer>(chosen: Text, name: Text) -> bool {
    // SAFETY: the agent passes texts that live as long as this call.
    let (chosen, name) = unsafe { (chosen.or_empty(), name.or_empty()) };
    L::covers(chosen, name)
}

#[cfg(test)]
mod tests;
