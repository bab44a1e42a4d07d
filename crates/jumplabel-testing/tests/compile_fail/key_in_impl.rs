//! A key cannot be declared in an `impl` block, which has no statics.
struct Server;

impl Server {
    jumplabel::static_key! { static TRACE: false; }
}

fn main() {}
