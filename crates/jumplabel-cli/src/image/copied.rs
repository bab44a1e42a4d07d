//! Finds out whether a post-link optimizer (BOLT) has copied the code of a file (docs/table-format.md, "Post-link optimizers").

use object::{Object, ReadCache, elf};

use super::{Reader, Segment};

/// The address of the first executable segment that BOLT has added: the copies begin there. The first executable segment is the linker's. A later one
/// is BOLT's if it is aligned more strictly, or holds the program headers or the table for unwinders. If there is no PT_GNU_STACK, BOLT has used that
/// header for its segment, and any later executable segment is BOLT's. The library has the same rule (platform/linux/loader/segments.rs).
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
