//! The one walk over the tree that fills a model.

use std::collections::hash_map::Entry;

use ruff_python_ast::visitor::{Visitor, walk_expr, walk_pattern, walk_stmt};
use ruff_python_ast::{Comprehension, ExceptHandler, Expr, Parameters, Pattern, Stmt, StmtClassDef, StmtFunctionDef, TypeParams};
use ruff_text_size::{Ranged, TextRange};

use super::{
    Assign, Binders, Binding, BindingKind, Block, BlockId, BlockKind, Bound, Call, Delete, Item, Model, Result, Scope, ScopeId,
    ScopeKind, Way, elements_of,
};
use crate::source::Source;
use crate::table::{HashMap, HashSet};

/// Stack left below which more is taken, and how much: trees may be as deep as the source allows.
const RED_ZONE: usize = 128 << 10;
const MORE_STACK: usize = 2 << 20;

pub(super) fn build(source: &Source) -> Model<'_> {
    let model = Model {
        source,
        scopes: Vec::new(),
        blocks: Vec::new(),
        assigns: Vec::new(),
        calls: Vec::new(),
        results: Vec::new(),
        attributes: HashSet::default(),
        deletes: Vec::new(),
        binders: HashMap::default(),
        called: super::Called::default(),
    };
    let mut builder =
        Builder { model, scope: ScopeId::MODULE, block: BlockId(0), statement: TextRange::default(), later: Vec::new() };
    builder.add_scope(ScopeKind::Module, None);
    builder.add_block(None, BlockKind::Module);
    builder.visit_body(&source.tree().body);
    // Bodies of functions run after the module's own code: names they use may be bound below them.
    let mut at = 0;
    while let Some(later) = builder.later.get(at).copied() {
        at += 1;
        builder.body_of(later);
    }
    builder.model
}

/// The body of a function, to be read once its surroundings are known.
#[derive(Clone, Copy)]
struct Later<'a> {
    function: &'a StmtFunctionDef,
    scope: ScopeId,
    block: BlockId,
}

struct Builder<'a> {
    model: Model<'a>,
    scope: ScopeId,
    block: BlockId,
    statement: TextRange,
    later: Vec<Later<'a>>,
}

impl<'a> Builder<'a> {
    fn add_scope(&mut self, kind: ScopeKind<'a>, parent: Option<ScopeId>) -> ScopeId {
        let id = ScopeId(u32::try_from(self.model.scopes.len()).unwrap_or(u32::MAX));
        let scope =
            Scope { kind, parent, block: self.block, names: HashMap::default(), globals: Vec::new(), nonlocals: Vec::new() };
        self.model.scopes.push(scope);
        id
    }

    fn add_block(&mut self, parent: Option<BlockId>, kind: BlockKind<'a>) -> BlockId {
        let id = BlockId(u32::try_from(self.model.blocks.len()).unwrap_or(u32::MAX));
        self.model.blocks.push(Block { parent, kind, scope: self.scope });
        id
    }

    /// Runs with a block of its own.
    fn inside(&mut self, kind: BlockKind<'a>, walk: impl FnOnce(&mut Self)) {
        let outer = self.block;
        self.block = self.add_block(Some(outer), kind);
        walk(self);
        self.block = outer;
    }

    /// Runs with a scope and a block of its own.
    fn scoped(&mut self, scope: ScopeId, kind: BlockKind<'a>, walk: impl FnOnce(&mut Self)) {
        let outer = std::mem::replace(&mut self.scope, scope);
        self.inside(kind, walk);
        self.scope = outer;
    }

