//! Prints each error as programs see it, a line each: `cargo xtask site` makes a page of it.
//!
//! ```text
//! rust   name of the variant   its kind   its number in C   its message
//! c      number                text of jumplabel_strerror()
//! ```

use std::ffi::CStr;

use jumplabel::{Error, Refusal, Refusals, WriterKind};
use jumplabel_capi::result::{self, jumplabel_strerror};
use jumplabel_format::Code;

/// Where a site, an entry, an object may be.
const ADDRESS: usize = 0x5555_5555_4a10;

/// Each error, and those again that have several messages.
fn all() -> Vec<Error> {
    let address = ADDRESS;
    let refused =
        Refusals::from_iter([WriterKind::Procmem, WriterKind::Mprotect].map(|kind| (kind, Refusal::errno(13))));
    let (expected, core_sync, remap) = (Code::new(0, &[0x0f, 0x1f, 0x44, 0, 0]), Refusal::errno(1), Refusal::errno(13));
    vec![
        Error::Denied { refused },
        Error::Denied { refused: Refusals::default() },
        Error::ForeignBytes { address, expected, found: Code::new(0, &[0xcc, 0x1f, 0x44, 0, 0]) },
        Error::ForeignBytes { address, expected, found: Code::new(0, &[0x90; 5]) },
        Error::Unreadable { address },
        Error::Circular { address },
        Error::TooEarly,
        Error::NoPlatform,
        Error::NoWriter,
        Error::UnknownWriter,
        Error::Reentrant,
        Error::Overflow,
        Error::Underflow,
        Error::Counted { count: 2 },
        Error::Sealed,
        Error::NotCode { address },
        Error::NoSuchMode { count: 3 },
        Error::IsTable,
        Error::UnfitOp { op: "wait" },
        Error::UnfitAlternative { address },
        Error::OutOfRange { address },
        Error::MultiThreaded { core_sync, remap: Refusal::NOT_TRIED },
        Error::MultiThreaded { core_sync: Refusal::NOT_TRIED, remap },
        Error::DamagedTable { entry: address },
        Error::CopiedCode { address },
        Error::NoBounds { object: address },
        Error::NoSuchCpu { cpu: 64 },
        Error::UnknownKind { entry: address, kind: 15 },
        Error::NoSuchKey,
        Error::SeveralKeys { count: 2 },
        Error::NoRecords,
        Error::OutOfMemory,
        Error::BatchFull { capacity: 8 },
        Error::RollbackFailed { address },
    ]
}

/// The text of a number.
fn text(number: i32) -> String {
    // SAFETY: the text is static, and ends with a zero.
    unsafe { CStr::from_ptr(jumplabel_strerror(-number)) }.to_string_lossy().into_owned()
}

fn main() {
    for error in all() {
        let name = format!("{error:?}");
        let name = name.split([' ', '{']).next().unwrap_or_default();
        let number = -result::Refusal::Core(error).code();
        println!("rust\t{name}\t{:?}\t{number}\t{error}", error.kind());
    }
    let unknown = text(i32::MAX);
    for number in (1..200).filter(|&number| text(number) != unknown) {
        println!("c\t{number}\t{}", text(number));
    }
}
