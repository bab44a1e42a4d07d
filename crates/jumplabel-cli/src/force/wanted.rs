//! The keys that the selectors of `set --force` choose, each with the change of its count.

use jumplabel::key::count;
use jumplabel_agent::tracepoints;
use jumplabel_selector::{Assignment, Selector, What};

use super::change::Wanted;
use super::live::Live;
use super::some;
use crate::failure::Failure;

/// Reads the selectors. If two choose the same key, the last one counts; with +1 or -1, that is an error.
pub fn wanted(live: &Live, selectors: &[Selector]) -> Result<Vec<Wanted>, Failure> {
    let (mut all, traced): (Vec<Wanted>, _) = (Vec::new(), live.tracepoints());
    for selector in selectors {
        if let What::Name(glob) = &selector.what
            && jumplabel_layer::reserved(glob.text()).is_some()
        {
            return Err(Failure::Usage(layered(&selector.to_string())));
        }
        let change = match &selector.assignment {
            Some(Assignment::On) => count::Change::Enable,
            Some(Assignment::Off) => count::Change::Disable,
            Some(Assignment::Inc) => count::Change::Inc,
            Some(Assignment::Dec) => count::Change::Dec,
            _ => return Err(Failure::Usage(format!("`{selector}`: say what it is to be: =on, =off, +1, -1"))),
        };
        let counts = |change: count::Change| matches!(change, count::Change::Inc | count::Change::Dec);
        let is_fit = |number: &usize| !counts(change) || !traced.contains(number);
        // A pattern may also match keys that cannot have this value. They are left out, unless the pattern matches no others.
        let is_key =
            |number: &usize| traced.contains(number) || jumplabel_layer::reserved(&live.keys[*number].name).is_none();
        let (keys, layers): (Vec<_>, Vec<_>) = some(live, selector)?.into_iter().partition(is_key);
        if let ([], [number, ..]) = (&keys[..], &layers[..]) {
            return Err(Failure::Usage(layered(&live.keys[*number].name)));
        }
        let (fit, unfit): (Vec<_>, Vec<_>) = keys.into_iter().partition(is_fit);
        if let ([], [number, ..]) = (&fit[..], &unfit[..]) {
            return Err(Failure::Usage(format!("{} {}", live.keys[*number].name, tracepoints::NOT_COUNTED)));
        }
        for number in fit {
            let Some(earlier) = all.iter_mut().find(|(key, _)| *key == number) else {
                all.push((number, Some(change)));
                continue;
            };
            if earlier.1.is_some_and(counts) || counts(change) {
                let name = &live.keys[number].name;
                return Err(Failure::Usage(format!("{name} is chosen twice: say +1 or -1 of it once")));
            }
            earlier.1 = Some(change);
        }
    }
    Ok(all)
}

/// The message that only the process itself can configure the names of a layer.
fn layered(what: &str) -> String {
    let kind = jumplabel_layer::reserved(what).unwrap_or_default();
    format!(
        "`{what}` is {kind}, which does nothing until it is configured: that takes an agent to which the program has served the layer"
    )
}
