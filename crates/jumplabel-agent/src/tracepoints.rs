//! Finds the keys and the static calls that belong to tracepoints.
//!
//! A tracepoint is a key and a static call that are declared in one place. The key and the call are named `net:packet` and `net::packet` in Rust,
//! `packet` and `tp_func_packet` in C. Lists leave the call out unless the user asks for it, because only the library updates such a call.

use std::collections::HashMap;

/// The facts about a key, call or mode that decide its [`Part`].
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// The name.
    pub name: &'a str,
    /// The word in the column `kind` of lists: `key`, `tracepoint`, `call`, `mode`.
    pub kind: &'a str,
    /// File, line and column of the declaration. The file is empty if the place is not known.
    pub place: (&'a str, u32, u32),
}

/// The part that a key or call has in a tracepoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// No part: the key or call does not belong to a tracepoint.
    None,
    /// The key, which is on while there are probes.
    Key,
    /// The static call, which leads to the probes.
    Call,
}

/// For each row, the part that it has in a tracepoint.
pub fn parts<'a>(rows: impl IntoIterator<Item = Row<'a>>) -> Vec<Part> {
    let rows: Vec<Row<'a>> = rows.into_iter().collect();
    let is_key = |row: &Row<'_>| matches!(row.kind, "key" | "tracepoint") && !row.place.0.is_empty();
    let keys = rows.iter().enumerate().filter(|(_, row)| is_key(row));
    let keys: HashMap<_, _> = keys.map(|(number, row)| ((last(row.name), row.place), number)).collect();
    let mut parts: Vec<_> =
        rows.iter().map(|row| if row.kind == "tracepoint" { Part::Key } else { Part::None }).collect();
    for (number, row) in rows.iter().enumerate().filter(|(_, row)| row.kind == "call") {
        let (name, is_of_c) =
            last(row.name).strip_prefix("tp_func_").map_or((last(row.name), false), |name| (name, true));
        let key = keys.get(&(name, row.place)).filter(|&&key| is_of_c || rows[key].kind == "tracepoint");
        if let Some(&key) = key {
            (parts[number], parts[key]) = (Part::Call, Part::Key);
        }
    }
    parts
}

/// The reason why `+1` and `-1` are refused for a tracepoint, as the end of a sentence. When the last probe is removed, the library turns the key
/// off, and that fails if the key has another user.
pub const NOT_COUNTED: &str = "is a tracepoint, which its probes turn on and off: with a user more they could not be removed; it can be =on or =off";

/// The remark on a tracepoint whose semaphore a tracer has incremented.
pub const TRACED: &str = "a tracer is attached";

/// A remark on a tracepoint that an operator turns on or off. `None` if no remark is needed: it is turned on and has probes, or turned off and has
/// none. `probes` is `None` if their number is not known.
pub fn note(name: &str, on: bool, probes: Option<usize>) -> Option<String> {
    let again = "the program turns it on or off again when it adds or removes a probe";
    Some(match probes {
        None => format!("{name} is a tracepoint: {again}"),
        Some(0) if on => format!("{name} has no probe, and so it calls nobody; {again}"),
        Some(0) => return None,
        Some(_) if on => return None,
        Some(1) => format!("{name} has a probe, which hears nothing now; {again}"),
        Some(number) => format!("{name} has {number} probes, which hear nothing now; {again}"),
    })
}

/// The last component of a name.
fn last(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or(name)
}

#[test]
fn belong_together() {
    let row = |name, kind, line| Row { name, kind, place: ("a.rs", line, 1) };
    let nowhere = |name, kind| Row { name, kind, place: ("", 0, 0) };
    let rows = [
        (row("net:packet", "tracepoint", 1), Part::Key),
        (row("net::packet", "call", 1), Part::Call),
        (row("packet", "key", 2), Part::Key),
        (row("tp_func_packet", "call", 2), Part::Call),
        (row("tp_func_packet", "call", 3), Part::None),
        (row("tp_func_other", "call", 2), Part::None),
        // A macro may declare a key and a call with the same name. These two are not a tracepoint.
        (row("app::hash", "key", 4), Part::None),
        (row("app::hash", "call", 4), Part::None),
        (nowhere("packet", "key"), Part::None),
        (nowhere("tp_func_packet", "call"), Part::None),
        (nowhere("log:line", "tracepoint"), Part::Key),
        (row("packet", "mode", 1), Part::None),
    ];
    assert_eq!(parts(rows.map(|(row, _)| row)), rows.map(|(_, part)| part));
}
