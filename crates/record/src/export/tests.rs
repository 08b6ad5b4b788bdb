//! What other tools would see.

#![allow(clippy::unwrap_used)]

use std::fs;

use lowtide_model::{
    CgroupId, CgroupSample, Event, Exit, Gpu, GpuDriver, GpuId, GpuSample, GpuUser, GpuUserId, GpuUserSample, Grown, HolderGrown,
    InnerFacts, Look, Mark, MarkKind, Note, NoteKind, ObjectGrown, PartGrown, ProcId, Role, Rollup, Scope, ScopeMark, Site, Sort,
    SystemSample, Tick,
};

use crate::common::{end, process, start, tick};

fn run() -> Vec<Event> {
    let Event::Process(mut odd) = process(1, Role::DataloaderWorker) else { unreachable!() };
    odd.name = "a,\"b\"\nc".to_owned();
    let mut events = vec![start(), process(0, Role::Trainer), Event::Process(odd)];
    let gpu = Gpu {
        id: GpuId(0),
        resource: "gpu0".to_owned(),
        name: "H100".to_owned(),
        uuid: String::new(),
        driver: GpuDriver::Nvml,
        emulated: false,
    };
    events.push(Event::Gpu(gpu));
    for (id, process) in [(0, Some(ProcId(0))), (1, None)] {
        let (id, name) = (GpuUserId(id), "other".to_owned());
        events.push(Event::GpuUser(GpuUser { id, gpu: GpuId(0), pid: 9, process, device: None, name }));
    }
    for t in 0..100u32 {
        let Event::Tick(mut tick) = tick(t.into(), 2, |id| u64::from(t + id) << 20) else { unreachable!() };
        tick.system = (t % 2 == 0).then(|| SystemSample { total: 1 << 40, available: u64::from(t), ..SystemSample::default() });
        tick.procs[0].rollup = (t == 5).then(|| Rollup { pss: 77, ..Rollup::default() });
        tick.cgroups =
            vec![CgroupSample { usage: u64::MAX, limit: Some(9), inactive_file: 1, ..CgroupSample::empty(CgroupId(0)) }];
        tick.gpus = vec![GpuSample { id: GpuId(0), total: 1 << 40, used: 60, free: 7, reserved: 5 }];
        tick.gpu_users = [(0, Some(40)), (1, None)].map(|(id, used)| GpuUserSample { id: GpuUserId(id), used }).to_vec();
        events.push(Event::Tick(Tick { t_s: f64::from(t) + 0.5, ..tick }));
    }
    events.push(Event::Note(Note { t_s: 3.0, kind: NoteKind::Outside, text: "look".to_owned(), process: Some(ProcId(1)) }));
    let began = MarkKind::Begin(ScopeMark { scope: Scope::Epoch, index: Some(3), name: String::new() });
    let facts = Some(InnerFacts { heap_used: Some(5), ..InnerFacts::default() });
    events.push(Event::Mark(Mark { t_s: 4.0, id: ProcId(0), what: began, steps: 40, facts }));
    events.push(Event::Mark(Mark { t_s: 5.0, id: ProcId(0), what: MarkKind::Step, steps: 50, facts: None }));
    let object = ObjectGrown { kind: "torch.Tensor".into(), count_delta: 3, bytes_delta: 12, ..ObjectGrown::default() };
    let holder = HolderGrown {
        path: vec!["module __main__".into(), "kept: list".into()],
        name: "kept".into(),
        kind: "list".into(),
        len: Some([4, 7]),
        bytes: 13,
        objects: vec![object],
        site: Some(Site { file: "train.py".into(), line: 9, ..Site::default() }),
        sites: vec![Site { file: "eval.py".into(), line: 12, ..Site::default() }],
        ..HolderGrown::default()
    };
    let parts = vec![PartGrown { name: "native heap".into(), sort: Sort::Native, bytes: -2 }];
    for grown in [None, Some(Grown { seconds: 8.0, total: 11, parts, holders: vec![holder] })] {
        events.push(Event::Look(Look {
            t_s: 6.0,
            id: ProcId(0),
            copied: true,
            pause_us: 70,
            objects: 100,
            grown,
            allocated: Vec::new(),
            devices: Vec::new(),
            budget: None,
        }));
    }
    events.push(Event::Exit(Exit { id: ProcId(1), t_s: 99.0 }));
    events.push(end(100.0));
    events
}

#[test]
fn csv_has_a_row_per_process_and_tick_and_quotes_what_it_must() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("run.csv");
    super::csv(run(), &out).unwrap();
    let text = fs::read_to_string(&out).unwrap();
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    assert_eq!(header[..8], ["t_s", "process_index", "pid", "ppid", "role", "rank", "name", "anon_bytes"]);
    assert_eq!(
        lines.next().unwrap(),
        "0.5,0,1000,1000,trainer,,python,0,0,0,0,4,,,,,,,,,,,,40,1099511627776,0,0,18446744073709551615,1,9,1099511627776,60"
    );
    assert!(
        text.contains("0.5,1,1001,1000,dataloader_worker,,\"a,\"\"b\"\"\nc\",1048576,0,0,0,4,,,,,,,,,,,,,,,,,,,,\n"),
        "said once a tick"
    );
    assert_eq!(text.lines().count(), 1 + 200 + 100, "a name has a line break");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[cfg(feature = "sqlite")]
