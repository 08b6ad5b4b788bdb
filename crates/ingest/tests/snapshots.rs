//! Snapshots of every generation: the sums are those of PyTorch's own `_memory_viz.py`.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use lowtide_ingest::pickle::PickleError;
use lowtide_ingest::snapshot::timeline::Trace;
use lowtide_ingest::snapshot::{Action, Piece, Snapshot, SnapshotError, State, fragments, read, sums};
use proptest::prelude::*;

const FIXTURES: [&str; 9] = ["1.13", "2.0", "2.1", "2.4", "2.9", "2.9-later", "2.15", "2.15-oom", "2.15-expandable"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots")
}

fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(folder().join(format!("{name}.pickle"))).unwrap()
}

fn snapshot(name: &str) -> Snapshot {
    read(&bytes(name)[..]).unwrap()
}

/// What `_memory_viz.py memory` writes: bytes by stream, state and frames, the outermost first.
fn folded(snapshot: &Snapshot) -> BTreeMap<String, u64> {
    let mut folded = BTreeMap::new();
    for segment in &snapshot.segments {
        for block in snapshot.blocks(segment) {
            let state = match block.state {
                State::Allocated => "active_allocated",
                State::PendingFree => "active_pending_free",
                State::Inactive => "inactive",
            };
            let prefix = format!("stream_{};{state}", segment.stream);
            let mut rest = block.size;
            let whole = [Piece { size: block.size, stack: None }];
            let pieces = snapshot.pieces(block);
            for piece in if pieces.is_empty() { &whole } else { pieces } {
                *folded.entry(format!("{prefix};{}", shown(snapshot, piece))).or_default() += piece.size;
                rest -= piece.size;
            }
            if rest > 0 {
                *folded.entry(format!("{prefix};<gaps>")).or_default() += rest;
            }
        }
    }
    folded
}

fn shown(snapshot: &Snapshot, piece: &Piece) -> String {
    let frames = piece.stack.map(|stack| snapshot.stacks.frames(stack).rev());
    let frames: Vec<String> = frames
        .into_iter()
        .flatten()
        .map(|frame| format!("{}:{}:{}", frame.file.rsplit('/').next().unwrap(), frame.line, frame.name))
        .collect();
    if frames.is_empty() { "<non-python>".to_owned() } else { frames.join(";") }
}

/// As the oracle rounds.
fn human(bytes: u64) -> String {
    let mut value = bytes as f64;
    for unit in ["", "Ki", "Mi", "Gi"] {
        if value < 1024.0 {
            return format!("{value:.1}{unit}B");
        }
        value /= 1024.0;
    }
    format!("{value:.1}TiB")
}

/// What nobody asked for by name has three names, by version.
fn of_nobody(what: String) -> String {
    let bare = what.replace("<no-context>", "<non-python>");
    if bare.matches(';').count() == 1 { bare + ";<non-python>" } else { bare }
}

fn compare(oracle: &serde_json::Value, names: &[&str]) {
    for name in names {
        let snapshot = snapshot(name);
        let said = &oracle[format!("{name}.pickle")];
        let mut theirs: BTreeMap<String, u64> = serde_json::from_value(said["sums"].clone()).unwrap();
        let mut ours = folded(&snapshot);
        theirs =
            theirs.into_iter().map(|(what, bytes)| (of_nobody(what), bytes)).fold(BTreeMap::new(), |mut all, (what, bytes)| {
                *all.entry(what).or_default() += bytes;
                all
            });
        for sums in [&mut theirs, &mut ours] {
            sums.retain(|_, bytes| *bytes > 0);
        }
        let differ = ours.iter().filter(|(what, bytes)| theirs.get(*what) != Some(*bytes)).collect::<Vec<_>>();
        assert!(differ.is_empty() && ours.len() == theirs.len(), "{name}: {differ:?}");
        let used = fragments::usage(&snapshot, 0);
        let totals = &said["totals"];
        if totals.get("segments").is_some() {
            assert_eq!(totals["segments"], used.segments.to_string(), "{name}");
            assert_eq!(totals["total_reserved"], human(used.reserved), "{name}");
            assert_eq!(totals["total_allocated"], human(used.requested), "{name}");
            let free = used.reserved - used.requested;
            assert!(totals["total_free"].as_str().unwrap().starts_with(&human(free)), "{name}");
        }
        assert_eq!(used.reserved, used.allocated + used.pending + used.free(), "{name}");
    }
}

#[test]
fn sums_are_those_of_pytorchs_own_reader() {
    let kept = std::fs::read(folder().join("sums.json")).unwrap();
    compare(&serde_json::from_slice(&kept).unwrap(), &FIXTURES);
}

