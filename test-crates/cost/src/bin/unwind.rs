//! A panic unwinds from the target of a static call through its trampoline, as the compiler emitted it, patched, and by the slot.
//! crates/jumplabel/tests/builds.rs builds this in several profiles.

use std::panic::catch_unwind;
use std::sync::atomic::{AtomicU32, Ordering};

jumplabel::static_call! {
    static RUST: fn(u32) -> u32 = boom;
    static C: extern "C-unwind" fn(u32) -> u32 = boom_c;
}

fn boom(x: u32) -> u32 {
    std::panic::resume_unwind(Box::new(x))
}

fn other_boom(x: u32) -> u32 {
    boom(x + 100)
}

extern "C-unwind" fn boom_c(x: u32) -> u32 {
    boom(x + 200)
}

extern "C-unwind" fn other_boom_c(x: u32) -> u32 {
    boom(x + 300)
}

static DROPPED: AtomicU32 = AtomicU32::new(0);

struct Held;

impl Drop for Held {
    fn drop(&mut self) {
        DROPPED.fetch_add(1, Ordering::Relaxed);
    }
}

#[inline(never)]
fn rust(x: u32) -> u32 {
    let _held = Held;
    RUST(x) + 1
}

#[inline(never)]
fn c(x: u32) -> u32 {
    let _held = Held;
    C(x) + 1
}

fn main() {
    let caught = |function: fn(u32) -> u32| *catch_unwind(|| function(7)).unwrap_err().downcast::<u32>().unwrap();
    assert_eq!([caught(rust), caught(c)], [7, 207]);
    RUST.update(other_boom).unwrap();
    C.update(other_boom_c).unwrap();
    assert_eq!([caught(rust), caught(c)], [107, 307]);
    // A jump to `boom_c` that lies out of reach: by the slot.
    let far = far(boom_c);
    C.update(far).unwrap();
    assert_eq!(caught(c), 207);
    RUST.reset().unwrap();
    C.reset().unwrap();
    assert_eq!([caught(rust), caught(c)], [7, 207]);
    assert_eq!(DROPPED.load(Ordering::Relaxed), 7);
    println!("ok");
}

/// A jump to `target` as far away as the system maps. It is no frame of its own, so that nothing has to be known of it to unwind.
fn far(target: extern "C-unwind" fn(u32) -> u32) -> extern "C-unwind" fn(u32) -> u32 {
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::FileExt;
    let mut code = [0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0]; // mov rax, target; jmp rax
    code[2..10].copy_from_slice(&(target as usize).to_le_bytes());
    let path = std::env::temp_dir().join(format!("jumplabel-far-{}", std::process::id()));
    let file = std::fs::File::options().create_new(true).read(true).write(true).open(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    file.write_all_at(&code, 0).unwrap();
    unsafe extern "C" {
        fn mmap(at: usize, length: usize, protection: i32, flags: i32, file: i32, offset: i64) -> usize;
    }
    let address = (main as *const () as usize & !0xfff) - (1 << 40);
    // SAFETY: a new mapping of a file of this program: PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED_NOREPLACE.
    let page = unsafe { mmap(address, code.len(), 5, 0x10_0002, file.as_raw_fd(), 0) };
    assert_eq!(page, address, "not mapped");
    // SAFETY: the code above, which is a function of that type.
    unsafe { std::mem::transmute(page) }
}
