//! What a program does with places: of which it asks what one asks of models, on which `backward` is called.

use super::backward::Proven;
use super::models::is_layer;
use super::{Autograd, is_own, says_false};
use crate::flow::{ClassId, Place};
use crate::model::{BlockId, BlockKind, Bound, Expr, Item, Operator, ScopeId, ScopeKind};
use crate::program::FileId;
use crate::table::{HashMap, HashSet};

/// Nested expressions that are looked into for what is computed from.
const MAX_NESTING: usize = 8;

/// What a program does with places.
#[derive(Debug, Default)]
pub(super) struct Uses<'p> {
    /// Models, by what is asked of them.
    pub models: HashSet<Place<'p>>,
    /// Models whose parameters are said to need no gradients.
    pub frozen: HashSet<Place<'p>>,
    /// Where `backward` is called on a place.
    pub backward: HashSet<Place<'p>>,
    /// What is computed from for something that it is called on: `(loss.sum() / count).backward()`.
    pub backward_through: HashSet<Place<'p>>,
    /// The sides of a sum that it is called on: `(coarse + fine).backward()`.
    pub backward_sum: HashSet<Place<'p>>,
    /// What it proves of what the program calls.
    pub proven: Proven<'p>,
    /// The items of places that it is called on: `output["loss"].backward()`.
    pub backward_of: HashMap<Place<'p>, Vec<Item<'p>>>,
    /// Functions that a model calls with what one of its layers gave.
    pub hooks: HashSet<(FileId, ScopeId)>,
    /// Files that switch gradients off as a whole.
    pub off: HashSet<FileId>,
    /// Metrics of torchmetrics, whose updates run without gradients.
    pub metrics: HashSet<ClassId>,
    /// Modules of Lightning, whose validation, test and prediction do.
    pub lightning: HashSet<ClassId>,
}

impl<'p> Autograd<'_, 'p> {
    pub(super) fn uses(&self) -> &Uses<'p> {
        self.uses.get_or_init(|| self.find_uses())
    }

    /// Models by what is asked of them, losses by `backward`.
    fn find_uses(&self) -> Uses<'p> {
        let metrics = self.flow.classes.iter().filter(|class| self.is_metric(*class)).collect();
        let lightning =
            self.flow.classes.iter().filter(|class| self.bases(*class).any(|name| name.ends_with(".LightningModule")));
        let mut uses = Uses { metrics, lightning: lightning.collect(), ..Uses::default() };
        let parts = self.parts_of_one_module();
        for (file, model) in self.flow.models.iter() {
            for call in &model.calls {
                let Expr::Attribute(method) = &*call.call.func else { continue };
                let places =
                    |expr: &'p Expr| self.flow.places(file, call.scope, expr).into_iter().filter(is_own).map(|at| at.place);
                let arguments = &call.call.arguments.args;
                match method.attr.as_str() {
                    "requires_grad_" if says_false(call.call) => {
                        uses.frozen.extend(places(&method.value));
                        uses.frozen.extend(self.owner_of_each(file, call.block, &method.value));
                    }
                    "register_forward_hook" | "register_full_backward_hook" | "register_forward_pre_hook" => {
                        let hook = arguments.first().and_then(|hook| self.flow.callee(file, call.scope, hook));
                        uses.hooks.extend(hook);
                    }
                    "parameters" | "named_parameters" | "requires_grad_" => uses.models.extend(places(&method.value)),
                    "train" | "eval" | "modules" | "named_modules" | "children" | "named_children" => {
                        let switch = arguments.iter().all(Expr::is_boolean_literal_expr);
                        if switch && self.flow.callee(file, call.scope, &call.call.func).is_none() {
                            uses.models.extend(places(&method.value));
                        }
                    }
                    // `engine.backward(loss)` says nothing of the engine.
                    "backward" if arguments.is_empty() => {
                        self.prove(file, call.scope, &method.value, &mut uses.proven);
                        uses.backward.extend(places(&method.value));
                        let mut sides = Vec::new();
                        addends(&method.value, MAX_NESTING, &mut sides);
                        uses.backward_sum.extend(sides.into_iter().flat_map(places));
                        let mut through = Vec::new();
                        operands(&method.value, MAX_NESTING, &mut through);
                        uses.backward_through.extend(through.into_iter().flat_map(places));
                        if let Some((whole, item)) = part(&method.value) {
                            places(whole).for_each(|place| uses.backward_of.entry(place).or_default().push(item));
                        }
                    }
                    // `accelerator.backward(loss)`, `scaler.scale(loss).backward()`
                    name @ ("backward" | "manual_backward" | "scale") => {
                        if let Some(value) = arguments.first().filter(|_| name != "scale") {
                            self.prove(file, call.scope, value, &mut uses.proven);
                        }
                        uses.backward.extend(arguments.first().into_iter().flat_map(places));
                    }
                    "set_grad_enabled" if model.function_of(call.scope).is_none() && says_false(call.call) => {
                        uses.off.insert(file);
                    }
                    // `policy.critic(x)`, where models of one class only have a part of this name.
                    name if parts.contains(name) => uses.models.extend(places(&method.value)),
                    _ => {}
                }
            }
        }
        for (file, model) in self.flow.models.iter() {
            for assign in model.assigns.iter().filter(|assign| assign.how == Bound::Whole) {
                if let Expr::Attribute(target) = assign.target
                    && target.attr.as_str() == "requires_grad"
                    && matches!(assign.value, Expr::BooleanLiteral(on) if !on.value)
                {
                    uses.frozen.extend(self.owner_of_each(file, assign.block, &target.value));
                }
            }
        }
        for (file, scope, loss) in self.given_to_frameworks() {
            self.prove(file, scope, loss, &mut uses.proven);
            uses.backward.extend(self.flow.places(file, scope, loss).into_iter().filter(is_own).map(|at| at.place));
        }
        uses
    }

    /// The model that a loop goes over all parameters of, where an expression is one of them and every one of them comes to this
    /// block: `for p in teacher.parameters(): p.requires_grad = False`.
    fn owner_of_each(&self, file: FileId, block: BlockId, parameter: &Expr) -> Option<Place<'p>> {
        let model = self.flow.models.of(file);
        let (Expr::Name(name), BlockKind::For(each)) = (parameter, model.block(block).kind) else { return None };
        let Expr::Call(call) = &*each.iter else { return None };
        let of = crate::ask::receiver(call)?;
        let all = matches!(crate::ask::method(call), Some("parameters" | "named_parameters"));
        let names_it = all && crate::ask::names_in(&each.target).contains(name.id.as_str());
        names_it.then(|| self.flow.places(file, model.block(block).scope, of).into_iter().find(is_own))?.map(|at| at.place)
    }

    /// Whether a function is given to a model as one of its hooks: it is called with each batch.
    #[must_use]
    pub fn is_hook(&self, file: FileId, function: ScopeId) -> bool {
        self.uses().hooks.contains(&(file, function))
    }

    /// Whether a parameter of a hook is what a layer gave, in a file that trains and never asks a model without gradients.
    pub(super) fn is_output_for_hook(&self, file: FileId, function: ScopeId, name: &str) -> bool {
        let model = self.flow.models.of(file);
        let ScopeKind::Function(definition) = model.scope(function).kind else { return false };
        let text = model.source.text();
        let last = || definition.parameters.args.iter().rfind(|each| each.default.is_none());
        self.is_hook(file, function)
            && definition.parameters.args.len() >= 3
            && last().is_some_and(|each| each.parameter.name.as_str() == name)
            && text.contains(".backward(")
            && !["no_grad", "inference_mode", "set_grad_enabled", ".eval()"].iter().any(|word| text.contains(word))
    }

    /// Names of attributes that modules of one class only make, and nobody else has.
    fn parts_of_one_module(&self) -> HashSet<&'p str> {
        let mut owners: HashMap<&'p str, Option<ClassId>> = HashMap::default();
        for ((class, name), _) in self.flow.attributes() {
            owners.entry(name).and_modify(|other| *other = None).or_insert(Some(class));
        }
        owners.retain(|_, owner| owner.is_some_and(|class| self.is_module(class)));
        for ((_, name), assigns) in self.flow.attributes().filter(|((_, name), _)| owners.contains_key(name)).collect::<Vec<_>>()
        {
            let is_made = assigns.iter().any(|(file, assign)| match assign.value {
                Expr::Call(call) => {
                    self.flow.models.of(*file).full_name(assign.scope, &call.func).is_some_and(|name| is_layer(&name))
                }
                _ => false,
            });
            if !is_made {
                owners.remove(name);
            }
        }
        for (_, model) in self.flow.models.iter() {
            for (_, function) in model.functions() {
                owners.remove(function.name.as_str());
            }
        }
        owners.into_keys().collect()
    }
}

