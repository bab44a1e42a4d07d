//! The entries of a table, and the arms that an entry can lead to. [`format`](super) explains the bits of an entry's meta word.

use super::{ARM, INDIRECT, KIND_MASK, KIND_SHIFT, LOADING, OFFSET_SHIFT, OP, PREFIXED, relative};

/// An entry of a table. It describes one site.
#[repr(C, align(4))]
pub struct Entry {
    code: i32,
    target: i32,
    pub(crate) key: i32,
    meta: u32,
}

/// The address that a GOT slot or an import slot holds. In a PE file, a slot may be aligned to no more than four bytes: lld does that with an import
/// library that GNU tools made.
///
/// # Safety
/// `slot` is the address of a slot of a loaded object.
pub(crate) unsafe fn read_slot(slot: usize) -> usize {
    let slot = slot as *const usize;
    // SAFETY: the caller passes the address of a slot, which is mapped. It is aligned, except perhaps in PE files.
    unsafe { if cfg!(jumplabel_windows) { slot.read_unaligned() } else { slot.read() } }
}

impl Entry {
    /// Whether the linker dropped the site or the key: the word that would lead there is 0. (In a PE file, the entry of a dropped site stays in the
    /// table.)
    #[cfg(jumplabel_windows)]
    pub(crate) fn is_dropped(&self) -> bool {
        self.code == 0 || self.key == 0
    }

    /// Whether the place to which the site's word leads lies after the entry. All linkers put code before the table, so such a place without code
    /// means that the linker dropped the site. (lld then leaves in the word what the assembler wrote: a distance from the beginning of the site's
    /// section.)
    #[cfg(jumplabel_windows)]
    pub(crate) fn leads_on(&self) -> bool {
        self.code > 0
    }

    /// Address of the site.
    #[must_use]
    pub fn code(&self) -> usize {
        relative(&raw const self.code)
    }

    /// The address to which the entry leads. For a check, it is the code that the site jumps to; for a check that can load, the stub. For other
    /// kinds, it is a list of arms, a trampoline or the site itself, depending on the kind.
    #[must_use]
    pub fn target(&self) -> usize {
        relative(&raw const self.target)
    }

    /// Address of the key, or of the call or the mode for entries of such kinds.
    #[must_use]
    #[inline(never)]
    pub fn key(&self) -> usize {
        let word = relative(&raw const self.key);
        if !self.is_indirect() {
            return word;
        }
        // SAFETY: the key word of an indirect entry leads to a slot of its object's GOT or import table, which the loader fills before it runs the
        // object's constructors. If the object's bounds are known, the index calls this function only after it has checked that the slot lies in the
        // object.
        let slot = unsafe { read_slot(word) };
        slot.wrapping_add((self.meta >> OFFSET_SHIFT) as usize)
    }

    /// The arms to which the entry leads. The caller ensures that the entry is that of a switch, an operation in place or an alternative.
    pub(crate) fn arms(&self) -> &[Arm] {
        let count = self.target() as *const u32;
        // SAFETY: the caller ensures that the entry leads to a list of arms. The index has found that this list is in the object's code, or could not
        // check that, because the platform does not know the object's bounds.
        unsafe { core::slice::from_raw_parts(count.add(1).cast(), count.read() as usize) }
    }

    /// Whether the site was built as a jump although its first state falls through.
    #[cfg(jumplabel_short_engine)]
    pub(crate) fn is_unlinked(&self) -> bool {
        self.meta & super::UNLINKED != 0
    }

    /// The number of bytes directly in front of the site that belong to the site's instruction.
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    pub(crate) fn bytes_in_front(&self) -> usize {
        jumplabel_format::front::bytes_in_front(self.meta)
    }

    /// Whether the key word leads to a slot, which holds the address of the key's static.
    pub(crate) fn is_indirect(&self) -> bool {
        self.meta & INDIRECT != 0
    }

    /// The value of the check if execution falls through.
    #[must_use]
    pub fn arm(&self) -> bool {
        self.meta & ARM != 0
    }

    /// Whether the site is a check of a key declared `or_load`, which can load the key's count. The entry's target is a stub that loads the count.
    /// While the site jumps to the stub, the check is right in every state of the key.
    #[must_use]
    pub fn loads(&self) -> bool {
        self.kind() == LOADING
    }

    /// Address of the word in front of the stub. This word leads to the arm. The caller ensures that the site can load.
    pub(crate) fn arm_word(&self) -> usize {
        self.target().wrapping_sub(size_of::<i32>())
    }

    /// Address of the arm: where the site jumps once it no longer loads. The caller ensures that the site can load.
    #[inline(never)]
    pub(crate) fn arm_address(&self) -> usize {
        let word = self.arm_word();
        // SAFETY: the caller ensures that the entry leads to a stub. The index has found that the word in front of the stub is in the object's code,
        // or could not check that, because the platform does not know the object's bounds. The read is unaligned, because the word can lie at any
        // address.
        let distance = unsafe { (word as *const i32).read_unaligned() };
        word.wrapping_add_signed(distance as isize)
    }

    /// The number of the site's kind; [`Kind::of`](crate::arch::Kind::of) returns the kind.
    #[must_use]
    pub fn kind(&self) -> u8 {
        (self.meta >> KIND_SHIFT & KIND_MASK) as u8
    }

    /// Whether this is the entry of an alternative.
    #[cfg_attr(not(jumplabel_sites), allow(dead_code))]
    #[cfg_attr(jumplabel_alternatives, inline(never))]
    pub(crate) fn is_alternative(&self) -> bool {
        self.kind() == OP && self.changes().0 != 0
    }

    /// For an alternative, the number of bytes of the site that change, and whether the site jumps to its new instructions instead of holding them.
    /// For other entries, 0 and false.
    pub(crate) fn changes(&self) -> (usize, bool) {
        let word = if self.is_indirect() { 0 } else { self.meta >> OFFSET_SHIFT };
        ((word & 7) as usize, word & 8 != 0)
    }

    /// A number made of [`arm`](Self::arm), the kind, and whether the site has a prefix. If two sites of one key have the same number, they do the
    /// same in each state of the key, and they have the same number of bytes.
    pub(crate) fn traits(&self) -> u32 {
        self.meta & (ARM | PREFIXED | KIND_MASK << KIND_SHIFT)
    }
}

/// An arm of a switch, of an operation in place or of an alternative.
#[repr(C, align(4))]
pub struct Arm {
    mode: u32,
    address: i32,
}

/// The mode number of an [`Arm`] that leads to the operation's name instead of code.
#[cfg_attr(not(jumplabel_sites), allow(dead_code))]
pub(crate) const NAME: u32 = 0xff;

impl Arm {
    /// The number of the mode whose arm this is. In an alternative, the number of the processor's feature that the arm needs, or 0 if it needs none.
    #[must_use]
    pub fn mode(&self) -> u32 {
        self.mode & 0xff
    }

    /// The address of the arm's code, or of the operation's name.
    #[must_use]
    pub fn address(&self) -> usize {
        relative(&raw const self.address)
    }

    /// The length of the arm's instruction; in an alternative, the length of all its instructions. 0 if the site can only jump to the arm.
    #[must_use]
    pub fn length(&self) -> usize {
        (self.mode >> 8) as usize
    }

    /// The bytes of the arm's instructions, or of the operation's name.
    #[cfg_attr(not(jumplabel_sites), allow(dead_code))]
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: the index has found that the entry's arms lead to code of its object, or could not check that, because the platform does not know
        // the object's bounds.
        unsafe { core::slice::from_raw_parts(self.address() as *const u8, self.length()) }
    }
}
