//! static-keys alone.

peers::family!(
    library,
    {
        static_keys::define_static_key_false!(ONE);
        static_keys::define_static_key_false!(HUNDRED);
        static_keys::define_static_key_false!(MANY);
    },
    static_keys_check,
    static_keys_set
);

fn main() {
    static_keys::global_init();
    peers::run(&library::GROUPS);
}
