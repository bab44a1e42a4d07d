//! Errors of requests: an answer's status, and a sentence that says why the request was refused.

use jumplabel_selector::Selector;

use crate::change::Refusal;
use crate::subject::Subject;

/// Why a request was refused: the answer's status, and a sentence.
pub type Refused = (u8, String);

/// All subjects that are loaded now.
pub fn all() -> Result<Vec<Subject>, Refused> {
    Subject::all().map_err(|error| (4, error.to_string()))
}

/// The sentence that says that `item` matches nothing. `meant` is the suggestion that [`Subject::meant`] makes.
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
