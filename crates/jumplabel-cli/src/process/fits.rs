//! Checks whether an answer fits its request. The peer may be no agent, and may send any JSON.

use jumplabel_agent::protocol::{Answer, Request};

/// The message for an answer that does not fit its request.
pub const NO_AGENT: &str = "no agent: this answers something else";

/// True if the answer has what the request asks for, or says why not.
pub fn fits(answer: &Answer, request: &Request) -> bool {
    match (answer.status, request) {
        (0, _) if answer.error.is_some() => false,
        (0, Request::Hello) => answer.hello.is_some(),
        (0, Request::List(_)) => answer.keys.is_some(),
        (0, Request::Verify(_)) => answer.verified.is_some(),
        (0, Request::Set { .. }) => answer.set.is_some(),
        (0, Request::Check(_)) => answer.differences.is_some(),
        (0, Request::Trace { .. }) => answer.follows.is_some(),
        (0, Request::Watch) => true,
        (1, Request::Check(_)) => answer.differences.is_some() || answer.error.is_some(),
        // The code differs from the keys, and the answer lists the differences.
        (4, Request::Check(_)) => answer.differences.is_some(),
        (1..=4, _) => answer.error.is_some(),
        (5.., _) => false,
    }
}
