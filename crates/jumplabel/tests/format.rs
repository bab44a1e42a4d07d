//! src/format.rs against all other places that describe the layouts: the macros, the C header, the document. Each text is checked for the values of
//! the constants; with another value, each check must fail.
#![cfg(not(miri))]

use jumplabel::format::{Declaration, Entry, KeyRecord, Object};
use jumplabel_format::layout::{
    ARM, CALL, DEFAULT, FOREIGN_SECTION, INDIRECT, JUMPS, KEY_BYTES, KEYS_SECTION, KIND_MASK, KIND_SHIFT, LINKED,
    LISTS_SECTION, LOADING, MAGIC, MODE, NOTE_NAME, NOTE_SECTION, OFFSET_SHIFT, PREFIXED, TABLE_SECTION, TO_LINK,
    TRACED, UNLINKED, VERSION, pe,
};

const HEADER: &str = include_str!("../../jumplabel-capi/include/jumplabel/site.h");
const SWITCH_HEADER: &str = include_str!("../../jumplabel-capi/include/jumplabel/static_switch.h");
const OPS_HEADER: &str = include_str!("../../jumplabel-capi/include/jumplabel/pv_op_site.h");
const CALL_HEADER: &str = include_str!("../../jumplabel-capi/include/jumplabel/static_call.h");
const PREFIX_HEADER: &str = include_str!("../../jumplabel-capi/include/jumplabel/lock_prefix.h");
const ARCH: &str = include_str!("../../jumplabel-capi/include/jumplabel/arch.h");
const SITE_PREFIX: &str = include_str!("../src/arch/asm/x86/site_prefix.rs");
const PREFIX: &str = include_str!("../src/up/lock_prefix.rs");
const ALTERNATIVE: &str = include_str!("../src/alternatives/assembler.rs");
const DOCUMENT: &str = include_str!("../../../docs/table-format.md");
const SHORT: &str = include_str!("../src/arch/asm/x86/short.rs");
const SITE: &str = include_str!("../src/arch/asm/site.rs");
const OBJECT: &str = include_str!("../src/arch/asm/object.rs");
const PE: &str = include_str!("../src/arch/asm/pe/mod.rs");
const PE_SITE: &str = include_str!("../src/arch/asm/pe/site.rs");
const READER: &str = include_str!("builds/binary.rs");
const NOTE: &str = include_str!("../src/platform/linux/instance/note.rs");

/// A text, its name, and words that must be in it.
type Check = (&'static str, &'static str, String);

