//! A key that a constructor flips: one that may come before the library's, one that comes before all of the usual ones.

use jumplabel::{static_branch_likely, static_branch_unlikely, static_key};

static_key! { static USUAL: false; static FIRST: true; }

extern "C" fn usual() {
    USUAL.enable().unwrap();
}
extern "C" fn first() {
    FIRST.disable().unwrap();
}
#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn() = usual;
#[used]
#[unsafe(link_section = ".init_array.00050")]
static FIRST_CONSTRUCTOR: extern "C" fn() = first;

/// The keys are flipped, and so are their sites; they flip back.
pub fn case() {
    assert!(USUAL.is_enabled() && !FIRST.is_enabled());
    let [usual, first] = [|| static_branch_unlikely!(USUAL), || static_branch_likely!(FIRST)];
    assert!(usual(), "flipped in a constructor, and the site did not follow");
    assert!(!first(), "flipped in an early constructor, and the site did not follow");
    USUAL.disable().unwrap();
    FIRST.enable().unwrap();
    assert!(!usual() && first());
}
