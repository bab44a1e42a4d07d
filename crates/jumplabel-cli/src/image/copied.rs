//! Finds out whether a post-link optimizer (BOLT) has copied the code of a file (docs/table-format.md, "Post-link optimizers").

use object::{Object, ReadCache, elf};

use super::{Reader, Segment};

/// The address at which the copies begin, by the program headers. It is that of an executable segment after the linker's that is aligned more
/// strictly, holds the table for unwinders or the program headers, or has taken the place of PT_GNU_STACK. The library looks for the same
/// (platform/linux/loader/segments.rs).
pub(super) fn start(segments: &[Segment], unwinders: Option<u64>, headers: u64, has_stack: bool) -> Option<u64> {
    let holds_headers = |segment: &Segment| headers.checked_sub(segment.offset).is_some_and(|at| at < segment.in_file);
    let holds_unwinders = |segment: &Segment| unwinders.is_some_and(|address| segment.place(address, 1).is_some());
    let mut code = segments.iter().filter(|segment| segment.flags & elf::PF_X != 0);
    let alignment = code.next()?.alignment;
    let is_copy =
        |segment: &Segment| segment.alignment > alignment || holds_headers(segment) || holds_unwinders(segment);
    let copies = code.find(|segment| !has_stack || is_copy(segment));
    copies.map(|segment| segment.address)
}

/// Whether the file has BOLT's section `.note.bolt_info`. If BOLT has put new code in the place of old code, only the names of BOLT's sections show
/// it, and only until the file is stripped.
pub(super) fn is_named(file: Reader<'_>) -> bool {
    let cache = ReadCache::new(file);
    object::File::parse(&cache).is_ok_and(|file| file.section_by_name(".note.bolt_info").is_some())
}
