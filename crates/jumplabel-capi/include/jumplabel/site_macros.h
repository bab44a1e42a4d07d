/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The text of a check as assembler macros, which a file defines once; <jumplabel/site.h> includes this. A check is then one short line. Otherwise
 * clang joins the string literals of each check, looks for operands in them, and hands the whole text to the assembler.
 *
 * Used only in C without optimisation, where clang leaves functions in their file. Otherwise link-time optimisation, or a C++ module, may take a
 * function into another file, which does not have the macros.
 *
 *     jumplabel_site_<number> site, target, key        number: the arm and jumplabel_first; site: makes names unique
 *
 * The key comes last (vararg), because an argument that is not the rest of the line loses its quotes, and clang writes quotes around a name that is
 * not ASCII.
 */
#ifndef JUMPLABEL_SITE_MACROS_H
#define JUMPLABEL_SITE_MACROS_H

#if defined(__clang__) && defined(__ELF__) && !defined(__OPTIMIZE__) && !defined(__cplusplus) && !defined(JUMPLABEL_PRECISE_TABLE) && \
	!defined(JUMPLABEL_PLAIN_JUMP_) && !defined(__s390x__)

#define JUMPLABEL_SITE_MACRO_                                                                                          \
	"jumplabel_site_" JUMPLABEL_NUMBER_("_number") " %=,%l[jumplabel_jumped]," JUMPLABEL_KEY_TEXT_

#ifdef JUMPLABEL_ALIAS_
#define JUMPLABEL_MACRO_KEY_ ".Lj_key\\site"
#else
#define JUMPLABEL_MACRO_KEY_ "\\key"
#endif
#if JUMPLABEL_INDIRECT_
#define JUMPLABEL_MACRO_NAME_ "\".Ljumplabel_slot_\\name\""
#define JUMPLABEL_MACRO_BEGIN_                                                                                         \
	".irp name,\\key\n" JUMPLABEL_SLOT_OF_(JUMPLABEL_MACRO_NAME_, "\\key")                                         \
	".set " JUMPLABEL_MACRO_KEY_ "," JUMPLABEL_MACRO_NAME_ "\n.endr\n"
#define JUMPLABEL_MACRO_META_(number) number "|2" JUMPLABEL_META_PREFIXED_
#define JUMPLABEL_MACRO_OBJECT_ JUMPLABEL_OBJECT_ JUMPLABEL_MARK_
#else
#ifdef JUMPLABEL_ALIAS_
#define JUMPLABEL_MACRO_BEGIN_ ".set " JUMPLABEL_MACRO_KEY_ ",\\key\n"
#else
#define JUMPLABEL_MACRO_BEGIN_
#endif
#define JUMPLABEL_MACRO_META_(number) number JUMPLABEL_META_PREFIXED_
#define JUMPLABEL_MACRO_OBJECT_ JUMPLABEL_OBJECT_
#endif
#define JUMPLABEL_MACRO_MARK_ ".ifndef .Ljumplabel_mark;jumplabel_mark;.endif\n"

/* Defined once, because link-time optimisation joins the texts of all files. */
#define JUMPLABEL_MACRO_(name, parameters, body)                                                                       \
	__asm__(".ifndef .Ljumplabel_has_" name "\n.set .Ljumplabel_has_" name ", 1\n"                                 \
		".macro jumplabel_" name parameters "\n" body ".endm\n.endif\n");
/* `code` must define the label 2. `to` is the target of the entry's second word. */
#define JUMPLABEL_MACRO_OF_(number, code, to, meta, mark)                                                              \
	JUMPLABEL_MACRO_("site_" number, " site to key:vararg",                                                        \
			 ".ifndef .Lj_file;jumplabel_file;.endif\n" JUMPLABEL_MACRO_BEGIN_ JUMPLABEL_PREFIX_ code      \
			 ".reloc 2b,BFD_RELOC_NONE,3f;" JUMPLABEL_CHECK_TABLE_OF_FILE_                                 \
			 ".balign 4;3:.long 2b-.;.long " to "-.;.long " JUMPLABEL_MACRO_KEY_ "-.,"                     \
			 JUMPLABEL_MACRO_META_(meta) ";.popsection\n" mark)
#define JUMPLABEL_MACROS_OF_(arm, nop, jump, load, untyped_nop, untyped_jump)                                          \
	JUMPLABEL_MACRO_OF_(nop, JUMPLABEL_NOP_("2", "\\to"), "\\to", arm, "")                                         \
	JUMPLABEL_MACRO_OF_(jump, JUMPLABEL_JUMP_("2", "\\to"), "\\to", arm, "")                                       \
	JUMPLABEL_MACRO_OF_(load,                                                                                      \
			    ".subsection 1;.long \\to-.;4:" JUMPLABEL_TEST_(JUMPLABEL_MACRO_KEY_)                       \
			    JUMPLABEL_STUB_(arm, "8f", "\\to") ".previous;" JUMPLABEL_JUMP_("2", "4b") "8:;",          \
			    "4b", arm "|32", "")                                                                       \
	JUMPLABEL_MACRO_OF_(untyped_nop, JUMPLABEL_NOP_("2", "\\to"), "\\to", arm, JUMPLABEL_MACRO_MARK_)              \
	JUMPLABEL_MACRO_OF_(untyped_jump, JUMPLABEL_JUMP_("2", "\\to"), "\\to", arm, JUMPLABEL_MACRO_MARK_)

JUMPLABEL_MACRO_("mark", "", JUMPLABEL_MARK_)
JUMPLABEL_MACRO_("file", "", JUMPLABEL_FILE_ "\n" JUMPLABEL_MACRO_OBJECT_)
JUMPLABEL_MACROS_OF_("0", "0", "8", "40", "16", "24")
JUMPLABEL_MACROS_OF_("1", "1", "9", "41", "17", "25")
#endif

#endif
