//! Takes out of a report what a stranger should not read: hosts, paths and names of files, cgroups, commands beyond a well-known
//! program's name, and the names that users gave to phases and nodes.
//!
//! What a report proves (numbers, roles, kinds, times, names in the code) stays. One name has one placeholder, in every form and
//! sentence, so that it can still be told what is said of the same file or host. Rather too much goes than too little: what looks
//! like a path or a file's name goes, unless it is a rate or the kernel's own.

mod look;
mod walk;

use std::collections::BTreeMap;

use lowtide_model::{Comparison, Report};

/// What stands where source was taken out: it is nothing that could be told apart.
const GONE: &str = "[redacted]";
/// Programs whose name tells nothing of who runs them: interpreters, shells, launchers, and what PyTorch calls its processes.
const PROGRAMS: [&str; 44] = [
    "python",
    "pypy",
    "ipython",
    "jupyter",
    "pytest",
    "uv",
    "uvx",
    "pip",
    "poetry",
    "pixi",
    "conda",
    "mamba",
    "micromamba",
    "hatch",
    "torchrun",
    "accelerate",
    "deepspeed",
    "horovodrun",
    "ray",
    "raylet",
    "srun",
    "slurmstepd",
    "mpirun",
    "mpiexec",
    "orterun",
    "prterun",
    "bash",
    "sh",
    "dash",
    "zsh",
    "fish",
    "env",
    "sudo",
    "nice",
    "nohup",
    "timeout",
    "time",
    "make",
    "tini",
    "dumb-init",
    "node",
    "java",
    "lowtide",
    "sleep",
];
/// Phases that lowtide itself calls so.
const PHASES: [&str; 12] = [
    "train",
    "training",
    "validation",
    "eval",
    "evaluation",
    "test",
    "predict",
    "checkpoint",
    "setup",
    "idle",
    "between",
    "null",
];

/// What was taken out, and what stands for it. One of these makes one output, or all that belong together.
#[derive(Clone, Debug, Default)]
pub struct Redaction {
    /// By sort, what was named so and its number.
    numbers: BTreeMap<&'static str, BTreeMap<String, usize>>,
    /// Whole texts that are replaced wherever they stand, the longest first.
    known: Vec<(String, String)>,
}

/// Redacts one report in place.
pub fn redact(report: &mut Report) {
    Redaction::default().report(report);
}

impl Redaction {
    /// Redacts a report in place.
    pub fn report(&mut self, report: &mut Report) {
        self.learn(report);
        walk::report(self, report);
    }

    /// Redacts a comparison of reports that were all [learned](Self::learn).
    pub fn comparison(&mut self, comparison: &mut Comparison) {
        for run in comparison.before.iter().chain(&comparison.after) {
            self.learn_recording(&run.file);
        }
        walk::comparison(self, comparison);
    }

    /// Takes note of what a report names, so that it is known in sentences.
    pub fn learn(&mut self, report: &Report) {
        walk::learn(self, report);
        self.known.sort_by(|a, b| b.0.len().cmp(&a.0.len()).then_with(|| a.cmp(b)));
        self.known.dedup();
    }

    /// What stands for a recording's file, whose name may hold a command and a host.
    pub fn recording(&mut self, file: &str) -> String {
        self.learn_recording(file);
        self.placeholder("recording", file)
    }

    /// What stands for a phase; lowtide's own names stay.
    pub fn phase(&mut self, name: &str) -> String {
        if name.is_empty() || PHASES.contains(&name) { name.to_owned() } else { self.placeholder("phase", name) }
    }

    /// A sentence without what is known, and without what looks like a path, a file or an address.
    pub fn text(&mut self, text: &str) -> String {
        let mut out = text.to_owned();
        for (secret, instead) in &self.known {
            out = look::replace_whole(&out, secret, instead);
        }
        look::pieces(&out).map(|piece| self.piece(piece)).collect()
    }

    /// A command: the program, where it is a well-known one, and that there are arguments.
    fn command(&mut self, command: &str) -> String {
        let (first, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
        let program = self.program(first);
        if rest.trim().is_empty() { program } else { format!("{program} {}", self.placeholder("arguments", rest)) }
    }

    fn program(&mut self, word: &str) -> String {
        let name = word.rsplit('/').next().unwrap_or(word);
        let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').trim_end_matches('-');
        let usual = name.is_empty() || PROGRAMS.contains(&bare) || name.starts_with("pt_") || look::is_placeholder(name);
        if usual { name.to_owned() } else { self.placeholder("program", name) }
    }

    fn file(&mut self, path: &str) -> String {
        let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
        if path.is_empty() || look::is_placeholder(path) { path.to_owned() } else { self.placeholder("file", name) }
    }

    fn placeholder(&mut self, sort: &'static str, name: &str) -> String {
        let numbers = self.numbers.entry(sort).or_default();
        let next = numbers.len() + 1;
        let number = *numbers.entry(name.to_owned()).or_insert(next);
        format!("[{sort} {number}]")
    }

    /// A piece of a sentence that no blank, quote or bracket divides.
    fn piece(&mut self, piece: &str) -> String {
        let bare = piece.trim_end_matches(['.', ':', '!', '?']);
        let (after, is) = (&piece[bare.len()..], look::what(bare));
        let instead = match is {
            look::What::Plain => return piece.to_owned(),
            look::What::File { path, line } => format!("{}{line}", self.file(path)),
            look::What::Path => self.placeholder("path", bare),
            look::What::Address => self.placeholder("host", bare),
        };
        instead + after
    }

    fn know(&mut self, secret: &str, instead: String) {
        // Of one letter or two there is too much in every sentence; `/` begins every path.
        if secret.len() > 2 && !look::is_own_word(secret) {
            self.known.push((secret.to_owned(), instead));
        }
    }

    fn learn_recording(&mut self, file: &str) {
        let instead = self.placeholder("recording", file);
        let name = file.rsplit('/').next().unwrap_or(file).to_owned();
        self.know(file, instead.clone());
        self.know(&name, instead);
    }

    /// A command as a whole, and those of its words that sentences may quote by themselves.
    fn learn_command(&mut self, command: &str) {
        if command.is_empty() {
            return;
        }
        let instead = self.command(command);
        let mut words = command.split_whitespace();
        if let Some(first) = words.next() {
            let program = self.program(first);
            if look::is_placeholder(&program) {
                self.know(first, program.clone());
                self.know(first.rsplit('/').next().unwrap_or(first), program);
            }
        }
        if command.contains([' ', '/']) {
            self.know(command, instead);
        }
        for word in words {
            let value = word.trim_start_matches('-').rsplit('=').next().unwrap_or(word);
            match look::what(value) {
                look::What::File { path, .. } => {
                    let instead = self.file(path);
                    self.know(path, instead);
                }
                look::What::Path | look::What::Address => {}
                // A word as any sentence has it tells nothing; one of letters and digits or of parts may be a name.
                look::What::Plain if !word.starts_with('-') && look::is_telling(value) => {
                    let instead = self.placeholder("argument", value);
                    self.know(value, instead);
                }
                look::What::Plain => {}
            }
        }
    }
}
