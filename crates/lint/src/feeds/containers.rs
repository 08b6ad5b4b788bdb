//! What rules ask of containers and of the places that outlive a loop; the same knowledge that answers for holders.

use std::cell::OnceCell;
use std::collections::HashSet;

use super::bounds::{Bounds, at};
use super::context::Contexts;
use super::ops::{Loss, Op, Ops};
use super::{Bound, Kind, Phase};
use crate::autograd::mentions;
use crate::flow::{At, ClassId, Flow, Place};
use crate::model::{BlockId, Bound as Assigned, Expr, Model, Ranged, ScopeId, TextSize};
use crate::program::FileId;

/// What is known of a program's containers.
pub struct Containers<'f, 'p> {
    flow: &'f Flow<'p>,
    ops: OnceCell<Ops<'p>>,
    contexts: OnceCell<Contexts>,
}

/// Something that adds to a container.
#[derive(Clone, Copy, Debug)]
pub struct Addition<'p> {
    /// How.
    pub kind: Kind,
    /// The file.
    pub file: FileId,
    /// The scope it stands in.
    pub scope: ScopeId,
    /// Where it stands.
    pub block: BlockId,
    /// Where it begins.
    pub offset: TextSize,
    /// The key of an entry.
    pub key: Option<&'p Expr>,
    /// The container, as it is written.
    pub container: Option<&'p Expr>,
}

impl<'f, 'p> Containers<'f, 'p> {
    /// For a program, which is read as far as is asked.
    #[must_use]
    pub fn new(flow: &'f Flow<'p>) -> Self {
        Self { flow, ops: OnceCell::new(), contexts: OnceCell::new() }
    }

