//! What known programs write of memory in their own way: a file each.

mod deepspeed;
mod fairseq;
mod megatron;
mod mmengine;
mod psutil;
mod torchvision;
mod tracemalloc;

use super::Line;
use super::amounts::{Amount, Unit};
use super::name::{What, Whose};
use super::token::Sort;

/// Numbers in lines, in nobody's form.
pub(super) const LINES: &str = "lines of the log";

/// A program's own way to write amounts.
struct Form {
    name: &'static str,
    read: fn(&Line<'_>, &mut Vec<Amount>),
}

const FORMS: [Form; 7] = [
    Form { name: "psutil", read: psutil::read },
    Form { name: "DeepSpeed", read: deepspeed::read },
    Form { name: "Megatron-LM", read: megatron::read },
    Form { name: "mmengine", read: mmengine::read },
    Form { name: "torchvision", read: torchvision::read },
    Form { name: "fairseq", read: fairseq::read },
    Form { name: "TorchTracemalloc", read: tracemalloc::read },
];

/// What a card has, bytes, where a line says it as one of them does.
pub(super) fn card(text: &str) -> Option<f64> {
    fairseq::card(text)
}

/// The amounts of a line by the first form that knows it, and that form's name.
pub(super) fn read(line: &Line<'_>, amounts: &mut Vec<Amount>) -> Option<&'static str> {
    FORMS.iter().find_map(|form| {
        (form.read)(line, amounts);
        (!amounts.is_empty()).then_some(form.name)
    })
}

/// A number that a form looked for.
struct Found {
    value: f64,
    last_digit: f64,
    at: usize,
}

impl Found {
    fn amount(&self, name: &str, whose: Whose, what: What, unit: Unit) -> Amount {
        let (value, last_digit, at) = (self.value, self.last_digit, self.at);
        Amount { name: name.to_owned(), whose, what, value, last_digit, unit, limit: None, at }
    }
}

/// The number behind words and marks that follow each other, `:` and `=` left out.
fn number_after(line: &Line<'_>, words: &[&str]) -> Option<Found> {
    let tokens = line.tokens;
    let begins = (0..tokens.len()).find(|at| {
        words.iter().enumerate().all(|(index, word)| tokens.get(at + index).is_some_and(|token| token.text(line.text) == *word))
    })?;
    let mut behind = tokens[begins + words.len()..].iter().skip_while(|token| token.is_mark(b":="));
    let token = behind.next()?;
    match token.sort {
        Sort::Number { value, last_digit, .. } => Some(Found { value, last_digit, at: token.start }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::token;
    use super::*;

    pub(super) fn read(form: fn(&Line<'_>, &mut Vec<Amount>), text: &str) -> Vec<Amount> {
        read_with(form, text, None)
    }

    pub(super) fn read_with(form: fn(&Line<'_>, &mut Vec<Amount>), text: &str, card: Option<f64>) -> Vec<Amount> {
        let tokens = token::cut(text);
        let mut amounts = Vec::new();
        form(&Line { text, tokens: &tokens, card }, &mut amounts);
        amounts
    }
}
