//! The kinds of sites. A kind says which states a site can have, and how the site changes from one state to another. The meta word of an
//! entry names the kind of its site.
//!
//! Each kind has a file here, with a trait for instruction sets ([`branch`] is the first), and a line in the list below.

pub(crate) mod alternative;
pub(crate) mod branch;
pub(crate) mod call_site;
pub(crate) mod jump;
pub(crate) mod loading;
pub(crate) mod lock_prefix;
pub(crate) mod naked;
pub(crate) mod op;
pub(crate) mod short;
pub(crate) mod switch;

use crate::layout;
use crate::state::{Kind, Leads, State, Target};
use crate::{Arch, Code, StepBytes};

#[cfg(jumplabel_short_kind)]
impl Kind {
    /// Whether a jump at a site of this kind can have this displacement.
    #[must_use]
    pub fn reaches(self, displacement: i32) -> bool {
        self.0 != layout::SHORT || short::reach(displacement).is_some()
    }
}

impl State {
    /// The state's name in listings.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.kind().state_names().get(usize::from(self.0 & 7)).copied().unwrap_or("unknown")
    }
}

impl Kind {
    /// The state of a site of this kind that holds `code`, if `code` is this kind's jump or call, whatever its displacement is. `None` for other
    /// code, and for kinds whose sites lead only to their entries' targets.
    #[must_use]
    #[inline(never)] // Rarely called.
    pub fn leads_somewhere<A: Sites>(self, code: Code) -> Option<State> {
        let direct = self.emitted::<A>(0).filter(|_| self.leads::<A>(0) != Leads::ToTarget)?;
        let word = |displacement| direct.encode::<A>(displacement).word();
        let moving = [-1, -16, 2, 4, 8].iter().fold(0, |bits, &displacement| bits | word(0) ^ word(displacement));
        (code.word() & !moving == word(0) & !moving).then_some(direct)
    }
}

/// The instruction of a state, without its displacement. [`fill`](Self::fill) makes the instruction of one site from it.
#[derive(Clone, Copy, Debug)]
pub struct Template {
    state: State,
    /// The instruction with 0 as its displacement. `tail` is a mask of the displacement's bits or, without a [`TAIL`](Arch::TAIL), the state.
    head: u64,
    tail: u64,
}

impl Template {
    /// The template of a state. `None` if the displacement of the state's instruction leads neither to the entry's target nor, at a check
    /// that can load, to its arm. Also `None` if [`fill`](Self::fill) cannot put the displacement in.
    #[must_use]
    #[inline(never)]
    pub fn of<A: Sites>(state: State) -> Option<Template> {
        let leads = state.kind().leads::<A>(0) == Leads::ToTarget || state.kind().0 == layout::LOADING;
        let by_state = leads.then_some(Template { state, head: 0, tail: state.0.into() });
        let Some(_) = A::TAIL else { return by_state }; // `fill` needs only the state.
        let (head, all) = (state.encode::<A>(0).word(), state.encode::<A>(-1).word());
        let template = Template { state, head, tail: head ^ all };
        (template.fill::<A>(0x1234_5678) == state.encode::<A>(0x1234_5678) && leads).then_some(template)
    }

    /// The kind of the sites that the template is for.
    #[must_use]
    #[inline]
    pub const fn kind(self) -> Kind {
        self.state.kind()
    }

    /// Whether the instructions of both templates hold their displacement in the same bits. False if that is not known.
    #[must_use]
    #[inline]
    pub const fn is_like(self, other: Template) -> bool {
        self.tail == other.tail
    }

    /// The state's instruction with this displacement, as [`State::encode`] makes it.
    #[must_use]
    #[inline]
    pub fn fill<A: Sites>(self, displacement: i32) -> Code {
        match A::TAIL {
            Some(place) => {
                Code::of_word(self.head | u64::from(displacement.cast_unsigned()) << (place * 8) & self.tail)
            }
            None => self.state.encode::<A>(displacement),
        }
    }
}

/// A site's change from its old bytes to its new bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeChange {
    /// The bytes that the site holds now.
    pub old: Code,
    /// The bytes that the site must hold.
    pub new: Code,
}

impl CodeChange {
    /// A number made of the old first byte and of the difference between the old and the new bytes. If the number is at most 0xffff, only the
    /// first byte changes. Two changes with the same number in that range take the same steps and write the same bytes, except in a step that
    /// writes a whole word ([`Arch::step`]).
    #[doc(hidden)]
    #[must_use]
    #[inline]
    pub const fn pattern(self) -> u64 {
        (self.old.word() ^ self.new.word()).rotate_left(8) | self.old.word() & 0xff
    }

    /// Whether a change with this [`pattern`](Self::pattern) changes only the first byte.
    #[doc(hidden)]
    #[must_use]
    #[inline]
    pub const fn is_of_first_byte(pattern: u64) -> bool {
        pattern <= 0xffff
    }
}

impl core::fmt::Debug for State {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name())
    }
}

