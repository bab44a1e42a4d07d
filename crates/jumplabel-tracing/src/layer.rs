//! The layer of tracing's callsites: lets an operator list, show and follow them through an agent. The names that an operator writes:
//!
//! ```text
//!   trace:h2::proto::streams@h2-0.4.20/src/proto/streams/store.rs:97     a callsite: its target and its place
//!   trace:h2::proto                                                      all callsites of this target, and of the targets below it
//! ```

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use jumplabel_layer::{Done, Entry, Handle, Layer, Setting};
use tracing_core::Metadata;

use crate::patched::{ALL, Now, Place};
use crate::{Error, follow, limit, patched};

/// The names that an operator has set: callsites and targets. Each has its revision, and the number of events that are shown in a second.
type Shown = BTreeMap<String, (u64, u32)>;

static SHOWN: Mutex<(Shown, u64)> = Mutex::new((Shown::new(), 0));

struct Callsites;

/// The callsites of tracing as a layer. An agent that is given this layer lists, shows and follows callsites: `jumplabel list 4711 'trace:h2::*'`,
/// `jumplabel set 4711 'trace:hyper::proto=on' --for 30s`, `jumplabel trace 4711 trace:hyper::proto`.
///
/// ```text
/// jumplabel_agent::serve(jumplabel_tracing::layer())?;
/// ```
///
/// Events of shown callsites go to the program's subscriber. Events that `jumplabel trace` follows go to the tool, and need no subscriber. If the
/// program was built with upstream's tracing, the agent lists no callsites.
#[must_use = "give it to an agent"]
pub fn layer() -> &'static Handle {
    static HANDLE: Handle = Handle::of::<Callsites>();
    // `watch_tracers` fails only if the program has no keys. Then no tracer needs to be watched.
    let _ = patched::watch_tracers();
    &HANDLE
}

/// The place of a callsite: its file and line. If the file belongs to a dependency from a registry, the path begins with the folder of its package.
fn place(meta: &Metadata<'_>) -> String {
    let file = meta.file().unwrap_or("?");
    let in_registry =
        file.split_once("/registry/src/").and_then(|(_, rest)| rest.split_once('/')).map(|(_, rest)| rest);
    format!("{}:{}", in_registry.unwrap_or(file), meta.line().unwrap_or(0))
}

/// The name of a callsite without the prefix `trace:`.
fn name(meta: &Metadata<'_>) -> String {
    format!("{}@{}", meta.target(), place(meta))
}

