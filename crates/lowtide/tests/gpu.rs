//! GPU memory under `lowtide run`, by a fake `libnvidia-ml.so.1` that real programs drive.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "test code")]

mod common;

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use lowtide_model::{Event, GpuDriver, NoteKind};
use lowtide_testkit::FakeGpus;

/// A training has hung after so long: it imports torch and trains for half a minute, and others may do the same beside it.
const HANGS: Duration = Duration::from_secs(300);

/// lowtide with the fake driver.
fn with_driver(command: &mut Command, gpus: &FakeGpus) {
    command.env("LD_LIBRARY_PATH", FakeGpus::library_folder()).env("LOWTIDE_FAKE_NVML", gpus.file());
}

/// Runs a Python program; gives the events of its recording.
fn run(folder: &Path, gpus: &FakeGpus, program: &str) -> Vec<Event> {
    let (script, recording) = (folder.join("train.py"), folder.join("run.lowtide"));
    std::fs::write(&script, program).unwrap();
    let mut command = common::lowtide(folder);
    command.args(["run", "--interval", "0.1", "--record"]).arg(&recording).args(["--", "python3"]).arg(&script);
    with_driver(&mut command, gpus);
    let output = common::output(command.env("CONTROL", gpus.file()));
    assert!(output.status.success(), "{}", common::text(&output.stderr));
    lowtide_record::read(&recording).unwrap().events
}

/// A program that says in the control file what it has, in megabytes.
const SAYS: &str = "
import os, time
def has(card, rest=''):
    with open(os.environ['CONTROL'] + '.draft', 'w') as file:
        file.write(f'driver 550.54\\ncard 0 total={80 << 30} reserved={1 << 28} name=Fake_H100\\ncard 1 total=1000\\n{card}\\n{rest}\\n')
    os.replace(os.environ['CONTROL'] + '.draft', os.environ['CONTROL'])
";

#[test]
fn nvidias_library_is_loaded_and_read() {
    let folder = tempfile::tempdir().unwrap();
    let gpus = FakeGpus::new("driver 550.54\ncard 0 total=85899345920 reserved=268435456 name=Fake_H100\ncard 1 total=1000\n");
    let program = format!(
        "{SAYS}
for step in range(30):
    has(f'process 0 pid={{os.getpid()}} used={{(step + 1) << 20}}\\nprocess 0 pid=999999 used=5', 'gone 1' if step > 20 else '')
    time.sleep(0.1)
"
    );
    let events = run(folder.path(), &gpus, &program);
    let cards: Vec<_> = events.iter().filter_map(|event| if let Event::Gpu(gpu) = event { Some(gpu) } else { None }).collect();
    assert_eq!(cards.len(), 2);
    assert_eq!((cards[0].name.as_str(), cards[0].driver, cards[0].emulated), ("Fake H100", GpuDriver::Nvml, true));
    let users: Vec<_> =
        events.iter().filter_map(|event| if let Event::GpuUser(user) = event { Some(user) } else { None }).collect();
    let ours = users.iter().find(|user| user.process.is_some()).expect("matched by its pid");
    assert!(users.iter().any(|user| user.pid == 999_999 && user.process.is_none()), "{users:?}");
    let had: Vec<u64> = events
        .iter()
        .filter_map(|event| if let Event::Tick(tick) = event { Some(tick) } else { None })
        .flat_map(|tick| tick.gpu_users.iter().filter(|user| user.id == ours.id).filter_map(|user| user.used))
        .collect();
    assert!(had.len() >= 3 && had.is_sorted() && had.iter().all(|used| used % (1 << 20) == 0), "{had:?}");
    let lost = |event: &&Event| matches!(event, Event::Note(note) if note.kind == NoteKind::Unavailable && note.text.starts_with("gpu1:"));
    assert_eq!(events.iter().filter(lost).count(), 1, "a card that vanishes is said once, and ends nothing");
}

#[test]
fn instances_of_a_divided_card_are_cards_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let gpus = FakeGpus::new("driver 550.54\nmig 0 0 total=500 uuid=MIG-a\nmig 0 1 total=700 uuid=MIG-b used=9\n");
    let events = run(folder.path(), &gpus, "import time; time.sleep(1)");
    let cards: Vec<_> = events
        .iter()
        .filter_map(|event| if let Event::Gpu(gpu) = event { Some((gpu.resource.as_str(), gpu.uuid.as_str())) } else { None })
        .collect();
    assert_eq!(cards, [("gpu0.mig0", "MIG-a"), ("gpu0.mig1", "MIG-b")]);
    let used = events.iter().find_map(|event| match event {
        Event::Tick(tick) => tick.gpus.get(1).map(|gpu| (gpu.total, gpu.used)),
        _ => None,
    });
    assert_eq!(used, Some((700, 9)));
}

