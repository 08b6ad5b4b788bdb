//! `--redact`: what was planted is in no form of what comes out, and one name has one placeholder.
#![allow(clippy::unwrap_used)]

mod common;

use std::path::{Path, PathBuf};

use common::{lowtide, output, text};
use lowtide_model::{
    Cgroup, CgroupId, CgroupSample, CgroupVersion, Event, ExitStatus, Mark, MarkKind, Mode, ProcId, ProcSample, Process, Role,
    RunEnd, RunInfo, Scope, ScopeMark, Signal, SystemSample, Tick,
};
use lowtide_record::Writer;

/// In every name that is planted. Numbers and lowtide's own words never hold it.
const SECRET: &str = "xq7zz";
const FORMS: [&str; 7] = ["text", "json", "html", "markdown", "junit", "github", "sarif"];

/// A run with secrets in its command, the names of its host, cgroup, phases, nodes and file, that leaks (or does not).
fn recording(folder: &Path, leaks: bool) -> PathBuf {
    let path = folder.join(format!("{SECRET}train-{SECRET}host-{leaks}.lowtide"));
    let mut writer = Writer::create(&path).unwrap();
    let mut put = |event: &Event| {
        writer.append(event);
        writer.tick_done();
    };
    let command =
        format!("/home/{SECRET}user/bin/python3.11 /data/{SECRET}dir/{SECRET}_train.py --name {SECRET}-arg --out=~/{SECRET}out");
    put(&Event::Start(RunInfo {
        version: "0".to_owned(),
        mode: Mode::Run,
        command: command.split(' ').map(str::to_owned).collect(),
        host: format!("{SECRET}host"),
        started_unix_s: 1.7e9,
        interval_s: 1.0,
        root_pid: 100,
        rank: None,
        signal: Signal::AnonShmem,
    }));
    for (id, role) in [(0, Role::Trainer), (1, Role::DataloaderWorker)] {
        put(&Event::Process(Process {
            id: ProcId(id),
            pid: 100 + id,
            ppid: 1,
            parent: (id > 0).then_some(ProcId(0)),
            start_s: 0.0,
            name: format!("{SECRET}comm"),
            command: command.clone(),
            role,
            role_reason: format!("it runs `{command}` as {SECRET}-arg says, see {SECRET}_train.py"),
            rank: None,
        }));
    }
    put(&Event::Cgroup(Cgroup { id: CgroupId(0), path: format!("/jobs/{SECRET}pod/x"), version: CgroupVersion::V2 }));
    let mark = |t_s: f64, steps: u64, what| Event::Mark(Mark { t_s, id: ProcId(0), what, steps, facts: None });
    let begin = |scope, name: String, index| MarkKind::Begin(ScopeMark { scope, index, name });
    for t in 0..180_u32 {
        let (t_s, mib) = (f64::from(t), 1u64 << 20);
        if t % 20 == 0 {
            put(&mark(t_s, u64::from(4 * t), begin(Scope::Phase, format!("{SECRET}phase"), None)));
        } else if t % 20 == 15 {
            put(&mark(t_s, u64::from(4 * t), begin(Scope::Phase, "validation".to_owned(), None)));
        }
        if t % 40 == 0 {
            put(&mark(t_s, u64::from(4 * t), begin(Scope::Round, String::new(), Some(u64::from(t / 40)))));
            put(&mark(t_s, u64::from(4 * t), begin(Scope::Node, format!("{SECRET}node"), None)));
        }
        put(&mark(t_s, u64::from(4 * t), MarkKind::Step));
        let sample = |id, bytes| ProcSample { anon: bytes, ..ProcSample::empty(ProcId(id)) };
        let grown = if leaks { u64::from(t) * mib } else { 0 };
        let cgroup = CgroupSample {
            id: CgroupId(0),
            usage: 600 * mib + grown,
            limit: Some(4096 * mib),
            ..CgroupSample::empty(CgroupId(0))
        };
        put(&Event::Tick(Tick {
            t_s,
            procs: vec![sample(0, 400 * mib + grown), sample(1, 90 * mib)],
            system: Some(SystemSample { total: 64 << 30, available: 32 << 30, ..SystemSample::default() }),
            cgroups: vec![cgroup],
            ..Tick::default()
        }));
    }
    put(&Event::End(RunEnd { t_s: 180.0, status: ExitStatus::Code(0), reason: String::new(), oom_kills: 0 }));
    assert_eq!(writer.finish().error, None);
    path
}

