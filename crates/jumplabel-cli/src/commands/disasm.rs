//! `disasm`: shows what each site holds now, and what it holds once its key is flipped.

use jumplabel_format::State;
use jumplabel_format::layout::{BRANCH, CALL_SITE, JUMP, LOADING, NAKED, OP, SHORT, SWITCH};
use jumplabel_selector::Assignment;

use super::code;
use crate::arguments;
use crate::failure::Failure;
use crate::report::Report;
use crate::selection::{self, Chosen};
use crate::table::{Arm, Is, Site};

/// A state that a flip can give to a site: where the site then leads, its bytes, and what the state means. `bytes` is `None` if `state` and
/// `leads_to` determine the bytes.
struct Flip {
    state: State,
    leads_to: u64,
    bytes: Option<Vec<u8>>,
    meaning: String,
}

pub fn run(what: &arguments::Disasm, report: &mut Report) -> Result<u8, Failure> {
    let wanted = match &what.selector.assignment {
        None => None,
        Some(Assignment::Target(target)) => Some(target.as_str()),
        Some(_) => return Err(Failure::Usage(format!("`{}`: disasm shows both states", what.selector))),
    };
    let target = super::open(&what.target)?;
    let chosen = selection::by(&target, &what.selector);
    let any = selection::something(&target, &what.selector, &chosen, report);
    let mut shown = 0;
    for one in &chosen {
        for &(number, site) in &one.sites {
            if what.site.is_none_or(|wanted| wanted == number) {
                show(one, &one.object.table.sites[site], wanted, report)?;
                shown += 1;
            }
        }
    }
    if any && shown == 0 {
        report.error(&format_args!("{}: `{}` has no such site", target.name, what.selector));
    }
    Ok(code(report, &target, shown > 0))
}

fn show(chosen: &Chosen<'_>, site: &Site, wanted: Option<&str>, report: &mut Report) -> Result<(), Failure> {
    let (image, is) = (&chosen.object.image, chosen.subject.is);
    let chain = chosen.object.lines().chain(image, site.address);
    let place = image.symbols().place(site.address).unwrap_or_else(|| format!("{:#x}", site.address));
    let line = chain
        .first()
        .filter(|frame| frame.file.is_some())
        .map(|frame| format!("   {}:{}", frame.file.as_deref().unwrap_or_default(), frame.line.unwrap_or_default()));
    report.line(&format_args!("{place}{}", line.unwrap_or_default()));
    let mut row = |title: &str, bytes: &[u8], state, leads_to, meaning: &str| {
        let hex: Vec<_> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let instruction = image.machine.instruction(state, bytes, site.address, leads_to);
        report.line(&format_args!(
            " {title:4}  {:05x}: {:20}  {instruction:30} ; {meaning}",
            site.address,
            hex.join(" ")
        ));
    };
    let meaning = site.now(chosen);
    row("now", &site.instruction, site.state, site.target, &meaning);
    let Some(state) = site.state else { return Ok(()) };
    for Flip { state, leads_to, bytes, meaning } in site.flips(chosen, state, is, wanted)? {
        match bytes.or_else(|| image.machine.encode(state, site.address, leads_to)) {
            Some(bytes) => row("flip", &bytes, Some(state), leads_to, &meaning),
            None => row("flip", &[], None, leads_to, &format!("{meaning}: out of reach of a jump")),
        }
    }
    Ok(())
}

fn on_or_off(on: bool) -> String {
    if on { "on" } else { "off" }.into()
}

impl Site {
    /// The meaning of the site's present bytes for its key, in a word or two.
    fn now(&self, chosen: &Chosen<'_>) -> String {
        let Some(state) = self.state else {
            return if self.is_hooked { "not run: the function is hooked" } else { "foreign bytes" }.into();
        };
        let does = chosen.object.image.machine.action(state) != 0;
        match self.kind.number() {
            LOADING if state == State::LOADS => "loads the key".into(),
            BRANCH | SHORT if self.is_unlinked => format!("{}, once linked or loaded", on_or_off(self.arm)),
            BRANCH | SHORT | LOADING => on_or_off(does != self.arm),
            NAKED => on_or_off(does),
            // A site that differs from its subject is shown with what the site does.
            JUMP | CALL_SITE if self.agrees(&chosen.object.image, chosen.subject.is) == Some(false) => {
                chosen.object.function(self.target)
            }
            SWITCH | OP if self.holds.is_some() && self.holds != self.wanted => match (chosen.subject.is, self.holds) {
                (Is::Mode { count, .. }, Some(mode)) => format!("{mode}/{count}"),
                (_, mode) => on_or_off(mode != Some(0)),
            },
            _ => chosen.subject.state(chosen.object),
        }
    }

    /// The states that flips can give to the site, which is in `state`. For a static call, `wanted` names the function to lead the call to.
    fn flips(&self, chosen: &Chosen<'_>, state: State, is: Is, wanted: Option<&str>) -> Result<Vec<Flip>, Failure> {
        let (image, machine) = (&chosen.object.image, chosen.object.image.machine);
        let does = machine.action(state) != 0;
        let flip = |state, leads_to, meaning| Flip { state, leads_to, bytes: None, meaning };
        Ok(match (self.kind.number(), is) {
            // A flip turns a site that loads its key into one of these two.
            (LOADING, _) if state == State::LOADS => {
                let straight = self.straight.unwrap_or(self.target);
                vec![
                    flip(machine.toward(state, 0), self.target, on_or_off(self.arm)),
                    flip(machine.toward(state, 1), straight, on_or_off(!self.arm)),
                ]
            }
            // Until this site is linked or loaded, the file has the jump that a flip would write later. So the flip shows the same bytes.
            (BRANCH | SHORT, _) if self.is_unlinked => vec![flip(state, self.target, on_or_off(!self.arm))],
            (BRANCH | SHORT | LOADING, _) => {
                vec![flip(machine.toward(state, usize::from(!does)), self.target, on_or_off(does == self.arm))]
            }
            (NAKED, _) => vec![flip(machine.toward(state, usize::from(!does)), self.target, on_or_off(!does))],
            (SWITCH | OP, Is::Mode { mode, count }) => {
                let holds = self.holds.unwrap_or(mode.into());
                let others = self.arms.iter().filter(|arm| arm.mode != holds);
                let other = |arm: &Arm| {
                    let state = if self.kind == State::TO_ARM.kind() { State::TO_ARM } else { State::BY_STUB };
                    let native = self.in_place(image, *arm).map(|code| self.whole(image, &code, arm.bytes));
                    let state = if native.is_some() { State::IN_PLACE } else { state };
                    Flip { bytes: native, ..flip(state, arm.code, format!("{}/{count}", arm.mode)) }
                };
                others.map(other).collect()
            }
            (JUMP | CALL_SITE, _) => match wanted {
                None if self.kind == State::CALLS.kind() || state == State::INDIRECT => Vec::new(),
                None => vec![flip(State::INDIRECT, self.target, "by way of the slot: to anywhere".into())],
                Some(name) => {
                    let function = image.symbols().address_of(name);
                    let function = function.ok_or_else(|| {
                        Failure::OutOfReach(format!("no symbol `{name}`: it may be stripped, or in another object"))
                    })?;
                    let direct = if self.kind == State::CALLS.kind() { State::CALLS } else { State::DIRECT };
                    vec![flip(direct, function, name.to_owned())]
                }
            },
            _ => Vec::new(),
        })
    }
}
