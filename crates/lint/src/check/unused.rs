//! Whether anybody uses the graph of what a variable holds: where nobody does, taking it off changes nothing but the memory.
//!
//! A name counts by its text, wherever in the file it stands: two variables of one name are taken for one, which can only
//! make the answer "somebody may".

use std::collections::HashSet;

use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
use ruff_python_ast::{Comprehension, Expr, ExprCall, Stmt};

use super::Check;
use crate::ask::last_name;
use crate::autograd::is_plain;
use crate::flow::Place;
use crate::model::{Binding, BindingKind, Bound, Model, Ranged, ScopeId};
use crate::program::FileId;

/// Methods that put something into a container or take all out, and give nothing.
const CHANGES: &[&str] = &["append", "appendleft", "clear", "extend", "insert"];
/// Functions that look at a value and keep nothing of it.
const LOOKS: &[&str] = &["isinstance", "len"];
/// Functions that hand on what they are given, or something computed from it.
const PASS_ON: &[&str] =
    &["dict", "enumerate", "iter", "list", "max", "min", "next", "reversed", "sorted", "sum", "tuple", "zip"];
/// What uses a graph, or tells that there is one.
const ASKS: &[&str] =
    &["backward", "grad", "grad_fn", "is_leaf", "register_hook", "requires_grad", "requires_grad_", "retain_grad"];
/// Functions that make something new to keep values in.
const MAKERS: &[&str] = &["defaultdict", "deque", "dict", "list", "ones", "OrderedDict", "tensor", "zeros"];
/// Rounds of following elements on to the names that they get.
const MAX_ROUNDS: usize = 4;

impl<'p> Check<'_, 'p> {
    /// Whether the graph of whatever a variable holds, or has in it, is never used: everything that reads the variable takes the
    /// graph off, or gives the value to the variable itself.
    #[must_use]
    pub fn is_graph_unused(&self, file: FileId, scope: ScopeId, holder: &'p Expr) -> bool {
        let mut base = holder;
        while let Expr::Subscript(item) = base {
            base = &item.value;
        }
        let Expr::Name(name) = base else { return false };
        let model = self.flow.models.of(file);
        let Some(owner) = model.owner(scope, name.id.as_str()) else { return false };
        // What a module has, others may import; not from a file that trains while it is imported.
        let is_own = owner != ScopeId::MODULE || model.function_of(scope).is_none();
        let is_value = |binding: &Binding| matches!(binding.kind, BindingKind::Value);
        is_own
            && model.bindings(scope, name.id.as_str()).iter().all(is_value)
            && self.is_made_for_it_alone(file, self.flow.variable(file, owner, name.id.as_str()))
            && is_unused(model, name.id.as_str())
    }

    /// Whether a variable only ever gets what is made for it, so that no other name leads to the same object.
    fn is_made_for_it_alone(&self, file: FileId, place: Place<'p>) -> bool {
        let assigns = &self.flow.models.of(file).assigns;
        matches!(place, Place::Variable(..))
            && self.flow.assigned(place).all(|(of, assign)| {
                let is_new = match assign.value {
                    Expr::List(_) | Expr::Dict(_) | Expr::BinOp(_) | Expr::NoneLiteral(_) | Expr::NumberLiteral(_) => true,
                    Expr::Call(call) => last_name(&call.func).is_some_and(|name| MAKERS.contains(&name)),
                    _ => false,
                };
                let shared = assigns.iter().filter(|other| other.value.range() == assign.value.range()).count() > 1;
                *of == file && (matches!(assign.how, Bound::Augmented(_)) || assign.how == Bound::Whole && is_new && !shared)
            })
    }
}

fn is_unused(model: &Model, name: &str) -> bool {
    let mut names = HashSet::from([name.to_owned()]);
    for _ in 0..MAX_ROUNDS {
        let mut uses = Uses { names: &names, more: HashSet::new(), free: true, used: false };
        uses.visit_body(&model.source.tree().body);
        if uses.used {
            return false;
        }
        if uses.more.is_subset(&names) {
            return true;
        }
        let more = uses.more;
        names.extend(more);
    }
    false
}

/// Looks for a use of the graph of some names.
struct Uses<'n> {
    names: &'n HashSet<String>,
    /// Names that get elements of what these hold.
    more: HashSet<String>,
    /// Whether the value of the expression that is looked at goes somewhere with its graph.
    free: bool,
    used: bool,
}

