//! The terminal: taken, drawn on, asked for keys, and given back whatever happens.

use std::io;
use std::time::Duration;

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event};

use crate::board::Board;
use crate::draw::draw;

/// A terminal that shows a board. It is given back when this is dropped, and by the hook that a panic runs.
#[derive(Debug)]
pub struct Screen {
    terminal: DefaultTerminal,
}

impl Screen {
    /// Takes the terminal: raw, and on the alternate screen, so that what was there comes back.
    pub fn open() -> io::Result<Self> {
        ratatui::try_init().map(|terminal| Self { terminal })
    }

    /// Draws; only what differs from the last frame is sent, which a slow link thanks for.
    pub fn show(&mut self, board: &Board) -> io::Result<()> {
        self.terminal.draw(|frame| draw(frame, board)).map(drop)
    }

    /// Waits for keys and for changes of the terminal's size, at most this long; takes all that are there. What came of it:
    /// `None` to end, else whether to draw anew.
    pub fn wait(&mut self, board: &mut Board, longest: Duration) -> io::Result<Option<bool>> {
        let mut anew = false;
        let mut longest = longest;
        while event::poll(longest)? {
            match event::read()? {
                Event::Key(key) => {
                    if !board.key(key) {
                        return Ok(None);
                    }
                    anew = true;
                }
                Event::Resize(..) => anew = true,
                _ => {}
            }
            longest = Duration::ZERO;
        }
        Ok(Some(anew))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // A panic's hook has given it back already, and has written why since: to leave the other screen twice would put the
        // cursor back above those words.
        if !std::thread::panicking() {
            // A terminal that is gone takes nothing back.
            let _ = ratatui::try_restore();
        }
    }
}