fn checks() -> Vec<Check> {
    let header = |part: String| ("site.h", HEADER, part);
    let document = |part: String| ("table-format.md", DOCUMENT, part);
    let name = std::str::from_utf8(&NOTE_NAME[..NOTE_NAME.len() - 1]).unwrap();
    let switch = u32::from(jumplabel_format::layout::SWITCH) << KIND_SHIFT;
    let call = u32::from(jumplabel_format::layout::JUMP) << KIND_SHIFT;
    let op = u32::from(jumplabel_format::layout::OP) << KIND_SHIFT;
    let prefix = u32::from(jumplabel_format::layout::PREFIX) << KIND_SHIFT;
    let short = u32::from(jumplabel_format::layout::SHORT) << KIND_SHIFT;
    let loading = u32::from(LOADING) << KIND_SHIFT;
    let last_kind = KIND_SHIFT + KIND_MASK.count_ones() - 1;
    let mut checks = vec![
        header(format!("entry->meta & {ARM};")),
        header(format!("entry->meta & {INDIRECT})")),
        header(format!("(_entry->meta >> {KIND_SHIFT} & {KIND_MASK}) == {};", jumplabel_format::layout::NAKED)),
        header(format!("(_entry->meta >> {KIND_SHIFT} & {KIND_MASK}) == {};", jumplabel_format::layout::JUMP)),
        ("static_switch.h", SWITCH_HEADER, format!("\"i\"({switch} | JUMPLABEL_INDIRECT_ | JUMPLABEL_PREFIXED_)")),
        ("pv_op_site.h", OPS_HEADER, format!("\"i\"({op} | JUMPLABEL_INDIRECT_ | JUMPLABEL_PREFIXED_)")),
        document(format!("{} an N-way switch", jumplabel_format::layout::SWITCH)),
        document(format!("function of a naked key, {} a trampoline,", jumplabel_format::layout::JUMP)),
        document(format!(", {} a call, ", jumplabel_format::layout::CALL_SITE)),
        document(format!(", {} an operation in place,", jumplabel_format::layout::OP)),
        document(format!(", {} a lock prefix, see below", jumplabel_format::layout::PREFIX)),
        document(format!("bit {}      of a site with a prefix", PREFIXED.trailing_zeros())),
        ("arch.h", ARCH, format!("#define JUMPLABEL_PREFIXED_ {PREFIXED}\n")),
        ("arch.h", ARCH, format!("#define JUMPLABEL_META_PREFIXED_ \"|{PREFIXED}\"\n")),
        ("site_prefix.rs", SITE_PREFIX, format!("\"|{PREFIXED}\"")),
        ("lock_prefix.h", PREFIX_HEADER, format!("\".long {prefix}\\n\"")),
        ("up/lock_prefix.rs", PREFIX, format!("__jumplabel_up - ., {prefix}\\n\"")),
        (
            "alternatives/assembler.rs",
            ALTERNATIVE,
            format!(
                "__jumplabel_alternatives-.,{}|.Ljump_size<<{OFFSET_SHIFT}|",
                u32::from(jumplabel_format::layout::OP) << KIND_SHIFT
            ),
        ),
        ("up/lock_prefix.rs", PREFIX, format!(".pushsection {TABLE_SECTION},")),
        document(format!("## Static call, {} bytes", size_of::<jumplabel::call::RawCall>())),
        document(format!("## Mode, {} bytes", size_of::<jumplabel::RawMode>())),
        ("static_call.h", CALL_HEADER, format!("\".long {call}\\n\"")),
        ("static_call.h", CALL_HEADER, "JUMPLABEL_POINTERS_(\"0, 0, 0\")".to_owned()),
        header(
            "uint32_t _line, _column, _count, _shape, _offset;\n\tuint16_t _module_length, _path_length, _name_length, "
                .to_owned(),
        ),
        header(format!("JUMPLABEL_RETAINED_(\"{KEYS_SECTION}\", \"a\", \"\")\n")),
        header(format!("    {DEFAULT} the key starts on; {CALL} a static call; {MODE} a mode; {TRACED} a tracepoint with a note;")),
        ("static_call.h", CALL_HEADER, format!("JUMPLABEL_TEXT_(name), {CALL})")),
        ("static_switch.h", SWITCH_HEADER, format!("#name, {MODE} | JUMPLABEL_INDIRECT_)")),
        header(format!("(_entry->meta >> {KIND_SHIFT} & {KIND_MASK}) == {LOADING};")),
        header(format!("entry->meta >> {OFFSET_SHIFT})")),
        header(format!("#define JUMPLABEL_LOADS_ {loading}\n")),
        header(format!("#define JUMPLABEL_INDIRECT_ {INDIRECT}\n")),
        header("int32_t code;\n\tint32_t target;\n\tint32_t key;\n\tuint32_t meta;\n".to_owned()),
        document(format!("## Entry, {} bytes", size_of::<Entry>())),
        document(format!("## Key, {KEY_BYTES} bytes")),
        document(format!("## Key record, {} bytes", size_of::<KeyRecord>())),
        document(format!("## Declaration, {} bytes", size_of::<Declaration<0>>())),
        document(format!("records(\"{KEYS_SECTION}\", {})", size_of::<KeyRecord>())),
        document(format!("records(\"{TABLE_SECTION}\", {})", size_of::<Entry>())),
        document(format!("about + {}, []", size_of::<Declaration<0>>())),
        ("binary.rs", READER, format!("const RECORD: u64 = {};", size_of::<KeyRecord>())),
        ("binary.rs", READER, format!("self.bytes(about + {}, path", size_of::<Declaration<0>>())),
        document(format!(
            "bits {KIND_SHIFT}-{last_kind}   kind of the site: 0 a check; {} the function",
            jumplabel_format::layout::NAKED
        )),
        document(format!("bit {}      arm:", ARM.trailing_zeros())),
        document(format!("bit {}      the key word leads to a slot", INDIRECT.trailing_zeros())),
        document(format!("{LOADING} a check that can load")),
        document(format!("bit {}      of a check: the site falls through in its first", UNLINKED.trailing_zeros())),
        document(format!("bit {}      of a check: the site falls through in its first", JUMPS.trailing_zeros())),
        document(format!("{} a check of two bytes", jumplabel_format::layout::SHORT)),
        document(format!("  {TO_LINK}    sites with bit")),
        document(format!("  {LINKED}    nothing")),
        header(format!("(_entry->meta >> {KIND_SHIFT} & {KIND_MASK}) == {};", jumplabel_format::layout::SHORT)),
        header(format!("/3&1)*{short})\"")),
        header(format!("\".long {TO_LINK}\\n\"")),
        ("asm/x86/short.rs", SHORT, format!("(({{m}}&{UNLINKED})^{UNLINKED})+((5-(3b-2b))/3&1)*{short};")),
        ("asm/x86/short.rs", SHORT, format!("\\n.long {TO_LINK}\\n")),
        document(format!("bits {OFFSET_SHIFT}-31  with bit 1")),
        document(format!("bit {}", DEFAULT.trailing_zeros())),
        document(format!("bit {}      it is of a static call", CALL.trailing_zeros())),
        document(format!("bit {}      it is of a static mode", MODE.trailing_zeros())),
        document(format!("bits {OFFSET_SHIFT}-31  stride")),
        document(format!("{:#x}, {:#x}, and the version", MAGIC[0], MAGIC[1])),
        document(format!("`{NOTE_SECTION}`")),
        document(format!("name \"{name}\\0\"")),
        ("asm/site.rs", SITE, format!("(\\\\m)&{JUMPS}\"")),
        ("asm/site.rs", SITE, format!("(\\\\m)&{loading};")),
        ("asm/site.rs", SITE, format!("\\\\m-{loading},")),
        ("asm/site.rs", SITE, format!("({{m}}>>{OFFSET_SHIFT})")),
        ("asm/site.rs", SITE, format!("{{m}}&{};", JUMPS - 1)),
        ("asm/site.rs", SITE, format!(".pushsection {TABLE_SECTION},")),
        ("asm/object.rs", OBJECT, format!(".pushsection {TABLE_SECTION},")),
        ("asm/object.rs", OBJECT, format!(".pushsection {KEYS_SECTION}, \\\"aR\\\", %progbits\\n.balign 4\\n\"")),
        ("asm/pe/mod.rs", PE, format!(".pushsection {}$m,", pe::TABLE_SECTION)),
        ("asm/pe/mod.rs", PE, format!(".pushsection {}$jkm,", pe::RECORDS_SECTION)),
        ("asm/pe/mod.rs", PE, format!(".pushsection {},", pe::OBJECT_SECTION)),
        ("asm/pe/mod.rs", PE, format!("\".long {VERSION}\\n\",\n            \".popsection")),
        ("asm/pe/site.rs", PE_SITE, format!(".pushsection {}$m,", pe::TABLE_SECTION)),
        ("asm/pe/site.rs", PE_SITE, format!("(\\\\m)&{JUMPS}\"")),
        ("asm/pe/site.rs", PE_SITE, format!("(\\\\m)&{loading};")),
        ("asm/pe/site.rs", PE_SITE, format!("\\\\m-{loading},")),
        ("asm/pe/site.rs", PE_SITE, format!("({{m}}>>{OFFSET_SHIFT})")),
        ("asm/pe/site.rs", PE_SITE, format!("{{m}}&{};", JUMPS - 1)),
        document(format!("| `{}` |", pe::TABLE_SECTION)),
        document(format!("| `{}` |", pe::RECORDS_SECTION)),
        document(format!("| `{}` |", pe::OBJECT_SECTION)),
        ("asm/object.rs", OBJECT, format!("\".long {VERSION}\\n\",\n            \".size")),
        ("note.rs", NOTE, format!(".pushsection {NOTE_SECTION},")),
        ("asm/object.rs", OBJECT, format!(".pushsection {NOTE_SECTION},")),
        ("asm/object.rs", OBJECT, format!(".long {}, 0, {VERSION}\\n.asciz \\\"{name}\\\"", NOTE_NAME.len())),
        header(format!(".pushsection {NOTE_SECTION},")),
        header(format!(".long {}, 0, {VERSION}\\n", NOTE_NAME.len())),
        header(format!(".asciz \\\"{name}\\\"")),
        ("note.rs", NOTE, format!(".long {}, 8, {{version}}", NOTE_NAME.len())),
        ("note.rs", NOTE, format!(".asciz \\\"{name}\\\"")),
    ];
    if cfg!(target_pointer_width = "64") {
        checks.push(document(format!("## Object record, {} bytes", size_of::<Object>())));
    }
    for section in [TABLE_SECTION, KEYS_SECTION, FOREIGN_SECTION, LISTS_SECTION] {
        checks.push(header(format!("JUMPLABEL_BOUNDS_(\"{section}\")")));
        checks.push(document(format!("`{section}`")));
        checks.push(("asm/object.rs", OBJECT, format!(".long __start_{section} - .")));
    }
    checks
}

#[test]
fn all_agree() {
    for (name, text, part) in checks() {
        assert!(text.contains(&part), "{name} does not say {part:?}");
    }
}

/// The document describes each kind of site, and no other.
#[test]
fn each_kind_is_in_the_document() {
    let known = |kind: &u8| jumplabel_format::Kind::of(*kind).is_some();
    let missing = (1..=KIND_MASK as u8).filter(|kind| !DOCUMENT.contains(&format!("*Of kind {kind}*")));
    assert_eq!(missing.clone().find(known), None);
    assert!(missing.count() > 5);
}

/// Broken twins: with another number or another name, each check that contains it fails.
#[test]
fn another_constant_is_found_out() {
    for (name, text, part) in checks() {
        let other: String = match part.rfind(|c: char| c.is_ascii_digit()) {
            Some(at) => part.chars().enumerate().map(|(place, c)| if place == at { '~' } else { c }).collect(),
            None => {
                let part = part.replacen("jump", "jmup", 1).replacen("int32_t key", "int64_t key", 1);
                part.replacen(".rsrc_jt", ".rsrc_tj", 1).replacen(".vectors", ".vector", 1)
            }
        };
        assert!(other != part && !text.contains(&other), "{name}: {other:?}");
    }
}
