//! A choice is between two at least.

jumplabel::modes! { enum Mode { Only } }

fn main() {}