#[test]
fn doctor_says_which_driver_answers() {
    let folder = tempfile::tempdir().unwrap();
    let gpus = FakeGpus::new("driver 550.54\ncard 0 total=1000 name=Fake_H100\n");
    let mut command = common::lowtide(folder.path());
    with_driver(command.arg("doctor"), &gpus);
    let said = common::text(&common::output(&mut command).stdout);
    assert!(said.contains("550.54 (emulated): gpu0 Fake H100"), "{said}");
    let said = common::text(&common::output(common::lowtide(folder.path()).arg("doctor")).stdout);
    assert!(said.contains("libnvidia-ml.so.1 was not found") || Path::new("/dev/nvidiactl").exists(), "{said}");
}

#[test]
fn doctor_ends_where_a_driver_hangs_and_says_so_in_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let gpus = FakeGpus::new("opens 3600000\ncard 0 total=1000 name=Fake_H100\n");
    let mut command = common::lowtide(folder.path());
    with_driver(command.arg("doctor").env("COLUMNS", "300"), &gpus);
    let output = common::output(&mut command);
    let said = common::text(&output.stdout);
    let told = said.lines().filter(|line| line.contains("did not answer")).collect::<Vec<_>>();
    assert!(output.status.success() && told.len() == 1, "{said}");
    assert!(told[0].starts_with("limited") && told[0].contains("libnvidia-ml.so.1"), "{said}");
    assert!(said.lines().any(|line| line.contains("clock")), "what comes after it is told, too: {said}");
}

/// A Python that has torch.
fn python_with_torch() -> Option<String> {
    let pythons = std::env::var("LOWTIDE_TEST_PYTHONS").unwrap_or_else(|_| "python3".into());
    let has_torch = |python: &&str| {
        let find = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)";
        Command::new(python).args(["-c", find]).status().is_ok_and(|status| status.success())
    };
    pythons.split(':').find(has_torch).map(str::to_owned)
}

/// The demonstration's training on the CPU, which drives the fake library.
struct Train<'a> {
    /// What is planted, and what the driver is like.
    planted: &'a str,
    driver: &'a str,
    seconds: &'a str,
    /// Options of `run`.
    options: &'a [&'a str],
    /// What starts Python.
    before: &'a [&'a str],
}

impl Train<'_> {
    fn plain(planted: &str) -> Train<'_> {
        Train { planted, driver: "plain", seconds: "36", options: &[], before: &[] }
    }

    /// The report.
    fn run(&self) -> Option<serde_json::Value> {
        let Some(python) = python_with_torch() else {
            eprintln!("SKIPPED: neither python3 nor LOWTIDE_TEST_PYTHONS has torch");
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        // The cards are there from the start: a driver is asked for them once.
        let cards = match self.driver {
            "eight" => (0..8).map(|card| format!("card {card} total=17179869184 name=Fake_H100 used=0\n")).collect(),
            "mig" => "mig 0 0 total=17179869184 used=0\nmig 0 1 total=17179869184 used=0\n".to_owned(),
            _ => "card 0 total=17179869184 name=Fake_H100\n".to_owned(),
        };
        let gpus = FakeGpus::new(&format!("driver 550.54\n{cards}"));
        let report = folder.path().join("report.json");
        let mut command = common::lowtide(folder.path());
        command.args(["run", "--interval", "0.2", "--no-record", "--census", "off"]).args(self.options).arg("-o").arg(&report);
        command.arg("--").args(self.before).arg(python);
        command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/demo/train_gpu_emulated.py")).arg(self.seconds).arg(gpus.file());
        command.args([self.planted, self.driver]);
        if self.driver == "eight" {
            command.env("CUDA_VISIBLE_DEVICES", "5");
        }
        with_driver(&mut command, &gpus);
        let output = common::output_within(&mut command, HANGS);
        assert!(output.status.success(), "{}", common::text(&output.stderr));
        Some(serde_json::from_slice(&std::fs::read(report).unwrap()).unwrap())
    }
}

#[test]
fn a_leak_is_told_of_the_one_of_eight_cards_that_it_is_on_and_of_an_instance() {
    for (driver, resource) in [("eight", "gpu5"), ("mig", "gpu0.mig1")] {
        let Some(report) = (Train { driver, ..Train::plain("leak") }).run() else { return };
        let finding = &report["findings"][0];
        assert_eq!((&finding["kind"], &finding["resource"]), (&"gpu_allocated".into(), &resource.into()), "{report:#}");
        let on: Vec<&serde_json::Value> = report["gpus"].as_array().unwrap().iter().map(|gpu| &gpu["resource"]).collect();
        assert_eq!(on, [resource], "the run has nothing on the others");
        assert!(report["gpus"][0]["processes"][0]["used_bytes"].as_u64().unwrap() > 400 << 20, "{report:#}");
    }
}

