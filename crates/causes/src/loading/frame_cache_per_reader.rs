//! LT402: Every video reader has a frame cache of its own.

use crate::{Cause, Fix, Language, Live, Role, Severity};
use lowtide_lint::check::{Check, Confidence, Hit};
use lowtide_lint::feeds::cache_limit;
use lowtide_lint::model::{BlockKind, Bound as How, Call, Decorator, Expr, ExprCall, Ranged, ScopeId};
use lowtide_lint::program::FileId;

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT402",
    name: "frame-cache-per-reader",
    title: "Every video reader has a frame cache of its own",
    severity: Severity::Bounded,
    happens: "Each reader keeps its last N decoded frames, and there is a reader per video and per worker.",
    keeps: "Each cache is bounded; their sum is N times videos times workers.",
    shows: "Growth that bends, as more and more videos are opened, up to a ceiling far above one cache.",
    fix: Fix {
        text: "One cache for all readers, with one limit; close readers that are not used.",
        language: Language::Python,
        before: r#"self.readers = {video: Reader(video, cache=64) for video in videos}"#,
        after: r#"self.readers = BoundedReaders(videos, open_at_most=8, cache=64)"#,
    },
    harmless: "If N x videos x workers frames fit, it is only a floor.",
    sources: &["zoo/13_frame_lru.py"],
    signature: Some(signature),
    rule: Some(rule),
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.role == Some(Role::Worker) && live.bounded).then_some(80)
}

/// What opens a video and keeps decoded frames, buffers, threads of its own.
const READERS: &[&str] = &["VideoReader", "VideoCapture", "VideoDecoder", "VideoFileClip", "get_reader", "open_video"];
/// What opens other files and keeps buffers for each: a cache of chunks (1 MiB per data set of HDF5), decoders, descriptors.
const WITH_BUFFERS: &[&str] = &[
    "av.open",
    "h5py.File",
    "netCDF4.Dataset",
    "soundfile.SoundFile",
    "tables.open_file",
    "zarr.LRUStoreCache",
    "zarr.storage.LRUStoreCache",
];
/// What only wraps a store or a reader.
const WRAPPERS: &[&str] = &["zarr.open", "zarr.open_array", "zarr.open_group", "zarr.group"];
/// Those that are not freed by letting go of them: a circle inside, or a process.
const TO_BE_CLOSED: &[&str] = &["av.open", "imageio.get_reader", "imageio.v2.get_reader"];

/// A reader per video that a container keeps, with nothing that bounds it; and readers that are never closed.
fn rule(check: &Check) -> Vec<Hit> {
    let mut hits = Vec::new();
    for (file, model) in check.files() {
        if !model.calls.iter().any(|call| is_reader_call(check, file, call.scope, call.call)) {
            continue;
        }
        for put in check.puts(file, model) {
            let repeated =
                check.runs_again(file, put.scope, put.block) || put.key.is_some() && model.function_of(put.scope).is_some();
            let of_slots = is_slots(check, file, put.scope, put.container);
            // Of archives with many samples in each there are few: what is filed by a name is told of videos alone.
            if (is_video_reader(check, file, put.scope, put.value) || of_slots && is_reader(check, file, put.scope, put.value))
                && repeated
                && (put.key.is_none() || check.grows_by_key(file, put.scope, put.container) || of_slots)
                && !check.is_limited(file, put.block, put.container)
                && is_attribute_or_global(check, file, put.scope, put.container)
                && check.gets_only_more(&put)
            {
                let container = crate::words::code(check, file, put.container);
                let what = format!(
                    "{container} keeps a reader for every file that was ever opened, each with its decoder, frames or buffers"
                );
                hits.push(Hit::new(file, put.offset).saying(what));
            }
        }
        for (scope, definition) in model.functions() {
            let outer = model.scope(scope).parent.unwrap_or(ScopeId::MODULE);
            let caches = |decorator: &&Decorator| {
                let named = if let Expr::Call(call) = &decorator.expression { &*call.func } else { &decorator.expression };
                cache_limit(&decorator.expression) == Some(false)
                    && model.full_name(outer, named).is_some_and(|name| name.starts_with("functools."))
            };
            let opens = || model.returned(scope).any(|result| is_reader(check, file, result.scope, result.value));
            // Of methods LT306 tells.
            if let Some(decorator) =
                definition.decorator_list.iter().find(caches).filter(|_| !model.scope(outer).is_class() && opens())
            {
                let what = format!("the cache of `{}` keeps a reader for every file that was ever opened", definition.name);
                hits.push(Hit::new(file, decorator.expression.start()).saying(what).with(Confidence::Medium));
            }
        }
        hits.extend(model.assigns.iter().filter_map(|assign| {
            let (Expr::Attribute(_), Expr::DictComp(_) | Expr::ListComp(_)) = (assign.target, assign.value) else { return None };
            let made = match assign.value {
                Expr::DictComp(each) => &*each.value,
                Expr::ListComp(each) => &*each.elt,
                _ => return None,
            };
            let many = match assign.value {
                Expr::DictComp(each) => &each.generators,
                Expr::ListComp(each) => &each.generators,
                _ => return None,
            };
            let long = many.iter().any(|generator| check.is_long(file, assign.scope, &generator.iter));
            let what = format!(
                "{} keeps a reader per file open from the start, each with its decoder, frames or buffers",
                crate::words::code(check, file, assign.target)
            );
            (assign.how == How::Whole && long && is_reader(check, file, assign.scope, made))
                .then(|| Hit::new(file, assign.target.start()).saying(what).with(Confidence::Medium))
        }));
        hits.extend(model.calls.iter().filter(|call| is_never_closed(check, file, call)).map(|call| {
            let name = check.called(file, call).unwrap_or_default();
            let what = format!("what `{name}` opens is not closed: it refers to itself, so that it stays, with its frames, until the collector comes by");
            Hit::new(file, call.call.start()).saying(what).with(Confidence::Medium)
        }));
    }
    hits
}

