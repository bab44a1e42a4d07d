//! Reasons of refused requests: the status, and a sentence.

use jumplabel_selector::Selector;

use crate::change::Refusal;
use crate::subject::Subject;

/// Why a request was refused: the status, and a sentence.
pub type Refused = (u8, String);

/// All subjects that are loaded.
pub fn all() -> Result<Vec<Subject>, Refused> {
    Subject::all().map_err(|error| (4, error.to_string()))
}

/// The sentence that says that nothing matches.
pub fn nothing(item: &Selector, meant: &str) -> String {
    format!("nothing matches `{item}`{meant} list shows what there is")
}

/// The status and the sentence of a change that was refused.
pub fn of(refusal: Refusal) -> Refused {
    match refusal {
        Refusal::Meaningless(why) => (2, why),
        Refusal::Nothing(item, meant) => (1, nothing(&item, &meant)),
        Refusal::Forbidden(why) => (4, why),
    }
}
