//! The terminal. It shows its alternate screen while the view runs, and its earlier contents afterwards, even after a panic.

use std::io::{self, Stdout};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::cursor::Show;
use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use crossterm::execute;
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use ratatui::backend::CrosstermBackend;
use ratatui::layout::{Position, Rect};
use ratatui::{Frame, Terminal};

/// Whether the terminal must be restored.
static IS_OPEN: AtomicBool = AtomicBool::new(false);

/// Restores the terminal when it is dropped.
pub struct Screen(Terminal<CrosstermBackend<Stdout>>);

impl Screen {
    pub fn open() -> io::Result<Screen> {
        static HOOK: Once = Once::new();
        HOOK.call_once(restore_at_panic);
        let terminal = Terminal::new(CrosstermBackend::new(io::stdout()))?;
        IS_OPEN.store(true, Ordering::SeqCst);
        let screen = Screen(terminal);
        enable_raw_mode()?;
        // Pasted text arrives as one event: letter by letter, its blanks would toggle keys.
        execute!(io::stdout(), EnterAlternateScreen, EnableBracketedPaste)?;
        Ok(screen)
    }

    /// Draws, and returns the size of what was drawn: columns and lines.
    pub fn draw(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> io::Result<(u16, u16)> {
        self.0.draw(draw).map(|drawn| (drawn.area.width, drawn.area.height))
    }

    /// Makes the next `draw` write everything, so that nothing of another program's output stays.
    pub fn clear(&mut self) -> io::Result<()> {
        // The `clear` of `Terminal` would ask where the cursor is. The thread that waits for events would get the answer.
        let size = self.0.size()?;
        self.0.resize(Rect::from((Position::ORIGIN, size)))
    }
}

/// Whether the terminal accepts output now.
pub fn takes() -> bool {
    let mut asked = libc::pollfd { fd: libc::STDOUT_FILENO, events: libc::POLLOUT, revents: 0 };
    // SAFETY: `asked` is the one `pollfd` that the count 1 announces, and it outlives the call.
    unsafe { libc::poll(&raw mut asked, 1, 0) > 0 }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Restores the terminal, but only at the first call. Ignores errors, because the terminal may have gone.
pub fn restore() {
    if IS_OPEN.swap(false, Ordering::SeqCst) {
        let _ = disable_raw_mode();
        let _ = execute!(io::stdout(), DisableBracketedPaste, LeaveAlternateScreen, Show);
    }
}

/// Restores the terminal before the message of a panic is printed, so that the message stays readable. Then ends the whole tool, because without the
/// thread that has panicked a part of the view would be missing.
fn restore_at_panic() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        restore();
        print(panic);
        std::process::exit(101);
    }));
}
