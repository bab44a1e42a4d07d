//! jumplabel alone.

peers::family!(
    library,
    {
        jumplabel::static_key! { static ONE: false; static HUNDRED: false; static MANY: false; }
    },
    jumplabel_check,
    jumplabel_set
);

fn main() {
    peers::run(&library::GROUPS);
}
