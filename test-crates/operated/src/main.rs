//! See the library. With the argument `flip`, enables two keys, and prints what their sites then hold. With `serve`, waits for its end; with `serve sealed`,
//! seals `wal.fsync` before. With `serve leaves`, the first thread ends, and another waits.

jumplabel_agent::startup!(no_remote: "operated::HOOKS[2]");

unsafe extern "C" {
    /// Where the program lies: address 0 of its file.
    #[cfg_attr(windows, link_name = "__ImageBase")]
    static __ehdr_start: u8;
}

fn wait() {
    loop {
        std::thread::park();
    }
}

/// Ends this thread alone.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
fn leave() {
    unsafe extern "C" {
        fn syscall(number: core::ffi::c_long, ...) -> core::ffi::c_long;
    }
    const EXIT: core::ffi::c_long = 60;
    // SAFETY: nothing of this thread is used by another.
    unsafe { syscall(EXIT, 0) };
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
fn leave() {
    unimplemented!("no test runs this here");
}

fn flip() -> Result<(), jumplabel::Error> {
    for (name, on) in [("net.trace", true), ("wal.fsync", false)] {
        let found = jumplabel::find_key(name)?;
        if on {
            found.key.enable()?
        } else {
            found.key.disable()?
        };
        jumplabel::for_each_site(found.key, |site| {
            // SAFETY: a site of this program, of five bytes.
            let bytes = unsafe { *(site.address as *const [u8; 5]) };
            println!("{:x} {bytes:02x?}", site.address - &raw const __ehdr_start as usize);
        })?;
    }
    Ok(())
}

fn main() -> Result<(), jumplabel::Error> {
    let arguments: Vec<_> = std::env::args().collect();
    if arguments.get(1).is_some_and(|word| word == "flip") {
        return flip();
    }
    if arguments.get(1).is_some_and(|word| word == "serve") {
        if arguments.get(2).is_some_and(|word| word == "sealed") {
            jumplabel::find_key("wal.fsync")?.key.seal()?;
            eprintln!("wal.fsync is sealed"); // The agent listens already.
        }
        if arguments.get(2).is_some_and(|word| word == "leaves") {
            std::thread::spawn(wait);
            leave();
        }
        wait();
    }
    operated::slow();
    let number = arguments.len() as u32;
    println!("{}", operated::receive(number) + operated::write_back(number));
    Ok(())
}
