//! The answers to the requests `list`, `check` and `set`. Each request lists anew the subjects of the objects that are loaded.

use std::collections::HashSet;
use std::time::Instant;

use jumplabel::arch::Native;
use jumplabel::{AskedBy, Outcome, Stay};
use jumplabel_selector::{Assignment, Selector};

use super::configure;
use super::made::Made;
use super::no_remote;
use super::refused::{Refused, all, nothing, of};
use super::reverts;
use crate::change::{self, Change, To};
use crate::protocol::{Answer, Changed, Declared, Done, Peer, Row};
use crate::subject::{Kind, Subject};
use crate::tracepoints::{self, Part};

/// The subjects that the items choose, each once; all subjects if there are no items.
pub fn chosen<'all>(all: &'all [Subject], items: &[Selector]) -> Result<Vec<&'all Subject>, Refused> {
    let mut is_chosen = vec![items.is_empty(); all.len()];
    for item in items {
        let mut any = false;
        for (subject, is_chosen) in all.iter().zip(&mut is_chosen) {
            if subject.is(&item.what).map_err(|why| (2, format!("`{item}`: {why}")))? {
                (any, *is_chosen) = (true, true);
            }
        }
        if !any {
            return Err((1, nothing(item, &Subject::meant(all, item))));
        }
    }
    Ok(all.iter().zip(is_chosen).filter_map(|(subject, is_chosen)| is_chosen.then_some(subject)).collect())
}

/// Answers `list`.
pub fn list(items: &[Selector], made: &Made) -> Result<Answer, Refused> {
    let (all, now) = (all()?, Instant::now());
    let row = |subject: &Subject| -> Result<Row, Refused> {
        let mut differing = 0;
        let loading = each_difference(subject, |_| differing += 1)?;
        Ok(Row {
            key: subject.name.clone(),
            kind: subject.word().to_owned(),
            state: subject.state(),
            count: if let Kind::Key(info) = subject.kind { Some(info.count) } else { None },
            sites: subject.sites,
            declared: Declared { file: subject.file.to_owned(), line: subject.line, column: subject.column },
            no_remote: no_remote::forbids(subject).is_some(),
            reverts_in: made.reverts.seconds_left(subject, now).or_else(|| made.configured.seconds_left(subject, now)),
            since: made.changes.of(subject, now).or_else(|| made.configured.since(subject, now)),
            probes: subject.probes(),
            note: subject.note(),
            differing,
            loading,
        })
    };
    let rows: Result<_, _> = chosen(&all, items)?.into_iter().map(row).collect();
    Ok(Answer { keys: Some(rows?), ..Answer::new() })
}

/// Answers `check`. The status is 4 if a site does not do what its key says, 1 if a state is not the one asked for, and 0 otherwise.
pub fn check(items: &[Selector]) -> Result<Answer, Refused> {
    let all = all()?;
    let (mut differences, mut status) = (Vec::new(), 0);
    for subject in chosen(&all, items)? {
        let damage = damage(subject)?;
        status = if damage.is_empty() { status } else { 4 };
        differences.extend(damage);
    }
    for item in items {
        let Some(wanted) = &item.assignment else { continue };
        if let Assignment::Inc | Assignment::Dec = wanted {
            return Err((2, format!("`{item}`: check compares with =on, =off or =TARGET")));
        }
        for subject in chosen(&all, std::slice::from_ref(item))? {
            if !is(subject, wanted)? {
                let note = subject.note().map_or_else(String::new, |note| format!(" ({note})"));
                differences.push(format!("{} is {}, not {}{note}", subject.name, subject.state(), wanted.value()));
                status = status.max(1);
            }
        }
    }
    Ok(Answer { status, differences: Some(differences), ..Answer::new() })
}

