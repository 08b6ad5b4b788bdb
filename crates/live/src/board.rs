//! What there is to show, and what of it is shown.

use lowtide_analyse::curves::Curves;
use lowtide_model::{Report, Verdict};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// How the run stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// Its recording is still being read.
    Reading,
    /// It goes on.
    Running,
    /// Nothing was written for so many seconds.
    Silent(u64),
    /// It is over: how it ended.
    Ended(String),
}

/// The views, in the order of their keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// Verdict, curve and tree.
    Overview,
    /// Each process and role.
    Roles,
    /// Sorts of memory.
    Kinds,
    /// What grows, who holds it, and why that is said.
    Objects,
    /// Phases, epochs, rounds.
    Steps,
    /// Cards.
    Gpu,
    /// Limits, and what could not be seen.
    Rest,
}

impl View {
    /// All, by their keys from 1 on.
    pub const ALL: [Self; 7] = [Self::Overview, Self::Roles, Self::Kinds, Self::Objects, Self::Steps, Self::Gpu, Self::Rest];

    /// Its name in the line of keys.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Overview => "overview",
            Self::Roles => "roles",
            Self::Kinds => "kinds",
            Self::Objects => "objects",
            Self::Steps => "steps",
            Self::Gpu => "gpu",
            Self::Rest => "limits",
        }
    }
}

/// Everything that a frame is made of.
#[derive(Clone, Debug)]
pub struct Board {
    /// What the recording is called.
    pub name: String,
    /// The report by what was seen so far.
    pub report: Report,
    /// The series.
    pub curves: Curves,
    /// How the run stands.
    pub status: Status,
    /// Colours are wanted.
    pub color: bool,
    /// What is shown.
    pub view: View,
    /// The help lies over it.
    pub help: bool,
    /// Lines that are scrolled past.
    pub scroll: usize,
}

impl Board {
    /// A board with nothing on it yet.
    #[must_use]
    pub fn new(name: &str, color: bool) -> Self {
        Self {
            name: name.to_owned(),
            report: Report::empty(Verdict::Undecided),
            curves: Curves::default(),
            status: Status::Reading,
            color,
            view: View::Overview,
            help: false,
            scroll: 0,
        }
    }

    /// Takes a key; false where it ends the screen.
    pub fn key(&mut self, key: KeyEvent) -> bool {
        if key.kind == KeyEventKind::Release {
            return true;
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c' | 'd') if control => return false,
            KeyCode::Char('q') => return false,
            KeyCode::Esc if self.help => self.help = false,
            KeyCode::Esc => return false,
            KeyCode::Char('?' | 'h') | KeyCode::F(1) => self.help = !self.help,
            KeyCode::Char(digit @ '1'..='7') => self.show(digit as usize - '1' as usize),
            KeyCode::Tab | KeyCode::Right => self.show((self.at() + 1) % View::ALL.len()),
            KeyCode::BackTab | KeyCode::Left => self.show((self.at() + View::ALL.len() - 1) % View::ALL.len()),
            KeyCode::Down | KeyCode::Char('j') => self.scroll = self.scroll.saturating_add(1),
            KeyCode::Up | KeyCode::Char('k') => self.scroll = self.scroll.saturating_sub(1),
            KeyCode::PageDown | KeyCode::Char(' ') => self.scroll = self.scroll.saturating_add(10),
            KeyCode::PageUp => self.scroll = self.scroll.saturating_sub(10),
            KeyCode::Home => self.scroll = 0,
            _ => {}
        }
        true
    }

    fn at(&self) -> usize {
        View::ALL.iter().position(|view| *view == self.view).unwrap_or(0)
    }

    fn show(&mut self, at: usize) {
        if let Some(view) = View::ALL.get(at) {
            (self.view, self.scroll, self.help) = (*view, 0, false);
        }
    }
}