    fn bind(&mut self, name: &'a str, kind: BindingKind<'a>, range: TextRange) {
        let here = &self.model.scopes[self.scope.0 as usize];
        let owner = if here.globals.contains(&name) {
            ScopeId::MODULE
        } else if here.nonlocals.contains(&name) {
            here.parent.and_then(|parent| self.model.owner(parent, name)).unwrap_or(self.scope)
        } else {
            self.scope
        };
        let binding = Binding { kind, range, block: self.block };
        let bindings = self.model.scopes[owner.0 as usize].names.entry(name);
        if let Entry::Vacant(_) = bindings {
            match self.model.binders.entry(name) {
                Entry::Occupied(known) => known.into_mut().more.push(owner),
                Entry::Vacant(place) => {
                    place.insert(Binders { first: owner, more: Vec::new() });
                }
            }
        }
        // Few names are bound twice in a scope.
        bindings.or_insert_with(|| Vec::with_capacity(1)).push(binding);
    }

    /// Binds a target, taking tuples apart; `value` is what it comes from.
    fn assign(&mut self, target: &'a Expr, value: Option<&'a Expr>, how: Bound) {
        let part = if how == Bound::Element { Way::to(Item::Any) } else { Way::ITSELF };
        self.assign_part(target, value, how, part);
    }

    /// The same for a part of a value.
    fn assign_part(&mut self, target: &'a Expr, value: Option<&'a Expr>, how: Bound, way: Way<'a>) {
        match target {
            Expr::Tuple(_) | Expr::List(_) => {
                let parts = elements(target).unwrap_or_default();
                let values = value.filter(|_| how == Bound::Whole).and_then(elements);
                let values = values.filter(|values| values.len() == parts.len() && !values.iter().any(Expr::is_starred_expr));
                let counted = !parts.iter().any(Expr::is_starred_expr);
                for (at, part) in parts.iter().enumerate() {
                    let item = if counted { u8::try_from(at).map_or(Item::Any, Item::At) } else { Item::Any };
                    // A way that is too long ends where it can.
                    let further = |way: Way<'a>| way.further(item).unwrap_or(way);
                    match (values, value, how) {
                        (Some(values), ..) => self.assign(part, values.get(at), Bound::Whole),
                        (None, Some(value), Bound::Element) => match elements_of(value, Some(at)) {
                            Some((from, None)) => self.assign(part, Some(from), Bound::Element),
                            Some((from, Some(_))) => {
                                self.assign_part(part, Some(from), Bound::Part, further(Way::to(Item::Any)));
                            }
                            None => self.assign(part, None, Bound::Part),
                        },
                        (None, value, _) => self.assign_part(part, value, Bound::Part, further(way)),
                    }
                }
                return;
            }
            Expr::Starred(starred) => return self.assign_part(&starred.value, value, Bound::Part, way),
            Expr::Name(name) => self.bind(name.id.as_str(), BindingKind::Value, name.range),
            Expr::Attribute(_) | Expr::Subscript(_) => {}
            _ => return,
        }
        let from = match (value, how) {
            (Some(value), Bound::Element) => elements_of(value, None).map(|(from, _)| from),
            (value, _) => value,
        };
        if let Some(value) = from {
            let (range, block, scope) = (self.statement, self.block, self.scope);
            self.model.assigns.push(Assign { target, value, how, part: way, range, block, scope });
        }
    }

    fn parameters(&mut self, parameters: &'a Parameters) {
        let plain = parameters.iter_non_variadic_params().map(|each| (&each.parameter, each.default.as_deref()));
        let starred = parameters.vararg.iter().chain(&parameters.kwarg).map(|each| (&**each, None));
        for (index, (parameter, default)) in plain.chain(starred).enumerate() {
            let kind = BindingKind::Parameter { index, annotation: parameter.annotation.as_deref(), default };
            self.bind(parameter.name.as_str(), kind, parameter.name.range);
        }
    }

    /// What of a function runs where it is defined: decorators, defaults, annotations.
    fn define(&mut self, function: &'a StmtFunctionDef) {
        for decorator in &function.decorator_list {
            self.visit_expr(&decorator.expression);
        }
        self.defaults(&function.parameters);
        let scope = self.add_scope(ScopeKind::Function(function), Some(self.scope));
        self.bind(function.name.as_str(), BindingKind::Function(scope), function.name.range);
        self.later.push(Later { function, scope, block: self.block });
    }