/// Whether the subject has the state `wanted`. An error if such a subject cannot have that state.
fn is(subject: &Subject, wanted: &Assignment) -> Result<bool, Refused> {
    let cannot = |what: &str| Err((2, format!("{} cannot be `{}`: it is {what}", subject.name, wanted.value())));
    if let Some(said) = &subject.said {
        let nothing = matches!(wanted.value(), "off" | jumplabel_layer::REMOVE);
        return Ok(said.value.as_deref().map_or(nothing, |value| value == wanted.value()));
    }
    match (&subject.kind, wanted) {
        (Kind::Key(info), Assignment::On) => Ok(info.enabled),
        (Kind::Key(info), Assignment::Off) => Ok(!info.enabled),
        (Kind::Key(_), _) => cannot("a key, on or off"),
        (Kind::Name, _) => cannot("a name of a layer"), // Not reached: `said` is never `None` for a name.
        (Kind::Mode(info), Assignment::Target(number)) => match number.parse::<u8>() {
            Ok(number) => Ok(number == info.number),
            Err(_) => cannot("a mode, a number"),
        },
        (Kind::Mode(_), _) => cannot("a mode, a number"),
        (Kind::Call(target), Assignment::Target(function)) => Ok(target == function),
        (Kind::Call(_), _) => cannot("a static call, and leads to a function"),
    }
}

/// Sentences about the sites of a key that do not do what the key says, one for each site.
fn damage(subject: &Subject) -> Result<Vec<String>, Refused> {
    let (name, mut sentences) = (&subject.name, Vec::new());
    each_difference(subject, |site| {
        let (address, is) = (site.address, subject.state());
        sentences.push(match site.state {
            None if site.is_hooked => {
                format!("{name}: the site at {address:#x} is not run: somebody has hooked the function, with a jump that ends in front of it")
            }
            None => format!("{name}: the site at {address:#x} holds foreign bytes {:?}", site.bytes),
            Some(state) => format!("{name}: the site at {address:#x} is `{}`, and the key is {is}", state.name()),
        });
    })?;
    Ok(sentences)
}

/// Visits each site of a key that does not do what the key says. Returns the number of sites that load the key; 0 if the subject is not a key.
fn each_difference(subject: &Subject, mut visit: impl FnMut(&jumplabel::Site)) -> Result<usize, Refused> {
    let Kind::Key(info) = subject.kind else { return Ok(0) };
    let mut loading = 0;
    let look = |site: jumplabel::Site| {
        loading += usize::from(site.loads);
        let differs = site.state.is_none_or(|state| {
            // A site that loads always does what the key says. If the program has changed the key since it was listed, `info` is out of date, and
            // no site is compared with it.
            let is_told = !site.loads && info.key.is_enabled() == info.enabled;
            is_told && state.action::<Native>() != usize::from(site.arm != info.enabled)
        });
        if differs {
            visit(&site);
        }
    };
    let visited = jumplabel::for_each_site(info.key, look);
    visited.map(|_| loading).map_err(|error| (4, format!("{}: {error}", subject.name)))
}

/// Answers `set`: carries out all changes or none. If a subject has its new state already, only its sites are repaired.
pub fn set(
    items: &[Selector],
    seconds: Option<u32>,
    dry_run: bool,
    by: Peer,
    Made { reverts, changes: made, configured }: &mut Made,
) -> Result<Done, Refused> {
    if let Some(layer) = configure::layer_of(items)? {
        return configure::set(layer, items, seconds, dry_run, by, configured);
    }
    let all = all()?;
    let chosen = change::choose(&all, items).map_err(of)?;
    for change in &chosen {
        if let Some(forbidden) = no_remote::forbids(change.subject) {
            return Err((4, forbidden.refuses(&change.subject.name)));
        }
    }
    if seconds.is_some() && !reverts.has_room(chosen.len()) {
        return Err((4, "too many changes wait to be taken back: set some without `for`".to_owned()));
    }
    let now = Instant::now();
    let due = match seconds.map(|seconds| reverts::due(now, seconds)) {
        Some(None) => return Err((2, "so late a time does not exist: give fewer seconds".to_owned())),
        due => due.flatten(),
    };
    let changes: Vec<_> = chosen.iter().copied().filter(Change::is_one).collect();
    let kept = if seconds.is_none() { reverts.kept(&chosen, now) } else { Vec::new() };
    if dry_run {
        let mut done = Done { dry_run, ..Done::of(&changes, &all, None) };
        done.notes.extend(kept);
        return Ok(done);
    }
    let asked = AskedBy::Operator { uid: by.uid };
    let back = bring_back(chosen.iter().filter(|change| !change.is_one()), asked)?;
    let stay = seconds.map(|_| Stay::Begins);
    let outcome = if changes.is_empty() { None } else { Some(change::commit(&changes, stay, asked).map_err(of)?) };
    made.note(&changes, Some(by), now);
    let mut done = Done::of(&changes, &all, outcome);
    done.notes.extend(Done::brought_back(back));
    done.notes.extend(kept);
    done.reverts_in = seconds.map(u64::from).filter(|_| reverts.note(&chosen, due));
    if seconds.is_none() {
        reverts.note(&chosen, None);
    }
    Ok(done)
}

