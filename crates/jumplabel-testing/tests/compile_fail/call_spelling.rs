//! The types of calls without a default function must be spelled in a way that the macro knows.

jumplabel::static_call! { static NAMED: Option<fn(x: u8)> = None; }
jumplabel::static_call! { static RETURNS: Option<fn(u8) -> u8> = None; }
jumplabel::static_call! { static ZERO: fn(x: u8) -> u8 = return 0; }

fn main() {}
