//! From what is known of a culprit to its cause in the catalogue.

use lowtide_causes::{self as causes, Cause, Class, Container, Live, Memory, RootKind, matching};
use lowtide_lint::feeds::Kind;
use lowtide_model::{ObjectGrown, Role};
use lowtide_pyheap::{Place, StepName};

use super::{Culprit, Standing};

/// Whose functions they are.
const COMPILER: &str = "torch._dynamo";
/// Beginnings of the names by which `torch.compile` files its functions among a program's own (torch 2).
const COMPILED: [&str; 2] = ["__compiled_fn_", "__resume_at_"];

/// What a look has seen of what became more, beside who holds it.
pub struct Seen<'a> {
    /// What has most of the bytes, the most first.
    pub objects: &'a [ObjectGrown],
    /// Types of which each element has one, however small: what keeps the rest of it alive.
    pub each: &'a [String],
    /// Its tensors are small parts of large storages.
    pub views: bool,
    /// What the process is in the run.
    pub role: Option<Role>,
}

/// The cause that fits best, of somebody who is to blame.
pub fn cause(culprit: &Culprit, seen: &Seen) -> Option<&'static Cause> {
    // No line of the program adds to what torch compiles, nor to what no name leads to.
    let has_no_line = owner(culprit) == COMPILER || culprit.holder.path.root == Place::Native;
    if !matches!(culprit.standing, Standing::Culprit | Standing::Suspect) && !has_no_line {
        return None;
    }
    matching(&live(culprit, seen)).first().map(|found| found.cause)
}

fn live(culprit: &Culprit, seen: &Seen) -> Live {
    let (growth, statement, objects) = (&culprit.holder, culprit.site.as_ref(), seen.objects);
    let tensors = objects.first().is_some_and(|object| !object.device.is_empty());
    let graph = objects.iter().any(|object| object.grad_fn);
    // A tensor that grows by its history alone: no container has more in it, and it does not get longer itself.
    let longer = statement.is_some_and(|statement| statement.kind == Kind::Rebuilt);
    let chain = growth.len.is_none() && growth.kind.ends_with("Tensor") && !longer;
    Live {
        kind: match culprit.opens.first().copied() {
            Some("threads") => Memory::Threads,
            Some("processes") => Memory::Processes,
            Some(_) => Memory::Descriptors,
            // All that live stand there, and each is there for itself: what a thread holds goes when it ends.
            None if growth.path.is_book() && is_of_threads(&growth.path.root) => Memory::Threads,
            None if chain => Memory::Graph,
            None if tensors => Memory::Tensors,
            None if objects.is_empty() => Memory::Unknown,
            None => Memory::Objects,
        },
        class: Some(Class::Leak),
        role: seen.role.and_then(role),
        phase: statement.and_then(|statement| statement.phase),
        container: growth.len.map(|_| container(&growth.kind)),
        root: root(culprit),
        owner: owner(culprit),
        // Most elements of a list of closures are functions, most bytes are what they hold.
        objects: objects.iter().map(|object| &object.kind).chain(seen.each).chain(&culprit.holds).cloned().collect(),
        grad_fn: graph,
        views: seen.views,
        on_gpu: objects.iter().any(|object| object.device.starts_with("cuda")),
        statement: statement.map(|statement| statement.kind),
        in_class: statement.is_some_and(|statement| statement.class.is_some()),
        ..Live::default()
    }
}

fn is_of_threads(root: &Place) -> bool {
    matches!(root, Place::Module { name, .. } if name == "threading")
}

fn role(role: Role) -> Option<causes::Role> {
    match role {
        Role::Trainer => Some(causes::Role::Trainer),
        Role::DataloaderWorker => Some(causes::Role::Worker),
        Role::CompileWorker => Some(causes::Role::CompileWorker),
        _ => None,
    }
}

fn container(kind: &str) -> Container {
    match kind.rsplit('.').next().unwrap_or(kind) {
        "list" => Container::List,
        "dict" | "defaultdict" | "OrderedDict" | "Counter" => Container::Dict,
        "set" => Container::Set,
        "deque" => Container::Deque,
        _ => Container::Other,
    }
}