/// A list of places to be filled: `[None] * len(files)`.
fn is_slots<'p>(check: &Check<'_, 'p>, file: FileId, scope: ScopeId, container: &'p Expr) -> bool {
    let made = check.values(file, scope, container);
    let empty = |value: &Expr| match value {
        Expr::BinOp(each) => matches!(&*each.left, Expr::List(list) if list.elts.iter().all(Expr::is_none_literal_expr)),
        Expr::ListComp(each) => each.elt.is_none_literal_expr(),
        _ => false,
    };
    !made.is_empty() && made.iter().all(|(_, _, value)| empty(value))
}

fn is_attribute_or_global<'p>(check: &Check<'_, 'p>, file: FileId, scope: ScopeId, container: &'p Expr) -> bool {
    check.flow.places(file, scope, container).iter().any(|at| match at.place {
        lowtide_lint::flow::Place::Attribute(..) => true,
        lowtide_lint::flow::Place::Variable(_, owner, _) => owner == ScopeId::MODULE,
        _ => false,
    })
}

/// The same of videos alone.
pub(super) fn is_video_reader<'p>(check: &Check<'_, 'p>, file: FileId, scope: ScopeId, value: &'p Expr) -> bool {
    is_made_by(check, file, scope, value, &|file, scope, call| is_video_call(check, file, scope, call))
}

/// Whether a value is a reader that is made here, or a local that was given one.
pub(super) fn is_reader<'p>(check: &Check<'_, 'p>, file: FileId, scope: ScopeId, value: &'p Expr) -> bool {
    is_made_by(check, file, scope, value, &|file, scope, call| is_reader_call(check, file, scope, call))
}

/// Whether such a call gives a value, here or to the local that it is.
fn is_made_by<'p>(
    check: &Check<'_, 'p>,
    file: FileId,
    scope: ScopeId,
    value: &'p Expr,
    is_such: &dyn Fn(FileId, ScopeId, &'p ExprCall) -> bool,
) -> bool {
    match value {
        Expr::Call(call) => is_such(file, scope, call),
        Expr::Name(_) => {
            let mut values = check.values(file, scope, value).into_iter();
            values.any(|(file, scope, value)| matches!(value, Expr::Call(call) if is_such(file, scope, call)))
        }
        _ => false,
    }
}

fn is_reader_call(check: &Check, file: FileId, scope: ScopeId, call: &ExprCall) -> bool {
    let Some(last) = lowtide_lint::ask::last_name(&call.func) else { return false };
    let others = WITH_BUFFERS.iter().chain(WRAPPERS).any(|name| name.rsplit('.').next() == Some(last));
    let name = || check.flow.models.of(file).full_name(scope, &call.func);
    if let Some(name) = others.then(name).flatten() {
        let wraps = || {
            call.arguments
                .args
                .first()
                .is_some_and(|first| matches!(first, Expr::Call(inner) if is_reader_call(check, file, scope, inner)))
        };
        if WITH_BUFFERS.contains(&&*name) || WRAPPERS.contains(&&*name) && wraps() {
            return true;
        }
    }
    is_video_call(check, file, scope, call)
}

fn is_video_call(check: &Check, file: FileId, scope: ScopeId, call: &ExprCall) -> bool {
    let Some(last) = lowtide_lint::ask::last_name(&call.func) else { return false };
    if !READERS.contains(&last) && last != "open" {
        return false;
    }
    let name = check.flow.models.of(file).full_name(scope, &call.func);
    name.is_some_and(|name| {
        TO_BE_CLOSED.contains(&&*name)
            || READERS.contains(&last)
                && ["decord.", "cv2.", "torchvision.", "torchcodec.", "moviepy.", "imageio.", "av.", "pims."]
                    .iter()
                    .any(|library| name.starts_with(library))
    })
}

/// Opened again and again, as a local, and neither a `with` nor a `close` follows.
fn is_never_closed<'p>(check: &Check<'_, 'p>, file: FileId, call: &Call<'p>) -> bool {
    if !check.called(file, call).is_some_and(|name| TO_BE_CLOSED.contains(&&*name)) {
        return false;
    }
    let model = check.flow.models.of(file);
    let entered = model.blocks.iter().any(|block| match block.kind {
        BlockKind::With(with) => with.items.iter().any(|item| item.context_expr.range().contains_range(call.call.range())),
        _ => false,
    });
    let Some(assign) = check.assigned(file, call.call.range()).filter(|assign| assign.target.is_name_expr()) else {
        return false;
    };
    !entered
        && check.runs_again(file, call.scope, call.block)
        && !check.has_call_on(file, assign.scope, assign.target, &["close", "__exit__", "enter_context", "push"])
        && !model.calls.iter().any(|other| {
            // Given away to something that may close it.
            lowtide_lint::ask::given(other.call)
                .any(|value| matches!((value, assign.target), (Expr::Name(one), Expr::Name(other)) if one.id == other.id))
                && other.scope == assign.scope
                && check.flow.callee(file, other.scope, &other.call.func).is_none()
                && !matches!(lowtide_lint::ask::last_name(&other.call.func), Some("len" | "enumerate" | "list" | "iter"))
        })
        && !model.results.iter().any(|result| {
            result.scope == assign.scope
                && check
                    .flow
                    .places(file, result.scope, result.value)
                    .iter()
                    .any(|at| check.flow.places(file, assign.scope, assign.target).contains(at))
        })
}
