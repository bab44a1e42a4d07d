//! How the type of a call is spelled that leads nowhere, or returns 0.

jumplabel::static_call! { static NAMED: Option<fn(x: u8)> = None; }
jumplabel::static_call! { static RETURNS: Option<fn(u8) -> u8> = None; }
jumplabel::static_call! { static ZERO: fn(x: u8) -> u8 = return 0; }

fn main() {}
