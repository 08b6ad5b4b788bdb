//! Data sets and the loaders that read them: which class, with workers or without.

use ruff_python_ast::visitor::{Visitor, walk_expr};
use ruff_python_ast::{ExprSubscript, Stmt};

use super::Check;
use crate::ask::{argument, keyword, last_name, truth};
use crate::feeds::is_inside;
use crate::flow::{At, ClassId, Place, Reach};
use crate::model::{BindingKind, Bound, Call, Expr, ScopeId, ScopeKind};
use crate::program::FileId;

/// Names and wrappers that are looked through from a loader to its data set.
const MAX_LOOKS: usize = 6;
/// Classes that read data sets, with workers or without.
pub(crate) const LOADERS: &[&str] = &["DataLoader", "StatefulDataLoader"];
/// Place of `num_workers` among the arguments of a `DataLoader`.
const NUM_WORKERS: usize = 5;

/// A `DataLoader` that the program makes.
#[derive(Clone, Copy, Debug)]
pub struct Loader<'p> {
    /// The file.
    pub file: FileId,
    /// The call.
    pub call: Call<'p>,
    /// The class of its data set, where the program defines it.
    pub data: Option<ClassId>,
    /// Whether it has workers.
    pub workers: Workers,
    /// Whether they outlive an epoch.
    pub persistent: bool,
}

/// Whether a loader has workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Workers {
    /// It has none: the default.
    None,
    /// As many as a setting says.
    Unknown,
    /// It has.
    Some,
}

