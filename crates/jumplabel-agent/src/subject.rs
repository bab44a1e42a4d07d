//! Subjects: what selectors choose. A subject is a key, a static call, a mode, or a name of a layer.

use std::collections::HashMap;
#[cfg(not(windows))]
use std::ffi::{CStr, c_void};
use std::rc::Rc;

use jumplabel::{CallInfo, Error, KeyInfo, ModeInfo, TracepointInfo};
use jumplabel_selector::{Selector, What};

use crate::layer::{self, Said};
use crate::tracepoints::{self, Part, Row};

/// A key, a static call, a mode, or a name of a layer.
pub struct Subject {
    /// The name as lists show it.
    pub name: String,
    pub file: &'static str,
    pub line: u32,
    pub column: u32,
    pub sites: usize,
    pub address: usize,
    pub kind: Kind,
    /// For a key, whether it is on and stays on. False if it is on only until a deferred dec is due.
    pub is_held: bool,
    /// Whether the state was set only for a time, and the program has asked for no state since then.
    pub is_lent: bool,
    /// What the subject's layer reports about its name; `None` if no layer reports the name.
    pub said: Option<Rc<Said>>,
}

/// The kind of a subject, with its state.
pub enum Kind {
    Key(KeyInfo),
    /// A static call, with the function to which it leads.
    Call(String),
    Mode(ModeInfo),
    /// A name of a layer that no key has.
    Name,
}

impl Subject {
    fn of_key(info: KeyInfo) -> Subject {
        let KeyInfo { file, line, column, sites, key, .. } = info;
        let (name, address, is_held, is_lent) = (info.to_string(), key.address(), key.is_held(), key.is_lent());
        Subject { name, file, line, column, sites, address, kind: Kind::Key(info), is_held, is_lent, said: None }
    }

    fn of_call(info: CallInfo) -> Subject {
        let CallInfo { file, line, column, sites, call, .. } = info;
        let target = info.target.map_or("default".to_owned(), |address| {
            info.symbol().map_or_else(|| format!("{address:#x}"), |name| name.to_string_lossy().into_owned())
        });
        let (name, address) = (info.path.to_owned(), call.address());
        let (kind, is_held, is_lent) = (Kind::Call(target), false, false);
        Subject { name, file, line, column, sites, address, kind, is_held, is_lent, said: None }
    }

    fn of_mode(info: ModeInfo) -> Subject {
        let ModeInfo { file, line, column, sites, mode, .. } = info;
        let (name, address, is_lent) = (info.path.to_owned(), mode.address(), mode.is_lent());
        let (kind, is_held) = (Kind::Mode(info), false);
        Subject { name, file, line, column, sites, address, kind, is_held, is_lent, said: None }
    }

    fn of_name(said: Rc<Said>) -> Subject {
        let (name, kind, sites, said) = (said.full_name(), Kind::Name, said.sites, Some(said));
        let (file, line, column, address) = ("", 0, 0, 0);
        Subject { name, file, line, column, sites, address, kind, is_held: false, is_lent: false, said }
    }

    /// All keys, calls and modes of the loaded objects, in no order. Does not ask the layers, because the caller may be in a flip that a layer makes
    /// while it holds a lock of its own.
    pub fn declared() -> Result<Vec<Subject>, Error> {
        let mut all = Vec::new();
        jumplabel::for_each_key(|info| all.push(Subject::of_key(info)))?;
        jumplabel::for_each_call(|info| all.push(Subject::of_call(info)))?;
        jumplabel::for_each_mode(|info| all.push(Subject::of_mode(info)))?;
        Ok(all)
    }

    /// All subjects: keys, calls and modes of the loaded objects, and names of layers, sorted by name.
    pub fn all() -> Result<Vec<Subject>, Error> {
        let mut all = Subject::declared()?;
        let mut said: HashMap<String, Rc<Said>> =
            layer::all_said().into_iter().map(|said| (said.full_name(), Rc::new(said))).collect();
        for subject in all.iter_mut().filter(|subject| subject.is_plain_key()) {
            subject.said = said.get(&subject.name).cloned();
        }
        all.iter().filter(|subject| subject.said.is_some()).for_each(|subject| drop(said.remove(&subject.name)));
        all.extend(said.into_values().map(Subject::of_name));
        all.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(all)
    }

    /// True if the subject is a key, but not the key of a tracepoint.
    fn is_plain_key(&self) -> bool {
        matches!(self.kind, Kind::Key(info) if TracepointInfo::of(info).is_none())
    }

    /// If the subject belongs to a layer, the reason why it cannot be set like a key: the end of a sentence that begins with the subject's name.
    pub fn forbids(&self) -> Option<String> {
        if self.is_plain_key() || matches!(self.kind, Kind::Name) { layer::forbids(&self.name) } else { None }
    }

    /// A suggestion for an item that matches nothing: names that are similar, as a part of a sentence. The caller's message goes on with the command
    /// that lists the names.
    pub fn meant(all: &[Subject], item: &Selector) -> String {
        let meant = jumplabel_selector::did_you_mean(&item.what, all.iter().map(|subject| &*subject.name));
        if meant.is_empty() { ";".to_owned() } else { meant }
    }

