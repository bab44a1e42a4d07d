//! Finds the keys, calls, modes and sites of a target that selectors choose.

use jumplabel_selector::{Assignment, Glob, Selector, What};

use crate::failure::Failure;
use crate::image::lines::Lines;
use crate::report::Report;
use crate::table::{Is, Subject};
use crate::target::{Object, Target};

/// A chosen key, call or mode, with its chosen sites.
pub struct Chosen<'target> {
    pub object: &'target Object,
    pub subject: &'target Subject,
    /// Two numbers for each chosen site: its place among the subject's sites, and its place in the table of the object.
    pub sites: Vec<(usize, usize)>,
}

/// All subjects and sites of the target.
pub fn every(target: &Target) -> Vec<Chosen<'_>> {
    by(target, &Selector { what: What::Name(Glob::new("*")), assignment: None })
}

/// The subjects and sites that one selector chooses.
pub fn by<'target>(target: &'target Target, selector: &Selector) -> Vec<Chosen<'target>> {
    let mut chosen = Vec::new();
    for object in &target.objects {
        for subject in &object.table.subjects {
            let mut sites: Vec<_> = subject.sites.iter().copied().enumerate().collect();
            let is_chosen = match &selector.what {
                What::Name(glob) => {
                    let with_place = || {
                        let at = subject.declared.as_ref()?;
                        Some(format!("{}@{}:{}:{}", subject.name, at.file, at.line, at.column))
                    };
                    glob.matches(&subject.name) || with_place().is_some_and(|name| glob.matches_with_path(&name))
                }
                What::File(glob, lines) => subject.declared.as_ref().is_some_and(|at| {
                    glob.matches_path(&at.file) && lines.as_ref().is_none_or(|lines| lines.contains(&at.line))
                }),
                What::Function(glob) => {
                    let lines = object.lines();
                    sites.retain(|&(_, site)| {
                        let chain = lines.chain(&object.image, object.table.sites[site].address);
                        chain
                            .iter()
                            .filter_map(|frame| frame.function.as_ref())
                            .any(|name| glob.matches_end(name, "::"))
                    });
                    !sites.is_empty()
                }
                What::Object(glob) => glob.matches_path(&object.path),
            };
            if is_chosen {
                chosen.push(Chosen { object, subject, sites });
            }
        }
    }
    chosen
}

/// The subjects and sites that several selectors choose, in the order of the tables, each subject once. Without selectors, returns all. Reports each
/// selector that chooses nothing. The `bool` is true if every selector has chosen something, or, without selectors, if there is any subject.
pub fn by_any<'target>(
    target: &'target Target,
    selectors: &[Selector],
    report: &mut Report,
) -> (Vec<Chosen<'target>>, bool) {
    if selectors.is_empty() {
        let all = every(target);
        if all.is_empty() {
            report.error(&format_args!("{}: no keys", target.name));
        }
        let any = !all.is_empty();
        return (all, any);
    }
    let (mut all, mut each): (Vec<Chosen<'_>>, bool) = (Vec::new(), true);
    for selector in selectors {
        let chosen = by(target, selector);
        each &= something(target, selector, &chosen, report);
        all.extend(chosen);
    }
    let order = |one: &Chosen<'_>| {
        let objects = target.objects.iter().position(|object| std::ptr::eq(object, one.object));
        (objects, std::ptr::from_ref(one.subject) as usize)
    };
    all.sort_by_key(order);
    all.dedup_by(|again, first| {
        let is_same = std::ptr::eq(again.subject, first.subject);
        if is_same {
            first.sites.append(&mut again.sites);
            first.sites.sort_unstable();
            first.sites.dedup();
        }
        is_same
    });
    (all, each)
}

/// True if a selector has chosen something. If it has not, reports that.
pub fn something(target: &Target, selector: &Selector, chosen: &[Chosen<'_>], report: &mut Report) -> bool {
    if chosen.is_empty() {
        report.error(&nothing(target, selector));
    }
    !chosen.is_empty()
}

/// The message that a selector has chosen nothing.
pub fn nothing(target: &Target, selector: &Selector) -> String {
    let names = target.objects.iter().flat_map(|object| &object.table.subjects).map(|subject| &*subject.name);
    let meant = jumplabel_selector::did_you_mean(&selector.what, names);
    format!("{}: nothing matches `{selector}`{meant}", target.name)
}

impl Chosen<'_> {
    /// A sentence that says how the subject differs from `wanted`. `None` if it does not differ.
    pub fn complaint(&self, wanted: &Assignment) -> Result<Option<String>, Failure> {
        let (name, is) = (&self.subject.name, self.subject.state(self.object));
        Ok((!self.is(wanted)?).then(|| format!("{name} is {is}, not {}", wanted.value())))
    }

    /// Whether the subject has the wanted value: in a file, at the start of the program; in a process, now. A value that the subject cannot have is
    /// an error of the command line.
    fn is(&self, wanted: &Assignment) -> Result<bool, Failure> {
        let (name, value) = (&self.subject.name, wanted.value());
        let cannot = |what: &str| Err(Failure::Usage(format!("{name} cannot be `{value}`: it is {what}")));
        match (self.subject.is, wanted) {
            (Is::Key(on) | Is::Tracepoint(on), Assignment::On) => Ok(on == Some(true)),
            (Is::Key(on) | Is::Tracepoint(on), Assignment::Off) => Ok(on == Some(false)),
            (Is::Key(_) | Is::Tracepoint(_), _) => cannot("a key, on or off"),
            (Is::Mode { mode, .. }, Assignment::Target(number)) => match number.parse::<u8>() {
                Ok(number) => Ok(number == mode),
                Err(_) => cannot("a mode, a number"),
            },
            (Is::Mode { .. }, _) => cannot("a mode, a number"),
            (Is::Call(target), Assignment::Target(function)) => {
                let found = self.object.image.symbols().address_of(function);
                Ok(target.is_some()
                    && (found == target || target.map(|at| self.object.function(at)).as_ref() == Some(function)))
            }
            (Is::Call(_), _) => cannot("a static call, and leads to a function"),
        }
    }
}

impl Object {
    /// The object's functions and lines. The first call reads them.
    pub fn lines(&self) -> &Lines {
        self.lines.get_or_init(|| Lines::read(&self.image))
    }
}
