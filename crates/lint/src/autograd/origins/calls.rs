//! From a call to what it gives: a model's output, what a function of torch computes of its arguments, what a function or a class of the
//! program makes of them.

use ruff_python_ast::ExprCall;
use ruff_text_size::{Ranged, TextRange};

use super::{Here, Origins, Walk, Wanted};
use crate::autograd::plain::makes_anew;
use crate::autograd::{Autograd, is_own};
use crate::flow::{At, Place};
use crate::model::{Assign, BlockId, Bound, Call, Expr, Item, ScopeId};
use crate::program::FileId;

/// Libraries whose functions compute tensors of tensors.
const TENSORS: &[&str] = &["torch.", "einops.", "horovod."];

impl<'p> Autograd<'_, 'p> {
    pub(super) fn look_call(&self, here: Here, call: &'p ExprCall, wanted: Wanted<'p>, walk: Walk, found: &mut Origins<'p>) {
        let Here { file, scope, .. } = here;
        if self.calls_model(file, scope, &call.func) || self.asks_model(file, scope, call) {
            found.graph = true;
            return;
        }
        // `criterion(output, target)`
        let places = self.flow.places(file, scope, &call.func);
        let passes = |at: &At<'p>| self.uses().proven.passes.contains(&at.place) || self.is_given_part(at.place);
        if places.iter().any(|at| is_own(at) && passes(at)) {
            crate::ask::given(call).for_each(|value| self.look(here, value, Wanted::ANY, walk, found));
            return;
        }
        // `apply(state, torch.Tensor.detach)`
        let takes_off =
            |value: &Expr| matches!(value, Expr::Attribute(each) if matches!(each.attr.as_str(), "detach" | "item" | "numpy"));
        if crate::ask::given(call).any(takes_off) {
            return;
        }
        let name = self.flow.models.of(file).full_name(scope, &call.func);
        if let Some(name) = name.as_deref()
            && self.look_library(here, name, call, wanted, walk, found)
        {
            return;
        }
        if self.look_made(here, call, wanted, walk, found) {
            return;
        }
        if let Some(callee) = self.flow.likely_callee(file, scope, &call.func) {
            self.look_function(here, call, callee, wanted, walk, found);
            return;
        }
        if let Expr::Attribute(method) = &*call.func
            && name.is_none()
        {
            self.look_method(here, call, &method.value, method.attr.as_str(), wanted, walk, found);
        }
    }

    /// A function of torch or of Python; false where it is none that is known.
    pub(super) fn look_library(
        &self,
        here: Here,
        name: &str,
        call: &'p ExprCall,
        wanted: Wanted<'p>,
        walk: Walk,
        found: &mut Origins<'p>,
    ) -> bool {
        let args = &call.arguments.args;
        let first = args.first();
        match name {
            "sum" | "max" | "min" => {
                if let Some(first) = first {
                    self.look_part(here, first, wanted.of(Item::Any), walk, found);
                }
                args.iter().for_each(|value| self.look(here, value, wanted, walk, found));
            }
            "list" | "tuple" | "sorted" | "reversed" | "set" | "iter" | "dict" | "collections.OrderedDict" | "copy.copy" => {
                first.into_iter().for_each(|value| self.look(here, value, wanted, walk, found));
                for keyword in &call.arguments.keywords {
                    let wanted = keyword.arg.as_ref().map_or(Some(wanted), |name| wanted.inside(Item::Key(name.as_str())));
                    self.look_part(here, &keyword.value, wanted, walk, found);
                }
            }
            "next" => first.into_iter().for_each(|value| self.look_part(here, value, wanted.of(Item::Any), walk, found)),
            "zip" => {
                for (value, at) in args.iter().zip(0..) {
                    let item = wanted.inside(Item::Any).and_then(|wanted| wanted.inside(Item::At(at)));
                    self.look_part(here, value, item.and_then(|wanted| wanted.of(Item::Any)), walk, found);
                }
            }
            _ if TENSORS.iter().any(|library| name.starts_with(library)) => {
                let last = name.rsplit('.').next().unwrap_or(name);
                let computes = last.starts_with(|first: char| first.is_lowercase()) || name.starts_with("torch.distributions.");
                if computes && !makes_anew(last) {
                    for value in crate::ask::given(call) {
                        found.graph |= self.is_parameter(here, value);
                        self.look(here, value, Wanted::ANY, walk, found);
                    }
                }
            }
            // A built-in, or what an import leads to in the program.
            _ => return false,
        }
        true
    }

    /// An object of a class of the program, asked about what it keeps of what it is made with; false where none is made.
    pub(super) fn look_made(
        &self,
        here: Here,
        call: &'p ExprCall,
        wanted: Wanted<'p>,
        walk: Walk,
        found: &mut Origins<'p>,
    ) -> bool {
        let Some((of, class)) = self.flow.models.class(here.file, here.scope, &call.func) else { return false };
        let class = crate::flow::ClassId { file: of, scope: class };
        if self.is_module(class) {
            return true;
        }
        let Some((of, init)) = self.flow.method(class, "__init__") else {
            // A dataclass or a named tuple.
            for value in &call.arguments.args {
                self.look_part(here, value, wanted.inside(Item::Any), walk, found);
            }
            for keyword in &call.arguments.keywords {
                let key = keyword.arg.as_ref().map_or(Item::Any, |name| Item::Key(name.as_str()));
                self.look_part(here, &keyword.value, wanted.inside(key), walk, found);
            }
            return true;
        };
        let mut kept = Origins::default();
        for assign in self.flow.models.of(of).assigns.iter().filter(|assign| assign.scope == init && assign.how == Bound::Whole) {
            let Expr::Attribute(target) = assign.target else { continue };
            self.look_part(
                Here { file: of, scope: init, block: assign.block, offset: assign.value.start() },
                assign.value,
                wanted.inside(Item::Key(target.attr.as_str())),
                walk,
                &mut kept,
            );
        }
        self.hand_in(here, call, (of, init), &kept, walk, found);
        true
    }

    /// A function of the program: what it gives of its own, and what it gives of what it is given.
    pub(super) fn look_function(
        &self,
        here: Here,
        call: &'p ExprCall,
        callee: (FileId, ScopeId),
        wanted: Wanted<'p>,
        walk: Walk,
        found: &mut Origins<'p>,
    ) {
        let own = self.place(Place::Result(callee.0, callee.1), None, wanted, walk);
        self.hand_in(here, call, callee, &own, walk, found);
    }

    /// Puts the arguments of a call in the place of the parameters that something comes from.
    pub(super) fn hand_in(
        &self,
        here: Here,
        call: &'p ExprCall,
        callee: (FileId, ScopeId),
        own: &Origins<'p>,
        walk: Walk,
        found: &mut Origins<'p>,
    ) {
        found.graph |= own.graph;
        let site = Call { call, statement: TextRange::default(), block: BlockId(0), scope: here.scope };
        for (place, wanted) in &own.given {
            match place {
                Place::Variable(file, function, name) if (*file, *function) == callee => {
                    if self.is_taken_off(*place) {
                        continue;
                    }
                    for (value, depth) in self.arguments(here.file, &site, callee, name) {
                        let wanted = if depth == 0 { Some(*wanted) } else { wanted.inside(Item::Any) };
                        self.look_part(here, value, wanted, walk, found);
                    }
                }
                _ => found.add(*place, *wanted),
            }
        }
    }

    /// A method of something that is no object of the program's own: of a tensor or a container.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn look_method(
        &self,
        here: Here,
        call: &'p ExprCall,
        on: &'p Expr,
        method: &str,
        wanted: Wanted<'p>,
        walk: Walk,
        found: &mut Origins<'p>,
    ) {
        let args = &call.arguments.args;
        match method {
            "values" | "copy" => self.look(here, on, wanted, walk, found),
            "items" => {
                let value = wanted.inside(Item::Any).and_then(|wanted| wanted.inside(Item::At(1)));
                self.look_part(here, on, value.and_then(|wanted| wanted.of(Item::Any)), walk, found);
            }
            "get" | "pop" | "setdefault" | "popleft" => {
                let item = args.first().and_then(Item::of).unwrap_or(Item::Any);
                self.look_part(here, on, wanted.of(item), walk, found);
            }
            // accelerate: what all processes have, this one's with its graph.
            "gather_for_metrics" | "pad_across_processes" => {
                args.iter().for_each(|value| self.look(here, value, wanted, walk, found));
            }
            // Another type of number, not Python's own.
            "float" => self.look(here, on, Wanted::ITSELF, walk, found),
            _ if makes_anew(method) => {}
            _ => {
                found.graph |= self.is_parameter(here, on);
                self.look(here, on, Wanted::ITSELF, walk, found);
                if matches!(method, "sub" | "mul" | "div" | "matmul" | "mm" | "bmm" | "lerp" | "add_" | "mul_" | "sub_" | "lerp_")
                {
                    args.iter().for_each(|value| self.look(here, value, Wanted::ITSELF, walk, found));
                }
            }
        }
    }

    /// Whether an expression is a `nn.Parameter` itself, or what goes over those of a model.
    pub(super) fn is_parameter(&self, here: Here, expr: &'p Expr) -> bool {
        let is_one_of = |assign: &Assign| {
            let Expr::Call(call) = assign.value else { return false };
            match (crate::ask::method(call), assign.how, assign.part.items()) {
                (Some("parameters"), Bound::Element, _) => true,
                (Some("named_parameters"), Bound::Element | Bound::Part, part) => part.last() == Some(&Item::At(1)),
                _ => false,
            }
        };
        let makes = |file: FileId, scope, value: &Expr| {
            let Expr::Call(call) = value else { return false };
            let name = self.flow.models.of(file).full_name(scope, &call.func);
            matches!(name.as_deref(), Some("torch.nn.Parameter" | "torch.nn.parameter.Parameter"))
        };
        matches!(expr, Expr::Name(_) | Expr::Attribute(_))
            && self.flow.places(here.file, here.scope, expr).into_iter().filter(is_own).any(|at| {
                let mut assigned = self.flow.assigned(at.place);
                assigned.any(|(file, assign)| {
                    assign.how == Bound::Whole && makes(*file, assign.scope, assign.value) || is_one_of(assign)
                })
            })
    }
}
