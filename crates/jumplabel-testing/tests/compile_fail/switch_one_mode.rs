//! A mode must have at least two values.

jumplabel::modes! { enum Mode { Only } }

fn main() {}
