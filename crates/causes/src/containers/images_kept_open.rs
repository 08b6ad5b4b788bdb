//! LT311: Lazily loaded images are kept open.

use crate::{Cause, Fix, Language, Live, Severity};

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
    rule: None,
};

/// How well what was seen in a run fits, of 100.
fn signature(live: &Live) -> Option<u8> {
    (live.objects_named(&["Image", "JpegImageFile", "PngImageFile", "TiffImageFile"])).then_some(93)
}
