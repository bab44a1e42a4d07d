//! Static calls in builds without trampolines. `Deref` must return a reference to something that does not change. So each target has one word,
//! which holds the target's address and never changes. A call loads a pointer to that word, and then the word. A word is never freed. It is used
//! again whenever a call is led to its target.

use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering};

use crate::error::Error;
use crate::platform::platform;

/// A block of words. A word that is null is free.
#[repr(C)]
struct Block {
    next: *mut Block,
    words: [AtomicPtr<()>; WORDS],
}

/// The number of words with which a block fits into one page of any size.
const WORDS: usize = 511;

static BLOCKS: AtomicPtr<Block> = AtomicPtr::new(null_mut());

/// The address of the word that holds `target`. Makes the word if there is none yet.
pub(super) fn word_of(target: usize) -> Result<usize, Error> {
    loop {
        let first = BLOCKS.load(Ordering::Acquire);
        let mut at = first;
        // SAFETY: `at` is null, or a block that was published below. Blocks are never freed.
        while let Some(block) = unsafe { at.as_ref() } {
            for word in &block.words {
                // A free word becomes the target's word, unless another thread takes it first.
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

/// Puts an empty block in front of the block `first`, if `first` is still the first one.
fn add(first: *mut Block) -> Result<(), Error> {
    let platform = platform();
    let memory = platform.allocate(size_of::<Block>()).ok_or(Error::OutOfMemory)?;
    let block = memory.cast::<Block>().as_ptr();
    // SAFETY: this is zeroed memory of the size of a block, and only this thread has it.
    unsafe { (*block).next = first };
    if BLOCKS.compare_exchange(first, block, Ordering::AcqRel, Ordering::Relaxed).is_err() {
        // SAFETY: the block comes from `allocate`, and no other thread has seen it.
        unsafe { platform.release(memory, size_of::<Block>()) };
    }
    Ok(())
}
