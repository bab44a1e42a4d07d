//! Why an answer is none: the status, and a sentence.

use jumplabel_selector::Selector;

use crate::change::Refusal;
use crate::subject::Subject;

/// Why not: the status, and a sentence.
pub type Refused = (u8, String);

/// All that is loaded.
pub fn all() -> Result<Vec<Subject>, Refused> {
    Subject::all().map_err(|error| (4, error.to_string()))
}

/// That nothing matches.
pub fn nothing(item: &Selector, meant: &str) -> String {
    format!("nothing matches `{item}`{meant} list shows what there is")
}

/// Of a change.
pub fn of(refusal: Refusal) -> Refused {
    match refusal {
        Refusal::Meaningless(why) => (2, why),
        Refusal::Nothing(item, meant) => (1, nothing(&item, &meant)),
        Refusal::Forbidden(why) => (4, why),
    }
}