impl<'p> Check<'_, 'p> {
    /// The loaders that the program makes.
    pub fn loaders(&self) -> &[Loader<'p>] {
        self.loaders.get_or_init(|| {
            let mut found = Vec::new();
            for (file, model) in self.flow.models.iter() {
                for call in model.calls_named(LOADERS) {
                    if self.called(file, call).is_some_and(|name| name.contains('.') && is_loader(name.rsplit('.').next())) {
                        found.push(self.loader(file, *call));
                    }
                }
            }
            found
        })
    }

    fn loader(&self, file: FileId, call: Call<'p>) -> Loader<'p> {
        let workers = argument(call.call, NUM_WORKERS, "num_workers").or_else(|| self.option(file, &call, "num_workers"));
        let workers = match workers {
            None => Workers::None,
            Some(count) => match self.number(file, call.scope, count) {
                Some(0) => Workers::None,
                Some(_) => Workers::Some,
                None => Workers::Unknown,
            },
        };
        let persistent = self.option(file, &call, "persistent_workers").and_then(truth) == Some(true);
        let data = argument(call.call, 0, "dataset").and_then(|data| self.data_of(file, call.scope, data, MAX_LOOKS));
        Loader { file, call, data, workers, persistent }
    }

    /// A keyword argument, also one of a dictionary that is given as `**options`.
    #[must_use]
    pub fn option(&self, file: FileId, call: &Call<'p>, name: &str) -> Option<&'p Expr> {
        keyword(call.call, name).or_else(|| {
            let spread = call.call.arguments.keywords.iter().filter(|keyword| keyword.arg.is_none());
            spread.filter_map(|keyword| self.only_value(file, call.scope, &keyword.value)).find_map(|(_, value)| match value {
                Expr::Call(call) if last_name(&call.func) == Some("dict") => keyword(call, name),
                Expr::Dict(dict) => dict.items.iter().find_map(|item| match &item.key {
                    Some(Expr::StringLiteral(key)) if key.value.to_str() == name => Some(&item.value),
                    _ => None,
                }),
                _ => None,
            })
        })
    }

    /// The class of a data set, through `Subset` and `random_split`.
    fn data_of(&self, file: FileId, scope: ScopeId, data: &'p Expr, looks: usize) -> Option<ClassId> {
        let looks = looks.checked_sub(1)?;
        if let Some(class) = self.flow.class_of(file, scope, data) {
            return Some(class);
        }
        match data {
            Expr::Call(call) => match last_name(&call.func) {
                Some("Subset" | "random_split" | "ConcatDataset") => {
                    self.data_of(file, scope, call.arguments.args.first()?, looks)
                }
                _ => None,
            },
            Expr::List(list) => list.elts.iter().find_map(|data| self.data_of(file, scope, data, looks)),
            Expr::Subscript(item) => self.data_of(file, scope, &item.value, looks),
            Expr::Name(_) | Expr::Attribute(_) => self.flow.places(file, scope, data).into_iter().find_map(|at| {
                let mut assigned =
                    self.flow.assigned(at.place).filter(|(_, assign)| matches!(assign.how, Bound::Whole | Bound::Part));
                assigned.find_map(|(file, assign)| self.data_of(*file, assign.scope, assign.value, looks))
            }),
            _ => None,
        }
    }

    /// The most workers that a loader of such a data set has; none where the program shows no such loader.
    #[must_use]
    pub fn workers_of(&self, class: ClassId) -> Option<Workers> {
        let is_one = |data: ClassId| {
            self.flow.classes.ancestors(data).contains(&class) || self.flow.classes.ancestors(class).contains(&data)
        };
        self.loaders().iter().filter(|loader| loader.data.is_some_and(is_one)).map(|loader| loader.workers).max()
    }

    /// Whether a class has a place in a loader: one of torch's data sets, or whatever a loader is given.
    #[must_use]
    pub fn is_read_by_loader(&self, class: ClassId) -> bool {
        self.is_dataset(class) || self.workers_of(class).is_some() && self.flow.method(class, "__getitem__").is_some()
    }

    /// The attributes of a data set that its `__getitem__` takes samples from: `self.rows[index]`, also in a method that it
    /// calls.
    #[must_use]
    pub fn sample_attributes(&self, class: ClassId) -> Vec<&'p str> {
        let mut found = Vec::new();
        let mut methods: Vec<(FileId, ScopeId)> = self.flow.method(class, "__getitem__").into_iter().collect();
        let mut at = 0;
        while let Some((file, method)) = methods.get(at).copied() {
            at += 1;
            let model = self.flow.models.of(file);
            let ScopeKind::Function(definition) = model.scope(method).kind else { continue };
            for item in items_in(&definition.body) {
                if let Expr::Attribute(attribute) = &*item.value
                    && self.flow.own_class(file, method, &attribute.value).is_some()
                {
                    found.push(attribute.attr.as_str());
                }
            }
            let calls = model.calls.iter().filter(|call| model.function_of(call.scope) == Some(method));
            for callee in calls.filter_map(|call| self.flow.callee(file, call.scope, &call.call.func)) {
                let own = self.flow.models.of(callee.0).method_of(callee.1);
                let own = own
                    .is_some_and(|(of, _)| self.flow.classes.ancestors(class).contains(&ClassId { file: callee.0, scope: of }));
                if own && methods.len() < 8 && !methods.contains(&callee) {
                    methods.push(callee);
                }
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Whether an attribute of a data set is proven to have one element for each sample: its length is the data set's, or the
    /// index that a sample is asked for by is also its own.
    #[must_use]
    pub fn has_all_samples(&self, class: ClassId, name: &str) -> bool {
        let is_it = |file, scope, expr: &Expr| matches!(expr, Expr::Attribute(each) if each.attr.as_str() == name && self.flow.own_class(file, scope, &each.value).is_some());
        let counted = self.flow.method(class, "__len__").is_some_and(|(file, method)| {
            let model = self.flow.models.of(file);
            model.calls.iter().filter(|call| model.function_of(call.scope) == Some(method)).any(|call| {
                last_name(&call.call.func) == Some("len")
                    && call.call.arguments.args.first().is_some_and(|of| is_it(file, method, of))
            })
        });
        let by_index = || {
            self.flow.method(class, "__getitem__").is_some_and(|(file, method)| {
                let ScopeKind::Function(definition) = self.flow.models.of(file).scope(method).kind else { return false };
                let is_index = |index: &Expr| match index {
                    Expr::Name(index) => definition.parameters.iter().skip(1).any(|each| each.name().id == index.id),
                    _ => false,
                };
                items_in(&definition.body).into_iter().any(|item| is_index(&item.slice) && is_it(file, method, &item.value))
            })
        };
        counted || by_index()
    }

    /// Whether an expression names a GPU, as far as the source shows: `"cuda:0"`, `torch.device("cuda" if ... else "cpu")`, a
    /// name that is given such a value.
    #[must_use]
    pub fn is_gpu(&self, file: FileId, scope: ScopeId, device: &'p Expr) -> bool {
        self.gpu_within(file, scope, device, MAX_LOOKS)
    }

    fn gpu_within(&self, file: FileId, scope: ScopeId, device: &'p Expr, looks: usize) -> bool {
        let Some(looks) = looks.checked_sub(1) else { return false };
        let inner = |expr: &'p Expr| self.gpu_within(file, scope, expr, looks);
        match device {
            Expr::StringLiteral(text) => {
                let text = text.value.to_str();
                ["cuda", "mps", "xpu", "hpu"].iter().any(|kind| text.starts_with(kind))
            }
            Expr::FString(text) => text.value.elements().next().is_some_and(|first| {
                matches!(first, ruff_python_ast::InterpolatedStringElement::Literal(literal) if literal.value.starts_with("cuda"))
            }),
            Expr::If(each) => inner(&each.body) || inner(&each.orelse),
            Expr::BoolOp(each) => each.values.iter().any(inner),
            Expr::Call(call) => last_name(&call.func) == Some("device") && call.arguments.args.first().is_some_and(inner),
            Expr::Name(_) | Expr::Attribute(_) => {
                let seeds = self.flow.places(file, scope, device);
                let places = self.flow.aliases(&seeds, false).into_iter();
                places.filter(|alias| alias.reach == Reach::Back && alias.at.depth == 0).take(16).any(|alias| {
                    let default = |(of, owner, default): (FileId, ScopeId, &'p Expr)| self.gpu_within(of, owner, default, looks);
                    self.default_of(alias.at).is_some_and(default)
                        || self.flow.assigned(alias.at.place).any(|(of, assign)| {
                            assign.how == Bound::Whole && !matches!(assign.value, Expr::Name(_) | Expr::Attribute(_))
                                && self.gpu_within(*of, assign.scope, assign.value, looks)
                        })
                        || self.given_to(alias.at).into_iter().any(|(of, scope, value)| {
                            !matches!(value, Expr::Name(_) | Expr::Attribute(_)) && self.gpu_within(of, scope, value, looks)
                        })
                })
            }
            _ => false,
        }
    }

    /// The default value of a parameter.
    fn default_of(&self, at: At<'p>) -> Option<(FileId, ScopeId, &'p Expr)> {
        let Place::Variable(file, owner, name) = at.place else { return None };
        self.flow.models.of(file).scope(owner).bindings(name).iter().find_map(|binding| match binding.kind {
            BindingKind::Parameter { default: Some(default), .. } => Some((file, owner, default)),
            _ => None,
        })
    }

    /// The same, and for a `*rest` what each of its elements is.
    pub(super) fn all_given_to(&self, at: At<'p>) -> Vec<(FileId, ScopeId, &'p Expr)> {
        self.given_by_callers(at, 1)
    }

    /// What the callers of a function give for a parameter.
    pub fn given_to(&self, at: At<'p>) -> Vec<(FileId, ScopeId, &'p Expr)> {
        self.given_by_callers(at, 0)
    }

    fn given_by_callers(&self, at: At<'p>, depth: u32) -> Vec<(FileId, ScopeId, &'p Expr)> {
        let Place::Variable(file, owner, name) = at.place else { return Vec::new() };
        let callers = self.callers(file, owner).into_iter();
        let given = callers.flat_map(|(from, call)| {
            let all = self.flow.given(from, &call, file, owner).into_iter();
            all.filter(|one| one.parameter == name && one.depth <= depth).map(move |one| (from, call.scope, one.value))
        });
        given.collect()
    }

    /// Whether a scope is a data set's `__getitem__`, a function that collates, or a method that the former calls.
    #[must_use]
    pub fn makes_samples(&self, file: FileId, scope: ScopeId) -> Option<ClassId> {
        let (class, method) = self.flow.models.of(file).method_of(scope)?;
        let class = ClassId { file, scope: class };
        let name = self.flow.models.of(file).scope(method).name();
        if !self.is_read_by_loader(class) {
            return None;
        }
        let direct = matches!(name, "__getitem__" | "__getitems__" | "__iter__" | "__next__");
        let called = || {
            self.callers(file, method).iter().any(|(from, call)| {
                self.method_at(*from, call.scope).is_some_and(|(of, name)| {
                    matches!(name, "__getitem__" | "__getitems__" | "__iter__")
                        && self.flow.classes.ancestors(of).contains(&class)
                })
            })
        };
        (direct || name != "__init__" && called()).then_some(class)
    }

    /// The functions that loaders collate by, with the workers of their loader.
    #[must_use]
    pub fn collate_functions(&self) -> Vec<((FileId, ScopeId), Workers)> {
        let loaders = self.loaders().iter();
        loaders
            .filter_map(|loader| {
                let value = argument(loader.call.call, 6, "collate_fn")
                    .or_else(|| self.option(loader.file, &loader.call, "collate_fn"))?;
                let function = match value {
                    Expr::Lambda(lambda) => {
                        self.flow.models.of(loader.file).scope_of_lambda(lambda).map(|scope| (loader.file, scope))
                    }
                    Expr::Call(_) => {
                        let class = self.flow.class_of(loader.file, loader.call.scope, value)?;
                        self.flow.method(class, "__call__")
                    }
                    _ => self.flow.callee(loader.file, loader.call.scope, value),
                };
                Some((function?, loader.workers))
            })
            .collect()
    }

    /// Whether a block lies inside of another, of the same file.
    #[must_use]
    pub fn is_within(&self, file: FileId, block: crate::model::BlockId, outer: crate::model::BlockId) -> bool {
        is_inside(self.flow.models.of(file), block, outer)
    }
}

fn is_loader(name: Option<&str>) -> bool {
    name.is_some_and(|name| LOADERS.contains(&name))
}

/// The items that are taken anywhere in statements.
fn items_in(statements: &[Stmt]) -> Vec<&ExprSubscript> {
    let mut items = Items(Vec::new());
    statements.iter().for_each(|statement| items.visit_stmt(statement));
    items.0
}

struct Items<'a>(Vec<&'a ExprSubscript>);

impl<'a> Visitor<'a> for Items<'a> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        if let Expr::Subscript(item) = expr {
            // `self.parts[name][index]`: the samples are in the parts, of which there are few.
            if let Expr::Subscript(inner) = &*item.value
                && !item.slice.is_literal_expr()
                && !inner.slice.is_literal_expr()
            {
                return [&*inner.slice, &*item.slice].into_iter().for_each(|index| self.visit_expr(index));
            }
            self.0.push(item);
        }
        stacker::maybe_grow(128 << 10, 2 << 20, || walk_expr(self, expr));
    }
}