    fn defaults(&mut self, parameters: &'a Parameters) {
        for default in parameters.iter_non_variadic_params().filter_map(|each| each.default.as_deref()) {
            self.visit_expr(default);
        }
    }

    fn body_of(&mut self, later: Later<'a>) {
        self.block = later.block;
        self.scoped(later.scope, BlockKind::Function, |this| {
            this.declarations(&later.function.body);
            this.parameters(&later.function.parameters);
            this.visit_body(&later.function.body);
        });
    }

    /// `global` and `nonlocal` hold for the whole function, wherever in it they stand.
    fn declarations(&mut self, body: &'a [Stmt]) {
        for stmt in body {
            let scope = &mut self.model.scopes[self.scope.0 as usize];
            match stmt {
                Stmt::Global(global) => scope.globals.extend(global.names.iter().map(ruff_python_ast::Identifier::as_str)),
                Stmt::Nonlocal(nonlocal) => {
                    scope.nonlocals.extend(nonlocal.names.iter().map(ruff_python_ast::Identifier::as_str));
                }
                Stmt::If(each) => {
                    self.declarations(&each.body);
                    each.elif_else_clauses.iter().for_each(|clause| self.declarations(&clause.body));
                }
                Stmt::For(each) => self.declarations(&each.body),
                Stmt::While(each) => self.declarations(&each.body),
                Stmt::With(each) => self.declarations(&each.body),
                Stmt::Try(each) => self.declarations(&each.body),
                _ => {}
            }
        }
    }

    fn class(&mut self, class: &'a StmtClassDef) {
        for decorator in &class.decorator_list {
            self.visit_expr(&decorator.expression);
        }
        if let Some(arguments) = &class.arguments {
            self.visit_arguments(arguments);
        }
        let scope = self.add_scope(ScopeKind::Class(class), Some(self.scope));
        self.bind(class.name.as_str(), BindingKind::Class(scope), class.name.range);
        self.scoped(scope, BlockKind::Class, |this| this.visit_body(&class.body));
    }

