//! Keys whose checks load the key's count until they are patched. An unpatched check jumps to a stub after the function, and the stub tests the
//! count ([`arch::asm`](crate::arch::asm) has the stub). A patched check falls through, or jumps straight to its other arm, like the check of
//! any key. If the system refuses to patch a check, the check continues to load the count (`patch::carry_out`). `patch::purpose` says when a
//! check stops loading.

use super::StaticKey;

/// A key that works even where the system forbids all changes of code: each check loads the key's count until the check is patched. Declare the
/// key with [`static_key!`](crate::static_key): `static TRACE: false, or_load;`. Such keys are meant for libraries, which cannot know whether
/// the program may change code.
///
/// A check that was never patched costs a jump, a load, a test and a jump. A patched check costs the same as the check of any key. Each check
/// also costs some 25 bytes out of line.
///
/// All checks begin unpatched. The first flip of the key patches them. [`prepare()`](crate::prepare), and
/// [`restore_pristine`](crate::restore_pristine) of the key, can patch them earlier, but only those that should fall through. (On some instruction
/// sets a check falls through for a moment while it becomes another jump. So a check that should jump continues to load until a flip.)
///
/// If patching is refused, `enable`, `disable` and similar functions still succeed, and [`Outcome::loading`](crate::Outcome::loading) is the
/// number of sites that continue to load. But they fail if patching worked before, because a patched check cannot be made to load again. Then
/// nothing changes, as with any error.
///
/// There is no naked key that loads: an atomic costs less than a call of a function that loads.
pub type OrLoadKey<const DEFAULT: bool> = StaticKey<DEFAULT, true>;
