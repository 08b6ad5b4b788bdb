//! Python source, all the way through every rule and every fix.

use std::path::PathBuf;

use lowtide_causes::{check_parts, fix_part};
use lowtide_lint::program::InMemory;
use lowtide_lint::source::Source;

/// Python files as for [`super::python`], or a notebook where the bytes begin like JSON.
pub fn rules(bytes: &[u8]) {
    let mut files = super::python::split(bytes);
    if bytes.first() == Some(&b'{') {
        files.insert(PathBuf::from("/train.ipynb"), bytes.to_vec());
    }
    let mut part: Vec<PathBuf> = files.keys().cloned().collect();
    part.sort();
    let files = InMemory(files);
    for finding in check_parts(&files, &[&part]).findings {
        let site = &finding.site;
        assert!(part.contains(&site.file) && site.line > 0 && site.column > 0, "{site:?}");
    }
    for fixed in fix_part(&files, &part, &|_| true) {
        assert!(
            Source::parse(&fixed.path, &fixed.after).is_ok(),
            "a fixed file is Python: {}",
            String::from_utf8_lossy(&fixed.after)
        );
        assert_ne!(fixed.before, fixed.after);
    }
}

/// Whether bytes are Python that the rules see.
pub fn is_python(bytes: &[u8]) -> bool {
    Source::parse(std::path::Path::new("/train.py"), bytes).is_ok()
}
