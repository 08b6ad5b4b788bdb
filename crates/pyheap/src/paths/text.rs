//! A path as people read it: `module train -> trainer: Trainer -> .history: list`.

use super::Path;
use super::names::{Place, Step, StepName};
use std::fmt;

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Module { name, .. } => write!(f, "module {name}"),
            Self::Frame { thread, function, file, line, .. } => {
                let call = if function.starts_with('<') { "" } else { "()" };
                write!(f, "frame {function}{call} {}", base_name(file))?;
                if let Some(line) = line {
                    write!(f, ":{line}")?;
                }
                if *thread == 0 { Ok(()) } else { write!(f, " of thread {thread}") }
            }
            Self::Thread { thread } => write!(f, "state of thread {thread}"),
            Self::Type => write!(f, "a type"),
            Self::Interpreter => write!(f, "the interpreter"),
            Self::Native => write!(f, "native code"),
            Self::Garbage => write!(f, "nothing (a cycle that waits for the garbage collector)"),
        }
    }
}

impl fmt::Display for StepName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => write!(f, "{name}"),
            Self::Attribute(name) => write!(f, ".{name}"),
            Self::Key(key) => write!(f, "[{key}]"),
            Self::Index(index) => write!(f, "[{index}]"),
            Self::Item => write!(f, "item"),
            Self::Closure(name) => write!(f, "closure {name}"),
            Self::Default(name) => write!(f, "default {name}"),
            Self::Inner(name) => write!(f, "<{name}>"),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.kind.rsplit('.').next().unwrap_or(&self.kind);
        write!(f, "{}: {kind}", self.name)?;
        match &self.function {
            Some(function) => write!(f, " {}()", function.name),
            None => Ok(()),
        }
    }
}

/// Steps of a long path that are written at each end.
const SHOWN: usize = 6;

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.root)?;
        let hidden = self.steps.len().saturating_sub(2 * SHOWN);
        for (index, step) in self.steps.iter().enumerate() {
            if hidden > 0 && index == SHOWN {
                write!(f, " -> ({} more)", hidden + self.left_out)?;
            }
            if hidden == 0 || index < SHOWN || index >= SHOWN + hidden {
                write!(f, " -> {step}")?;
            }
        }
        Ok(())
    }
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
