/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A site and its table entry, for all instruction sets; <jumplabel/jump_label.h> includes this, <jumplabel/arch.h> has what
 * differs.
 *
 *     code of the function                   __jump_table, read-only, 16 bytes an entry
 *     1:  nop  or  jmp jumped  ◄──────────── code   - here
 *         ...                       ┌─────── target - here
 *     jumped:  ◄────────────────────┘        key    - here     or the slot that holds the key's address
 *         ...                                meta: bit 0 = arm, bit 1 = slot, bit 2 = naked
 *
 * All words are relative to themselves: no relocation for a site. A key of a shared library may be anywhere in the process
 * (the program's own definition comes first), so that code compiled for one refers to it by way of a slot: one word for
 * each key and source file, which the loader fills in. Such objects bear a mark, and their sites are brought to the
 * state of their keys when they are loaded. The format is in docs/table-format.md.
 */
#ifndef JUMPLABEL_SITE_H
#define JUMPLABEL_SITE_H

#include "arch.h"

/* An entry, for tools and tests. The linker defines the bounds of the table: __start___jump_table, __stop___jump_table. */
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

static inline uintptr_t jump_entry_code(const struct jump_entry *entry)
{
	return (uintptr_t)&entry->code + (uintptr_t)(intptr_t)entry->code;
}

static inline uintptr_t jump_entry_target(const struct jump_entry *entry)
{
	return (uintptr_t)&entry->target + (uintptr_t)(intptr_t)entry->target;
}

static inline struct static_key *jump_entry_key(const struct jump_entry *entry)
{
	uintptr_t word = (uintptr_t)&entry->key + (uintptr_t)(intptr_t)entry->key;

	if (entry->meta & 2)
		word = *(const uintptr_t *)word + (entry->meta >> 8);
	return (struct static_key *)word;
}

/* What the check yields where execution falls through: 1 = likely. */
static inline bool jump_entry_is_branch(const struct jump_entry *entry)
{
	return entry->meta & 1;
}

/* Constructors and destructors are ordinary code here. */
static inline bool jump_entry_is_init(const struct jump_entry *entry)
{
	(void)entry;
	return false;
}

/* The function of a naked key: <jumplabel/static_naked_key.h>. */
static inline bool jump_entry_is_naked(const struct jump_entry *entry)
{
	return entry->meta & 4;
}

static inline int jump_entry_size(const struct jump_entry *entry)
{
	(void)entry;
	return JUMP_LABEL_NOP_SIZE;
}

/*
 * The record of an object (a program or shared library), its constructor and destructor: one of each in an object,
 * whatever the number of files (a COMDAT group). They run before the program's constructors and after its destructors,
 * whose priorities begin at 101, so that sites follow their keys in those, too. The library's own files emit the same group, so that C and Rust in one object share one table.
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
	JUMPLABEL_PIECE_("__jump_keys")                                                                                \
	JUMPLABEL_PIECE_("__jump_foreign")                                                                             \
	".balign 8\n"                                                                                                  \
	"__jumplabel_object:\n"                                                                                        \
	JUMPLABEL_POINTERS_("0, 0, 0, 0, 0, 0, 0")                                                                     \
	".long __start___jump_table - .\n"                                                                             \
	".long __stop___jump_table - .\n"                                                                              \
	".long __start___jump_keys - .\n"                                                                              \
	".long __stop___jump_keys - .\n"                                                                               \
	".long __start___jump_foreign - .\n"                                                                           \
	".long __stop___jump_foreign - .\n"                                                                            \
	".long 0\n"                                                                                                    \
	".long 1\n" /* the version of the layouts */                                                                   \
	".size __jumplabel_object, . - __jumplabel_object\n"                                                           \
	".popsection\n"                                                                                                \
	".pushsection .init_array.00000, \"aGwR\", \"init_array\", __jumplabel_object, comdat\n"                       \
	".balign 8\n"                                                                                                  \
	JUMPLABEL_POINTERS_("__jumplabel_object_init")                                                                 \
	".popsection\n"                                                                                                \
	".pushsection .fini_array.00000, \"aGwR\", \"fini_array\", __jumplabel_object, comdat\n"                       \
	".balign 8\n"                                                                                                  \
	JUMPLABEL_POINTERS_("__jumplabel_object_fini")                                                                 \
	".popsection\n"                                                                                                \
	".endif\n"

#define JUMPLABEL_BOUNDS_(section)                                                                                     \
	".weak __start_" section "\n.hidden __start_" section "\n.weak __stop_" section "\n.hidden __stop_" section "\n"
/* An empty piece of a section that may otherwise be missing: gold cannot link the bounds of one that does not exist. */
#define JUMPLABEL_PIECE_(section) ".pushsection " section ", \"aR\", \"progbits\"\n.popsection\n"

/* The mark: the sites of this object are looked at when it is loaded. */
#define JUMPLABEL_MARK_                                                                                                \
	".ifndef .Ljumplabel_mark\n"                                                                                   \
	".set .Ljumplabel_mark, 1\n"                                                                                   \
	".pushsection __jump_foreign, \"aR\", \"progbits\"\n"                                                          \
	".balign 4\n"                                                                                                  \
	".long 0\n"                                                                                                    \
	".popsection\n"                                                                                                \
	".endif\n"

#if (defined(__PIC__) && !defined(__PIE__) && !defined(JUMPLABEL_LOCAL_KEYS)) || defined(JUMPLABEL_FOREIGN_KEYS)
#define JUMPLABEL_INDIRECT_ 2
#define JUMPLABEL_MARK_FOREIGN_ JUMPLABEL_MARK_
#define JUMPLABEL_SLOT_LABEL_ "\".Ljumplabel_slot_" JUMPLABEL_KEY_TEXT_ "\""
/* One slot for each key of a file. The `0 +` makes anything but a symbol an error. */
#define JUMPLABEL_SLOT_                                                                                                \
	".ifndef " JUMPLABEL_SLOT_LABEL_ "\n"                                                                          \
	".pushsection .data.rel.ro.__jump_slots, \"aw\", \"progbits\"\n"                                               \
	".balign 8\n" JUMPLABEL_SLOT_LABEL_ ":\n"                                                                      \
	JUMPLABEL_POINTERS_("0 + " JUMPLABEL_KEY_TEXT_)                                                                \
	".popsection\n"                                                                                                \
	".endif\n"
#define JUMPLABEL_KEY_WORD_ ".long " JUMPLABEL_SLOT_LABEL_ " - .\n"
#else
#define JUMPLABEL_INDIRECT_ 0
#define JUMPLABEL_MARK_FOREIGN_ ""
#define JUMPLABEL_SLOT_ ""
#define JUMPLABEL_KEY_WORD_ ".long " JUMPLABEL_KEY_TEXT_ " - .\n"
#endif

/* The site: a statement expression, so that the address of the key is a constant at every level of optimisation. The
   relocation against its entry does nothing but be there: without it, functions that check different keys can look alike
   to a linker that folds identical code (--icf), which would leave one site for both. */
#define JUMPLABEL_SITE_HERE_(x, arm, starts_on, mark)                                                                  \
	__extension__({                                                                                                \
		__label__ jumplabel_jumped, jumplabel_done;                                                            \
		bool jumplabel_result;                                                                                 \
		__asm__ __volatile__ __inline__ goto(                                                                  \
			JUMPLABEL_OBJECT_ mark JUMPLABEL_SLOT_                                                         \
			".if " JUMPLABEL_NUMBER_("jump") "\n"                                                          \
			JUMPLABEL_JUMP_(".Ljumplabel_site_%=", "%l[jumplabel_jumped]")                                 \
			".else\n"                                                                                      \
			JUMPLABEL_NOP_(".Ljumplabel_site_%=", "%l[jumplabel_jumped]")                                  \
			".endif\n"                                                                                     \
			".reloc .Ljumplabel_site_%=, BFD_RELOC_NONE, .Ljumplabel_entry_%=\n"                           \
			".pushsection __jump_table, \"ao?\", \"progbits\", .Ljumplabel_site_%=\n"                      \
			".balign 4\n"                                                                                  \
			".Ljumplabel_entry_%=:\n"                                                                      \
			".long .Ljumplabel_site_%= - .\n"                                                              \
			".long %l[jumplabel_jumped] - .\n"                                                             \
			JUMPLABEL_KEY_WORD_                                                                            \
			".long " JUMPLABEL_NUMBER_("meta") "\n"                                                        \
			".popsection\n"                                                                                \
			:                                                                                              \
			: [key] JUMPLABEL_KEY_CONSTRAINT_((const void *)(x)), [jump] "i"((starts_on) != (arm)),        \
			  [meta] "i"((arm) | JUMPLABEL_INDIRECT_)                                                      \
			: JUMPLABEL_CLOBBERS_                                                                          \
			: jumplabel_jumped);                                                                           \
		jumplabel_result = (arm);                                                                              \
		goto jumplabel_done;                                                                                   \
	jumplabel_jumped:                                                                                              \
		jumplabel_result = !(arm);                                                                             \
	jumplabel_done:                                                                                                \
		jumplabel_result;                                                                                      \
	})

/* Before version 17, clang believes that each asm goto may go to the labels of all others in the function, lambdas in it
   included, and refuses those with an object between them that has a destructor. In a function of its own there is only
   one. */
#if defined(__cplusplus) && defined(__clang__) && __clang_major__ < 17
#define JUMPLABEL_SITE_(x, arm, starts_on, mark)                                                                       \
	__extension__({                                                                                                \
		struct jumplabel_alone {                                                                               \
			__attribute__((always_inline)) static inline bool check()                                      \
			{                                                                                              \
				return JUMPLABEL_SITE_HERE_(x, arm, starts_on, mark);                                  \
			}                                                                                              \
		};                                                                                                     \
		jumplabel_alone::check();                                                                              \
	})
#else
#define JUMPLABEL_SITE_(x, arm, starts_on, mark) JUMPLABEL_SITE_HERE_(x, arm, starts_on, mark)
#endif

#endif
