/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A site and its table entry, for all instruction sets. <jumplabel/jump_label.h> includes this; <jumplabel/arch.h> has the code of each instruction
 * set.
 *
 *     code of the function                   __jump_table, read-only, 16 bytes an entry
 *     1:  nop  or  jmp jumped  ◄──────────── code   - here
 *         ...                       ┌─────── target - here
 *     jumped:  ◄────────────────────┘        key    - here     or the slot that holds the key's address
 *                                            meta: bit 0 = arm, 1 = slot, 2-5 = kind, 6 = prefix, 7 = to link, 8-31 = offset
 *
 * Each word holds the distance from itself to its target, so a site needs no relocation. A key of a shared library may be anywhere in the process
 * (the program's definition of the symbol comes first). So code for a shared library refers to it by a slot: a word for each key and source file,
 * which the loader fills in. An object with slots bears a mark, and its sites are brought to the state of their keys when it is loaded. The format is
 * in docs/table-format.md.
 *
 * With JUMPLABEL_SHORT (x86, not in kernels), each site is built as a plain `jmp jumped`, of 2 or 5 bytes as the assembler chooses. `jumplabel link
 * FILE` writes a nop into each site that must fall through at first. If nobody has run that, the object's constructor does it before all other
 * constructors.
 */
#ifndef JUMPLABEL_SITE_H
#define JUMPLABEL_SITE_H

#include "arch.h"

/* A table entry, for tools and tests. The linker defines the bounds of the table: __start___jump_table, __stop___jump_table. */
struct jump_entry {
	int32_t code;
	int32_t target;
	int32_t key;
	uint32_t meta;
};

enum jump_label_type {
	JUMP_LABEL_NOP = 0,
	JUMP_LABEL_JMP,
};

static __inline__ uintptr_t jump_entry_code(const struct jump_entry *_entry)
{
	return JUMPLABEL_CAST_(uintptr_t, &_entry->code) + JUMPLABEL_STATIC_CAST_(uintptr_t, _entry->code);
}

static __inline__ uintptr_t jump_entry_target(const struct jump_entry *_entry)
{
	return JUMPLABEL_CAST_(uintptr_t, &_entry->target) + JUMPLABEL_STATIC_CAST_(uintptr_t, _entry->target);
}

static __inline__ struct static_key *jump_entry_key(const struct jump_entry *_entry)
{
	uintptr_t _word = JUMPLABEL_CAST_(uintptr_t, &_entry->key) + JUMPLABEL_STATIC_CAST_(uintptr_t, _entry->key);

	if (_entry->meta & 2)
		_word = *JUMPLABEL_CAST_(const uintptr_t *, _word) + (_entry->meta >> 8);
	return JUMPLABEL_CAST_(struct static_key *, _word);
}

/* The result of the check if execution falls through: true for a likely check. */
static __inline__ bool jump_entry_is_branch(const struct jump_entry *_entry)
{
	return _entry->meta & 1;
}

/* Always false: there is no init text, because constructors and destructors are ordinary code. */
static __inline__ bool jump_entry_is_init(const struct jump_entry *_entry)
{
	(void)_entry;
	return false;
}

/* True for the site in a naked key's function: <jumplabel/static_naked_key.h>. */
static __inline__ bool jump_entry_is_naked(const struct jump_entry *_entry)
{
	return (_entry->meta >> 2 & 15) == 1;
}

/* True for the trampoline of a static call: <jumplabel/static_call.h>. `key` then leads to the call. */
static __inline__ bool jump_entry_is_call(const struct jump_entry *_entry)
{
	return (_entry->meta >> 2 & 15) == 2;
}

/* True if the key was defined by DEFINE_STATIC_KEY_*_OR_LOAD(). The site begins as a jump to `target`, a stub that loads the key's count. A word
   before the stub leads to the place to which the site jumps once it is patched. */
static __inline__ bool jump_entry_loads(const struct jump_entry *_entry)
{
	return (_entry->meta >> 2 & 15) == 8;
}

/* True for a site of two bytes, built with JUMPLABEL_SHORT. In all else it is like any check. */
static __inline__ bool jump_entry_is_short(const struct jump_entry *_entry)
{
	return (_entry->meta >> 2 & 15) == 7;
}

static __inline__ int jump_entry_size(const struct jump_entry *_entry)
{
	return jump_entry_is_short(_entry) ? 2 : JUMP_LABEL_NOP_SIZE;
}

#ifdef __ELF__

/*
 * The record of an object (a program or shared library), with its constructor and destructor. An object has one of each, whatever the number of files
 * (a COMDAT group). The constructor runs before the program's own, whose priorities begin at 101, and the destructor after the program's own, so
 * sites follow their keys in those, too. The library's own files emit the same group, so that C and Rust in one object share one table.
 */
#define JUMPLABEL_OBJECT_                                                                                              \
	".ifndef .Ljumplabel_object\n"                                                                                 \
	".set .Ljumplabel_object, 1\n"                                                                                 \
	".pushsection .text.__jumplabel_object, \"axG\", \"progbits\", __jumplabel_object, comdat\n"                   \
	".balign 4\n"                                                                                                  \
	".weak __jumplabel_object_init\n"                                                                              \
	".hidden __jumplabel_object_init\n"                                                                            \
	".type __jumplabel_object_init, STT_FUNC\n"                                                                    \
	"__jumplabel_object_init:\n"                                                                                   \
	JUMPLABEL_ENTRY_("jumplabel_register_object")                                                                  \
	".weak __jumplabel_object_fini\n"                                                                              \
	".hidden __jumplabel_object_fini\n"                                                                            \
	".type __jumplabel_object_fini, STT_FUNC\n"                                                                    \
	"__jumplabel_object_fini:\n"                                                                                   \
	JUMPLABEL_ENTRY_("jumplabel_unregister_object")                                                                \
	".popsection\n"                                                                                                \
	".pushsection .data.__jumplabel_object, \"awG\", \"progbits\", __jumplabel_object, comdat\n"                   \
	".weak __jumplabel_object\n"                                                                                   \
	".hidden __jumplabel_object\n"                                                                                 \
	".type __jumplabel_object, STT_OBJECT\n"                                                                       \
	JUMPLABEL_BOUNDS_("__jump_table")                                                                              \
	JUMPLABEL_BOUNDS_("__jump_keys")                                                                               \
	JUMPLABEL_BOUNDS_("__jump_foreign")                                                                            \
	JUMPLABEL_BOUNDS_("__jump_lists")                                                                              \
	JUMPLABEL_PIECE_("__jump_keys")                                                                                \
	JUMPLABEL_PIECE_("__jump_foreign")                                                                             \
	JUMPLABEL_PIECE_("__jump_lists")                                                                               \
	".balign 8\n"                                                                                                  \
	"__jumplabel_object:\n"                                                                                        \
	JUMPLABEL_POINTERS_("0, 0, 0, 0, 0, 0, 0")                                                                     \
	".long __start___jump_table - .\n"                                                                             \
	".long __stop___jump_table - .\n"                                                                              \
	".long __start___jump_keys - .\n"                                                                              \
	".long __stop___jump_keys - .\n"                                                                               \
	".long __start___jump_foreign - .\n"                                                                           \
	".long __stop___jump_foreign - .\n"                                                                            \
	".long __start___jump_lists - .\n"                                                                             \
	".long __stop___jump_lists - .\n"                                                                              \
	".long 0\n"                                                                                                    \
	".long 1\n" /* the version of the layouts */                                                                   \
	".size __jumplabel_object, . - __jumplabel_object\n"                                                           \
	".popsection\n"                                                                                                \
	JUMPLABEL_RETAINED_(".init_array.00000", "aGw", ", \"init_array\", __jumplabel_object, comdat")                      \
	JUMPLABEL_BALIGN_POINTER_                                                                                      \
	JUMPLABEL_POINTERS_("__jumplabel_object_init")                                                                 \
	".popsection\n"                                                                                                \
	JUMPLABEL_RETAINED_(".fini_array.00000", "aGw", ", \"fini_array\", __jumplabel_object, comdat")                      \
	JUMPLABEL_BALIGN_POINTER_                                                                                      \
	JUMPLABEL_POINTERS_("__jumplabel_object_fini")                                                                 \
	".popsection\n"                                                                                                \
	JUMPLABEL_RECORD_NOTE_                                                                                         \
	".endif\n"

/* A note that the object has a record. It can be found before any constructor runs. Kernels do not need it. */
#if __STDC_HOSTED__
#define JUMPLABEL_RECORD_NOTE_                                                                                         \
	".pushsection .note.jumplabel, \"aG\", \"note\", __jumplabel_object, comdat\n"                                  \
	".balign 4\n"                                                                                                  \
	".long 10, 0, 1\n" /* the length of the name, no contents, the version */                                                 \
	".asciz \"jumplabel\"\n"                                                                                       \
	".balign 4\n"                                                                                                  \
	".popsection\n"
#else
#define JUMPLABEL_RECORD_NOTE_ ""
#endif

#define JUMPLABEL_BOUNDS_(section)                                                                                     \
	".weak __start_" section "\n.hidden __start_" section "\n.weak __stop_" section "\n.hidden __stop_" section "\n"
/* Emits an empty piece of a section that might not exist: gold cannot link references to the bounds of a missing section. */
#define JUMPLABEL_PIECE_(section) JUMPLABEL_RETAINED_(section, "a", "") ".popsection\n"

/* Begins a section that linkers keep (flag R), if the assembler knows this flag: gas does from 2.36 on. */
#ifdef __clang__
#define JUMPLABEL_RETAINED_(section, flags, rest) ".pushsection " section ", \"" flags "R\"" rest "\n"
#else
#define JUMPLABEL_RETAINED_(section, flags, rest)                                                                             \
	".set .Ljumplabel_retains, 0\n"                                                                                \
	".ifdef .gasversion.\n"                                                                                        \
	".if .gasversion. >= 23600\n"                                                                                  \
	".set .Ljumplabel_retains, 1\n"                                                                                \
	".endif\n"                                                                                                     \
	".endif\n"                                                                                                     \
	".if .Ljumplabel_retains\n"                                                                                    \
	".pushsection " section ", \"" flags "R\"" rest "\n"                                                           \
	".else\n"                                                                                                      \
	".pushsection " section ", \"" flags "\"" rest "\n"                                                            \
	".endif\n"
#endif

/* The mark: the sites of this object are brought to the state of their keys when it is loaded. */
#define JUMPLABEL_MARK_                                                                                                \
	".ifndef .Ljumplabel_mark\n"                                                                                   \
	".set .Ljumplabel_mark, 1\n"                                                                                   \
	JUMPLABEL_RETAINED_("__jump_foreign", "a", "")                                                                        \
	".balign 4\n"                                                                                                  \
	".long 0\n"                                                                                                    \
	".popsection\n"                                                                                                \
	".endif\n"

/* Encloses code that is placed after the functions of a section: stubs, and the arms of switches. */
#define JUMPLABEL_BEGIN_COLD_ ".subsection 1;"
#define JUMPLABEL_BEGIN_ARMS_ ".subsection 2;"
#define JUMPLABEL_END_COLD_ ".previous;"
/* A relocation without an effect on bytes. It tells the linker that `from` needs `to`. */
#define JUMPLABEL_TIE_(from, to) ".reloc " from ",BFD_RELOC_NONE," to ";"
#define JUMPLABEL_RECORDS_ JUMPLABEL_RETAINED_("__jump_keys", "a", "")
#define JUMPLABEL_KEEP_(symbol) ""
#define JUMPLABEL_KEEP_ARMS_(arms) ""
#define JUMPLABEL_MARK_IF_IMPORTED_ ""

/* Begin and end of an object or a function that the assembler defines. */
#define JUMPLABEL_HIDE_(symbol) ".hidden " symbol "\n"
#define JUMPLABEL_BEGIN_DATA_(symbol)                                                                                  \
	".pushsection .data." symbol ", \"aw\", \"progbits\"\n"                                                        \
	".balign 8\n"                                                                                                  \
	".globl " symbol "\n"                                                                                          \
	".hidden " symbol "\n"                                                                                         \
	".type " symbol ", STT_OBJECT\n"
#define JUMPLABEL_BEGIN_CODE_(symbol, align)                                                                           \
	".pushsection .text." symbol ", \"ax\", \"progbits\"\n" align                                                  \
	".globl " symbol "\n"                                                                                          \
	".type " symbol ", STT_FUNC\n"
#define JUMPLABEL_END_OF_(symbol) ".size " symbol ", . - " symbol "\n"
/* Protected: references from this object lead to this definition. */
#define JUMPLABEL_EXPORT_(symbol) ".protected " symbol "\n"

#else
#include "pe.h"
#endif

/* Parts of the text of a site. FIRST_STATE: the branches of its .if for a site without a stub; the number has 8 if it starts as a jump. MARK_TO_LINK:
   the mark of an object with sites that must be linked. META: the entry's flags; kind 7 for 2 bytes, and 128 if it must fall through at first, but
   was built as a jump. */
#ifdef JUMPLABEL_PLAIN_JUMP_
#define JUMPLABEL_FIRST_STATE_ ".else;" JUMPLABEL_PLAIN_JUMP_(JUMPLABEL_CHECK_HERE_, ".Lj_to%=")
#define JUMPLABEL_SIZE_ "9:;"
#define JUMPLABEL_META_ "((.Lj_meta&39)+((.Lj_meta&8)^8)*16+((5-(9b-" JUMPLABEL_CHECK_BACK_ "))/3&1)*28)" JUMPLABEL_META_PREFIXED_
#define JUMPLABEL_MARK_TO_LINK_                                                                                        \
	".ifndef .Ljumplabel_to_link\n"                                                                                \
	".set .Ljumplabel_to_link, 1\n"                                                                                \
	JUMPLABEL_RETAINED_("__jump_foreign", "a", "")                                                                  \
	".balign 4\n"                                                                                                  \
	".long 1\n"                                                                                                    \
	".popsection\n"                                                                                                \
	".endif\n"
#else
#define JUMPLABEL_FIRST_STATE_                                                                                         \
	".elseif .Lj_meta&8;" JUMPLABEL_JUMP_(JUMPLABEL_CHECK_HERE_, ".Lj_to%=")                                       \
	".else;" JUMPLABEL_NOP_(JUMPLABEL_CHECK_HERE_, ".Lj_to%=")
#define JUMPLABEL_SIZE_ ""
#define JUMPLABEL_META_ "(.Lj_meta&39)" JUMPLABEL_META_PREFIXED_
#define JUMPLABEL_MARK_TO_LINK_ ""
#endif

/*
 * The text that a file needs once. It is in the bodies of functions that nobody calls, because the compiler and the assembler would otherwise read it
 * again at each site. A site names one of these functions as an operand that its text does not use, so a file without sites has neither. (A text
 * outside of functions would be in every file that includes this header, and, with link-time optimisation, perhaps in another file than the sites. If
 * this does not matter, <jumplabel/site_macros.h> has such a text.)
 */
static __inline__ __attribute__((__cold__)) void jumplabel_object_(void)
{
	__asm__ __volatile__(JUMPLABEL_OBJECT_ JUMPLABEL_MARK_TO_LINK_);
}
static __inline__ __attribute__((__cold__)) void jumplabel_marked_object_(void)
{
	__asm__ __volatile__(JUMPLABEL_OBJECT_ JUMPLABEL_MARK_TO_LINK_ JUMPLABEL_MARK_);
}

/* Slots are also used in code models in which data may be far from the table. */
#if defined(__ELF__) &&                                                                                                \
	((defined(__PIC__) && !defined(__PIE__) && !defined(JUMPLABEL_LOCAL_KEYS)) || defined(JUMPLABEL_FOREIGN_KEYS) || \
	 defined(__code_model_medium__) || defined(__code_model_large__))
#define JUMPLABEL_INDIRECT_ 2
#define JUMPLABEL_OBJECT_OF_TYPED_ jumplabel_marked_object_
/* The slot: one for each key of a file. The `0 +` makes anything but a symbol an error. */
#define JUMPLABEL_SLOT_OF_(label, key)                                                                                 \
	".ifndef " label "\n"                                                                                          \
	".pushsection .data.rel.ro.__jump_slots, \"aw\"\n"                                                            \
	".balign 8\n"                                                                                                  \
	label ":\n"                                                                                                    \
	JUMPLABEL_POINTERS_("0 + " key)                                                                                \
	".popsection\n"                                                                                                \
	".endif\n"
#ifdef __clang__
/* clang writes quotes around a name that is not ASCII, and .irp removes them. */
#define JUMPLABEL_SLOT_                                                                                                \
	".irp key," JUMPLABEL_KEY_TEXT_ "\n"                                                                           \
	JUMPLABEL_SLOT_OF_("\".Ljumplabel_slot_\\key\"", JUMPLABEL_KEY_TEXT_)                                          \
	".set .Lj_slot%=,\".Ljumplabel_slot_\\key\"\n"                                                                \
	".endr\n"
#define JUMPLABEL_KEY_LABEL_ ".Lj_slot%="
#else
#define JUMPLABEL_KEY_LABEL_ "\".Ljumplabel_slot_" JUMPLABEL_KEY_TEXT_ "\""
#define JUMPLABEL_SLOT_ JUMPLABEL_SLOT_OF_(JUMPLABEL_KEY_LABEL_, JUMPLABEL_KEY_TEXT_)
#endif
#define JUMPLABEL_TEST_ JUMPLABEL_TEST_SLOT_
#define JUMPLABEL_COMPARE_(mode) JUMPLABEL_COMPARE_SLOT_(JUMPLABEL_KEY_LABEL_, mode)
#else
#define JUMPLABEL_INDIRECT_ 0
#define JUMPLABEL_OBJECT_OF_TYPED_ jumplabel_object_
#ifdef __ELF__
#define JUMPLABEL_SLOT_ ""
#else
#define JUMPLABEL_SLOT_ JUMPLABEL_KEPT_
#endif
#define JUMPLABEL_KEY_LABEL_ JUMPLABEL_KEY_TEXT_
#define JUMPLABEL_TEST_ JUMPLABEL_TEST_KEY_
#define JUMPLABEL_COMPARE_(mode) JUMPLABEL_COMPARE_KEY_(JUMPLABEL_KEY_TEXT_, mode)
#endif

/*
 * The name by which a check refers to a key, or to its slot. An alias (.set) refers to the definition in this file. So it must not be used for a weak
 * key, or for one that C++ defines in each file that uses it (inline, in a template): the linker may take that of another file.
 */
#if JUMPLABEL_INDIRECT_ || (defined(JUMPLABEL_LOCAL_KEYS) && !defined(__cplusplus))
#define JUMPLABEL_ALIAS_
#define JUMPLABEL_SET_KEY_ ".set .Lj_key%=," JUMPLABEL_KEY_LABEL_ ";"
#define JUMPLABEL_KEY_NAME_ ".Lj_key%="
#else
#define JUMPLABEL_SET_KEY_ ""
#define JUMPLABEL_KEY_NAME_ JUMPLABEL_KEY_TEXT_
#endif

/* The word for a key in a table entry. */
#define JUMPLABEL_KEY_WORD_ JUMPLABEL_KEY_LABEL_ " - ."

/*
 * The table. All its sections are tied to a section of code (flag o), as Rust's are. If some were not tied, mold would make two tables, and the
 * library would find only one of them.
 *
 * The entries of checks are in one section for each file and COMDAT group. This section is tied to one byte of the file. So object files are smaller,
 * and the compiler is faster. Each site refers to its entry, and so to this section. The section refers to all functions of the file that have sites.
 * So lld (--gc-sections) keeps all these functions, or drops all of them. With JUMPLABEL_PRECISE_TABLE, the entry of each check has a section of its
 * own, as the entries of all other kinds always have. Such a section is dropped with its function.
 */
#define JUMPLABEL_HERE_ ".Lj_site%="
#ifdef __ELF__
#define JUMPLABEL_TABLE_ "__jump_table, \"ao?\", \"progbits\", .Lj_site%="
#define JUMPLABEL_NAKED_TABLE_(function) "__jump_table, \"ao\", \"progbits\", " function
#endif

#if defined(JUMPLABEL_PRECISE_TABLE) || !defined(__ELF__)
#define JUMPLABEL_CHECK_HERE_ JUMPLABEL_HERE_
#define JUMPLABEL_CHECK_BACK_ JUMPLABEL_HERE_
#define JUMPLABEL_CHECK_TABLE_ ".pushsection " JUMPLABEL_TABLE_ ";"
#else
#define JUMPLABEL_CHECK_HERE_ "2"
#define JUMPLABEL_CHECK_BACK_ "2b"
/* The byte to which the table of a file is tied; the linker keeps its section if something refers to it. It has a section of its own name, because
   linkers that fold identical code (--icf) drop sections that are tied to one that they fold, such as an empty .text. */
#define JUMPLABEL_FILE_ ".pushsection __jump_files,\"a\";.Lj_file:.byte 0;.popsection;"
#define JUMPLABEL_CHECK_TABLE_                                                                                         \
	".ifndef .Lj_file;" JUMPLABEL_FILE_ ".endif;" JUMPLABEL_CHECK_TABLE_OF_FILE_
#define JUMPLABEL_CHECK_TABLE_OF_FILE_                                                                                 \
	".reloc 2b,BFD_RELOC_NONE,.Lj_file;"                                                                           \
	".pushsection __jump_table,\"ao?\",\"progbits\",.Lj_file;"
#endif

/*
 * The relocation against the entry has no effect on bytes. It keeps the table if a linker drops unused sections. It also tells functions that check
 * different keys apart: a linker that folds identical code (--icf) would otherwise leave one site for both. `number` is the entry's meta word, plus 8
 * if the site starts as a jump. The stub of a site that loads comes after the functions of its section, and directly before it a word that leads to
 * the other arm.
 *
 * The text has few lines, and first gives short names to the operands: for each line, and for each use of an operand, clang computes the place in the
 * source, and reads all string literals before it again.
 */
#define JUMPLABEL_LOADS_ 32
#define JUMPLABEL_SITE_TEXT_                                                                                           \
	JUMPLABEL_SITE_TEXT_OF_(JUMPLABEL_SLOT_ JUMPLABEL_MARK_IF_IMPORTED_ JUMPLABEL_SET_KEY_, JUMPLABEL_KEY_NAME_)
#define JUMPLABEL_SITE_TEXT_OF_(before, key)                                                                           \
	".set .Lj_to%=,%l[jumplabel_jumped];.set .Lj_meta," JUMPLABEL_NUMBER_("_number") ";"                           \
	before JUMPLABEL_PREFIX_                                                                                       \
	".if .Lj_meta&32;" JUMPLABEL_BEGIN_COLD_ ".long .Lj_to%=-.;4:" JUMPLABEL_TEST_(key)                            \
	JUMPLABEL_STUB_(".Lj_meta", "8f", ".Lj_to%=") JUMPLABEL_END_COLD_                                              \
	JUMPLABEL_JUMP_(JUMPLABEL_CHECK_HERE_, "4b") "8:;" JUMPLABEL_FIRST_STATE_ ".endif;" JUMPLABEL_SIZE_            \
	JUMPLABEL_TIE_(JUMPLABEL_CHECK_BACK_, "3f") JUMPLABEL_CHECK_TABLE_                                             \
	".balign 4;3:.long " JUMPLABEL_CHECK_BACK_ "-.;.if .Lj_meta&32;.long 4b-.;.else;"                              \
	".long .Lj_to%=-.;.endif;.long " key "-.," JUMPLABEL_META_ ";.popsection;"

/*
 * The labels of a site, with the statement `what` at each.
 *
 * gcc takes both exits of an asm goto for equally likely. __builtin_expect does not change this, because it is about the result of the check, where
 * the two exits have joined again. So an arm would count half as much as the code around it, and the test of the result would stay until gcc has
 * decided what to inline. One cold label makes the arm ten times less likely; two make it a thousand times less likely, because gcc takes two of
 * three exits to be very unlikely. So there is a second label, to which no site jumps. docs/benchmarks.md, "What a site costs the compiler".
 */
#if defined(__clang__) || !defined(__OPTIMIZE__)
#define JUMPLABEL_JUMPED_ jumplabel_jumped
#define JUMPLABEL_AT_JUMPED_(what)                                                                                     \
	if (0)                                                                                                         \
	jumplabel_jumped:                                                                                              \
		what
#else
#define JUMPLABEL_JUMPED_ jumplabel_jumped, jumplabel_never
#define JUMPLABEL_AT_JUMPED_(what) JUMPLABEL_AT_COLD_(jumplabel_jumped, what) JUMPLABEL_AT_COLD_(jumplabel_never, what)
#define JUMPLABEL_AT_COLD_(label, what)                                                                                \
	if (0) {                                                                                                       \
	label:                                                                                                         \
		__attribute__((__cold__));                                                                             \
		what;                                                                                                  \
	}
#endif

#include "site_macros.h"

/* `jumplabel_first` is 0 for a nop, 8 for a jump, 40 for a jump to a stub that loads, plus 16 if the key has no type. */
#ifdef JUMPLABEL_SITE_MACRO_
#define JUMPLABEL_SITE_ASM_(x, arm, object)                                                                            \
	__asm__ __volatile__ goto(                                                                                     \
		JUMPLABEL_SITE_MACRO_                                                                                  \
		:                                                                                                      \
		: [_key] JUMPLABEL_KEY_CONSTRAINT_(JUMPLABEL_STATIC_CAST_(const void *, x)),                           \
		  [_number] "i"((arm) | jumplabel_first)                                                               \
		: JUMPLABEL_CLOBBERS_                                                                                  \
		: JUMPLABEL_JUMPED_)
#else
#define JUMPLABEL_SITE_ASM_(x, arm, object)                                                                            \
	__asm__ __volatile__ __inline__ goto(                                                                           \
		JUMPLABEL_SITE_TEXT_                                                                                   \
		:                                                                                                      \
		: [_key] JUMPLABEL_KEY_CONSTRAINT_(JUMPLABEL_STATIC_CAST_(const void *, x)),                           \
		  [_number] "i"((arm) | JUMPLABEL_INDIRECT_ | jumplabel_first),                                        \
		  JUMPLABEL_KEY_CONSTRAINT_(object)                                                                    \
		: JUMPLABEL_CLOBBERS_                                                                                  \
		: JUMPLABEL_JUMPED_)
#endif

/*
 * The description of a declaration, and the record that leads to the description. Lists of keys, calls and modes are made from the records
 * (docs/table-format.md). The bits of `shape`:
 *     1 the key starts on; 4 a static call; 8 a mode; 16 a tracepoint with a note;
 *     JUMPLABEL_INDIRECT_ the record's first word leads to a slot; from bit 8 on, the distance of the keys of an array.
 * The record is in the body of a function, because only there the compiler can tell the assembler the names of the key and of the description.
 */
struct jumplabel_declaration_ {
	uint32_t _line, _column, _count, _shape, _offset;
	uint16_t _module_length, _path_length, _name_length, _file_length;
};

#define JUMPLABEL_DECLARATION_(variable, path, shape) JUMPLABEL_DECLARED_(variable, path, "", 1, shape)
#define JUMPLABEL_DECLARED_(variable, path, name, keys, shape)								\
	static const struct {												\
		JUMPLABEL_STRUCT_ jumplabel_declaration_ _declaration;								\
		char _text[sizeof(path name __FILE__)];									\
	} variable = {													\
		{ __LINE__, 1, keys, shape, 0, 0, sizeof(path) - 1, sizeof(name) - 1, sizeof(__FILE__) - 1 },		\
		path name __FILE__											\
	};

#define JUMPLABEL_RECORD_(key_word) JUMPLABEL_RECORD_WITH_(key_word, "0")
#define JUMPLABEL_RECORD_WITH_(key_word, third)										\
	JUMPLABEL_RECORDS_												\
	".balign 4\n"													\
	".long " key_word "\n"												\
	".long " JUMPLABEL_SYMBOL_("_declaration") " - .\n"								\
	".long " third "\n"												\
	".popsection\n"

#define JUMPLABEL_RECORD_ASM_(patchable, declared, object)								\
	__asm__ __volatile__(JUMPLABEL_SLOT_ JUMPLABEL_RECORD_(JUMPLABEL_KEY_WORD_)					\
				 :											\
				 : [_key] JUMPLABEL_KEY_CONSTRAINT_(patchable),						\
				   [_declaration] JUMPLABEL_KEY_CONSTRAINT_(&declared),					\
				   JUMPLABEL_KEY_CONSTRAINT_(object))

/* Emits the record in a function that nobody calls. `id` makes its name unique in the file. */
#define JUMPLABEL_RECORD_IN_(id, patchable)										\
	__attribute__((__used__, __noinline__, __cold__)) static void jumplabel_record_of_##id##_(void)			\
	{														\
		JUMPLABEL_RECORD_ASM_(patchable, jumplabel_declaration_of_##id##_, JUMPLABEL_OBJECT_OF_TYPED_);		\
	}

/*
 * The check. The address of the key is a constant of the text at every level of optimisation: in C it is in a statement expression, in C++ in an
 * inlined function. In a function of its own, asm goto is allowed where the language or the compiler otherwise refuses it: in coroutines, in
 * functions that have objects with destructors (clang before version 17), outside of functions.
 */
#ifdef __cplusplus
#define JUMPLABEL_BODY_(x, question, arm, object)                                                                      \
	{                                                                                                              \
		question(x, arm);                                                                                      \
		JUMPLABEL_ASSERT_STATIC_(x);                                                                           \
		JUMPLABEL_SITE_ASM_(x, arm, object);                                                                   \
		return (arm);                                                                                          \
		JUMPLABEL_AT_JUMPED_(return !(arm));                                                                   \
	}
#if defined(__clang__) && __clang_major__ < 17
/* These versions assume that an asm goto may jump to the labels of any other in the same function, its lambdas included. */
#define JUMPLABEL_SITE_(x, question, arm, object)                                                                      \
	([](JUMPLABEL_STATIC_(x)) __attribute__((__always_inline__)) -> bool {                                         \
		struct jumplabel_alone {                                                                               \
			__attribute__((__always_inline__)) static __inline__ bool jumplabel_check()                    \
			JUMPLABEL_BODY_(x, question, arm, object)                                                      \
		};                                                                                                     \
		return jumplabel_alone::jumplabel_check();                                                             \
	}({}))
#else
#define JUMPLABEL_SITE_(x, question, arm, object)                                                                      \
	([](JUMPLABEL_STATIC_(x)) __attribute__((__always_inline__)) -> bool JUMPLABEL_BODY_(x, question, arm, object)({}))
#endif
#else
#define JUMPLABEL_SITE_(x, question, arm, object)                                                                      \
	__extension__({                                                                                                \
		__label__ JUMPLABEL_JUMPED_;                                                                           \
		bool jumplabel_result = (arm);                                                                         \
		question(x, arm);                                                                                      \
		JUMPLABEL_ASSERT_STATIC_(x);                                                                           \
		JUMPLABEL_SITE_ASM_(x, arm, object);                                                                   \
		JUMPLABEL_AT_JUMPED_(jumplabel_result = !(arm));                                                       \
		jumplabel_result;                                                                                      \
	})
#endif

#endif
