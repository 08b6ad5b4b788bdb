//! What is put into containers, by the name of the container: `losses["a"] = loss`, `outputs.append(out)`.

use super::{At, Flow, Place};
use crate::ask::last_name;
use crate::model::{BlockId, Bound, Expr, Item, Model, ScopeId, Way};
use crate::program::FileId;
use crate::table::HashMap;

/// One value is put into a container.
#[derive(Clone, Copy, Debug)]
pub struct ItemPut<'p> {
    /// The file.
    pub file: FileId,
    /// The scope it stands in.
    pub scope: ScopeId,
    /// Where it stands.
    pub block: BlockId,
    /// The variable or attribute that holds the container.
    pub base: &'p Expr,
    /// The way from there to what is put.
    pub way: Way<'p>,
    /// What is put.
    pub value: &'p Expr,
    /// Whether its items are put, instead of itself.
    pub spread: bool,
}

/// Everything that is put somewhere, by the last name of where.
pub(super) type Items<'p> = HashMap<&'p str, Vec<ItemPut<'p>>>;

impl<'p> Flow<'p> {
    /// What is put into a container at a place.
    pub fn put_into(&self, place: Place<'p>) -> impl Iterator<Item = &ItemPut<'p>> {
        let name = match place {
            Place::Variable(_, _, name) | Place::Attribute(_, name) => Some(name),
            _ => None,
        };
        let named = name.map_or(&[][..], |name| self.put_into_named(name));
        let wanted = At { place, depth: 0 };
        named.iter().filter(move |put| self.places(put.file, put.scope, put.base).contains(&wanted))
    }

    /// What is put into containers that are variables or attributes of a name, whosever they are.
    pub(super) fn put_into_named(&self, name: &str) -> &[ItemPut<'p>] {
        self.items.get_or_init(|| self.find_items()).get(name).map_or(&[], Vec::as_slice)
    }

    fn find_items(&self) -> Items<'p> {
        let mut items = Items::default();
        for (file, model) in self.models.iter() {
            for put in puts(file, model) {
                if let Some(name) = last_name(put.base) {
                    items.entry(name).or_default().push(put);
                }
            }
        }
        items
    }
}

fn puts<'p>(file: FileId, model: &Model<'p>) -> Vec<ItemPut<'p>> {
    let mut puts = Vec::new();
    for assign in model.assigns.iter().filter(|assign| assign.how == Bound::Whole && assign.target.is_subscript_expr()) {
        let (scope, block, value) = (assign.scope, assign.block, assign.value);
        if let Some((base, way)) = within(assign.target) {
            puts.push(ItemPut { file, scope, block, base, way, value, spread: false });
        }
    }
    for call in &model.calls {
        let Expr::Attribute(method) = &*call.call.func else { continue };
        let (scope, block) = (call.scope, call.block);
        let mut put = |item: Option<Item<'p>>, value: &'p Expr| {
            let Some((base, way)) = within(&method.value) else { return };
            let spread = item.is_none();
            if let Some(way) = item.map_or(Some(way), |item| way.further(item)) {
                puts.push(ItemPut { file, scope, block, base, way, value, spread });
            }
        };
        match (method.attr.as_str(), &*call.call.arguments.args) {
            ("append" | "appendleft" | "add" | "put", [value, ..]) | ("insert", [_, value]) => put(Some(Item::Any), value),
            ("setdefault", [key, value]) => put(Some(Item::of(key).unwrap_or(Item::Any)), value),
            ("extend", [value]) => put(None, value),
            ("update", given) => {
                if let [value] = given {
                    put(None, value);
                }
                for keyword in &call.call.arguments.keywords {
                    if let Some(name) = &keyword.arg {
                        put(Some(Item::Key(name.as_str())), &keyword.value);
                    }
                }
            }
            _ => {}
        }
    }
    puts
}

/// The variable or attribute that an expression is a part of, and the way from there.
fn within<'p>(expr: &'p Expr) -> Option<(&'p Expr, Way<'p>)> {
    match expr {
        Expr::Name(_) | Expr::Attribute(_) => Some((expr, Way::ITSELF)),
        Expr::Subscript(each) => {
            let (base, way) = within(&each.value)?;
            Some((base, way.further(Item::of(&each.slice)?)?))
        }
        _ => None,
    }
}