/// Whether `chosen` is `target`, which is that of a callsite, or a module around it.
fn is_target(chosen: &str, target: &str) -> bool {
    target.strip_prefix(chosen).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// The first value that `chosen` returns for a callsite: it is asked about the callsite's name, then about its target, then about the modules around
/// the target, from the innermost outwards.
fn among<T>(chosen: impl Fn(&str) -> Option<T>, name: &str, target: &str) -> Option<T> {
    let mut around = std::iter::successors(Some(target), |&module| Some(module.rsplit_once("::")?.0));
    chosen(name).or_else(|| around.find_map(chosen))
}

impl Layer for Callsites {
    const PREFIX: &'static str = "trace:";
    const KIND: &'static str = "a callsite of tracing";
    const VALUES: &'static str =
        "write =on, =100/s for at most so many events of each callsite in a second, or =remove";

    fn entries(visit: &mut dyn FnMut(Entry<'_>)) {
        let mut names = BTreeMap::<String, (String, usize)>::new();
        // If `each` fails, there are no keys or there is no memory, and no callsite is listed. Several callsites can have one name, because a macro
        // of the program may make several at one place.
        let _ = patched::each(|Place { meta, text }, Now { is_on, sites, lost, is_traced }| {
            let kind = if meta.is_span() { "span" } else { "event" };
            let text = if text.is_empty() { String::new() } else { format!(" {text:?}") };
            let module = meta.module_path().filter(|&module| module != meta.target());
            let module = module.map_or(String::new(), |module| format!(" in module {module}"));
            let lost = if lost == 0 { String::new() } else { format!(", {lost} lost") };
            let traced = if is_traced { " by a tracer" } else { "" };
            let note =
                format!("{} {kind}{}{traced}{lost}{module}{text}", meta.level(), if is_on { ", on" } else { "" });
            names.entry(name(meta)).or_insert((note, 0)).1 += sites;
        });
        let shown = SHOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let targets = shown.0.keys().filter(|chosen| !names.contains_key(*chosen)).cloned();
        let targets: Vec<_> = targets.map(|target| (target, ("with what is below".to_owned(), 0))).collect();
        names.extend(targets);
        for (name, (note, sites)) in &names {
            let shown = shown.0.get(name).map(|&(revision, most)| (revision, limit::text(most)));
            let (revision, value) = shown.as_ref().map_or((0, None), |(revision, value)| (*revision, Some(&**value)));
            visit(Entry { name, value, revision, note, sites: *sites });
        }
    }

    fn takes(chosen: &str) -> Option<usize> {
        let mut all = None;
        let count = |Place { meta, .. }: Place, now: Now| {
            if is_target(chosen, meta.target()) {
                *all.get_or_insert(0) += now.sites;
            }
        };
        patched::each(count).ok().and(all)
    }

    fn check(_: &str, value: &str) -> Result<(), String> {
        limit::parse(value).map(drop).ok_or_else(|| "a callsite is shown, or not".to_owned())
    }

    fn configure(settings: &[Setting<'_>], dry_run: bool) -> Result<Done, String> {
        let mut guard = SHOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let (shown, revision) = &mut *guard;
        let (before, next) = (shown.clone(), *revision + 1);
        let mut after = before.clone();
        for Setting { name, value, only_at } in settings {
            let now = before.get(*name).map_or(0, |&(revision, _)| revision);
            if only_at.is_some_and(|revision| revision != now) {
                return Err(format!("trace:{name} was set again since"));
            }
            match value {
                Some(value) => after.insert((*name).to_owned(), (next, limit::parse(value).unwrap_or(ALL))),
                None => after.remove(*name),
            };
        }
        if dry_run {
            return Ok(Done { revision: 0, pages: 0 });
        }
        // Sets each callsite that these settings choose, even if the setting is the same as before: the program itself may have changed the
        // callsite's state, or the callsite may belong to a library that was loaded since.
        let now = |Place { meta, .. }: Place| {
            let (name, target) = (name(meta), meta.target());
            let is_chosen = |setting: &Setting<'_>| setting.name == name || is_target(setting.name, target);
            let most = || among(|chosen| Some(after.get(chosen)?.1), &name, target).unwrap_or(0);
            settings.iter().any(is_chosen).then(most)
        };
        let (_, pages) = patched::show(now).map_err(|error: Error| error.to_string())?;
        (*shown, *revision) = (after, next);
        Ok(Done { revision: next, pages })
    }

    fn follow(names: &[&str], per_second: u32) -> Result<(), String> {
        static IS_FOLLOWED: AtomicBool = AtomicBool::new(false);
        follow::expect(per_second);
        if !IS_FOLLOWED.swap(!names.is_empty(), Ordering::Relaxed) {
            follow::forget();
        }
        let names: HashSet<&str> = names.iter().copied().collect();
        let is_followed = |meta: &Metadata<'_>| among(|chosen| names.get(chosen), &name(meta), meta.target()).is_some();
        patched::follow(is_followed).map_err(|error: Error| error.to_string())?;
        if names.is_empty() {
            follow::forget();
        }
        Ok(())
    }

    fn records(visit: &mut dyn FnMut(&str, &str)) -> u64 {
        follow::take(|meta, json| visit(&name(meta), json))
    }

    fn covers(chosen: &str, name: &str) -> bool {
        chosen == name || name.split_once('@').is_some_and(|(target, _)| is_target(chosen, target))
    }
}

#[test]
fn targets() {
    assert!(is_target("h2", "h2") && is_target("h2", "h2::proto") && is_target("h2::proto", "h2::proto::streams"));
    assert!(Callsites::covers("h2", "h2::proto@a@b:1") && Callsites::covers("h2@a:1", "h2@a:1"));
    assert!(!Callsites::covers("h2", "h2c@a:1") && !Callsites::covers("h2@a:1", "h2@a:12"));
    let is_among = |chosen: &str| among(|name| (name == chosen).then_some(()), "h2::proto@a:1", "h2::proto").is_some();
    assert!(
        ["h2", "h2::proto", "h2::proto@a:1"].into_iter().all(is_among)
            && !["h2::", "h", "", "h2@a:1"].into_iter().any(is_among)
    );
    let nearest = |names: &[&'static str]| {
        among(|name| names.iter().find(|chosen| **chosen == name).copied(), "h2::proto@a:1", "h2::proto")
    };
    assert_eq!(nearest(&["h2", "h2::proto"]), Some("h2::proto"));
    assert_eq!(nearest(&["h2", "h2::proto", "h2::proto@a:1"]), Some("h2::proto@a:1"));
    assert!(!is_target("h2", "h2c") && !is_target("h2::pro", "h2::proto") && !is_target("h2::proto", "h2"));
}
