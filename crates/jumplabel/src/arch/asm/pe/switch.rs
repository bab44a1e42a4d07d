//! An N-way switch in a PE file. Only the sections differ from those of [`switch`](super::super::switch).

/// A switch of `$mode`. The macro's value is the mode of the arm that was taken. The mode is `$default` at first, and there are `$count` modes. In
/// the middle of a change, the site holds `a9`. Execution then continues after the site, where a jump leads to the stub. For each arm, the stub has
/// `cmp byte ptr [mode], number` and `je` to the arm. After the last arm, the stub starts again. After the stub is a word that leads to the arms. So
/// the linker keeps the arms with the stub, and the stub with the site.
#[doc(hidden)]
#[macro_export]
macro_rules! __switch_options {
    ($mode:path, $default:expr, $count:expr, $($arm:ident),+) => { 'switch: {
        #[allow(clippy::undocumented_unsafe_blocks)]
        // SAFETY: this jumps to one of the labels. It preserves all registers, and changes only flags, as the options allow.
        unsafe {
            ::core::arch::asm!(
                ".ifndef .Ljump_switches;.set .Ljump_switches,0",
                $crate::__once_asm!(),
                ".macro jumplabel_switch n,c;.pushsection .text$jma,\"xr\";.balign 4;.Ljump_arms_\\n\\():.long \\c;.popsection;\
                .pushsection .text$jm,\"xr\";.Ljump_stub_\\n\\():.popsection;.Ljump_switch_\\n\\():;.endm",
                ".macro jumplabel_arm i,t,d,k;.if (\\i)==(\\d);.byte 0xe9;.long \\t-.-4;.endif;\
                .pushsection .text$jm,\"xr\";.byte 0x80,0x3d;.long \\k-.-5;.byte \\i;.byte 15,0x84;.long \\t-.-4;.popsection;\
                .pushsection .text$jma,\"xr\";.long \\i,\\t-.;.popsection;.endm",
                ".macro jumplabel_switched n;.byte 233;.long .Ljump_stub_\\n-.-4;\
                .pushsection .text$jm,\"xr\";.byte 233;.long .Ljump_stub_\\n-.-4,.Ljump_arms_\\n-.;.popsection;\
                .pushsection .rsrc_jt$m,\"dr\";.balign 4;.long .Ljump_switch_\\n-.,.Ljump_arms_\\n-.;.endm;.endif;\
                .set .Ljump_switches,.Ljump_switches+1;.altmacro;jumplabel_switch %.Ljump_switches,{c};.noaltmacro",
                $($crate::__switch_arm_asm!($arm),)+
                ".altmacro;jumplabel_switched %.Ljump_switches;.noaltmacro",
                ".long {k}-.,{m};.popsection",
                $(const __Modes::$arm as ::core::primitive::u8, label { break 'switch __Modes::$arm; },)+
                k = sym $mode,
                d = const $default,
                c = const $count,
                m = const $crate::format::meta(false, $crate::format::SWITCH, 0),
                options(att_syntax, noreturn, nostack, nomem),
            )
        }
    } };
}