/// The oracle itself, of every torch that there is. That of 1.13 reads its own generation only.
#[test]
fn pytorchs_own_reader_still_says_so() {
    let pythons = std::env::var("LOWTIDE_TEST_PYTHONS").unwrap_or_else(|_| "python3".to_owned());
    let mut asked = 0;
    for python in pythons.split(':') {
        let find = "import importlib.util as u, os, sys; s = u.find_spec('torch'); print(sys.version_info >= (3, 8) and s is not None and os.path.join(os.path.dirname(s.origin), 'cuda', '_memory_viz.py') or '')";
        let Ok(output) = Command::new(python).args(["-c", find]).output() else { continue };
        let viz = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
        let Ok(source) = std::fs::read_to_string(&viz) else { continue };
        let names = if source.contains("def segsum") { &FIXTURES[..] } else { &FIXTURES[..1] };
        let files = names.iter().map(|name| folder().join(format!("{name}.pickle")));
        let output = Command::new(python)
            .arg(folder().join("generate.py"))
            .arg("--viz")
            .arg(&viz)
            .arg("--sums")
            .args(files)
            .output()
            .unwrap();
        assert!(output.status.success(), "{python}: {}", String::from_utf8_lossy(&output.stderr));
        compare(&serde_json::from_slice(&output.stdout).unwrap(), names);
        asked += 1;
    }
    if asked == 0 {
        eprintln!("SKIPPED: neither python3 nor LOWTIDE_TEST_PYTHONS has torch with _memory_viz.py");
    }
}

#[test]
fn every_generation_names_the_line_that_keeps() {
    for name in FIXTURES {
        let snapshot = snapshot(name);
        let lines = sums::by_line(&snapshot, &sums::live(&snapshot, 0));
        let outputs = lines.iter().find(|line| line.site.is_some_and(|site| site.line == 55)).unwrap();
        let site = outputs.site.unwrap();
        assert_eq!((site.file, site.name), ("/home/user/train.py", "step"), "{name}");
        let (bytes, blocks) = (outputs.amount.bytes, outputs.amount.blocks);
        match name {
            "2.15-oom" => assert_eq!(bytes, (5 << 20) * blocks, "{name}"),
            // Six steps of 3 MiB, then of 7.
            "2.15-expandable" => assert_eq!(bytes, (3 << 20) * 6 + (7 << 20) * (blocks - 6), "{name}"),
            _ => assert_eq!(bytes, (300 * 1024 + 1) * blocks, "{name}"),
        }
        let total: u64 = lines.iter().map(|line| line.amount.bytes).sum();
        assert_eq!(total, fragments::usage(&snapshot, 0).requested, "{name}");
    }
}

