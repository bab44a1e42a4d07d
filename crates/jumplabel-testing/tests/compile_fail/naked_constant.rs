//! The default of a naked key must be a constant of type bool. A check of a naked key is not a constant.
use jumplabel::naked_key;

fn computed() -> bool {
    true
}

naked_key! {
    static COMPUTED: computed();
    static NUMBER: 1;
}

naked_key! { static ROUTE: false; }
const NOW: bool = ROUTE.get();

fn main() {}