    /// For each subject, the part that it has in a tracepoint.
    pub fn parts(all: &[Subject]) -> Vec<Part> {
        tracepoints::parts(all.iter().map(Subject::row))
    }

    fn row(&self) -> Row<'_> {
        Row { name: &self.name, kind: self.word(), place: (self.file, self.line, self.column) }
    }

    /// The number of probes of a tracepoint. `None` if the subject is not a tracepoint, or if it is a tracepoint of C.
    pub fn probes(&self) -> Option<usize> {
        self.tracepoint().map(|tracepoint| tracepoint.probes)
    }

    fn tracepoint(&self) -> Option<TracepointInfo> {
        if let Kind::Key(info) = self.kind { TracepointInfo::of(info) } else { None }
    }

    /// A remark on the subject, if there is one.
    pub fn note(&self) -> Option<String> {
        let said = self.said.as_ref().map(|said| said.note.clone()).filter(|note| !note.is_empty());
        let is_traced = self.tracepoint().is_some_and(|tracepoint| tracepoint.traced);
        said.or_else(|| is_traced.then(|| tracepoints::TRACED.to_owned()))
    }

    /// The subject's state, as the tool prints it.
    pub fn state(&self) -> String {
        if let Some(value) = self.said.as_ref().and_then(|said| said.value.clone()) {
            return value;
        }
        match &self.kind {
            Kind::Name => "off".to_owned(),
            Kind::Key(info) => if info.enabled { "on" } else { "off" }.to_owned(),
            Kind::Call(target) => target.clone(),
            Kind::Mode(info) => format!("{}/{}", info.number, info.arms),
        }
    }

    /// The tool's word for this kind of subject.
    pub fn word(&self) -> &'static str {
        match self.kind {
            Kind::Key(info) if TracepointInfo::of(info).is_some() => "tracepoint",
            Kind::Key(_) => "key",
            Kind::Name => "name",
            Kind::Call(_) => "call",
            Kind::Mode(_) => "mode",
        }
    }

    /// True if the selector chooses the subject. An error for a selector `fn:`, because a process does not know in which functions its sites are.
    pub fn is(&self, what: &What) -> Result<bool, &'static str> {
        Ok(match what {
            What::Name(glob) => {
                let Subject { name, file, line, column, .. } = self;
                glob.matches(name) || glob.matches_with_path(&format!("{name}@{file}:{line}:{column}"))
            }
            What::File(glob, lines) => {
                glob.matches_path(self.file) && lines.as_ref().is_none_or(|lines| lines.contains(&self.line))
            }
            What::Object(_) if matches!(self.kind, Kind::Name) => false,
            What::Object(glob) => object(self.address).is_some_and(|path| glob.matches_path(&path)),
            What::Function(_) => return Err("the process does not know functions: choose by name, file: or obj:"),
        })
    }
}

/// The path of the module that contains `address`.
#[cfg(windows)]
fn object(address: usize) -> Option<String> {
    #[link(name = "kernel32")]
    unsafe extern "system" {
        fn GetModuleHandleExW(flags: u32, address: *const u16, module: *mut usize) -> i32;
        fn GetModuleFileNameW(module: usize, path: *mut u16, length: u32) -> u32;
    }
    /// `GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS`, and `GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT`.
    const BY_ADDRESS: u32 = 4 | 2;
    let (mut module, mut path) = (0, [0; 4096]);
    // SAFETY: the system writes to `module`, and to `path`, whose length is passed. It does not access `address`.
    let length = unsafe {
        if GetModuleHandleExW(BY_ADDRESS, address as *const u16, &raw mut module) == 0 {
            return None;
        }
        GetModuleFileNameW(module, path.as_mut_ptr(), path.len() as u32)
    };
    path.get(..length as usize).map(String::from_utf16_lossy)
}

/// The path of the object that contains `address`.
#[cfg(not(windows))]
fn object(address: usize) -> Option<String> {
    let found = |address: usize| {
        let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
        // SAFETY: the loader writes to `info`. It does not access the memory at `address`.
        let any = unsafe { libc::dladdr(address as *const c_void, info.as_mut_ptr()) };
        // SAFETY: all zeros are a valid `Dl_info`, and so is what the loader has written.
        (any != 0).then(|| unsafe { info.assume_init() })
    };
    // SAFETY: `getauxval` may be called at any time with any number.
    let headers = unsafe { libc::getauxval(libc::AT_PHDR) } as usize;
    match (found(address), found(headers)) {
        (Some(object), Some(program)) if object.dli_fbase != program.dli_fbase && !object.dli_fname.is_null() => {
            // SAFETY: the loader keeps the name of an object as long as the object is loaded. The caller uses a key of this object, so it is loaded.
            Some(unsafe { CStr::from_ptr(object.dli_fname) }.to_string_lossy().into_owned())
        }
        // The address is in the program, whose path the loader does not have. In a static program, all addresses are.
        _ => Some(std::env::current_exe().ok()?.to_string_lossy().into_owned()),
    }
}
