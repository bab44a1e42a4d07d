//! The library that contains the only instance of jumplabel, and a key.

jumplabel::static_key! { pub static SHARED: false; }
