//! Keys of dicts as text: short, and only what can be read without running anything.

use crate::census::Census;
use crate::types::{Kind, flags};

/// Characters of a key that are shown.
const SHOWN: usize = 40;
/// Items of a tuple that are shown.
const ITEMS: u64 = 4;
/// Bits of a bool's name: `True` is the int 1.
const BOOL: &str = "bool";

impl Census {
    /// An object in a few characters, as Python would write it; its type where it has no short form.
    #[must_use]
    pub fn short(&self, object: u64) -> String {
        self.short_within(object, 2)
    }

    fn short_within(&self, object: u64, depth: u32) -> String {
        let read = self.reader();
        let Some(kind) = self.class_at(object) else { return "?".to_owned() };
        let plain = !kind.has(flags::HEAPTYPE);
        match kind.kind {
            Kind::Str => read.text(object).map(|text| quote(&text)),
            Kind::Int if kind.name == BOOL => read.int(object).map(|value| if value == 0 { "False" } else { "True" }.to_owned()),
            Kind::Int if plain => read.int(object).map(|value| value.to_string()),
            Kind::Leaf if kind.name == "float" => read.image.f64(object + 16).map(|value| format!("{value:?}")),
            Kind::Leaf if kind.name == "NoneType" => Some("None".to_owned()),
            Kind::Tuple if plain && depth > 0 => {
                let mut items = Vec::new();
                read.tuple(object, ITEMS, |_, item| items.push(self.short_within(item, depth - 1)));
                let more = read.len(object).is_some_and(|len| len > ITEMS);
                let comma = if items.len() == 1 { "," } else { "" };
                Some(format!("({}{comma}{})", items.join(", "), if more { ", ..." } else { "" }))
            }
            Kind::Type => {
                let id = self.types().find(object);
                id.and_then(|id| self.types().get(id)).map(|class| class.name.clone())
            }
            _ => None,
        }
        .unwrap_or_else(|| format!("<{}>", kind.name))
    }
}

fn quote(text: &str) -> String {
    let mut short: String = text.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    if text.chars().nth(SHOWN).is_some() {
        short.push_str("...");
    }
    format!("'{short}'")
}
