//! The constants of the tables, records and notes in a binary. docs/table-format.md explains their layouts, and `jumplabel::format` has the
//! types of the records.

/// The version of these layouts.
pub const VERSION: u32 = 1;

/// The name of the section with the table.
pub const TABLE_SECTION: &str = "__jump_table";
/// The name of the section with the key records.
pub const KEYS_SECTION: &str = "__jump_keys";
/// The name of the section with an object's marks, one word each. A mark of 0 says that sites of the object can belong to keys in other
/// objects.
pub const FOREIGN_SECTION: &str = "__jump_foreign";
/// The name of the section with the elements of lists.
pub const LISTS_SECTION: &str = "__jump_lists";
/// A mark in `__jump_foreign`: the object has entries with the flag [`UNLINKED`].
pub const TO_LINK: u32 = 1;
/// A mark in `__jump_foreign` that was [`TO_LINK`] until `jumplabel link` changed the sites. It has no meaning any more.
pub const LINKED: u32 = 2;
/// The name of the section with the note.
pub const NOTE_SECTION: &str = ".note.jumplabel";
/// The name of the note's owner, with its terminating zero.
pub const NOTE_NAME: &[u8; 10] = b"jumplabel\0";

/// The names of sections in a PE file (Windows). In an image, such a name has eight bytes at most.
pub mod pe {
    /// The section with the table.
    pub const TABLE_SECTION: &str = ".rsrc_jt";
    /// The section with the key records, the elements of lists, and words that lead to the object's record.
    pub const RECORDS_SECTION: &str = ".vectors";
    /// The section with the object's record.
    pub const OBJECT_SECTION: &str = ".jumplbl";
    /// The bytes at the start of the section with the object's record.
    pub const SIGNATURE: &[u8; 12] = b"jumplabel\0\0\0";
}

/// The first words of the record that each instance of the library has. Nothing else begins with these words.
pub const MAGIC: [u32; 2] = [0x6a75_6d70, 0xc5f0_93d2];

/// The size of a key in bytes. A key is aligned to its size.
pub const KEY_BYTES: usize = 8;

/// A flag of a check's entry: the value of the check if it falls through (1 for `static_branch_likely`).
pub const ARM: u32 = 1 << 0;
/// A flag in an entry's meta, and in the shape of a declaration: the key word leads to a slot. The slot holds the address of the static that contains
/// the key.
pub const INDIRECT: u32 = 1 << 1;
/// The number of the lowest bit of an entry's kind, which has four bits.
pub const KIND_SHIFT: u32 = 2;
/// The bits of the kind, after a shift by [`KIND_SHIFT`].
pub const KIND_MASK: u32 = 0xf;
/// The kind of a check of a key. The check falls through or jumps.
pub const BRANCH: u8 = 0;
/// The kind of the function of a naked key. The function returns whether the key is on.
pub const NAKED: u8 = 1;
/// The kind of the trampoline of a static call. It leads to the call's target, directly or through a slot.
pub const JUMP: u8 = 2;
/// The kind of an N-way switch: the site jumps to the arm of its mode. The word at the entry's target is the number of arms. For each arm, two
/// more words follow: one has its mode, the other leads to its code.
pub const SWITCH: u8 = 3;
/// The kind of a listed call: the displacement of an instruction that calls a static call. The entry's target is the trampoline.
pub const CALL_SITE: u8 = 4;
/// The kind of an operation in place, and of an alternative.
///
/// The site of an operation is an instruction of the program, or a jump to a backend's stub. The entry's target is a list of arms, as for a
/// switch. If an arm is an instruction, the word with its mode also holds the instruction's length.
///
/// An entry of this kind is an alternative if the three bits from [`OFFSET_SHIFT`] on are not 0. They say how many bytes of the site change. The
/// mode of an arm is the number of a processor's feature. The arm of mode 0 has the instructions that the site holds in the file. If the bit above
/// the three bits is set, the site jumps to the other arms; if not, the site holds their instructions.
pub const OP: u8 = 5;
/// The kind of a lock prefix: the first byte of an instruction, which is `lock` if the key is off. The entry's target is the site.
pub const PREFIX: u8 = 6;
/// The kind of a check of two bytes, on x86. In all else it is like [`BRANCH`]. A site has this kind only if it was built as a plain jump
/// whose size the assembler chose (`--cfg jumplabel_short`).
pub const SHORT: u8 = 7;
/// The kind of a check that can load its key (`or_load`). The entry's target is a stub, which loads the key's count from memory, and continues
/// in the arm that the count asks for. A word directly in front of the stub leads to the arm out of line. The site begins as a jump to the stub;
/// later it falls through, or jumps to the arm.
pub const LOADING: u8 = 8;
/// A flag of an entry: the byte in front of the site is a prefix of its instruction (x86). The byte never changes.
pub const PREFIXED: u32 = 1 << 6;
/// A flag of an entry of kind [`BRANCH`] or [`SHORT`]: the site was built as a jump, although its first state falls through. `jumplabel
/// link` writes the nop, and clears this flag.
pub const UNLINKED: u32 = 1 << 7;
/// A flag that only the assembler uses: the site's first instruction is a jump. It is the bit of [`UNLINKED`].
#[doc(hidden)] // For the macros.
pub const JUMPS: u64 = 1 << 7;
/// The number of the lowest bit of the number above the flags. In an entry's meta, that number is the offset of an indirect key in its static. In the
/// shape of a declaration, it is the distance between the elements of an array of keys.
pub const OFFSET_SHIFT: u32 = 8;
/// A flag in the shape of a declaration: the default of the declared keys is true.
pub const DEFAULT: u32 = 1 << 0;
/// A flag in the shape of a declaration: it declares a static call, not a key.
pub const CALL: u32 = 1 << 2;
/// A flag in the shape of a declaration: it declares a static mode, not a key.
pub const MODE: u32 = 1 << 3;
/// A flag in the shape of a declaration in C: the third word of the key record leads to a function. The function describes the tracepoint of the key,
/// for the watcher of semaphores.
pub const TRACED: u32 = 1 << 4;
/// A flag in the shape of a declaration in C: the key follows a semaphore of the program's probes of `<sys/sdt.h>`. A word after the key leads to the
/// semaphore.
pub const SEMAPHORE: u32 = 1 << 5;
