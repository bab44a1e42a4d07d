//! Modes with the most arms, and with few.

use jumplabel::{Modes, modes, static_mode, static_switch};

/// Hands `$first` and as many names as there can be to a macro.
macro_rules! all {
    ($macro:ident) => {
        $macro! {
                M0 M1 M2 M3 M4 M5 M6 M7 M8 M9 M10 M11 M12 M13 M14 M15 M16 M17 M18 M19 M20 M21 M22 M23 M24 M25 M26 M27
                M28 M29 M30 M31 M32 M33 M34 M35 M36 M37 M38 M39 M40 M41 M42 M43 M44 M45 M46 M47 M48 M49 M50 M51 M52
                M53 M54 M55 M56 M57 M58 M59 M60 M61 M62 M63 M64 M65 M66 M67 M68 M69 M70 M71 M72 M73 M74 M75 M76 M77
                M78 M79 M80 M81 M82 M83 M84 M85 M86 M87 M88 M89 M90 M91 M92 M93 M94 M95 M96 M97 M98 M99 M100 M101
                M102 M103 M104 M105 M106 M107 M108 M109 M110 M111 M112 M113 M114 M115 M116 M117 M118 M119 M120 M121
                M122 M123 M124 M125 M126 M127 M128 M129 M130 M131 M132 M133 M134 M135 M136 M137 M138 M139 M140 M141
                M142 M143 M144 M145 M146 M147 M148 M149 M150 M151 M152 M153 M154 M155 M156 M157 M158 M159 M160 M161
                M162 M163 M164 M165 M166 M167 M168 M169 M170 M171 M172 M173 M174 M175 M176 M177 M178 M179 M180 M181
                M182 M183 M184 M185 M186 M187 M188 M189 M190 M191 M192 M193 M194 M195 M196 M197 M198 M199 M200 M201
                M202 M203 M204 M205 M206 M207 M208 M209 M210 M211 M212 M213 M214 M215 M216 M217 M218 M219 M220 M221
                M222 M223 M224 M225 M226 M227 M228 M229 M230 M231 M232 M233 M234 M235 M236 M237 M238 M239 M240 M241
                M242 M243 M244 M245 M246 M247 M248 M249 M250 M251 M252 M253 M254
        }
    };
}

macro_rules! most {
    ($($name:ident)*) => {
        modes! { enum Most { $($name),* } }
        static_mode! { static MOST: Most = M200; }

        fn most() -> Most {
            static_switch!(MOST, { $($name => Most::$name),* })
        }
    };
}
all! { most }

modes! { enum Two { One, Other } }
modes! { enum Eight { A, B, C, D, E, F, G, H } }
static_mode! {
    static TWO: Two = Other;
    static EIGHT: Eight = D;
}

#[test]
fn two() {
    for mode in [Two::Other, Two::One, Two::Other, Two::One] {
        TWO.set(mode).unwrap();
        assert_eq!(static_switch!(TWO, { One => Two::One, Other => Two::Other }), mode);
    }
}

#[test]
fn eight() {
    let mode = || {
        static_switch!(EIGHT, {
            H => Eight::H, A => Eight::A, G => Eight::G, B => Eight::B, F => Eight::F, C => Eight::C, E => Eight::E, D => Eight::D,
        })
    };
    assert_eq!(mode(), Eight::D);
    for from in Eight::ALL {
        for &to in Eight::ALL {
            EIGHT.set(*from).unwrap();
            EIGHT.set(to).unwrap();
            assert_eq!(mode(), to);
        }
    }
}

#[test]
fn two_hundred_and_fifty_five() {
    assert_eq!((most(), Most::ALL.len(), MOST.raw().count()), (Most::M200, 255, 255));
    for (number, &mode) in Most::ALL.iter().enumerate() {
        assert_eq!(usize::from(mode.index()), number);
        MOST.set(mode).unwrap();
        assert_eq!(most(), mode);
    }
}

/// A trait that the user derives is not derived again, however it is spelled; the others are.
#[test]
fn derived_traits() {
    modes! {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
        enum All {
            #[default]
            First,
            Second,
        }
    }
    modes! {
        /// Some, by path, in several attributes.
        #[derive(std::fmt::Debug, ::core::clone::Clone)]
        #[allow(dead_code)]
        #[derive(core::hash::Hash,)]
        enum Some { First, Second }
    }
    fn has_all<T: Copy + Eq + std::fmt::Debug + std::hash::Hash + jumplabel::switch::Modes>(mode: T) -> String {
        format!("{mode:?}")
    }
    assert!(All::First < All::Second && All::default() == All::First);
    assert_eq!((has_all(All::Second), has_all(Some::Second)), ("Second".into(), "Second".into()));
    static_mode! { static ALL: All = Second; static SOME: Some = First; }
    assert_eq!(
        static_switch!(ALL, { First => 1, Second => 2 }) + static_switch!(SOME, { First => 10, Second => 20 }),
        12
    );
}
