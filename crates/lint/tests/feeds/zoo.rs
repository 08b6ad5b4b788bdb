//! The zoo's programs: the planted line is found for every one whose culprit a path of Python names leads to.

use std::path::{Path, PathBuf};

use lowtide_lint::feeds::feeds;
use lowtide_lint::program::Rooted;

use crate::spec::holder_in;

/// What a look into the running program shows of the holder. The truth itself is in the programs.
const HOLDERS: &[(&str, &str)] = &[
    ("01", "module:01_ds_to_device.py ds .samples [] = dict"),
    ("02", "module:02_node_preload.py nodes [] .dev = dict"),
    ("03", "module:03_adapter_graph_epoch.py adapter_outs [] = list"),
    ("05", "module:05_progress_history.py bar .history@05_progress_history.py:Bar = list"),
    ("06", "module:06_zero_grad_floor.py model = gradients"),
    ("07", "module:07_embed_cache_graph.py cache = graph"),
    ("08", "module:08_text_embed_ema.py text_ema = graph"),
    ("09", "module:09_fed_rounds.py server .updates = dict"),
    ("10", "module:10_val_lists.py trainer .all_boxes@10_val_lists.py:Trainer = list"),
    ("10", "module:10_val_lists.py trainer .all_scores@10_val_lists.py:Trainer = list"),
    ("11", "module:11_logger_history.py run .history = list"),
    ("13", "module:13_frame_lru.py ds .ex [] .cache = OrderedDict"),
    ("15", "instance:15_pil_lazy.py:ImageSet .opened = list"),
    ("18", "module:18_wrapper_child.py metrics .predictions = list"),
    ("20", "instance:20_gc_sawtooth.py:Hook .ctx = value"),
    ("21", "module:21_slow_under_spikes.py callback .trace = list"),
    ("22", "module:22_warmup_plateau.py replay .items = list"),
    ("25", "frame:25_worker_leak.py:_worker_loop dataset .log@25_worker_leak.py:Augmented = list"),
    ("26", "module:26_shm_held.py board .published = list"),
    ("28", "module:28_callback_closures.py trainer .on_epoch_end = list"),
    ("32", "module:32_step_dict.py stats = dict"),
    ("35", "module:35_epoch_step.py best_states = list"),
    ("40", "module:40_zombie_workers.py iterators = list"),
    ("41", "module:41_job_server.py metrics .predictions = list"),
    ("43", "instance:43_worker_respawn.py:Buffered .scratch = value"),
    ("44", "module:44_feature_cache.py cache .entries = dict"),
    ("45", "frame:45_one_of_four.py:_worker_loop dataset .decoded@45_one_of_four.py:Clips = list"),
    ("46", "module:46_fds_threads.py board .writers = list"),
];

fn zoo() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../zoo")
}

/// The planted lines of a program, by their marks.
fn planted(text: &str) -> Vec<usize> {
    text.lines()
        .zip(1..)
        .filter(|(line, _)| line.contains("# <- LEAK") || line.contains("# <- NOT A LEAK"))
        .map(|(_, at)| at)
        .collect()
}

#[test]
fn the_planted_line_comes_first() {
    let mut wrong = Vec::new();
    for (number, spec) in HOLDERS {
        let name = spec.split([' ', ':']).nth(1).expect("a file");
        let path = zoo().join(name);
        let text = std::fs::read_to_string(&path).expect("a program of the zoo");
        let planted = planted(&text);
        let files = Rooted::new("/");
        let answer = &feeds(&files, std::slice::from_ref(&path), &[], &[holder_in(spec, &zoo())])[0];
        let first = answer.statements.first().map(|statement| statement.site.line);
        // Of two lists in two lines, the holder's name tells which.
        let right = planted.iter().any(|line| Some(*line) == first);
        let own = answer.statements.iter().all(|statement| statement.site.file == path);
        if !right || !own {
            wrong.push(format!("{number} {spec}: planted {planted:?}, given {:?} {:?}", answer.statements, answer.reason));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_program_that_names_a_holder_is_asked_for() {
    // No names lead to these: freed at once (04), spikes and floors of temporaries (12, 19), copied pages (16),
    // constant pools (17), maps (23), native memory (33), nothing (38), the compiler's own cache (42), holes of malloc's heap (47).
    const NAMELESS: &[&str] = &["04", "12", "16", "17", "19", "23", "33", "38", "42", "47"];
    for entry in std::fs::read_dir(zoo()).expect("the zoo") {
        let name = entry.expect("an entry").file_name().to_string_lossy().into_owned();
        if name.ends_with(".toml") {
            let number = &name[..2];
            let asked = HOLDERS.iter().any(|(each, _)| *each == number);
            assert!(asked || NAMELESS.contains(&number), "{name} is not asked for");
        }
    }
}
