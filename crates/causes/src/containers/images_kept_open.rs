//! LT311: Lazily loaded images are kept open.

use crate::kept::{Sort, sort};
use crate::words::code;
use crate::{Cause, Fix, Language, Live, Severity};
use lowtide_lint::check::{Check, Hit, Put, loops_around};
use lowtide_lint::flow::Place;
use lowtide_lint::model::{BlockKind, Bound, Expr, Ranged, ScopeId, elements_of};
use lowtide_lint::program::FileId;

/// The page.
pub(crate) const CAUSE: Cause = Cause {
    id: "LT311",
    name: "images-kept-open",
    title: "Lazily loaded images are kept open",
    severity: Severity::Leak,
    happens: "`Image.open` reads the header only. The image object is kept, in a list or a cache, and loaded when \
                  first used.",
    keeps: "Each holds an open file, and once loaded its pixels. The pixels are C memory: a count of Python \
                objects shows one small object.",
    shows: "File descriptors and native memory rise together; at the end \"too many open files\".",
    fix: Fix {
        text: "Load inside a `with`, and keep only what is needed.",
        language: Language::Python,
        before: r#"image = Image.open(path)
self.opened.append(image)"#,
        after: r#"with Image.open(path) as image:
    pixels = numpy.asarray(image.convert("RGB"))"#,
    },
    harmless: "A few images that are used all the time.",
    sources: &["https://pillow.readthedocs.io/en/stable/reference/open_files.html", "zoo/15_pil_lazy.py"],
    signature: Some(signature),
    rule: Some(rule),
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.objects_named(&["Image", "JpegImageFile", "PngImageFile", "TiffImageFile"])).then_some(93)
}

/// What `Image.open` gives is put somewhere for good, or an attribute gets a list of such.
fn rule(check: &Check) -> Vec<Hit> {
    let mut hits = Vec::new();
    for (file, model) in check.files().filter(|(_, model)| model.source.text().contains("PIL")) {
        for put in check.puts(file, model).iter().filter(|put| sort(check, put) == Sort::Image) {
            let places = check.flow.places(file, put.scope, put.container);
            let lasts = places.iter().any(|at| matches!(at.place, Place::Attribute(..)))
                || is_given_back(check, file, put)
                || check.lasts(file, put.scope, put.block, put.container);
            let bound = || check.containers.bound(file, put.scope, put.block, put.container, put.key).is_some();
            if lasts && !bound() && check.containers.is_repeated(file, put.scope, put.block) {
                hits.push(Hit::new(file, put.offset).saying(format!(
                    "{} keeps each image with its file open, and with its pixels once they are asked for",
                    code(check, file, put.container)
                )));
            }
        }
        for assign in model.assigns.iter().filter(|assign| assign.how == Bound::Whole) {
            let (element, generators) = match assign.value {
                Expr::ListComp(each) => (&*each.elt, &each.generators),
                Expr::DictComp(each) => (&*each.value, &each.generators),
                _ => continue,
            };
            let of_script = model.function_of(assign.scope).is_none()
                && assign.target.is_name_expr()
                && generators.first().is_some_and(|first| may_be_many(check, file, assign.scope, &first.iter));
            if !assign.target.is_attribute_expr() && !of_script {
                continue;
            }
            if crate::kept::is_open_image(check, file, assign.scope, element) {
                hits.push(Hit::new(file, assign.target.start()).saying(format!(
                    "{} keeps each image with its file open, and with its pixels once they are asked for",
                    code(check, file, assign.target)
                )));
            }
        }
    }
    hits
}

/// Whether a function opens many and gives all of them back.
fn is_given_back<'p>(check: &Check<'_, 'p>, file: FileId, put: &Put<'p>) -> bool {
    let model = check.flow.models.of(file);
    let (Some(function), Expr::Name(container)) = (model.function_of(put.scope), put.container) else { return false };
    let many = loops_around(model, put.block).any(|round| match model.block(round).kind {
        BlockKind::For(each) => may_be_many(check, file, put.scope, &each.iter),
        _ => false,
    });
    let mut results = model.results.iter().filter(|result| result.scope == function);
    many && results.any(|result| matches!(result.value, Expr::Name(name) if name.id == container.id))
}

/// Whether a script goes over something that it does not write out itself.
fn may_be_many<'p>(check: &Check<'_, 'p>, file: FileId, scope: ScopeId, iterable: &'p Expr) -> bool {
    let Some((over, _)) = elements_of(iterable, None) else { return true };
    match over {
        Expr::List(_) | Expr::Tuple(_) | Expr::Set(_) | Expr::Subscript(_) => false,
        Expr::Name(_) => !check.values(file, scope, over).iter().any(|(_, _, value)| match value {
            Expr::List(written) => !written.elts.is_empty(),
            value => value.is_tuple_expr(),
        }),
        _ => true,
    }
}
