//! Keys that load until they are patched. Their checks jump to a stub after the function, which tests the key's count: the stub is in
//! [`arch::asm`](crate::arch::asm). To a transaction such a site is one like any other, whose jump asks the count; if the system refuses to
//! patch it, it goes on doing so (`patch::plan`).

use super::StaticKey;

/// A key that works where the system lets nobody change code: until one of its checks is patched, that check loads the key's
/// count. Declare it with [`static_key!`](crate::static_key): `static TRACE: false, or_load;`. For libraries, which cannot know
/// what the program may do.
///
/// A check that was never patched costs a jump, a load, a test and a jump. So does one that jumps, patched or not. A check costs nothing if
/// it was patched and falls through. Checks begin unpatched; those that are to fall through are patched by [`prepare()`](crate::prepare),
/// by [`restore_pristine`](crate::restore_pristine) of the key, and by the first flip of the key to that state. Each check also costs some
/// 20 bytes of code out of line.
///
/// If patching is refused, `enable` and the like still succeed, and say in [`Outcome::loading`](crate::Outcome::loading) how many sites go
/// on loading. They fail if patching worked before: a check that was patched to fall through cannot be made to load again. Then nothing
/// changes, as with any error.
///
/// There is no naked key of this sort: an atomic costs less than a call of a function that loads.
pub type OrLoadKey<const DEFAULT: bool> = StaticKey<DEFAULT, true>;
