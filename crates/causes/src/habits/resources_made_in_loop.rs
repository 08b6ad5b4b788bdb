//! LT706: Process groups, streams or profilers are made in a loop.

use crate::{Cause, Fix, Language, Live, Memory, Severity};
use lowtide_lint::ask::{keyword, last_name};
use lowtide_lint::check::{Check, Confidence, Hit};
use lowtide_lint::feeds::Bound as Limit;
use lowtide_lint::model::{BlockKind, Bound, Call, Expr, Ranged, ScopeId};
use lowtide_lint::program::FileId;

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT706",
    name: "resources-made-in-loop",
    title: "Process groups, streams or profilers are made in a loop",
    severity: Severity::Leak,
    happens: "`dist.new_group`, `torch.cuda.Stream`, a profiler or a `SummaryWriter` is made per step or epoch.",
    keeps: "Groups hold communicators and buffers for ever; writers hold a thread and a file; profilers hold all \
                events until they are exported.",
    shows: "Growth of native or GPU memory, of threads or of file descriptors, per iteration.",
    fix: Fix {
        text: "Make them once; close what has a `close`; give a profiler a schedule.",
        language: Language::Python,
        before: r#"for epoch in range(epochs):
    writer = SummaryWriter(log_dir)
    writer.add_scalar("loss", loss, epoch)"#,
        after: r#"writer = SummaryWriter(log_dir)
for epoch in range(epochs):
    writer.add_scalar("loss", loss, epoch)
writer.close()"#,
    },
    harmless: "A fixed number of them, made at the start.",
    sources: &["https://docs.pytorch.org/docs/stable/distributed.html", "zoo/46_fds_threads.py"],
    signature: Some(signature),
    rule: Some(rule),
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    // Processes of a loader have a cause of their own, which fits better.
    let made = matches!(live.kind, Memory::Descriptors | Memory::Threads);
    (made || live.kind == Memory::Processes && live.container.is_some()).then_some(80)
}

/// What is made, what of it stays, and the methods that end it.
struct Resource {
    names: &'static [&'static str],
    keeps: &'static str,
    ended_by: &'static [&'static str],
    /// Entering it as a context ends it.
    by_context: bool,
}

const RESOURCES: &[Resource] = &[
    Resource {
        names: &[
            "torch.distributed.new_group",
            "torch.distributed.new_subgroups",
            "torch.distributed.device_mesh.init_device_mesh",
        ],
        keeps: "its communicator and buffers stay to the end of the run, whoever lets go of the group",
        ended_by: &[],
        by_context: false,
    },
    Resource {
        names: &["torch.cuda.Stream", "torch.cuda.streams.Stream"],
        keeps: "memory that the allocator has cached for the streams before serves no other stream",
        ended_by: &[],
        by_context: false,
    },
    Resource {
        names: &["torch.autograd.profiler.profile"],
        keeps: "each has recorded every operation of its round",
        ended_by: &[],
        by_context: false,
    },
    Resource {
        names: &["torch.profiler.profile"],
        keeps: "each has recorded every operation of its round",
        ended_by: &["stop", "__exit__"],
        by_context: false,
    },
    Resource {
        names: &[
            "torch.utils.tensorboard.SummaryWriter",
            "torch.utils.tensorboard.writer.SummaryWriter",
            "tensorboardX.SummaryWriter",
        ],
        keeps: "each has a thread and an open file until it is closed",
        ended_by: &["close"],
        by_context: true,
    },
    Resource {
        names: &[
            "multiprocessing.Pool",
            "torch.multiprocessing.Pool",
            "concurrent.futures.ThreadPoolExecutor",
            "concurrent.futures.ProcessPoolExecutor",
            "multiprocessing.pool.ThreadPool",
        ],
        keeps: "each has workers of its own until it is shut down",
        ended_by: &["shutdown", "terminate", "close", "join"],
        by_context: true,
    },
];

/// Made again in each round of a training loop, or in a function that one calls, and not ended there.
fn rule(check: &Check) -> Vec<Hit> {
    let names: Vec<&str> = RESOURCES.iter().flat_map(|each| each.names).filter_map(|name| name.rsplit('.').next()).collect();
    let mut hits = Vec::new();
    for (file, _, call) in check.calls_of(&names) {
        let Some(name) = check.called(file, call) else { continue };
        let Some(resource) = RESOURCES.iter().find(|each| each.names.contains(&&*name)) else { continue };
        if is_in_every_round(check, file, call) && !is_ended(check, file, call, resource) {
            let what = format!("`{name}` is made again in each round: {}", resource.keeps);
            hits.push(Hit::new(file, call.call.start()).saying(what));
        }
    }
    hits.extend(kept_threads(check));
    hits.extend(history(check));
    hits
}

fn is_in_every_round<'p>(check: &Check<'_, 'p>, file: FileId, call: &Call<'p>) -> bool {
    let model = check.flow.models.of(file);
    if let Some(round) = check.training_loop(file, call.block) {
        return !is_made_once(check, file, call, Some(round));
    }
    let Some(function) = model.function_of(call.scope) else { return false };
    !is_made_once(check, file, call, None) && check.is_called_in_training_loop(file, function)
}