#[test]
fn a_leak_is_told_where_the_driver_does_not_tell_what_a_process_has() {
    let Some(report) = (Train { driver: "silent", ..Train::plain("leak") }).run() else { return };
    let finding = &report["findings"][0];
    assert_eq!((&finding["kind"], &finding["resource"]), (&"gpu_allocated".into(), &"gpu0".into()), "{report:#}");
    let holder = &report["gpus"][0]["processes"][0];
    assert!(holder["used_bytes"].is_null() && holder["outside_bytes"].is_null(), "not told, and not made up: {holder:#}");
}

#[test]
fn memory_outside_of_pytorch_is_told_from_a_leak_of_tensors_and_from_another_process() {
    let Some(report) = Train::plain("outside").run() else { return };
    let finding = &report["findings"][0];
    assert_eq!((&finding["class"], &finding["kind"]), (&"leak".into(), &"gpu_outside".into()), "{report:#}");
    let report = Train::plain("other").run().unwrap();
    assert!(report["verdict"] != "leak" && report["verdict"] != "likely_leak", "{report:#}");
    let findings = report["findings"].as_array().unwrap();
    let other = findings.iter().find(|finding| finding["resource"] == "gpu0").expect("it is told");
    let text = other["text"].as_str().unwrap();
    assert!(text.contains("(pid 1)") && text.contains("grows by +") && text.contains("fills the card in"), "{text}");
}

#[test]
fn tensors_that_a_training_keeps_on_a_card_are_a_leak() {
    let Some(report) = Train::plain("leak").run() else { return };
    assert!(report["verdict"] == "leak" || report["verdict"] == "likely_leak", "{report:#}");
    let finding = &report["findings"][0];
    assert_eq!((&finding["kind"], &finding["resource"]), (&"gpu_allocated".into(), &"gpu0".into()), "{report:#}");
    // Eight KiB of outputs, counted 16,384 times, every fourth of twenty steps a second.
    let per_step = finding["growth"]["bytes_per_step"].as_f64().unwrap();
    assert!((per_step / (0.5 * f64::from(1 << 20)) - 1.0).abs() < 0.2, "{finding:#}");
    assert_eq!(report["gpus"][0]["emulated"], true);
    let outside = report["gpus"][0]["processes"][0]["outside_bytes"].as_u64().unwrap();
    assert!(outside >= 400 << 20, "the context: {report:#}");
}

#[test]
fn the_line_that_asks_for_what_grows_is_named_by_the_allocators_history() {
    let Some(report) = (Train { seconds: "44", options: &["--gpu-history"], ..Train::plain("leak") }).run() else { return };
    let finding = &report["findings"][0];
    assert_eq!(finding["kind"], "gpu_allocated", "{report:#}");
    let source = include_str!("../demo/train_gpu_emulated.py");
    let asks = source.lines().position(|line| line.contains("self.model(points)")).unwrap() + 1;
    assert_eq!(finding["site"]["line"], asks, "{report:#}");
    assert_eq!(finding["site"]["text"], "out = self.card.gives(self.model(points))");
    // Two MiB for every fourth step, of twenty a second: what was measured from outside.
    let object = &finding["objects"][0];
    assert_eq!((object["bytes_delta"].as_i64().unwrap() / object["count_delta"].as_i64().unwrap()) >> 20, 2, "{object:#}");
    let said = finding["evidence"][1].as_str().unwrap();
    assert!(said.starts_with("two snapshots of PyTorch's allocator ") && said.contains(" ms in all"), "{finding:#}");
    assert!(!said.contains(".pickle"), "they went with the run: {said}");
}

#[test]
fn snapshots_lie_beside_the_recording_and_never_where_the_program_works() {
    let Some(python) = python_with_torch() else { return };
    let (folder, works) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    // As in a container: what the program sees at the recording's place is another folder, which cannot be written to.
    let space = ["unshare", "--user", "--map-root-user", "--mount"];
    let hides = format!("mount -t tmpfs -o ro none '{}' && exec \"$@\"", folder.path().display());
    let contained = common::can_unshare(&space[1..]);
    let before: Vec<&str> = if contained { space.into_iter().chain(["sh", "-c", &hides, "sh"]).collect() } else { Vec::new() };
    // Where marks are.
    let home = tempfile::tempdir().unwrap();
    let gpus = FakeGpus::new("driver 550.54\ncard 0 total=17179869184 name=Fake_H100\n");
    let mut command = common::lowtide(works.path());
    command
        .args(["run", "--interval", "0.2", "--census", "off", "--gpu-history", "--record"])
        .arg(folder.path().join("a.lowtide"));
    command.arg("--").args(before).arg(python).arg(concat!(env!("CARGO_MANIFEST_DIR"), "/demo/train_gpu_emulated.py"));
    command.env("XDG_RUNTIME_DIR", home.path()).arg("30").arg(gpus.file()).arg("leak");
    with_driver(&mut command, &gpus);
    let output = common::output_within(&mut command, HANGS);
    assert!(output.status.success(), "{}", common::text(&output.stderr));
    let names = |folder: &Path| {
        let entries = std::fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect::<std::collections::BTreeSet<String>>()
    };
    let pickles = names(folder.path()).into_iter().filter(|name| name.starts_with("a.gpu-") && name.ends_with(".pickle")).count();
    assert!(pickles >= 1, "{:?}", names(folder.path()));
    assert!(!names(works.path()).iter().any(|name| name.ends_with(".pickle")), "{:?}", names(works.path()));
    assert_eq!(names(home.path()), [].into(), "nothing is left where it was written");
}