fn root(culprit: &Culprit) -> Option<RootKind> {
    let path = &culprit.holder.path;
    for step in path.steps.iter().rev() {
        match step.name {
            StepName::Closure(_) => return Some(RootKind::Closure),
            StepName::Default(_) => return Some(RootKind::Default),
            _ => {}
        }
    }
    match path.root {
        Place::Module { .. } => Some(RootKind::Module),
        Place::Frame { .. } => Some(RootKind::Local),
        Place::Type => Some(RootKind::Class),
        Place::Garbage => Some(RootKind::Garbage),
        Place::Native => Some(RootKind::Native),
        _ => None,
    }
}

/// The type whose attribute it is, else the module.
fn owner(culprit: &Culprit) -> String {
    let path = &culprit.holder.path;
    let compiled =
        |name: &StepName| matches!(name, StepName::Variable(name) if COMPILED.iter().any(|begin| name.starts_with(begin)));
    if path.steps.iter().any(|step| compiled(&step.name)) {
        return COMPILER.to_owned();
    }
    if path.root == Place::Native {
        return culprit.holder.kind.clone();
    }
    let above = path.steps.len().checked_sub(2).map(|at| path.steps[at].kind.clone());
    above.unwrap_or_else(|| match &path.root {
        Place::Module { name, .. } => name.clone(),
        _ => String::new(),
    })
}

#[cfg(test)]
mod tests {
    use lowtide_causes::{all, by_id};
    use lowtide_lint::feeds::{Bound, Certainty, Phase, Site, Statement};
    use lowtide_pyheap::{HolderGrowth, ObjectId, Path, Step};

    use super::*;

    /// Something that grows, as looks find it: a list `self.kept` of a `Trainer`, which a line in a loop appends to.
    struct Made {
        culprit: Culprit,
        objects: Vec<ObjectGrown>,
        each: Vec<String>,
        views: bool,
        role: Role,
    }

    fn step(name: StepName, kind: &str) -> Step {
        Step { name, kind: kind.to_owned(), function: None, id: ObjectId(0) }
    }

    fn made() -> Made {
        let steps =
            vec![step(StepName::Variable("trainer".to_owned()), "Trainer"), step(StepName::Attribute("kept".to_owned()), "list")];
        let path = Path { root: Place::Module { name: "__main__".to_owned(), file: None }, steps, left_out: 0 };
        let holder = HolderGrowth {
            id: ObjectId(0),
            kind: "list".to_owned(),
            path,
            len: Some((10, 30)),
            count: Some(20),
            bytes: 20 << 20,
            alike: 1,
            keyed: None,
        };
        let statement = Statement {
            site: Site { file: "train.py".into(), cell: None, line: 9, column: 1, text: "self.kept.append(x)".to_owned() },
            kind: Kind::Add,
            function: None,
            class: None,
            loops: 1,
            repeated: true,
            phase: Some(Phase::Training),
            certainty: Certainty::Traced,
            bound: None,
            library: false,
            via: Vec::new(),
        };
        let culprit = Culprit {
            holder,
            holds: None,
            opens: Vec::new(),
            limit: None,
            site: Some(statement),
            others: Vec::new(),
            in_library: false,
            near: None,
            standing: Standing::Culprit,
            changed: Vec::new(),
        };
        Made { culprit, objects: Vec::new(), each: Vec::new(), views: false, role: Role::Trainer }
    }

    impl Made {
        fn of(mut self, kind: &str) -> Self {
            self.objects.push(ObjectGrown { kind: kind.to_owned(), bytes_delta: 1 << 20, ..ObjectGrown::default() });
            self
        }

        fn tensors(mut self, device: &str, grad_fn: bool) -> Self {
            let kind = "torch.Tensor".to_owned();
            self.objects.push(ObjectGrown { kind, device: device.to_owned(), grad_fn, ..ObjectGrown::default() });
            self
        }

