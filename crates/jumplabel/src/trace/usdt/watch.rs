//! The thread that looks at semaphores.

use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;

use super::look;
use crate::error::Error;
use crate::platform::platform;
use crate::platform::threads::{self, Thread};

static THREAD: Thread = Thread { name: c"jumplabel-usdt", body: run };

/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(100);

/// The number of the process in which a thread that looks was started; 0 if none was started. A forked child inherits the number of its parent, but
/// not the thread.
static RUNS_IN: AtomicU32 = AtomicU32::new(0);

/// Starts a thread that [looks](look) at the semaphores of all tracepoints ten times a second, until the process ends. Does nothing if such a thread
/// already runs in this process.
///
/// A tracepoint is then on within a tenth of a second after a tracer has attached to it. After the tracer has left, or has died, the tracepoint is
/// off within the same time, unless the program has probes on it. Each look costs a wake-up of the thread and the cost of [`look`]. If a look fails,
/// the thread tries again the next time; call [`look`] to learn the reason. A forked child has no such thread until it calls this function;
/// meanwhile, tracepoints that had a tracer stay on in the child. After this call, the object with this instance of the library is never unloaded. Do
/// not call it in signal handlers.
///
/// # Errors
/// [`Error::OutOfMemory`] if no thread can be started; [`Error::TooEarly`] if no constructor of the library has run yet.
pub fn watch() -> Result<(), Error> {
    crate::patch::demand_registered()?;
    let me = threads::process();
    if RUNS_IN.swap(me, Ordering::AcqRel) == me {
        return Ok(());
    }
    let mut started = false;
    platform().start_thread(&mut || {
        started = THREAD.start();
    });
    if started {
        return Ok(());
    }
    RUNS_IN.store(0, Ordering::Release);
    Err(Error::OutOfMemory)
}

fn run() {
    loop {
        let _ = look();
        threads::pause(PAUSE);
    }
}
