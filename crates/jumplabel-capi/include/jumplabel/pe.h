/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What differs in PE files (Windows); <jumplabel/site.h> includes this, and its ELF twins are there.
 *
 *     .rsrc_jt$m       the table                  a linker that collects sections keeps it, and lets it keep nothing
 *     .vectors$jkm     records of declarations    kept, with what they lead to; as all that follow
 *     .vectors$jfm     the mark of objects whose sites are looked at when they are loaded
 *     .vectors$jo      leads to the object's record, which is in the library: one word for a file
 *     .vectors$jr      leads to the keys that a file checks: code only has a nop, and the table keeps nothing
 *     .text$jm, $jma   what ELF puts behind the functions of a section: stubs, the arms of switches
 *
 * The linker puts these together in the order of what is behind the `$`, and the library knows the bounds. All words are distances, so that the
 * loader has nothing to relocate. No entry goes with the section of its site: COFF ties sections by the name of a function, and the text of a site
 * does not know that name. If the linker drops a function (--gc-sections; another file has the same inline function), its entries stay. GNU ld
 * writes 0 into their first two words, lld leaves there how far the site is from the beginning of its section, and the library takes both for what
 * they are.
 *
 * The assembler has to know how to go to a section and come back (.pushsection). That of clang does since version 17; 19 and later are tested. GNU as
 * 2.40, and so gcc, does not: for PE files it has no .previous and no .subsection either.
 */
#ifndef JUMPLABEL_PE_H
#define JUMPLABEL_PE_H

#define JUMPLABEL_OBJECT_                                                                                              \
	".ifndef .Ljump_once\n"                                                                                        \
	".set .Ljump_once, 1\n"                                                                                        \
	".pushsection .vectors$jo, \"dr\"\n"                                                                           \
	".balign 4\n"                                                                                                  \
	".long __jumplabel_object - .\n"                                                                               \
	".popsection\n"                                                                                                \
	".endif\n"

#define JUMPLABEL_MARK_                                                                                                \
	".ifndef .Ljumplabel_mark\n"                                                                                   \
	".set .Ljumplabel_mark, 1\n"                                                                                   \
	".pushsection .vectors$jfm, \"dr\"\n"                                                                          \
	".balign 4\n"                                                                                                  \
	".long 0\n"                                                                                                    \
	".popsection\n"                                                                                                \
	".endif\n"

/* Of a key of another module, which the loader has found before it calls anything of this one: __imp_<name> is the slot. */
#define JUMPLABEL_MARK_IF_IMPORTED_ ".if .Lj_meta&2\n" JUMPLABEL_MARK_ ".endif\n"

/* Keeps what a symbol leads to; for text with operands. In Intel's syntax (-masm=intel), clang takes each `$` out of such text, and so out of the
   names of sections: then no table would have the site. */
#define JUMPLABEL_KEEP_(symbol)                                                                                        \
	"{|.error \"jumplabel has sites in PE files with -masm=att, or define JUMPLABEL_FALLBACK\"}\n"                  \
	".pushsection .vectors$jr, \"dr\"\n"                                                                           \
	".balign 4\n"                                                                                                  \
	".long " symbol " - .\n"                                                                                       \
	".popsection\n"
/* Once for each key of a file. */
#define JUMPLABEL_KEPT_                                                                                                \
	".irp key," JUMPLABEL_KEY_TEXT_ "\n"                                                                           \
	".ifndef \".Ljump_kept_\\key\"\n"                                                                              \
	".set \".Ljump_kept_\\key\", 1\n"                                                                              \
	JUMPLABEL_KEEP_(JUMPLABEL_KEY_TEXT_)                                                                           \
	".endif\n"                                                                                                     \
	".endr\n"

#define JUMPLABEL_TABLE_ ".rsrc_jt$m, \"dr\""
#define JUMPLABEL_NAKED_TABLE_(function) JUMPLABEL_TABLE_
#define JUMPLABEL_RECORDS_ ".pushsection .vectors$jkm, \"dr\"\n"

#define JUMPLABEL_BEGIN_COLD_ ".pushsection .text$jm,\"xr\";"
#define JUMPLABEL_BEGIN_ARMS_ ".pushsection .text$jma,\"xr\";"
#define JUMPLABEL_END_COLD_ ".popsection;"
/* The site leads to the stub, and the stub to the arms. */
#define JUMPLABEL_KEEP_ARMS_(arms) ".long " arms "-.;"
#define JUMPLABEL_TIE_(from, to) ""

/* Names that an object has for itself are hidden in ELF files only. */
#define JUMPLABEL_HIDE_(symbol) ""
#define JUMPLABEL_BEGIN_DATA_(symbol)                                                                                  \
	".pushsection .data$" symbol ", \"dw\"\n"                                                                      \
	".balign 8\n"                                                                                                  \
	".globl " symbol "\n"
#define JUMPLABEL_BEGIN_CODE_(symbol, align)                                                                           \
	".pushsection .text$" symbol ", \"xr\"\n" align                                                                \
	".globl " symbol "\n"                                                                                          \
	".def " symbol "; .scl 2; .type 32; .endef\n" /* a function that other files see */
#define JUMPLABEL_END_OF_(symbol) ""
#define JUMPLABEL_EXPORT_(symbol)                                                                                      \
	".pushsection .drectve, \"yni\"\n"                                                                             \
	".ascii \" -export:" symbol "\"\n"                                                                             \
	".popsection\n"

#endif