#[test]
fn what_grew_is_told_by_line() {
    let (before, after) = (snapshot("2.9"), snapshot("2.9-later"));
    let lines = |snapshot| sums::by_line(snapshot, &sums::live(snapshot, 0));
    let (before, after) = (lines(&before), lines(&after));
    let changes = sums::changes(&before, &after);
    let first = changes.iter().find(|change| change.site.is_some_and(|site| site.line == 55)).unwrap();
    assert_eq!((first.blocks(), first.bytes()), (6, 6 * (300 * 1024 + 1)));
    let sum: i64 = changes.iter().map(sums::Change::bytes).sum();
    let total = |lines: &[sums::Line<'_>]| lines.iter().map(|line| line.amount.bytes as i64).sum::<i64>();
    assert_eq!(sum, total(&after) - total(&before));
}

#[test]
fn a_trace_ends_at_what_the_blocks_show() {
    for name in FIXTURES.iter().filter(|name| **name != "1.13") {
        let snapshot = snapshot(name);
        let trace = Trace::of(&snapshot, 0).unwrap();
        let mut peak = 0;
        let timeline = trace.play(|moment| {
            assert!(moment.allocated <= moment.reserved, "{name}: {moment:?}");
            peak = peak.max(moment.allocated);
        });
        let used = fragments::usage(&snapshot, 0);
        assert_eq!((timeline.end.allocated, timeline.end.reserved), (used.requested, used.reserved), "{name}");
        assert_eq!(peak.max(timeline.start.allocated), timeline.peak.allocated, "{name}");
        let moments = [timeline.peak, timeline.start, timeline.end, timeline.lows[0]];
        let live = trace.live_at(&moments.map(|moment| moment.after));
        for (moment, live) in moments.iter().zip(live) {
            assert_eq!(live.total().bytes, moment.allocated, "{name}: {moment:?}");
        }
        assert!(timeline.lows.iter().all(|low| low.allocated <= timeline.peak.allocated), "{name}");
    }
    assert!(Trace::of(&snapshot("1.13"), 0).is_none(), "it has no trace");
}

#[test]
fn an_out_of_memory_error_tells_what_lived() {
    let snapshot = snapshot("2.15-oom");
    let trace = Trace::of(&snapshot, 0).unwrap();
    let timeline = trace.play(|_| {});
    assert!(timeline.start.allocated > 0 && trace.freed_from_before() > 0, "the ring had been overwritten");
    let errors = snapshot.events(0).filter(|event| event.action == Action::Oom).count();
    assert_eq!(timeline.ooms_seen, errors);
    let oom = timeline.ooms.last().unwrap();
    assert_eq!(oom.at.reserved + oom.device_free.unwrap(), 160 << 20);
    assert_eq!(trace.live_at(&[oom.at.after])[0].total().bytes, oom.at.allocated);
    assert!(oom.requested > oom.device_free.unwrap());
}

#[test]
fn a_segment_that_grows_in_place_gives_granules_back() {
    let snapshot = snapshot("2.15-expandable");
    assert!(snapshot.segments.iter().all(|segment| segment.expandable));
    let streams: std::collections::BTreeSet<_> =
        snapshot.segments.iter().map(|segment| (segment.small, segment.stream)).collect();
    assert!(streams.len() < snapshot.segments.len(), "one has a hole, and is told as two");
    let actions: Vec<Action> = snapshot.events(0).map(|event| event.action).collect();
    let count = |wanted: Action| actions.iter().filter(|action| **action == wanted).count();
    assert!(count(Action::SegmentMap) > 0 && count(Action::SegmentUnmap) > 0 && count(Action::SegmentAlloc) == 0);
    let used = fragments::usage(&snapshot, 0);
    // What `generate.py` says that its allocator gives back.
    assert_eq!(used.releasable, 65_011_712);
    assert_eq!(used.reserved, used.allocated + used.pending + used.split + used.releasable);
    assert!(used.split > 0);
}

#[test]
fn a_pool_of_its_own_is_told_apart() {
    let mut snapshot = snapshot("2.15-oom");
    let pools = fragments::pools(&snapshot, 0);
    assert_eq!(pools.iter().map(|pool| pool.id).collect::<Vec<_>>(), [(0, 0), (0, 3)]);
    assert_eq!((pools[1].used.segments, pools[1].used.requested), (1, 5 << 20));
    let sum: u64 = pools.iter().map(|pool| pool.used.reserved).sum();
    assert_eq!(sum, fragments::usage(&snapshot, 0).reserved);
    // All of them count, however many there are.
    let before = fragments::in_private_pools(&snapshot, 0);
    assert_eq!(before, pools[1].used.reserved);
    let one = snapshot.segments.iter().find(|segment| segment.pool == (0, 3)).unwrap().clone();
    snapshot.segments.extend((4..104).map(|id| {
        let mut other = one.clone();
        other.pool = (0, id);
        other
    }));
    assert_eq!(fragments::in_private_pools(&snapshot, 0), 101 * before);
    assert_eq!(snapshot.settings.iter().find(|(name, _)| name == "max_split_size").unwrap().1, "-1");
}

#[test]
fn a_file_that_breaks_off_is_read_as_far_as_it_goes() {
    let whole = bytes("2.4");
    let full = snapshot("2.4");
    for part in [3, 5, 9] {
        let cut = read(&whole[..whole.len() * part / 10]).unwrap();
        assert!(cut.cut && cut.segments.len() <= full.segments.len() && cut.traced(0) <= full.traced(0), "{part}");
    }
    let nearly = read(&whole[..whole.len() - 400]).unwrap();
    assert!(nearly.traced(0) > 0 && nearly.segments.len() == full.segments.len());
}

#[test]
fn other_pickles_are_no_snapshots() {
    let refused = |bytes: &[u8]| read(bytes).unwrap_err();
    assert!(matches!(refused(b"\x80\x04K\x07."), SnapshotError::NotASnapshot(_)));
    assert!(matches!(refused(b"\x80\x04}\x94."), SnapshotError::NotASnapshot(_)));
    assert!(matches!(refused(b"\x80\x04]\x94."), SnapshotError::NotASnapshot(_)));
    // What torch.save writes without its archive: a storage is a class.
    let error = refused(b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\nq\x00.");
    assert!(matches!(error, SnapshotError::Pickle(PickleError::Code { .. })), "{error}");
}

fn look_at_all(snapshot: &Snapshot) {
    for device in snapshot.devices().into_iter().take(16) {
        let _ = fragments::pools(snapshot, device);
        let live = sums::live(snapshot, device);
        let lines = sums::by_line(snapshot, &live);
        let _ = sums::changes(&lines, &lines);
        if let Some(trace) = Trace::of(snapshot, device) {
            let timeline = trace.play(|_| {});
            assert!(timeline.ooms.len() <= timeline.ooms_seen);
            let _ = trace.live_at(&[timeline.peak.after, timeline.events]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn damaged_snapshots_are_read_or_refused(
        name in prop::sample::select(&FIXTURES[..]),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        end in any::<prop::sample::Index>(),
    ) {
        let mut bytes = bytes(name);
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(bytes.len() - end.index(bytes.len()) / 4);
        if let Ok(snapshot) = read(&bytes[..]) {
            look_at_all(&snapshot);
        }
    }
}
