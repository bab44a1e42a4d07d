//! Static calls in builds without trampolines. `Deref` of a static call must return a reference to something that does not change. So each target has
//! a word of its own, which holds the target's address and never changes. A call loads the address of that word from the static, and then loads the
//! word. A word is never freed: all calls that lead to the same target use the same word.

use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering};

use crate::error::Error;
use crate::platform::platform;

/// A block of words. Words that are still null are free.
#[repr(C)]
struct Block {
    next: *mut Block,
    words: [AtomicPtr<()>; WORDS],
}

/// The number of words of a block. A block then fits into one page, whatever the size of a page.
const WORDS: usize = 511;

static BLOCKS: AtomicPtr<Block> = AtomicPtr::new(null_mut());

/// Returns the address of the word that holds `target`. If no word holds it yet, fills in a free word.
pub(super) fn word_of(target: usize) -> Result<usize, Error> {
    loop {
        let first = BLOCKS.load(Ordering::Acquire);
        let mut at = first;
        // SAFETY: `at` is null or leads to a block that `add` below has published. Blocks are never freed.
        while let Some(block) = unsafe { at.as_ref() } {
            for word in &block.words {
                // If the word is free, it now becomes the word of `target`. If another thread takes it first, `held` says for which target.
                match word.compare_exchange(null_mut(), target as *mut (), Ordering::AcqRel, Ordering::Acquire) {
                    Ok(_) => return Ok(word.as_ptr() as usize),
                    Err(held) if held as usize == target => return Ok(word.as_ptr() as usize),
                    Err(_) => {}
                }
            }
            at = block.next;
        }
        add(first)?;
    }
}

/// Puts an empty block in front of the block `first`. If `first` is not the first block any more, frees the new block: another thread has added one.
fn add(first: *mut Block) -> Result<(), Error> {
    let platform = platform();
    let memory = platform.allocate(size_of::<Block>()).ok_or(Error::OutOfMemory)?;
    let block = memory.cast::<Block>().as_ptr();
    // SAFETY: `allocate` returned zeroed memory of the size of a block, which is a valid `Block`. Only this thread has it.
    unsafe { (*block).next = first };
    if BLOCKS.compare_exchange(first, block, Ordering::AcqRel, Ordering::Relaxed).is_err() {
        // SAFETY: the block comes from `allocate` with this size. It was not published, so no other thread has seen it.
        unsafe { platform.release(memory, size_of::<Block>()) };
    }
    Ok(())
}