#[test]
fn who_keeps_fake_tensors_on_a_card_is_named_and_what_the_card_is_used_for() {
    let Some(python) = python_with_torch() else { return };
    let folder = tempfile::tempdir().unwrap();
    let gpus = FakeGpus::new("driver 550.54\ncard 0 total=17179869184 name=Fake_H100\n");
    let report = folder.path().join("report.json");
    let mut command = common::lowtide(folder.path());
    command.args(["run", "--interval", "0.2", "--no-record", "-o"]).arg(&report).arg("--").arg(python);
    command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/gpu_fake/train.py")).arg(gpus.file()).arg("44");
    with_driver(&mut command, &gpus);
    let output = common::output_within(&mut command, HANGS);
    if output.status.code() == Some(77) {
        eprintln!("SKIPPED: this torch makes no fake tensors on cuda:0");
        return;
    }
    assert!(output.status.success(), "{}", common::text(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(report).unwrap()).unwrap();
    let finding = &report["findings"][0];
    assert_eq!((&finding["kind"], &finding["holder"]["name"]), (&"gpu_allocated".into(), &"kept".into()), "{report:#}");
    assert!(finding["site"]["text"].as_str().unwrap().contains("# PLANTED"), "{finding:#}");
    let holder = &report["gpus"][0]["processes"][0];
    let budget = holder["budget"].as_array().unwrap();
    let part = |name: &str| {
        let part = budget.iter().find(|part| part["name"].as_str().unwrap().starts_with(name));
        part.map(|part| (part["bytes"].as_u64().unwrap() >> 20, part["source"].as_str().unwrap()))
    };
    assert_eq!(part("parameters"), Some((32, "objects")), "though its class is none of parameters: {holder:#}");
    assert_eq!(part("gradients"), Some((32, "objects")), "{holder:#}");
    assert_eq!(part("buffers"), Some((4, "objects")), "{holder:#}");
    assert_eq!(part("free between"), Some((8, "allocator")), "{holder:#}");
    assert_eq!(part("CUDA context"), Some((400, "driver")), "{holder:#}");
    // A validation needs 160, after which more was kept; a step 96.
    assert!(
        part("more at the peak").is_some_and(|(mib, source)| (96..=160).contains(&mib) && source == "allocator"),
        "{holder:#}"
    );
    let phases = holder["phases"].as_array().unwrap();
    assert_eq!(phases.iter().map(|phase| phase["phase"].as_str().unwrap()).collect::<Vec<_>>(), ["train", "validation"]);
    for phase in phases {
        let parts = phase["parts"].as_array().unwrap();
        let sum: u64 = parts.iter().map(|part| part["bytes"].as_u64().unwrap()).sum();
        assert_eq!(sum, phase["peak_bytes"].as_u64().unwrap(), "{phase:#}");
        assert!(parts.iter().any(|part| part["name"] == "parameters" && part["bytes"] == 32 << 20), "{phase:#}");
    }
    let at_rest = budget.iter().filter(|part| part["at_peak"] == false).map(|part| part["bytes"].as_u64().unwrap());
    assert_eq!(at_rest.sum::<u64>(), holder["reserved_bytes"].as_u64().unwrap() + holder["outside_bytes"].as_u64().unwrap());
}

#[test]
fn fragments_of_a_training_in_a_container_are_told_from_a_leak() {
    let container = ["unshare", "--user", "--map-root-user", "--pid", "--fork"];
    if !common::can_unshare(&container[1..]) {
        return;
    }
    // The driver has the pid of the inner namespace, which is another process's out here.
    let Some(report) = (Train { before: &container, ..Train::plain("fragmentation") }).run() else { return };
    let finding = &report["findings"][0];
    assert_eq!((&finding["class"], &finding["kind"]), (&"gpu_reserved_growth".into(), &"gpu_reserved".into()), "{report:#}");
    assert!(report["gpus"][0]["processes"][0]["used_bytes"].as_u64().is_some(), "matched by NSpid: {report:#}");
    assert!(report["gpus"][0]["others_bytes"].is_null(), "{report:#}");
}