    fn ops(&self) -> &Ops<'p> {
        self.ops.get_or_init(|| Ops::new(self.flow))
    }

    fn contexts(&self) -> &Contexts {
        self.contexts.get_or_init(|| Contexts::new(self.flow.models))
    }

    /// Whether code at this block runs again and again.
    #[must_use]
    pub fn is_repeated(&self, file: FileId, scope: ScopeId, block: BlockId) -> bool {
        self.contexts().is_repeated(self.flow.models.of(file), file, scope, block)
    }

    /// Whether a function is a method that takes one step of a training: it is called again and again, by whomever.
    #[must_use]
    pub fn is_step(&self, file: FileId, function: ScopeId) -> bool {
        self.contexts().is_step(file, function)
    }

    /// The part of the training that a block belongs to.
    #[must_use]
    pub fn phase(&self, file: FileId, scope: ScopeId, block: BlockId) -> Option<Phase> {
        self.contexts().phase(self.flow.models.of(file), file, scope, block)
    }

    /// What bounds the growth of a container by something that adds to it here.
    #[must_use]
    pub fn bound(
        &self,
        file: FileId,
        scope: ScopeId,
        block: BlockId,
        container: &'p Expr,
        key: Option<&'p Expr>,
    ) -> Option<Bound> {
        let seeds = self.flow.places(file, scope, container);
        let aliases = self.flow.aliases(&seeds, false);
        let bounds = Bounds { flow: self.flow, ops: self.ops(), contexts: self.contexts(), aliases: &aliases, local_of: None };
        let at = *seeds.first()?;
        bounds.of(&Op { at, what: Kind::Add, file, scope, block, offset: container.start(), key, container: Some(container) })
    }

    /// Whether what a place holds lives on when the innermost loop around a block goes round: it is an attribute, another
    /// scope's variable, or was there before the loop. Outside of loops: whether it is there at the function's next call.
    #[must_use]
    pub fn outlives(&self, file: FileId, scope: ScopeId, block: BlockId, expr: &'p Expr) -> bool {
        let model = self.flow.models.of(file);
        self.flow.places(file, scope, expr).iter().any(|at| self.place_outlives(model, file, scope, block, *at))
    }

    fn place_outlives(&self, model: &Model<'p>, file: FileId, scope: ScopeId, block: BlockId, wanted: At<'p>) -> bool {
        let Place::Variable(of, owner, _) = wanted.place else {
            return matches!(wanted.place, Place::Attribute(..)) && self.is_repeated(file, scope, block);
        };
        let own = of == file && Some(owner) == model.function_of(scope).or(Some(ScopeId::MODULE));
        match innermost_loop(model, block) {
            // Set anew in each round, whatever happens before the statement?
            Some(round) if own => {
                let itself = HashSet::from([wanted.place]);
                !self.flow.assigned(wanted.place).any(|(from, assign)| {
                    assign.how == Assigned::Whole
                        && *from == file
                        && is_inside(model, block, assign.block)
                        && is_inside(model, assign.block, round)
                        && !mentions(self.flow, file, assign.scope, assign.value, &itself, 12)
                })
            }
            Some(_) => true,
            None => !own && self.is_repeated(file, scope, block),
        }
    }

    /// Whether nothing anywhere takes elements out of a container, or puts another in its place, but where it is made.
    #[must_use]
    pub fn is_never_emptied(&self, file: FileId, scope: ScopeId, container: &'p Expr) -> bool {
        self.loses_nothing(file, scope, container, &[Loss::All, Loss::Some])
    }

    /// Where the program takes elements out of a container, or all of them: the file, the scope, the block.
    #[must_use]
    pub fn taken_out(&self, file: FileId, scope: ScopeId, container: &'p Expr) -> Vec<(FileId, ScopeId, BlockId)> {
        let aliases = self.flow.aliases(&self.flow.places(file, scope, container), false);
        let losses = aliases.iter().flat_map(|alias| at(&self.ops().losses, alias.at).collect::<Vec<_>>());
        losses.map(|op| (op.file, op.scope, op.block)).collect()
    }

    /// The same, and where it is let go of with what it lies in.
    #[must_use]
    pub fn let_go(&self, file: FileId, scope: ScopeId, container: &'p Expr) -> Vec<(FileId, ScopeId, BlockId)> {
        let aliases = self.flow.aliases(&self.flow.places(file, scope, container), false);
        let places = aliases.iter().flat_map(|alias| (0..=alias.at.depth).map(|depth| At { depth, ..alias.at }));
        let losses = places.flat_map(|place| at(&self.ops().losses, place).collect::<Vec<_>>());
        losses.map(|op| (op.file, op.scope, op.block)).collect()
    }

    /// Whether a container, or what it lies in, is emptied and made anew around a loop of its file only, never in it.
    #[must_use]
    pub fn is_made_around(&self, file: FileId, scope: ScopeId, container: &'p Expr, round: BlockId) -> bool {
        let model = self.flow.models.of(file);
        let aliases = self.flow.aliases(&self.flow.places(file, scope, container), false);
        let places = aliases.iter().flat_map(|alias| (0..=alias.at.depth).map(|depth| At { depth, ..alias.at }));
        let mut losses = places.flat_map(|place| at(&self.ops().losses, place).collect::<Vec<_>>()).peekable();
        losses.peek().is_some() && losses.all(|op| op.file == file && !is_inside(model, op.block, round))
    }

    /// The same for all of its elements at once: what takes some of them out may be what bounds it.
    #[must_use]
    pub fn is_never_cleared(&self, file: FileId, scope: ScopeId, container: &'p Expr) -> bool {
        self.loses_nothing(file, scope, container, &[Loss::All])
    }

    fn loses_nothing(&self, file: FileId, scope: ScopeId, container: &'p Expr, kinds: &[Loss]) -> bool {
        self.losses_of(file, scope, container, kinds).is_empty()
    }

    /// Where elements are taken out of a container, or another is put in its place, anywhere but where it is made.
    #[must_use]
    pub fn emptied_at(&self, file: FileId, scope: ScopeId, container: &'p Expr) -> Vec<(FileId, ScopeId, BlockId)> {
        self.losses_of(file, scope, container, &[Loss::All, Loss::Some])
    }

    fn losses_of(&self, file: FileId, scope: ScopeId, container: &'p Expr, kinds: &[Loss]) -> Vec<(FileId, ScopeId, BlockId)> {
        let mut seeds = self.flow.places(file, scope, container);
        // What an attribute of somebody's is told to do may be meant for this one.
        let by_name: Vec<At<'p>> = seeds
            .iter()
            .filter_map(|at| match at.place {
                Place::Attribute(_, name) => Some(At { place: Place::Unknown(name), ..*at }),
                _ => None,
            })
            .collect();
        seeds = self.flow.aliases(&seeds, false).iter().map(|alias| alias.at).chain(by_name).collect();
        // Who empties the container around it empties it.
        let all = seeds.iter().flat_map(|seed| (0..=seed.depth).map(|depth| At { depth, ..*seed }));
        let all: HashSet<At<'p>> = all.collect();
        let found = all.iter().flat_map(|place| {
            let losses =
                at(&self.ops().losses, *place).filter(|op| kinds.contains(&op.what)).map(|op| (op.file, op.scope, op.block));
            // What is put in its place with all that it had, and more, takes nothing out.
            let longer = move |op: &Op<'p, &'p Expr>| {
                at(&self.ops().adds, *place)
                    .any(|add| add.what == Kind::Rebuilt && (add.file, add.offset) == (op.file, op.offset))
            };
            let assigned = at(&self.ops().assigned, *place).filter(move |op| !longer(op));
            let others = assigned.map(|op| (op.file, op.scope, op.block));
            losses.chain(others).filter(|(file, scope, block)| !self.is_where_it_is_made(*file, *scope, *block, *place))
        });
        found.collect()
    }

    /// In a constructor, at the level of a module or class, or before the loops of the function whose local it is.
    fn is_where_it_is_made(&self, file: FileId, scope: ScopeId, block: BlockId, at: At<'p>) -> bool {
        let model = self.flow.models.of(file);
        let Some(function) = model.function_of(scope) else { return model.loops(block) == 0 };
        let own = matches!(at.place, Place::Variable(of, owner, _) if (of, owner) == (file, function));
        model.scope(function).name() == "__init__" || own && model.loops(block) == 0
    }

    /// Whether anything takes elements out of what is at a place.
    #[must_use]
    pub fn has_losses(&self, place: At<'p>) -> bool {
        at(&self.ops().losses, place).next().is_some()
    }

    /// What adds to a place and how: the kind, the scope, the block, where it begins, the key.
    pub fn additions(&self, place: At<'p>) -> impl Iterator<Item = Addition<'p>> {
        at(&self.ops().adds, place).map(|op| Addition {
            kind: op.what,
            file: op.file,
            scope: op.scope,
            block: op.block,
            offset: op.offset,
            key: op.key,
            container: op.container,
        })
    }

    /// Whether a class inherits from something outside of the program.
    #[must_use]
    pub fn is_foreign(&self, class: ClassId) -> bool {
        super::context::has_foreign_base(self.flow.models, class.file, self.flow.models.of(class.file), class.scope)
    }

    /// Whether a place is given another value in the same round of the innermost loop, apart from the statement at `except`.
    #[must_use]
    pub fn is_renewed(&self, file: FileId, scope: ScopeId, block: BlockId, expr: &'p Expr, except: TextSize) -> bool {
        let model = self.flow.models.of(file);
        let Some(round) = innermost_loop(model, block) else { return false };
        self.flow.places(file, scope, expr).iter().any(|wanted| {
            at(&self.ops().assigned, *wanted)
                .any(|op| op.file == file && op.offset != except && is_inside(model, op.block, round))
        })
    }
}

/// The innermost loop around a block, inside its function.
#[must_use]
pub fn innermost_loop(model: &Model, block: BlockId) -> Option<BlockId> {
    let mut at = block;
    loop {
        let here = model.block(at);
        if here.kind.is_loop() {
            return Some(at);
        }
        if here.kind.is_scope() {
            return None;
        }
        at = here.parent?;
    }
}

/// Whether a block is another or lies inside it.
#[must_use]
pub fn is_inside(model: &Model, block: BlockId, outer: BlockId) -> bool {
    let mut at = Some(block);
    while let Some(id) = at {
        if id == outer {
            return true;
        }
        at = model.block(id).parent;
    }
    false
}
