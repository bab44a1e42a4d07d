//! Finds out whether a hook that begins a little in front of a site keeps threads from running the site.
//!
//! Some hooks move more instructions than their jump overwrites: those of the first 14 bytes, for example, for a jump of 5. A site among the moved
//! instructions keeps its bytes, but no thread runs it any more. So this module compares the code in front of a site with the file's. The library
//! itself does not compare them at a flip, because it does not know what the file has there.

use super::memory::Pages;
use crate::machine::Machine;
use crate::table::Site;
use crate::target::Object;

/// How far in front of a site a hook can begin that has moved the site. Hooks move whole instructions until they have room for their longest jump, 14
/// bytes (`jmp *0(%rip)`, followed by the address). So such a hook begins at most 13 bytes in front of the site's instruction, which may have a
/// prefix of one byte.
const FAR: u64 = 14;
/// The number of bytes in front of a site that are compared. It is more than [`FAR`], because an earlier hook or probe may begin before the last
/// `FAR` bytes and reach into them.
const SEEN: u64 = FAR + NOP.len() as u64 - 1;
const BREAKPOINT: u8 = 0xcc;
/// A nop of five bytes, and the first byte of the call that Linux makes of it for a uprobe (the kernel's `arch_uprobe_optimize`).
const NOP: [u8; 5] = [0x0f, 0x1f, 0x44, 0x00, 0x00];
const CALL: u8 = 0xe8;

/// Whether the code in front of a site differs from the file's, and the difference is neither a site nor a probe. False if the code cannot be read,
/// or is not in the file.
pub fn is_hooked(object: &Object, bias: u64, pages: &Pages<'_>, site: &Site) -> bool {
    let (image, end) = (&object.image, site.start());
    // A hook of the function in front of the site's function does not matter to the site.
    let seen = image.symbols().at(end).map_or(SEEN, |(_, far)| far.min(SEEN));
    let start = end.wrapping_sub(seen);
    let mut now = [0; SEEN as usize];
    let now = &mut now[..seen as usize];
    let Some(file) = image.slice(start, now.len()) else { return false };
    if image.machine != Machine::X86_64 || pages.read(start.wrapping_add(bias), now).is_err() || file == now {
        return false;
    }
    let mut at = 0;
    while at < now.len() {
        if file[at..].starts_with(&NOP) && now[at] == CALL {
            at += NOP.len();
        } else if now[at] == file[at] || now[at] == BREAKPOINT || object.table.has_site_at(start + at as u64) {
            at += 1;
        } else {
            return now.len() - at <= FAR as usize;
        }
    }
    false
}