fn said(folder: &Path, arguments: &[&str]) -> String {
    let done = output(lowtide(folder).args(arguments).current_dir(folder).env("COLUMNS", "150").env("LINES", "60"));
    let out = text(&done.stdout);
    assert!(!out.is_empty(), "{arguments:?}: {}", text(&done.stderr));
    out
}

#[test]
fn a_run_with_secrets_everywhere_tells_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = recording(folder.path(), true);
    let path = path.to_str().unwrap();
    let expect = "train.peak < 1 MiB";
    for form in FORMS {
        let arguments = ["report", path, "--format", form, "--verbose", "--expect", expect];
        let open = said(folder.path(), &arguments);
        // A run's finding has no place in SARIF.
        assert!(open.contains(SECRET) || form == "sarif", "nothing was planted where {form} shows it: {open}");
        let out = said(folder.path(), &[&arguments[..], &["--redact"]].concat());
        assert!(!out.to_ascii_lowercase().contains(SECRET), "{form}: {out}");
        assert!(out.contains("leak") || out.contains("LEAK"), "{form}: {out}");
        if form == "text" {
            // One name, one placeholder: phase and node are those of the tables wherever they stand, and numbers stay.
            for kept in ["[phase 1]", "[node 1]", "python3.11 [arguments 1]", "100", "MiB per minute", "validation"] {
                assert!(out.contains(kept), "{kept} is not in {out}");
            }
            assert!(!out.contains("[phase 2]") && !out.contains("[arguments 2]"), "{out}");
        }
    }
    for view in 1..=7 {
        let view = view.to_string();
        let out = said(folder.path(), &["live", "--once", "--view", &view, path, "--redact"]);
        assert!(!out.contains(SECRET) && out.contains("[recording 1]"), "live {view}: {out}");
    }
}

#[test]
fn a_comparison_of_runs_with_secrets_tells_none() {
    let folder = tempfile::tempdir().unwrap();
    let (before, after) = (recording(folder.path(), true), recording(folder.path(), false));
    for form in ["text", "json", "markdown"] {
        let arguments = ["compare", before.to_str().unwrap(), after.to_str().unwrap(), "--format", form, "--verbose"];
        assert!(said(folder.path(), &arguments).contains(SECRET));
        let out = said(folder.path(), &[&arguments[..], &["--redact"]].concat());
        assert!(!out.contains(SECRET), "{form}: {out}");
        assert!(out.contains("fixed") && out.contains("recording 1") && out.contains("recording 2"), "{form}: {out}");
    }
}

#[test]
fn logs_and_sources_with_secrets_tell_none() {
    let folder = tempfile::tempdir().unwrap();
    let log = format!(
        "Nov 28 10:00:00 {SECRET}host kernel: oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset={SECRET}pod,mems_allowed=0,\
         oom_memcg=/kube/{SECRET}pod,task_memcg=/kube/{SECRET}pod,task={SECRET}prog,pid=4242,uid=1000\n\
         Nov 28 10:00:00 {SECRET}host kernel: Memory cgroup out of memory: Killed process 4242 ({SECRET}prog) total-vm:30000000kB, \
         anon-rss:25165824kB, file-rss:1000kB, shmem-rss:0kB, UID:1000 pgtables:50000kB oom_score_adj:0\n\
         \x20 File \"/home/{SECRET}user/{SECRET}.py\", line 5, in main\n\
         RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 79.15 GiB total capacity; 70.00 GiB already allocated; \
         1.00 GiB free; 71.00 GiB reserved in total by PyTorch)\n\
         srun: error: {SECRET}host: task 0: Out Of Memory\n"
    );
    let log_path = folder.path().join(format!("{SECRET}.log"));
    std::fs::write(&log_path, log).unwrap();
    let source = "losses = []\ndef train(model, loader):\n    for x in loader:\n        loss = model(x).mean()\n        loss.backward()\n        losses.append(loss)\n";
    let source_path = folder.path().join(format!("{SECRET}_source.py"));
    std::fs::write(&source_path, source).unwrap();
    for form in FORMS {
        for (command, path) in [("report", &log_path), ("check", &source_path)] {
            let arguments = [command, path.to_str().unwrap(), "--format", form];
            let open = said(folder.path(), &arguments);
            // A run's annotation has no place of its own.
            assert!(open.contains(SECRET) || (command, form) == ("report", "sarif"), "{command} {form}: {open}");
            let out = said(folder.path(), &[&arguments[..], &["--redact"]].concat());
            assert!(!out.contains(SECRET), "{command} {form}: {out}");
        }
    }
}