    fn comprehension(&mut self, whole: &'a Expr, generators: &'a [Comprehension], parts: [Option<&'a Expr>; 2]) {
        let Some((first, rest)) = generators.split_first() else { return };
        // The first iterable is evaluated outside.
        self.visit_expr(&first.iter);
        let scope = self.add_scope(ScopeKind::Comprehension(whole), Some(self.scope));
        self.scoped(scope, BlockKind::Comprehension, |this| {
            this.assign(&first.target, Some(&first.iter), Bound::Element);
            first.ifs.iter().for_each(|test| this.visit_expr(test));
            for generator in rest {
                this.visit_expr(&generator.iter);
                this.assign(&generator.target, Some(&generator.iter), Bound::Element);
                generator.ifs.iter().for_each(|test| this.visit_expr(test));
            }
            parts.into_iter().flatten().for_each(|part| this.visit_expr(part));
        });
    }

    fn import_from(&mut self, import: &'a ruff_python_ast::StmtImportFrom) {
        let module = import.module.as_ref().map_or("", |module| module.as_str());
        for alias in &import.names {
            let name = alias.asname.as_ref().unwrap_or(&alias.name);
            let dot = if module.is_empty() { "" } else { "." };
            let path = format!("{module}{dot}{}", alias.name);
            self.bind(name.as_str(), BindingKind::Import { path, level: import.level }, name.range);
        }
    }

    fn import(&mut self, import: &'a ruff_python_ast::StmtImport) {
        for alias in &import.names {
            let (name, path) = match &alias.asname {
                Some(name) => (name.as_str(), alias.name.as_str()),
                // `import a.b` binds `a`.
                None => {
                    let first = alias.name.as_str().split('.').next().unwrap_or_default();
                    (first, first)
                }
            };
            self.bind(name, BindingKind::Import { path: path.to_owned(), level: 0 }, alias.range);
        }
    }

    fn result(&mut self, value: &'a Expr, yielded: bool) {
        if let Some(scope) = self.model.function_of(self.scope) {
            self.model.results.push(Result { value, yielded, scope, block: self.block });
        }
    }
}

/// The elements of a tuple or list display.
fn elements(expr: &Expr) -> Option<&[Expr]> {
    match expr {
        Expr::Tuple(tuple) => Some(&tuple.elts),
        Expr::List(list) => Some(&list.elts),
        _ => None,
    }
}

impl<'a> Visitor<'a> for Builder<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        self.statement = stmt.range();
        match stmt {
            Stmt::FunctionDef(function) => self.define(function),
            Stmt::ClassDef(class) => self.class(class),
            Stmt::Assign(each) => {
                self.visit_expr(&each.value);
                for target in &each.targets {
                    self.visit_expr(target);
                    self.assign(target, Some(&each.value), Bound::Whole);
                }
                // `a = b = []` makes one list with two names.
                if let Some((first, rest)) = each.targets.split_first() {
                    rest.iter()
                        .filter(|_| !first.is_tuple_expr())
                        .for_each(|target| self.assign(target, Some(first), Bound::Whole));
                }
            }
            Stmt::AnnAssign(each) => {
                if let Some(value) = &each.value {
                    self.visit_expr(value);
                    self.visit_expr(&each.target);
                    self.assign(&each.target, Some(value), Bound::Whole);
                }
            }
            Stmt::AugAssign(each) => {
                self.visit_expr(&each.value);
                self.visit_expr(&each.target);
                self.assign(&each.target, Some(&each.value), Bound::Augmented(each.op));
            }
            Stmt::For(each) => {
                self.visit_expr(&each.iter);
                self.inside(BlockKind::For(each), |this| {
                    this.visit_expr(&each.target);
                    this.assign(&each.target, Some(&each.iter), Bound::Element);
                    this.visit_body(&each.body);
                });
                self.visit_body(&each.orelse);
            }
            Stmt::While(each) => {
                self.inside(BlockKind::While(each), |this| {
                    this.visit_expr(&each.test);
                    this.visit_body(&each.body);
                });
                self.visit_body(&each.orelse);
            }
            Stmt::If(each) => {
                self.visit_expr(&each.test);
                self.inside(BlockKind::If(&each.test), |this| this.visit_body(&each.body));
                for clause in &each.elif_else_clauses {
                    let kind = clause.test.as_ref().map_or(BlockKind::Else, BlockKind::If);
                    if let Some(test) = &clause.test {
                        self.visit_expr(test);
                    }
                    self.inside(kind, |this| this.visit_body(&clause.body));
                }
            }
            Stmt::With(each) => {
                for item in &each.items {
                    self.visit_expr(&item.context_expr);
                    if let Some(target) = &item.optional_vars {
                        self.assign(target, Some(&item.context_expr), Bound::Entered);
                    }
                }
                self.inside(BlockKind::With(each), |this| this.visit_body(&each.body));
            }
            Stmt::Try(each) => {
                self.inside(BlockKind::Try, |this| this.visit_body(&each.body));
                for handler in &each.handlers {
                    let ExceptHandler::ExceptHandler(handler) = handler;
                    if let Some(name) = &handler.name {
                        self.bind(name.as_str(), BindingKind::Other, name.range);
                    }
                    self.inside(BlockKind::Except, |this| this.visit_body(&handler.body));
                }
                self.inside(BlockKind::Try, |this| {
                    this.visit_body(&each.orelse);
                    this.visit_body(&each.finalbody);
                });
            }
            Stmt::Match(each) => {
                self.visit_expr(&each.subject);
                for case in &each.cases {
                    self.visit_pattern(&case.pattern);
                    self.inside(BlockKind::Case, |this| {
                        if let Some(guard) = &case.guard {
                            this.visit_expr(guard);
                        }
                        this.visit_body(&case.body);
                    });
                }
            }
            Stmt::Import(import) => self.import(import),
            Stmt::ImportFrom(import) => self.import_from(import),
            Stmt::Return(each) => {
                if let Some(value) = &each.value {
                    self.visit_expr(value);
                    self.result(value, false);
                }
            }
            Stmt::Delete(each) => {
                for target in &each.targets {
                    self.visit_expr(target);
                    self.model.deletes.push(Delete { target, block: self.block, scope: self.scope });
                }
            }
            Stmt::Global(_) | Stmt::Nonlocal(_) => {}
            _ => walk_stmt(self, stmt),
        }
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        stacker::maybe_grow(RED_ZONE, MORE_STACK, || self.expr(expr));
    }

    // What annotations and type parameters say is read where it is asked for.
    fn visit_annotation(&mut self, _: &'a Expr) {}
    fn visit_type_params(&mut self, _: &'a TypeParams) {}

    fn visit_pattern(&mut self, pattern: &'a Pattern) {
        let name = match pattern {
            Pattern::MatchAs(each) => each.name.as_ref(),
            Pattern::MatchStar(each) => each.name.as_ref(),
            Pattern::MatchMapping(each) => each.rest.as_ref(),
            _ => None,
        };
        if let Some(name) = name {
            self.bind(name.as_str(), BindingKind::Other, name.range);
        }
        stacker::maybe_grow(RED_ZONE, MORE_STACK, || walk_pattern(self, pattern));
    }
}

impl<'a> Builder<'a> {
    fn expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Call(call) => {
                self.model.calls.push(Call { call, statement: self.statement, block: self.block, scope: self.scope });
                walk_expr(self, expr);
            }
            Expr::Attribute(attribute) => {
                self.model.attributes.insert(attribute.attr.as_str());
                walk_expr(self, expr);
            }
            Expr::Named(named) => {
                self.visit_expr(&named.value);
                self.walrus(named);
            }
            Expr::Lambda(lambda) => {
                if let Some(parameters) = lambda.parameters.as_deref() {
                    self.defaults(parameters);
                }
                let scope = self.add_scope(ScopeKind::Lambda(lambda), Some(self.scope));
                self.scoped(scope, BlockKind::Function, |this| {
                    if let Some(parameters) = lambda.parameters.as_deref() {
                        this.parameters(parameters);
                    }
                    this.visit_expr(&lambda.body);
                    this.result(&lambda.body, false);
                });
            }
            Expr::If(each) => {
                self.visit_expr(&each.test);
                self.inside(BlockKind::If(&each.test), |this| this.visit_expr(&each.body));
                self.inside(BlockKind::Else, |this| this.visit_expr(&each.orelse));
            }
            Expr::ListComp(each) => self.comprehension(expr, &each.generators, [Some(&each.elt), None]),
            Expr::SetComp(each) => self.comprehension(expr, &each.generators, [Some(&each.elt), None]),
            Expr::Generator(each) => self.comprehension(expr, &each.generators, [Some(&each.elt), None]),
            Expr::DictComp(each) => self.comprehension(expr, &each.generators, [each.key.as_deref(), Some(&each.value)]),
            Expr::Yield(each) => {
                if let Some(value) = &each.value {
                    self.visit_expr(value);
                    self.result(value, true);
                }
            }
            _ => walk_expr(self, expr),
        }
    }

    /// `:=` binds in the function around comprehensions (PEP 572).
    fn walrus(&mut self, named: &'a ruff_python_ast::ExprNamed) {
        let inner = self.scope;
        while matches!(self.model.scope(self.scope).kind, ScopeKind::Comprehension(_)) {
            match self.model.scope(self.scope).parent {
                Some(parent) => self.scope = parent,
                None => break,
            }
        }
        self.assign(&named.target, Some(&named.value), Bound::Whole);
        self.scope = inner;
    }
}
