//! What flows from place to place: the edges of [`super::Flow`].

use ruff_python_ast::Keyword;

use super::arguments::{matched, method};
use super::classes::decorated;
use super::{At, ClassId, Flow, Given, Place};
use crate::ask::{keyword, last_name};
use crate::model::{Bound, Call, Expr, Model, Ranged, ScopeId, TextSize};
use crate::program::FileId;
use crate::table::HashMap;

/// An object at `from` is also at `to`.
#[derive(Clone, Copy, Debug)]
pub struct Edge<'p> {
    /// Where it comes from.
    pub from: At<'p>,
    /// Where it gets to.
    pub to: At<'p>,
    /// The file and place of what moves it.
    pub site: (FileId, TextSize),
}

/// Calls that start a function given as an argument, with the arguments after it.
const STARTERS: &[&str] =
    &["partial", "submit", "apply_async", "apply", "call_soon", "call_later", "run_in_executor", "register"];

/// All edges, each once, and which of them begin and end at a place.
#[derive(Debug)]
pub(super) struct Edges<'p> {
    all: Vec<Edge<'p>>,
    places: HashMap<Place<'p>, PlaceId>,
    forward: Ends,
    back: Ends,
}

/// Number of a place that some edge has for an end.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlaceId(u32);

/// The edges at one end by its place: those of a place lie side by side, in the order in which they were found.
#[derive(Debug)]
struct Ends {
    /// Where the edges of each place begin; one more for the end of the last.
    starts: Vec<u32>,
    edges: Vec<u32>,
}

impl Ends {
    fn of(places: usize, ends: &[u32]) -> Self {
        let mut starts = vec![0; places + 1];
        for place in ends {
            starts[*place as usize + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut next = starts.clone();
        let mut edges = vec![0; ends.len()];
        for (edge, place) in (0..).zip(ends) {
            let next = &mut next[*place as usize];
            edges[*next as usize] = edge;
            *next += 1;
        }
        Self { starts, edges }
    }

    fn at(&self, place: PlaceId) -> &[u32] {
        let at = place.0 as usize;
        &self.edges[self.starts[at] as usize..self.starts[at + 1] as usize]
    }
}

impl<'p> Edges<'p> {
    pub(super) fn of(flow: &Flow<'p>) -> Self {
        let all = all(flow);
        let mut places: HashMap<Place<'p>, PlaceId> = HashMap::default();
        let mut number = |place| {
            let next = PlaceId(u32::try_from(places.len()).unwrap_or(u32::MAX));
            places.entry(place).or_insert(next).0
        };
        let (from, to): (Vec<u32>, Vec<u32>) = all.iter().map(|edge| (number(edge.from.place), number(edge.to.place))).unzip();
        let (forward, back) = (Ends::of(places.len(), &from), Ends::of(places.len(), &to));
        Self { all, places, forward, back }
    }

    /// The number of a place; none where no edge has it for an end.
    pub(super) fn place(&self, place: Place<'p>) -> Option<PlaceId> {
        self.places.get(&place).copied()
    }

    /// What goes on from a place.
    pub(super) fn from(&self, place: PlaceId) -> impl Iterator<Item = &Edge<'p>> {
        self.forward.at(place).iter().map(|edge| &self.all[*edge as usize])
    }

    /// What gets to a place.
    pub(super) fn to(&self, place: PlaceId) -> impl Iterator<Item = &Edge<'p>> {
        self.back.at(place).iter().map(|edge| &self.all[*edge as usize])
    }
}

fn all<'p>(flow: &Flow<'p>) -> Vec<Edge<'p>> {
    let mut edges = Finder { flow, edges: Vec::new() };
    for (file, model) in flow.models.iter() {
        edges.assigns(file, model);
        edges.results(file, model);
        edges.definitions(file, model);
        for call in &model.calls {
            edges.call(file, call);
        }
    }
    edges.edges
}

struct Finder<'f, 'p> {
    flow: &'f Flow<'p>,
    edges: Vec<Edge<'p>>,
}

