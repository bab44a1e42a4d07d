//! The layer of fail points: lets an operator list and configure them through an agent.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use jumplabel_layer::{Done, Entry, Handle, Layer, Setting};

use crate::action::Action;
use crate::point::Point;
use crate::registry::{self, ANY, Changes, HAS_NO_KEY, Points, point_of};

struct FailPoints;

/// Fail points as a layer. An agent that is given this layer lists and configures them: `jumplabel list 4711 'fail:*'`, `jumplabel set 4711
/// 'fail:before_save=2*return(disk full)->off' --for 30s`.
///
/// ```text
/// jumplabel_agent::serve(jumplabel_fail::layer())?;
/// ```
///
/// Then everybody who may send commands to the agent can make the program panic. These are the program's own user and root, who could end the program
/// anyway.
#[must_use = "give it to an agent"]
pub fn layer() -> &'static Handle {
    static HANDLE: Handle = Handle::of::<FailPoints>();
    &HANDLE
}

impl Layer for FailPoints {
    const PREFIX: &'static str = "fail:";
    const KIND: &'static str = "a fail point";
    const VALUES: &'static str =
        "write its actions, such as =return(text), =2*panic->off, =sleep(100), =pause or =off, or =remove";

    fn entries(visit: &mut dyn FnMut(Entry<'_>)) {
        let points = registry::read();
        let mut names: BTreeSet<&str> = points.keys().map(String::as_str).collect();
        // If the keys cannot be listed, only configured names are visited.
        let _ = jumplabel::for_each_key(|key| names.extend(point_of(&key)));
        for name in names {
            let Some(point) = points.get(name) else {
                visit(Entry { name, value: None, revision: 0, note: "", sites: 0 });
                continue;
            };
            let reached = match point.reached() {
                // While the point's key is off, no thread runs the point's actions, so a count of 0 says nothing.
                0 if point.is_off => String::new(),
                0 => "not reached".to_owned(),
                1 => "reached once".to_owned(),
                number => format!("reached {number} times"),
            };
            visit(Entry { name, value: Some(&point.text), revision: point.revision, note: &reached, sites: 0 });
        }
    }

    /// Points without keys of their own are not listed: points with computed names, and points of C in the fallback. If the program has such points,
    /// any name may be that of one of them.
    fn takes(name: &str) -> Option<usize> {
        let is_computed = || jumplabel::for_each_site(&ANY, |_| ()).is_ok_and(|sites| sites > 0);
        (!name.is_empty() && (HAS_NO_KEY.load(Ordering::Relaxed) || is_computed())).then_some(0)
    }

    fn check(_: &str, value: &str) -> Result<(), String> {
        Action::parse_all(value).map(drop)
    }

    fn configure(settings: &[Setting<'_>], dry_run: bool) -> Result<Done, String> {
        let (revision, mut changes) = (registry::revision(), Changes::new());
        for Setting { name, value, .. } in settings {
            let point = match value {
                Some(text) => Some(Arc::new(Point::new(text, Action::parse_all(text)?, revision))),
                None => None,
            };
            changes.insert((*name).to_owned(), point);
        }
        let points = &mut registry::write();
        settings.iter().try_for_each(|setting| can_be_replaced(points, setting))?;
        let pages = if dry_run { 0 } else { registry::configure(points, changes).map_err(String::from)?.pages };
        Ok(Done { revision, pages })
    }
}

fn can_be_replaced(points: &Points, setting: &Setting<'_>) -> Result<(), String> {
    let (name, now) = (setting.name, points.get(setting.name));
    if setting.only_at.is_some_and(|revision| revision != now.map_or(0, |point| point.revision)) {
        let now = now.map_or("nothing is configured", |point| &*point.text);
        return Err(format!("the program itself has configured it since: {now}"));
    }
    match now {
        Some(point) if !point.is_text => Err(format!(
            "fail:{name} has a callback of the program's, which no text brings back: only the program can take it away"
        )),
        _ => Ok(()),
    }
}
