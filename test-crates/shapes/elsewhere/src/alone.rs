//! A module that nobody uses: where it is a codegen unit of its own, no linker takes that for a function of it.

jumplabel::static_key! {
    #[allow(dead_code)]
    static ALONE: false;
}
