//! The numbers of the layouts that a binary carries: docs/table-format.md explains them, and `jumplabel::format` has the records that they are
//! in.

/// Version of the layouts.
pub const VERSION: u32 = 1;

/// The section of the tables.
pub const TABLE_SECTION: &str = "__jump_table";
/// The section of the key records.
pub const KEYS_SECTION: &str = "__jump_keys";
/// The section that an object has if sites of it may be of keys in other objects.
pub const FOREIGN_SECTION: &str = "__jump_foreign";
/// A word of that section: the object has entries with the flag [`UNLINKED`].
pub const TO_LINK: u32 = 1;
/// A word of that section that was [`TO_LINK`]: `jumplabel link` has turned the sites, and the word means nothing any more.
pub const LINKED: u32 = 2;
/// The section of the note.
pub const NOTE_SECTION: &str = ".note.jumplabel";
/// The owner in the note, with its zero.
pub const NOTE_NAME: &[u8; 10] = b"jumplabel\0";

/// What the record of an instance of the library begins with, and nothing else does.
pub const MAGIC: [u32; 2] = [0x6a75_6d70, 0xc5f0_93d2];

/// Bytes of a key, which is aligned to as many.
pub const KEY_BYTES: usize = 8;

/// A flag of an entry's meta word, the check's arm: what it yields if execution falls through (1 = likely).
pub const ARM: u32 = 1 << 0;
/// A flag of an entry and of a key record: the key word leads to a GOT slot that holds the key's address.
pub const INDIRECT: u32 = 1 << 1;
/// Where an entry's kind begins: four bits.
pub const KIND_SHIFT: u32 = 2;
/// The bits of the kind, behind [`KIND_SHIFT`].
pub const KIND_MASK: u32 = 0xf;
/// The kind of a check of a key: it falls through or jumps.
pub const BRANCH: u8 = 0;
/// The kind of the function of a naked key: it returns whether the key is on.
pub const NAKED: u8 = 1;
/// The kind of the trampoline of a static call: it leads to the call's target, directly or through a slot.
pub const JUMP: u8 = 2;
/// The kind of an N-way switch: it jumps to the arm of its mode. The entry's target is a word with the number of its arms, and then
/// a word and an address for each.
pub const SWITCH: u8 = 3;
/// The kind of a call of a static call: the displacement of an instruction that calls the trampoline, which is the entry's target.
pub const CALL_SITE: u8 = 4;
/// The kind of an operation in place: an instruction of the program's, or a jump to a backend's stub. The entry's target is as a switch's;
/// of an arm that is an instruction, the mode says how long it is, too. An alternative is one that says how many bytes of its site change, in
/// three bits from [`OFFSET_SHIFT`] on, with the number of a feature for a mode, 0 for the instructions that are there in a file. The bit above
/// is set if the site jumps to all arms but that.
pub const OP: u8 = 5;
/// The kind of a lock prefix: the first byte of an instruction, which is `lock` if the key is on. The entry's target is the site.
pub const PREFIX: u8 = 6;
/// The kind of a check of two bytes, on x86: otherwise as [`BRANCH`]. Only if the site was built as a plain jump (`--cfg jumplabel_short`),
/// of which the assembler chose the size.
pub const SHORT: u8 = 7;
/// A flag of an entry of kind [`BRANCH`]: the site's jump leads to a stub that loads the key's count and goes on where that says.
pub const LOADS: u32 = 1 << 6;
/// A flag of an entry of kind [`BRANCH`] or [`SHORT`]: the site shall begin as what falls through, and was built as a jump. `jumplabel link`
/// writes the nop, and clears this.
pub const UNLINKED: u32 = 1 << 7;
/// For the assembler only, in the bit of [`UNLINKED`]: the site's first instruction is a jump.
#[doc(hidden)] // For the macros.
pub const JUMPS: u64 = 1 << 7;
/// The offset into an indirect key sits above the flags of an entry; the distance of elements above those of a key record.
pub const OFFSET_SHIFT: u32 = 8;
/// A flag of a key record: the default.
pub const DEFAULT: u32 = 1 << 0;
/// A flag of a key record: it is of a static call, and of no key.
pub const CALL: u32 = 1 << 2;
/// A flag of a key record: it is of a static mode, and of no key.
pub const MODE: u32 = 1 << 3;