/// Repairs the sites of subjects that have their new state already: something outside the library may have changed these sites. Returns the number of
/// sites that it has repaired.
fn bring_back<'a>(changes: impl Iterator<Item = &'a Change<'a>>, by: AskedBy) -> Result<usize, Refused> {
    let mut sites = 0;
    for change in changes {
        let name = &change.subject.name;
        let outcome = match change.subject.kind {
            Kind::Key(info) => info.key.verify().map_err(|error| (4, format!("{name}: {error}")))?,
            // With `Begins`, a mode that has its state only for a time goes on having it only for that time, and any other mode keeps it for good.
            _ => change::commit(&[*change], Some(Stay::Begins), by).map_err(of)?,
        };
        sites += outcome.sites;
    }
    Ok(sites)
}

impl Done {
    /// Describes a transaction of these changes.
    pub(super) fn of(changes: &[Change<'_>], all: &[Subject], outcome: Option<Outcome>) -> Done {
        let undo: Vec<_> =
            changes.iter().map(|change| exactly(change.subject, all, &change.back().assignment())).collect();
        let outcome = outcome.unwrap_or_default();
        Done {
            changes: changes.iter().map(Changed::of).collect(),
            undo: undo.join(","),
            notes: notes(changes, all),
            pages: outcome.pages,
            nanoseconds: outcome.time.as_nanos().try_into().unwrap_or(u64::MAX),
            ..Done::default()
        }
    }
}

impl Changed {
    fn of(change: &Change<'_>) -> Changed {
        let word = |on: bool| if on { "on" } else { "off" };
        let users = |count: i32| format!("{}/{count}", word(count > 0));
        let (from, to) = match (&change.subject.kind, change.to) {
            (Kind::Key(info), To::Inc) => (users(info.count), users(info.count.saturating_add(1))),
            (Kind::Key(info), To::Dec) => (users(info.count), users(info.count.saturating_sub(1))),
            _ => (change.subject.state(), change.state()),
        };
        Changed { key: change.subject.name.clone(), from, to, sites: change.subject.sites }
    }
}

/// Remarks on the tracepoints that the changes turn on or off: the program turns a tracepoint on or off, too, whenever it adds or removes a probe.
fn notes(changes: &[Change<'_>], all: &[Subject]) -> Vec<String> {
    if changes.is_empty() {
        return Vec::new();
    }
    let keys = all.iter().zip(Subject::parts(all)).filter(|(_, part)| *part == Part::Key);
    let keys: HashSet<usize> = keys.map(|(subject, _)| subject.address).collect();
    let turned = changes.iter().filter(|change| change.state() != change.subject.state());
    let of_tracepoints = turned.filter(|change| keys.contains(&change.subject.address));
    let note =
        |change: &Change<'_>| tracepoints::note(&change.subject.name, change.state() == "on", change.subject.probes());
    of_tracepoints.filter_map(note).collect()
}

/// A selector that chooses this subject, with this assignment. If other subjects have the same name, the selector also has the place of the
/// declaration.
fn exactly(subject: &Subject, all: &[Subject], assignment: &str) -> String {
    let Subject { name, file, line, column, .. } = subject;
    let is_alone = all.iter().filter(|other| other.name == *name).count() == 1;
    let text = if is_alone { name.clone() } else { format!("{name}@{file}:{line}:{column}") };
    jumplabel_selector::literal(&text, assignment)
}