/// `if self.stream is None:`, `if epoch == 0:` around it: any condition but one that comes round again (`step % 10 == 0`).
fn is_made_once<'p>(check: &Check<'_, 'p>, file: FileId, call: &Call<'p>, round: Option<lowtide_lint::model::BlockId>) -> bool {
    let model = check.flow.models.of(file);
    let within = |block: &&lowtide_lint::model::Block| round.is_none_or(|round| !std::ptr::eq(*block, model.block(round)));
    model.blocks_within(call.block).take_while(within).any(|block| match block.kind {
        BlockKind::If(test) => !comes_again(test),
        kind => kind.is_conditional(),
    })
}

fn comes_again(test: &Expr) -> bool {
    match test {
        Expr::Compare(each) => matches!(&*each.left, Expr::BinOp(left) if left.op == lowtide_lint::model::Operator::Mod),
        Expr::BoolOp(each) => each.values.iter().any(comes_again),
        _ => false,
    }
}

fn is_ended<'p>(check: &Check<'_, 'p>, file: FileId, call: &Call<'p>, resource: &Resource) -> bool {
    let model = check.flow.models.of(file);
    let entered = model.assigns.iter().any(|assign| assign.how == Bound::Entered && assign.value.range() == call.call.range())
        || model.blocks.iter().any(|block| match block.kind {
            BlockKind::With(with) => with.items.iter().any(|item| item.context_expr.range() == call.call.range()),
            _ => false,
        });
    let scheduled = keyword(call.call, "schedule").is_some();
    let ended = check
        .assigned(file, call.call.range())
        .is_some_and(|assign| check.has_call_on(file, assign.scope, assign.target, resource.ended_by));
    entered && resource.by_context || scheduled || ended
}

/// Threads, pipes and connections that a list keeps, and nothing takes out of it.
fn kept_threads(check: &Check) -> Vec<Hit> {
    const OPENERS: &[&str] = &["threading.Thread", "os.pipe", "socket.socket", "subprocess.Popen", "multiprocessing.Process"];
    let mut hits = Vec::new();
    for (file, model) in check.files() {
        if !model.calls.iter().any(|call| check.called(file, call).is_some_and(|name| OPENERS.contains(&&*name))) {
            continue;
        }
        for put in check.puts(file, model) {
            let parts: &[Expr] = if let Expr::Tuple(tuple) = put.value { &tuple.elts } else { std::slice::from_ref(put.value) };
            let opened = parts.iter().any(|part| opens(check, file, put.scope, part, OPENERS));
            if opened
                && check.runs_again(file, put.scope, put.block)
                && (check.training_loop(file, put.block).is_some()
                    || model.function_of(put.scope).is_some_and(|function| check.is_called_in_training_loop(file, function)))
                && check.firm_bound(&put).is_none_or(|bound| matches!(bound, Limit::Emptied(_)))
                && !is_emptied_in_training(check, file, put.scope, put.container)
            {
                let container = crate::words::code(check, file, put.container);
                let what = format!("{container} keeps one more open each time, and nothing closes it and takes it out");
                hits.push(Hit::new(file, put.offset).saying(what));
            }
        }
    }
    hits
}

/// Whether elements are taken out in a loop that trains, or in a function that a loop calls. At the end of the run is too late.
fn is_emptied_in_training<'p>(check: &Check<'_, 'p>, file: FileId, scope: ScopeId, container: &'p Expr) -> bool {
    check.containers.taken_out(file, scope, container).into_iter().any(|(of, scope, block)| {
        check.training_loop(of, block).is_some()
            || check.flow.models.of(of).function_of(scope).is_some_and(|function| check.is_called_in_loop(of, function))
    })
}

fn opens<'p>(check: &Check<'_, 'p>, file: FileId, scope: ScopeId, part: &'p Expr, openers: &[&str]) -> bool {
    let model = check.flow.models.of(file);
    let is_call = |scope, value: &Expr| match value {
        Expr::Call(call) => model.full_name(scope, &call.func).is_some_and(|name| openers.contains(&&*name)),
        _ => false,
    };
    is_call(scope, part)
        || check
            .flow
            .places(file, scope, part)
            .into_iter()
            .any(|at| check.flow.assigned(at.place).any(|(of, assign)| *of == file && is_call(assign.scope, assign.value)))
}

/// The history of the GPU's allocator, recorded without a limit and never switched off.
fn history(check: &Check) -> Vec<Hit> {
    let calls: Vec<_> = check.calls_of(&["_record_memory_history"]).collect();
    let is_off = |call: &Call| {
        let first = call.call.arguments.args.first().or_else(|| keyword(call.call, "enabled"));
        matches!(first, Some(Expr::NoneLiteral(_) | Expr::BooleanLiteral(_)))
    };
    if calls.iter().any(|(_, _, call)| is_off(call)) {
        return Vec::new();
    }
    let without_limit = calls.into_iter().filter(|(file, _, call)| {
        last_name(&call.call.func).is_some()
            && check.called(*file, call).is_some_and(|name| name.starts_with("torch."))
            && ["max_entries", "trace_alloc_max_entries"].iter().all(|name| keyword(call.call, name).is_none())
            && call.call.arguments.args.len() < 4
    });
    without_limit
        .map(|(file, _, call)| {
            Hit::new(file, call.call.start())
                .saying("every allocation of the run is recorded with its stack, without `max_entries`, and recording is never switched off")
                .with(Confidence::Medium)
        })
        .collect()
}
