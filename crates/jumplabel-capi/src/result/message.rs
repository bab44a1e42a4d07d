//! The messages of the core's errors for C: names of Rust are replaced by names of C.

use jumplabel::text::Pieces;
use jumplabel::{Error, WriterKind};

use super::{Refusal, text};

/// Passes the message of `error` to `pieces`. It is the core's own message, unless that has names that exist only in Rust.
#[cold]
pub(super) fn tell(error: &Error, pieces: Pieces<'_>) {
    match error {
        Error::Denied { refused }
            if refused.of(WriterKind::Custom) == jumplabel::Refusal::NOT_TRIED
                && *refused != jumplabel::Refusals::default() =>
        {
            pieces("the system refuses to change code (");
            refused.tell(pieces);
            pieces(
                "): allow mprotect(PROT_EXEC) or writes to /proc/self/mem, define keys by \
                 DEFINE_STATIC_KEY_TRUE_OR_LOAD() and the like, or build with -DJUMPLABEL_FALLBACK",
            );
        }
        Error::MultiThreaded { core_sync, .. } if *core_sync != jumplabel::Refusal::NOT_TRIED => {
            pieces("threads are running and membarrier is refused (");
            core_sync.tell(pieces);
            pieces("): allow membarrier, or flip once before the first thread starts");
        }
        Error::NoWriter => pieces(
            "nothing can write this code: procmem cannot change calls that a table lists, so choose another by jumplabel_set_writer(); a build \
             without sites writes no code",
        ),
        Error::NoPlatform => pieces("there is no platform yet: call jumplabel_kernel_start() first"),
        Error::IsTable => pieces("it is a table of operations: set it by pv_ops_set(), which changes its calls, too"),
        Error::UnfitOp { op } => {
            pieces("the operation ");
            pieces(op);
            pieces(
                " cannot be in place: give it one instruction (on x86-64 of 5 bytes or more) that does not use the stack \
                 pointer, jump, call or return; or make it a static call of the table, by PV_STATIC_CALL()",
            );
        }
        Error::UnknownWriter | Error::Reentrant | Error::Circular { .. } => {
            jumplabel::text::name(text(Refusal::Core(*error).code()), pieces);
        }
        error => error.tell(pieces),
    }
}

#[cfg(test)]
mod tests {
    use std::string::{String, ToString};

    use super::*;

    /// No message has a name that exists only in Rust.
    #[test]
    fn no_text_is_about_rust() {
        let errors = [
            Error::Denied { refused: [(WriterKind::Mprotect, jumplabel::Refusal::errno(1))].into_iter().collect() },
            Error::Denied { refused: jumplabel::Refusals::default() },
            Error::NoWriter,
            Error::UnknownWriter,
            Error::NoPlatform,
            Error::Reentrant,
            Error::Counted { count: 2 },
            Error::Sealed,
            Error::NotCode { address: 0 },
            Error::Circular { address: 0 },
            Error::NoSuchMode { count: 3 },
            Error::NoSuchCpu { cpu: 3 },
            Error::IsTable,
            Error::UnfitAlternative { address: 0 },
            Error::OutOfRange { address: 0 },
            Error::MultiThreaded { core_sync: jumplabel::Refusal::errno(1), remap: jumplabel::Refusal::errno(1) },
            Error::MultiThreaded { core_sync: jumplabel::Refusal::NOT_TRIED, remap: jumplabel::Refusal::errno(1) },
            Error::DamagedTable { entry: 0 },
            Error::UnknownKind { entry: 0, kind: 9 },
            Error::NoBounds { object: 0 },
            Error::OutOfMemory,
            Error::RollbackFailed { address: 0 },
        ];
        let of_rust = [
            "--cfg",
            "::",
            "`or_load`",
            "enable_locked",
            "guard",
            "*CALL",
            "query()",
            "template",
            "jumplabel_fallback",
        ];
        let core_s = errors.map(|error| error.to_string());
        let ours = errors.map(|error| {
            let mut said = String::new();
            Refusal::Core(error).tell(&mut |piece| said += piece);
            said
        });
        let names_rust = |said: &&String| of_rust.iter().any(|word| said.contains(word));
        assert_eq!(ours.iter().find(names_rust), None);
        assert!(core_s.iter().filter(names_rust).count() >= 4);
        // Each message fits into the hook's buffer, together with the name of a function.
        assert!(ours.iter().all(|said| said.len() < 270), "{ours:#?}");
        assert!(ours[0].contains("-DJUMPLABEL_FALLBACK"), "{}", ours[0]);
    }
}
