//! Keys declared `or_load`: an unpatched check of such a key loads the key's count. The check jumps to a stub after the function, and the stub tests
//! the count ([`arch::asm`](crate::arch::asm) has the stub). A patched check falls through or jumps straight to its other arm, like the check of any
//! key. `patch::purpose` says which operations patch the checks. If the system refuses to patch a check, the check continues to load the count
//! (`patch::carry_out`).

use super::StaticKey;

/// A key that works even where the system forbids all changes of code. Each check loads the key's count until the check is patched. Declare the key
/// with [`static_key!`](crate::static_key): `static TRACE: false, or_load;`. Such keys are meant for libraries, because a library cannot know whether
/// the program may change code.
///
/// A check that was never patched costs a jump, a load, a test and a jump. A patched check costs the same as the check of any key. Each check
/// also costs some 25 bytes out of line.
///
/// All checks begin unpatched, and the first flip of the key patches them. [`prepare()`](crate::prepare), and
/// [`restore_pristine`](crate::restore_pristine) of the key, patch earlier those checks that should fall through. A check that should jump continues
/// to load until a flip. (On some instruction sets such a check would fall through for a moment while the library changes the jump to the stub into a
/// jump to the arm.)
///
/// If the system refuses to patch, `enable`, `disable` and similar functions still succeed. [`Outcome::loading`](crate::Outcome::loading) is then the
/// number of sites that continue to load. But if patching worked before and is refused now, these functions fail, because a patched check cannot load
/// again. Nothing has changed then, as after any error.
///
/// There is no naked key that loads: an atomic costs less than a call of a function that loads.
pub type OrLoadKey<const DEFAULT: bool> = StaticKey<DEFAULT, true>;