        fn each(mut self, kinds: &[&str]) -> Self {
            self.each = kinds.iter().map(|kind| (*kind).to_owned()).collect();
            self
        }

        fn views(self) -> Self {
            Self { views: true, ..self }
        }

        fn in_worker(self) -> Self {
            Self { role: Role::DataloaderWorker, ..self }
        }

        fn opens(mut self, what: &'static str) -> Self {
            self.culprit.opens.push(what);
            self
        }

        fn by(mut self, kind: Kind) -> Self {
            self.culprit.site.as_mut().expect("a statement").kind = kind;
            self
        }

        fn in_class(mut self) -> Self {
            self.culprit.site.as_mut().expect("a statement").class = Some("Trainer".to_owned());
            self
        }

        fn in_validation(mut self) -> Self {
            self.culprit.site.as_mut().expect("a statement").phase = Some(Phase::Validation);
            self
        }

        /// The holder is of this type, and an attribute of this class.
        fn held_as(mut self, kind: &str, owner: &str) -> Self {
            self.culprit.holder.kind = kind.to_owned();
            let steps = &mut self.culprit.holder.path.steps;
            (steps[0].kind, steps[1].kind) = (owner.to_owned(), kind.to_owned());
            self
        }

        /// It is no container: one tensor with an ever longer history.
        fn chain(mut self) -> Self {
            (self.culprit.holder.kind, self.culprit.holder.len) = ("torch.Tensor".to_owned(), None);
            self
        }

        fn way(mut self, root: Option<Place>, last: Option<StepName>) -> Self {
            let path = &mut self.culprit.holder.path;
            path.root = root.unwrap_or_else(|| path.root.clone());
            if let (Some(step), Some(name)) = (path.steps.last_mut(), last) {
                step.name = name;
            }
            self
        }

