//! An `impl` block has no statics. The key is declared beside it.
struct Server;

impl Server {
    jumplabel::static_key! { static TRACE: false; }
}

fn main() {}
