//! Keys whose checks load the key's count until they are patched. An unpatched check jumps to a stub after the function, and the stub tests
//! the count ([`arch::asm`](crate::arch::asm) has the stub). To a transaction, such a site is like any other: it holds a jump, and the jump
//! leads to the stub. If the system refuses to patch the site, the jump stays, and the check goes on loading the count (`patch::plan`).

use super::StaticKey;

/// A key that works where the system lets nobody change code: each check loads the key's count until the check is patched. Declare the key
/// with [`static_key!`](crate::static_key): `static TRACE: false, or_load;`. It is meant for libraries, which cannot know whether the
/// program may change code.
///
/// A check that was never patched costs a jump, a load, a test and a jump. So does a check that jumps, patched or not. A check that was
/// patched and falls through costs nothing. Each check also costs some 20 bytes of code out of line.
///
/// All checks begin unpatched. The checks that are to fall through are patched by [`prepare()`](crate::prepare), by
/// [`restore_pristine`](crate::restore_pristine) of the key, and by the first flip of the key to the state in which they fall through.
///
/// If patching is refused, `enable` and the like still succeed, and [`Outcome::loading`](crate::Outcome::loading) says how many sites go on
/// loading. But they fail if patching worked before: a check that was patched to fall through cannot be made to load again. Then nothing
/// changes, as with any error.
///
/// There is no naked key that loads: an atomic costs less than a call of a function that loads.
pub type OrLoadKey<const DEFAULT: bool> = StaticKey<DEFAULT, true>;