impl<'p> Finder<'_, 'p> {
    fn add(&mut self, from: At<'p>, to: At<'p>, file: FileId, at: TextSize) {
        if from != to {
            self.edges.push(Edge { from, to, site: (file, at) });
        }
    }

    /// From every place of a value, `deeper` items below it, to a place.
    fn value(&mut self, file: FileId, scope: ScopeId, value: &'p Expr, deeper: u32, to: At<'p>) {
        for from in self.flow.places(file, scope, value) {
            self.add(At { depth: from.depth + deeper, ..from }, to, file, value.start());
        }
        // What a display holds lies one item below the place that gets the display.
        let inside = At { depth: to.depth + 1, ..to };
        let (list, dict): (&[Expr], &[ruff_python_ast::DictItem]) = match value {
            Expr::List(each) => (&each.elts, &[]),
            Expr::Tuple(each) => (&each.elts, &[]),
            Expr::Set(each) => (&each.elts, &[]),
            Expr::Dict(each) => (&[], &each.items),
            _ => return,
        };
        // A display of many values is data.
        if deeper == 0 && to.depth < super::place::MAX_DEPTH && list.len() + dict.len() <= 64 {
            list.iter().for_each(|element| self.value(file, scope, element, 0, inside));
            dict.iter().filter(|item| item.key.is_some()).for_each(|item| self.value(file, scope, &item.value, 0, inside));
        }
    }

    fn assigns(&mut self, file: FileId, model: &Model<'p>) {
        for assign in &model.assigns {
            let deeper = match assign.how {
                Bound::Whole | Bound::Entered => 0,
                Bound::Element => 1,
                Bound::Part | Bound::Augmented(_) => continue,
            };
            for to in self.flow.places(file, assign.scope, assign.target) {
                self.value(file, assign.scope, assign.value, deeper, to);
            }
        }
    }

    fn results(&mut self, file: FileId, model: &Model<'p>) {
        for result in &model.results {
            let to = At { place: Place::Result(file, result.scope), depth: u32::from(result.yielded) };
            self.value(file, result.scope, result.value, 0, to);
        }
    }

    /// Properties are attributes that are results; defaults are values of parameters.
    fn definitions(&mut self, file: FileId, model: &Model<'p>) {
        for (scope, function) in model.functions() {
            let outer = model.scope(scope).parent.unwrap_or(ScopeId::MODULE);
            if model.scope(outer).is_class() && (decorated(function, "property") || decorated(function, "cached_property")) {
                let attribute = Place::Attribute(ClassId { file, scope: outer }, function.name.as_str());
                let from = At { place: Place::Result(file, scope), depth: 0 };
                self.add(from, At { place: attribute, depth: 0 }, file, function.name.start());
            }
            for parameter in function.parameters.iter_non_variadic_params() {
                if let Some(default) = parameter.default.as_deref() {
                    let to = At { place: Place::Variable(file, scope, parameter.parameter.name.as_str()), depth: 0 };
                    self.value(file, outer, default, 0, to);
                }
            }
        }
    }

    fn call(&mut self, file: FileId, call: &Call<'p>) {
        self.put_into(file, call);
        let arguments = &call.call.arguments;
        if let Some((to, function)) = self.flow.callee(file, call.scope, &call.call.func) {
            self.receiver(file, call, to, function);
            let given = self.flow.given(file, call, to, function);
            self.parameters(file, call.scope, to, function, given);
        } else if let Some((to, class)) = self.flow.models.class(file, call.scope, &call.call.func) {
            // No `__init__`: a dataclass or a named tuple, whose keywords are its attributes.
            for keyword in &arguments.keywords {
                if let Some(name) = &keyword.arg {
                    let place = Place::Attribute(ClassId { file: to, scope: class }, name.as_str());
                    self.value(file, call.scope, &keyword.value, 0, At { place, depth: 0 });
                }
            }
        } else {
            self.started(file, call);
        }
    }

    /// What a method is called on is an instance of its class.
    fn receiver(&mut self, file: FileId, call: &Call<'p>, to: FileId, function: ScopeId) {
        let Expr::Attribute(attribute) = &*call.call.func else { return };
        let model = self.flow.models.of(to);
        let Some(class) = model.scope(function).parent.filter(|_| method(model, function).is_some()) else { return };
        if self.flow.models.class(file, call.scope, &attribute.value).is_some() {
            return;
        }
        let class = ClassId { file: to, scope: class };
        for from in self.flow.places(file, call.scope, &attribute.value) {
            self.add(from, At { place: Place::Instance(class), depth: 0 }, file, call.call.range().start());
        }
    }

    fn parameters(&mut self, file: FileId, scope: ScopeId, to: FileId, function: ScopeId, given: Vec<Given<'p>>) {
        for each in given {
            let place = Place::Variable(to, function, each.parameter);
            self.value(file, scope, each.value, 0, At { place, depth: each.depth });
        }
    }

    /// `Thread(target=f, args=(a, b))`, `partial(f, a)`, `pool.submit(f, a)`.
    fn started(&mut self, file: FileId, call: &Call<'p>) {
        let arguments = &call.call.arguments;
        if let (Some(target), Some(Expr::Tuple(args))) = (keyword(call.call, "target"), keyword(call.call, "args")) {
            self.start(file, call, target, &args.elts, &[]);
            return;
        }
        let Some(name) = last_name(&call.call.func) else { return };
        if let Some((first, rest)) = arguments.args.split_first().filter(|_| STARTERS.contains(&name)) {
            self.start(file, call, first, rest, &arguments.keywords);
        }
    }

    fn start(&mut self, file: FileId, call: &Call<'p>, target: &'p Expr, args: &'p [Expr], keywords: &'p [Keyword]) {
        let Some((to, function)) = self.flow.callee(file, call.scope, target) else { return };
        let callee = self.flow.models.of(to);
        let skip = usize::from(method(callee, function).is_some());
        let given = matched(callee, function, skip, args, keywords);
        self.parameters(file, call.scope, to, function, given);
    }

    /// What is put into a container lies one item below it.
    fn put_into(&mut self, file: FileId, call: &Call<'p>) {
        let Expr::Attribute(attribute) = &*call.call.func else { return };
        let at = match attribute.attr.as_str() {
            "append" | "appendleft" | "add" | "put" | "put_nowait" => 0,
            "insert" | "setdefault" => 1,
            _ => return,
        };
        let Some(value) = call.call.arguments.args.get(at) else { return };
        for container in self.flow.places(file, call.scope, &attribute.value) {
            self.value(file, call.scope, value, 0, At { depth: container.depth + 1, ..container });
        }
    }
}