        fn cause(&self) -> &'static str {
            let seen = Seen { objects: &self.objects, each: &self.each, views: self.views, role: Some(self.role) };
            cause(&self.culprit, &seen).map_or("none", |cause| cause.id)
        }
    }

    #[test]
    fn threads_that_nobody_keeps_are_made_in_a_loop() {
        let module = |name: &str| Some(Place::Module { name: name.into(), file: None });
        let cause = |name: &str| {
            let mut made = made().of("dict").each(&["cell", "function"]);
            made = made.way(module(name), Some(StepName::Variable("_active".into())));
            made.culprit.holder.path.steps.remove(0);
            made.cause()
        };
        assert_eq!(cause("threading"), "LT706");
        assert_eq!(cause("train"), "LT305", "a container of the program's own");
    }

    /// Causes with a signature that no holder shows: of memory that nobody in Python holds, of growth that ends or comes back,
    /// of processes by their role. What a validation keeps with its graph is named by what keeps it.
    const NOT_BY_A_HOLDER: &[&str] =
        &["LT206", "LT208", "LT310", "LT401", "LT402", "LT405", "LT501", "LT505", "LT507", "LT603", "LT604", "LT703"];

    #[test]
    fn what_the_evidence_proves_comes_before_what_any_container_shows() {
        let of_default = Some(StepName::Default("into".to_owned()));
        let (cpu, gpu) = ("cpu", "cuda:0");
        let cases: Vec<(&str, Made)> = vec![
            ("LT101", made().chain().tensors(cpu, true).by(Kind::Accumulated)),
            ("LT102", made().chain().tensors(cpu, true).by(Kind::Averaged)),
            ("LT105", made().chain().tensors(cpu, true).by(Kind::Carried)),
            ("LT103", made().tensors(cpu, true)),
            ("LT103", made().tensors(gpu, true)),
            ("LT103", made().of("dict").of("str").tensors(cpu, true)),
            ("LT103", made().held_as("collections.deque", "Logger").held_as("list", "RunLogger").tensors(cpu, true)),
            ("LT103", made().tensors(cpu, true).views()),
            ("LT104", made().tensors(cpu, true).held_as("dict", "Encoder").by(Kind::Item)),
            ("LT106", made().chain().tensors(cpu, true).by(Kind::Retained)),
            ("LT108", made().tensors(cpu, true).held_as("collections.deque", "Agent")),
            ("LT201", made().tensors(cpu, false).in_validation()),
            ("LT201", made().of("numpy.ndarray").in_validation()),
            ("LT202", made().tensors(cpu, false)),
            ("LT202", made().tensors(gpu, false)),
            ("LT202", made().chain().tensors(cpu, false).by(Kind::Rebuilt)),
            ("LT203", made().tensors(cpu, false).each(&["collections.OrderedDict", "torch.Tensor"])),
            ("LT203", made().tensors(cpu, false).each(&["torch.nn.parameter.Parameter"]).in_validation()),
            ("LT204", made().tensors(cpu, false).views()),
            ("LT205", made().tensors(cpu, false).held_as("list", "MeanMetric").in_validation()),
            ("LT207", made().of("bytearray").each(&["ValueError", "traceback", "frame"])),
            ("LT207", made().tensors(cpu, true).each(&["torch.OutOfMemoryError", "traceback"])),
            ("LT301", made().of("bytes")),
            (
                "LT301",
                made()
                    .tensors(cpu, false)
                    .each(&["torch.nn.parameter.Parameter"])
                    .held_as("dict", "torch.nn.modules.container.ModuleList"),
            ),
            (
                "LT301",
                made()
                    .tensors(cpu, false)
                    .each(&["torch.nn.parameter.Parameter"])
                    .held_as("defaultdict", "torch.optim.adam.Adam")
                    .by(Kind::Item),
            ),
            ("LT301", made().of("dict").of("Catalog").held_as("list", "Catalog")),
            ("LT302", made().of("dict").held_as("list", "RunLogger")),
            ("LT302", made().tensors(cpu, false).each(&["logging.LogRecord"]).held_as("list", "Buffer")),
            ("LT302", made().tensors(cpu, false).held_as("list", "wandb_log")),
            ("LT302", made().of("dict").held_as("Run", "wandb").chain().held_as("Run", "wandb").by(Kind::Call)),
            ("LT304", made().of("function").each(&["function"]).held_as("collections.OrderedDict", "Linear").by(Kind::Hook)),
            ("LT305", made().tensors(cpu, false).each(&["cell", "function"])),
            ("LT305", made().of("bytes").each(&["functools.partial"])),
            ("LT306", made().of("bytes").held_as("dict", "functools._lru_cache_wrapper").by(Kind::Cache).in_class()),
            ("LT307", made().of("bytes").held_as("dict", "functools._lru_cache_wrapper").by(Kind::Cache)),
            ("LT307", made().of("list").of("int").held_as("dict", "Tokenizer").by(Kind::Item)),
            ("LT307", made().tensors(cpu, false).held_as("dict", "CachedCollate").by(Kind::Item)),
            ("LT308", made().of("bytes").way(None, of_default)),
            (
                "LT309",
                made().of("dict").each(&["matplotlib.figure.Figure"]).held_as("collections.OrderedDict", "Gcf").by(Kind::Item),
            ),
            ("LT311", made().of("bytes").each(&["PIL.PngImagePlugin.PngImageFile"])),
            ("LT403", made().each(&["torch.utils.data.dataloader._MultiProcessingDataLoaderIter"]).opens("processes")),
            // Each has queues, and these have methods and threads.
            (
                "LT403",
                made()
                    .of("dict")
                    .each(&["method", "torch.utils.data.dataloader._MultiProcessingDataLoaderIter"])
                    .opens("processes")
                    .opens("threads"),
            ),
            ("LT706", made().of("dict").each(&["method"]).opens("threads")),
            ("LT404", made().tensors(cpu, false).in_worker()),
            ("LT404", made().of("bytes").held_as("dict", "Images").by(Kind::Item).in_worker()),
            ("LT503", made().tensors(gpu, false).in_worker()),
            ("LT502", made().tensors(gpu, false).held_as("dict", "Splits").by(Kind::Item)),
            ("LT601", made().of("dict").way(Some(Place::Garbage), None).chain().by(Kind::Call)),
            (
                "LT605",
                made().tensors(cpu, true).held_as("torch.autograd.function.GateBackward", "").way(Some(Place::Native), None),
            ),
            ("LT602", made().of("dict").way(Some(Place::Garbage), None).chain().by(Kind::CollectorOff)),
            ("LT701", made().chain().tensors(cpu, false).by(Kind::Zeroed)),
            ("LT702", made().tensors(cpu, false).each(&["torch.optim.adam.Adam", "torch.Tensor"])),
            ("LT704", made().of("function").held_as("dict", COMPILER)),
            ("LT706", made().of("dict").opens("threads")),
            ("LT706", made().of("dict").opens("files")),
            ("LT706", made().each(&["subprocess.Popen"]).opens("processes")),
        ];
        let mut met: Vec<&str> = NOT_BY_A_HOLDER.to_vec();
        for (id, case) in cases {
            let by_fit = matching(&live(
                &case.culprit,
                &Seen { objects: &case.objects, each: &case.each, views: case.views, role: Some(case.role) },
            ));
            let by_fit: Vec<_> = by_fit.iter().map(|found| (found.cause.id, found.fit)).collect();
            assert_eq!(case.cause(), id, "{by_fit:?} {:?} {:?}", case.culprit.holder, case.objects);
            met.push(id);
        }
        let known = |id: &&str| by_id(id).is_some_and(|cause| cause.signature.is_some());
        assert!(met.iter().all(known), "{met:?}");
        let missing = all().filter(|cause| cause.signature.is_some() && !met.contains(&cause.id)).map(|cause| cause.id);
        assert_eq!(missing.collect::<Vec<_>>(), Vec::<&str>::new(), "causes that no case is about");
    }

    #[test]
    fn what_is_put_in_its_place_anew_was_not_that_long_before() {
        assert_eq!(made().culprit.length(), Some([10, 30]));
        assert_eq!(made().by(Kind::Rebuilt).culprit.length(), None, "another object may have been there");
    }

    #[test]
    fn a_limit_counts_where_every_line_has_it_and_it_was_not_passed() {
        let ceiling = |number| {
            Some(Bound::Ceiling(Site { file: "train.py".into(), cell: None, line: 10, column: 1, text: String::new() }, number))
        };
        let limit = |bound: Option<Bound>, other: Option<Option<Bound>>, standing: Standing| {
            let mut culprit = made().culprit;
            let site = culprit.site.take().expect("a line");
            culprit.others = other.into_iter().map(|bound| Statement { bound, ..site.clone() }).collect();
            (culprit.site, culprit.standing) = (Some(Statement { bound, ..site }), standing);
            crate::culprit::limit(&culprit)
        };
        assert_eq!(limit(ceiling(Some(100)), None, Standing::Bounded), Some(100));
        assert_eq!(limit(ceiling(Some(29)), None, Standing::Bounded), Some(29), "one is added before one goes");
        assert_eq!(limit(ceiling(Some(20)), None, Standing::Bounded), None, "there are 30");
        assert_eq!(limit(ceiling(None), None, Standing::Bounded), None);
        assert_eq!(limit(None, None, Standing::Culprit), None);
        assert_eq!(limit(ceiling(Some(100)), Some(ceiling(Some(100))), Standing::Bounded), Some(100));
        assert_eq!(limit(ceiling(Some(100)), Some(None), Standing::Bounded), None, "another line adds without one");
    }

    #[test]
    fn who_is_not_to_blame_has_no_cause() {
        for standing in [Standing::Bounded, Standing::Unknown("nobody knows".to_owned())] {
            let mut case = made().tensors("cpu", true);
            case.culprit.standing = standing;
            assert_eq!(case.cause(), "none");
        }
    }
}
