/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The parts of a site's text that differ in PE files (Windows). <jumplabel/site.h> includes this, and has the same parts for ELF files.
 *
 *     .rsrc_jt$m       the table                  linkers keep it (--gc-sections), but not the things that it refers to
 *     .vectors$jkm     records of declarations    linkers keep these, and all below, with the things that they refer to
 *     .vectors$jfm     the mark of an object whose sites must be checked when it is loaded
 *     .vectors$jo      leads to the object's record, which is in the library: one word per file
 *     .vectors$jr      leads to the keys that a file checks: nothing else keeps them, because code only has a nop
 *     .text$jm, $jma   code that ELF files have after the functions of a section: stubs, the arms of switches
 *
 * The linker sorts these by the text after the `$`, and the library knows the bounds. All words are distances, so the loader relocates nothing. An
 * entry cannot be tied to the section of its site: COFF ties sections by the name of a function, which the text of a site does not know. So if the
 * linker drops a function (--gc-sections; another file has the same inline function), the function's entries stay. GNU ld writes 0 into their first
 * two words; lld leaves there the distance of the site from the beginning of its section. The library recognises both.
 *
 * The assembler must be able to switch to another section and back (.pushsection). clang's can since version 17 (19 and later are tested). GNU as
 * 2.40, which gcc uses, cannot: for PE files it has no .previous and no .subsection either.
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

/* Marks the object if the key is another module's. __imp_<name> is then the slot, which the loader fills in before it calls any code of this
   module. */
#define JUMPLABEL_MARK_IF_IMPORTED_ ".if .Lj_meta&2\n" JUMPLABEL_MARK_ ".endif\n"

/* Keeps the thing to which a symbol leads; for text with operands. In Intel's syntax (-masm=intel), clang would remove each `$` from this text, also
   from names of sections, and no table would contain the site. So that is an error. */
#define JUMPLABEL_KEEP_(symbol)                                                                                        \
	"{|.error \"jumplabel has sites in PE files with -masm=att, or define JUMPLABEL_FALLBACK\"}\n"                  \
	".pushsection .vectors$jr, \"dr\"\n"                                                                           \
	".balign 4\n"                                                                                                  \
	".long " symbol " - .\n"                                                                                       \
	".popsection\n"
/* Does this once for each key of a file. */
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
/* Makes the stub refer to the arms; the site refers to the stub. So the linker keeps the arms. */
#define JUMPLABEL_KEEP_ARMS_(arms) ".long " arms "-.;"
#define JUMPLABEL_TIE_(from, to) ""

/* PE files have no hidden symbols. */
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
