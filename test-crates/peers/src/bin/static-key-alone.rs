//! static-key alone.

peers::family!(
    library,
    {
        static_key::static_key!(ONE: bool = false);
        static_key::static_key!(HUNDRED: bool = false);
        static_key::static_key!(MANY: bool = false);
    },
    static_key_check,
    static_key_set
);

fn main() {
    peers::run(&library::GROUPS);
}
