//! A stack of one page for each hart, and below it a page that no stack may reach. (A kernel would leave that page unmapped. Here it is mapped, and
//! checked at the end, because a hart that overran its stack would have no stack for the handler of the fault.)

use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::hart::HARTS;

/// The size of a stack, in bytes.
pub const STACK: usize = 4096;

const COLOUR: usize = 0x5a5a_5a5a;
const WORDS: usize = 4096 / size_of::<usize>();

#[repr(align(4096))]
pub struct Stacks([[AtomicUsize; 2 * WORDS]; HARTS]);

pub static STACKS: Stacks = Stacks([const { [const { AtomicUsize::new(COLOUR) }; 2 * WORDS] }; HARTS]);

/// The number of bytes that each hart used of its stack.
pub fn used() -> [usize; HARTS] {
    STACKS.0.each_ref().map(|words| {
        let untouched = words.iter().take_while(|word| word.load(Relaxed) == COLOUR).count();
        let used = (2 * WORDS - untouched) * size_of::<usize>();
        assert!(used <= STACK, "a stack has {STACK} bytes, and {used} were used");
        used
    })
}