/// Defines the functions and the trait that depend on the list of kinds. Each line of the list has the constant of the kind's number, the kind's
/// file, and its trait. If the library knows the kind only under a `cfg`, the line has that `cfg`.
macro_rules! kinds {
    ($($(#[$when:meta])? $number:ident $file:ident $Trait:ident,)*) => {
        /// An instruction set with sites of all kinds.
        pub trait Sites: Arch $(+ $file::$Trait)* {}
        impl<A: Arch $(+ $file::$Trait)*> Sites for A {}

        impl Kind {
            /// The kind with this number; `None` if there is none.
            #[must_use]
            #[inline]
            pub const fn of(number: u8) -> Option<Kind> {
                match number {
                    $($(#[$when])? layout::$number => Some(Kind(number)),)*
                    _ => None,
                }
            }

            const fn state_names(self) -> &'static [&'static str] {
                match self.0 {
                    $($(#[$when])? layout::$number => $file::NAMES,)*
                    _ => &[],
                }
            }

            /// The length of a site in bytes.
            #[must_use]
            #[inline]
            pub const fn bytes<A: Sites>(self) -> usize {
                match self.0 {
                    $($(#[$when])? layout::$number => <A as $file::$Trait>::BYTES,)*
                    _ => 0,
                }
            }

            /// The places to which a site at `address` can lead.
            #[must_use]
            #[inline]
            pub fn leads<A: Sites>(self, address: usize) -> Leads {
                match self.0 {
                    $($(#[$when])? layout::$number => <A as $file::$Trait>::leads(address),)*
                    _ => Leads::ToTarget,
                }
            }

            /// The sort of target that an entry of this kind has.
            #[must_use]
            #[inline]
            pub const fn target<A: Sites>(self) -> Target {
                match self.0 {
                    $($(#[$when])? layout::$number => <A as $file::$Trait>::TARGET,)*
                    _ => Target::Code(1),
                }
            }

            /// The state of a site that holds `code`; `None` if no state of this kind has this code. `displacement` is the one that leads
            /// to the site's current target; `None` if that target is out of reach.
            #[must_use]
            #[inline]
            pub fn decode<A: Sites>(self, code: Code, displacement: Option<i32>) -> Option<State> {
                match self.0 {
                    $($(#[$when])? layout::$number => <A as $file::$Trait>::decode(code, displacement),)*
                    _ => None,
                }
            }

            /// The state that the compiler emits for a site that does `action`. For a check, `action` says whether it jumps.
            #[must_use]
            pub fn emitted<A: Sites>(self, action: usize) -> Option<State> {
                match self.0 {
                    $($(#[$when])? layout::$number => Some(<A as $file::$Trait>::emitted(action)),)*
                    _ => None,
                }
            }
        }

        impl CodeChange {
            /// The bytes that step `number` writes; `None` if the step has nothing to do at this site.
            #[must_use]
            #[inline]
            pub fn step<A: Sites>(self, number: u8) -> Option<StepBytes> {
                match self.old.kind() {
                    $($(#[$when])? layout::$number => <A as $file::$Trait>::step(number, self.old, self.new),)*
                    _ => None,
                }
            }

            /// The bytes that take step `number` back.
            #[must_use]
            #[inline]
            pub fn undo<A: Sites>(self, number: u8) -> Option<StepBytes> {
                match self.old.kind() {
                    $($(#[$when])? layout::$number => <A as $file::$Trait>::undo(number, self.old, self.new),)*
                    _ => None,
                }
            }
        }

        impl State {
            /// The bytes of a site in this state.
            #[must_use]
            #[inline(never)]
            pub fn encode<A: Sites>(self, displacement: i32) -> Code {
                match self.kind().0 {
                    $($(#[$when])? layout::$number => <A as $file::$Trait>::encode(self, displacement),)*
                    _ => Code::NONE,
                }
            }

            /// The state that a site in this state must change to, so that it does `action`. If the site already does `action`, the result is
            /// the present state. `displacement` is the one that leads to the target that the site will have then.
            #[must_use]
            #[inline]
            pub fn toward<A: Sites>(self, action: usize, displacement: Option<i32>) -> State {
                match self.kind().0 {
                    $($(#[$when])? layout::$number => <A as $file::$Trait>::toward(self, action, displacement),)*
                    _ => self,
                }
            }

            /// The action of a site in this state. For a check: 1 if it jumps, 0 if it falls through.
            #[must_use]
            #[inline]
            pub fn action<A: Sites>(self) -> usize {
                match self.kind().0 {
                    $($(#[$when])? layout::$number => <A as $file::$Trait>::action(self),)*
                    _ => 0,
                }
            }

            /// Whether a site can have this state even if its target is out of reach: the instruction of the state falls through. A check in such
            /// a state is meant to fall through. At other sites, the code after the site leads to the target.
            #[doc(hidden)]
            #[must_use]
            #[inline]
            pub fn leads_nowhere<A: Sites>(self) -> bool {
                match self.kind().0 {
                    $($(#[$when])? layout::$number => self.is_of(const { State::bits(<A as $file::$Trait>::NOWHERE) }),)*
                    _ => false,
                }
            }

            /// The state that the compiler would have emitted for a site that does what a site in this state does.
            #[must_use]
            #[inline(never)] // Rarely called.
            pub fn as_emitted<A: Sites>(self) -> State {
                self.kind().emitted::<A>(self.action::<A>()).unwrap_or(self)
            }
        }
    };
}

kinds! {
    BRANCH branch Branch,
    NAKED naked Naked,
    JUMP jump Jump,
    SWITCH switch Switch,
    CALL_SITE call_site CallSite,
    OP op Op,
    PREFIX lock_prefix Prefix,
    LOADING loading Loading,
    #[cfg(jumplabel_short_kind)]
    SHORT short Short,
}