#[test]
fn sqlite_has_all_tables() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("run.sqlite");
    super::sqlite(run(), &out).unwrap();
    // Over one that is there.
    super::sqlite(run().iter(), &out).unwrap();
    let database = rusqlite::Connection::open(&out).unwrap();
    let one = |sql: &str| database.query_row(sql, [], |row| row.get::<_, rusqlite::types::Value>(0)).unwrap();
    let is = |sql: &str, value: i64| assert_eq!(one(sql), rusqlite::types::Value::Integer(value), "{sql}");
    is("SELECT count(*) FROM process_ticks", 200);
    is("SELECT sum(anon_bytes) / 1048576 FROM process_ticks WHERE role = 'dataloader_worker'", 5050);
    is("SELECT count(*) FROM ticks WHERE available_bytes IS NULL", 50);
    is("SELECT count(*) FROM process_ticks WHERE pss_bytes = 77", 1);
    is("SELECT usage_bytes FROM cgroup_ticks LIMIT 1", i64::MAX);
    is("SELECT process_index FROM notes WHERE kind = 'outside'", 1);
    is("SELECT steps + heap_used_bytes FROM marks WHERE kind = 'begin' AND scope = 'epoch' AND number = 3", 45);
    is("SELECT steps FROM marks WHERE kind = 'step' AND number IS NULL AND heap_used_bytes IS NULL", 50);
    is("SELECT count(*) FROM gpu_ticks JOIN gpus USING (gpu_index) WHERE name = 'H100' AND used_bytes = 60", 100);
    is("SELECT sum(used_bytes) FROM gpu_user_ticks WHERE process_index = 0 AND pid = 9", 4000);
    is("SELECT count(*) FROM gpu_user_ticks WHERE process_index IS NULL AND used_bytes IS NULL AND name = 'other'", 100);
    is("SELECT sum(gpu_bytes) FROM process_ticks", 4000);
    is("SELECT exit_code FROM runs WHERE command = 'python train.py' AND mode = 'run' AND end_s = 100", 0);
    is("SELECT count(*) FROM looks WHERE copied AND pause_us = 70 AND objects = 100", 2);
    is("SELECT grown_bytes FROM looks WHERE since_first_s = 8.0", 11);
    is("SELECT bytes FROM grown WHERE what = 'part' AND name = 'native heap' AND sort = 'native'", -2);
    is(
        "SELECT line FROM grown WHERE what = 'holder' AND path = 'module __main__ -> kept: list' AND length - length_before = 3",
        9,
    );
    is("SELECT line FROM grown WHERE what = 'site' AND name = 'kept' AND file = 'eval.py'", 12);
    is("SELECT bytes FROM grown WHERE what = 'objects' AND name = 'kept' AND type = 'torch.Tensor' AND count = 3", 12);
    is("SELECT count(*) FROM processes WHERE exit_s = 99 AND name LIKE 'a,%'", 1);
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_has_all_tables_in_files_of_their_own() {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("run.parquet");
    super::parquet(run(), &out).unwrap();
    let rows = |name: &str| {
        let file = fs::File::open(dir.path().join(name)).unwrap();
        let reader = SerializedFileReader::new(file).unwrap();
        let rows: Vec<Vec<Field>> = reader
            .get_row_iter(None)
            .unwrap()
            .map(|row| row.unwrap().into_columns().into_iter().map(|(_, field)| field).collect())
            .collect();
        rows
    };
    let ticks = rows("run.parquet");
    assert_eq!(ticks.len(), 200);
    assert_eq!(ticks[3][0], Field::Double(1.5));
    assert_eq!(ticks[3][4], Field::Str("dataloader_worker".to_owned()));
    assert_eq!(ticks[3][7], Field::Long(2 << 20));
    assert_eq!(ticks[3][14], Field::Null);
    assert_eq!(ticks[10][14], Field::Long(77));
    for (name, count) in [
        ("runs", 1),
        ("processes", 2),
        ("ticks", 100),
        ("cgroup_ticks", 100),
        ("gpus", 1),
        ("gpu_ticks", 100),
        ("gpu_user_ticks", 200),
        ("notes", 1),
        ("marks", 2),
        ("looks", 2),
        ("grown", 4),
    ] {
        assert_eq!(rows(&format!("run.{name}.parquet")).len(), count, "{name}");
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 12);
}

#[test]
fn a_failed_export_says_where_and_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("missing/run.csv");
    let error = super::csv(run(), &out).unwrap_err();
    assert!(error.to_string().contains("missing/run.csv"), "{error}");
    #[cfg(feature = "sqlite")]
    assert!(super::sqlite(run(), &out).is_err());
    #[cfg(feature = "parquet")]
    assert!(super::parquet(run(), &out).is_err());
    // A folder has the name.
    fs::create_dir(dir.path().join("x.csv")).unwrap();
    assert!(super::csv(run(), &dir.path().join("x.csv")).is_err());
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn the_format_page_names_every_column() {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/recording-format.md");
    // A published package has no pages.
    let Ok(page) = fs::read_to_string(page) else { return };
    for table in super::tables::TABLES {
        let section = page.split("\n### ").find(|section| section.starts_with(&format!("`{}`", table.name)));
        let section = section.unwrap_or_else(|| panic!("no section for {}", table.name));
        for (column, _) in table.columns {
            assert!(section.contains(&format!("`{column}`")), "{}.{column} is not on the page", table.name);
        }
    }
}