/// What an expression is a part of, and which.
fn part(expr: &Expr) -> Option<(&Expr, Item<'_>)> {
    match expr {
        Expr::Subscript(each) => Some((&each.value, Item::of(&each.slice)?)),
        Expr::Attribute(each) => Some((&each.value, Item::Key(each.attr.as_str()))),
        _ => None,
    }
}

/// The variables and attributes that a sum is made of.
fn addends<'a>(expr: &'a Expr, nesting: usize, found: &mut Vec<&'a Expr>) {
    let Expr::BinOp(sum) = expr else { return };
    if let Some(nesting) = nesting.checked_sub(1).filter(|_| sum.op == Operator::Add) {
        for side in [&*sum.left, &*sum.right] {
            match side {
                Expr::Name(_) | Expr::Attribute(_) => found.push(side),
                _ => addends(side, nesting, found),
            }
        }
    }
}

/// The variables and attributes that something is computed from.
fn operands<'a>(expr: &'a Expr, nesting: usize, found: &mut Vec<&'a Expr>) {
    let Some(nesting) = nesting.checked_sub(1) else { return };
    match expr {
        Expr::BinOp(each) => [&*each.left, &*each.right].into_iter().for_each(|side| operand(side, nesting, found)),
        Expr::UnaryOp(each) => operand(&each.operand, nesting, found),
        Expr::Call(call) => {
            if let Expr::Attribute(method) = &*call.func {
                operand(&method.value, nesting, found);
            }
            call.arguments.args.iter().for_each(|value| operand(value, nesting, found));
        }
        _ => {}
    }
}

fn operand<'a>(expr: &'a Expr, nesting: usize, found: &mut Vec<&'a Expr>) {
    match expr {
        Expr::Name(_) | Expr::Attribute(_) => found.push(expr),
        _ => operands(expr, nesting, found),
    }
}