impl Uses<'_> {
    /// Looks at an expression whose value goes nowhere, or without its graph.
    fn bound(&mut self, expr: &Expr) {
        self.within(false, expr);
    }

    /// Looks at an expression whose value may go anywhere.
    fn free(&mut self, expr: &Expr) {
        self.within(true, expr);
    }

    fn within(&mut self, free: bool, expr: &Expr) {
        let before = std::mem::replace(&mut self.free, free);
        self.visit_expr(expr);
        self.free = before;
    }

    fn is_it(&self, expr: &Expr) -> bool {
        matches!(expr, Expr::Name(name) if self.names.contains(name.id.as_str()))
    }

    /// Whether elements of an expression are elements of what the names hold: `xs`, `xs["a"]`, `enumerate(xs)`, `xs.values()`.
    fn gives_elements(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Subscript(item) => self.gives_elements(&item.value),
            Expr::Call(call) => match &*call.func {
                Expr::Attribute(method) => self.gives_elements(&method.value),
                Expr::Name(name) => {
                    PASS_ON.contains(&name.id.as_str()) && call.arguments.args.iter().any(|one| self.gives_elements(one))
                }
                _ => false,
            },
            _ => self.is_it(expr),
        }
    }

    /// Elements go to a target.
    fn elements(&mut self, target: &Expr, iterable: &Expr) {
        if self.gives_elements(iterable) {
            self.more.extend(crate::ask::names_in(target).into_iter().map(str::to_owned));
            self.bound(iterable);
        } else {
            self.free(iterable);
        }
    }

    fn comprehension(&mut self, generators: &[Comprehension], values: &[&Expr]) {
        for generator in generators {
            self.elements(&generator.target, &generator.iter);
            generator.ifs.iter().for_each(|test| self.bound(test));
        }
        let free = self.free;
        values.iter().for_each(|value| self.within(free, value));
    }

    fn call(&mut self, call: &ExprCall) {
        let free = self.free;
        // Whether what is given to the call goes on with its graph; what an unknown function does with it nobody knows.
        let given = match &*call.func {
            Expr::Attribute(method) if ASKS.contains(&method.attr.as_str()) => {
                self.free(&method.value);
                true
            }
            Expr::Attribute(method) if is_plain(method.attr.as_str()) || CHANGES.contains(&method.attr.as_str()) => {
                self.bound(&method.value);
                true
            }
            // `torch.stack(xs)`, `x.mean()`: gives something new, which goes where the call's value goes.
            Expr::Attribute(method) => {
                self.within(free, &method.value);
                free || !matches!(&*method.value, Expr::Name(module) if module.id.as_str() == "torch")
            }
            Expr::Name(name) if PASS_ON.contains(&name.id.as_str()) => free,
            Expr::Name(name) => !is_plain(name.id.as_str()) && !LOOKS.contains(&name.id.as_str()),
            func => {
                self.free(func);
                true
            }
        };
        crate::ask::given(call).for_each(|value| self.within(given, value));
    }
}

impl<'a> Visitor<'a> for Uses<'_> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        self.free = true;
        match stmt {
            Stmt::Assign(assign) => {
                let own = assign.targets.iter().all(|target| self.is_it(target));
                self.within(!own, &assign.value);
                // `xs["a"] = ...` puts something there.
                for target in assign.targets.iter().filter(|target| !target.is_name_expr()) {
                    self.bound(target);
                }
            }
            Stmt::AugAssign(assign) => {
                let own = self.is_it(&assign.target);
                self.within(!own, &assign.value);
                if !own {
                    self.bound(&assign.target);
                }
            }
            Stmt::Expr(each) => self.bound(&each.value),
            Stmt::Delete(_) => {}
            Stmt::For(each) => {
                self.elements(&each.target, &each.iter);
                self.visit_body(&each.body);
                self.visit_body(&each.orelse);
            }
            Stmt::While(each) => {
                self.bound(&each.test);
                self.visit_body(&each.body);
                self.visit_body(&each.orelse);
            }
            Stmt::If(each) => {
                self.bound(&each.test);
                self.visit_body(&each.body);
                for clause in &each.elif_else_clauses {
                    clause.test.iter().for_each(|test| self.bound(test));
                    self.visit_body(&clause.body);
                }
            }
            Stmt::Global(each) => self.used |= each.names.iter().any(|name| self.names.contains(name.as_str())),
            Stmt::Nonlocal(each) => self.used |= each.names.iter().any(|name| self.names.contains(name.as_str())),
            _ => stacker::maybe_grow(128 << 10, 2 << 20, || walk_stmt(self, stmt)),
        }
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        if self.used {
            return;
        }
        let free = self.free;
        stacker::maybe_grow(128 << 10, 2 << 20, || match expr {
            Expr::Name(_) => self.used |= free && self.is_it(expr),
            Expr::Attribute(each) if ASKS.contains(&each.attr.as_str()) => self.free(&each.value),
            Expr::Attribute(each) => self.within(free && !is_plain(each.attr.as_str()), &each.value),
            Expr::Subscript(each) => {
                self.within(free, &each.value);
                self.free(&each.slice);
            }
            Expr::Call(call) => self.call(call),
            Expr::Compare(each) => {
                self.bound(&each.left);
                each.comparators.iter().for_each(|side| self.bound(side));
            }
            Expr::ListComp(each) => self.comprehension(&each.generators, &[&each.elt]),
            Expr::SetComp(each) => self.comprehension(&each.generators, &[&each.elt]),
            Expr::Generator(each) => self.comprehension(&each.generators, &[&each.elt]),
            Expr::DictComp(each) => {
                let values: Vec<&Expr> = each.key.iter().map(|key| &**key).chain([&*each.value]).collect();
                self.comprehension(&each.generators, &values);
            }
            Expr::BinOp(_)
            | Expr::UnaryOp(_)
            | Expr::BoolOp(_)
            | Expr::If(_)
            | Expr::Tuple(_)
            | Expr::List(_)
            | Expr::Dict(_) => {
                walk_expr(self, expr);
            }
            _ => {
                self.free = true;
                walk_expr(self, expr);
                self.free = free;
            }
        });
    }
}
