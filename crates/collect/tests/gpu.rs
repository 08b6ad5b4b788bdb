//! GPUs: a file that stands for a driver, and DRM drivers on a fake file system.
#![allow(clippy::unwrap_used, reason = "test code")]

mod common;

use std::os::unix::fs::symlink;

use common::Watch;
use lowtide_collect::{Collector, GpuSource, Options};
use lowtide_model::{Event, Gpu, GpuUser, NoteKind, Tick};
use lowtide_testkit::{FakeGpus, FakeProcess, FakeRoot, mib};

const GIB: u64 = 1 << 30;

fn trainer(root: &FakeRoot) -> FakeProcess {
    let process = FakeProcess { anon: mib(200), ..FakeProcess::new(100, 1, 900.0, "/usr/bin/python3 train.py") };
    root.set(&process);
    process
}

fn watch(root: &FakeRoot, gpu: GpuSource) -> Watch {
    let options = Options { root: root.path().to_owned(), interval_s: 1.0, own_child: false, rollup: false, gpu };
    Watch::of(Collector::new(100, options).unwrap())
}

fn emulated(root: &FakeRoot, gpus: &FakeGpus) -> Watch {
    watch(root, GpuSource::Emulated(gpus.file()))
}

fn cards(watch: &Watch) -> Vec<Gpu> {
    watch.events.iter().filter_map(|event| if let Event::Gpu(gpu) = event { Some(gpu.clone()) } else { None }).collect()
}

fn users(watch: &Watch) -> Vec<GpuUser> {
    watch.events.iter().filter_map(|event| if let Event::GpuUser(user) = event { Some(user.clone()) } else { None }).collect()
}

fn notes(watch: &Watch, kind: NoteKind) -> Vec<String> {
    let of_kind =
        |event: &Event| if let Event::Note(note) = event { (note.kind == kind).then(|| note.text.clone()) } else { None };
    watch.events.iter().filter_map(of_kind).collect()
}

fn last(watch: &Watch) -> Tick {
    watch.ticks().pop().unwrap()
}

#[test]
fn cards_and_what_the_run_and_others_have_on_them() {
    let root = FakeRoot::new();
    trainer(&root);
    root.set(&FakeProcess::new(300, 1, 900.0, "/usr/bin/stranger"));
    let gpus = FakeGpus::new(
        "card 0 total=1000000 reserved=50 name=Emulated_80G uuid=GPU-0\nprocess 0 pid=100 used=300\nprocess 0 pid=300 used=70\n",
    );
    let mut watch = emulated(&root, &gpus);
    watch.tick_at(1.0);
    let card = &cards(&watch)[0];
    assert_eq!((card.resource.as_str(), card.name.as_str(), card.emulated), ("gpu0", "Emulated 80G", true));
    let users = users(&watch);
    assert_eq!(
        users.iter().map(|user| (user.pid, user.process.is_some(), user.name.as_str())).collect::<Vec<_>>(),
        [(100, true, ""), (300, false, "stranger")]
    );
    let tick = last(&watch);
    let sample = tick.gpus[0];
    assert_eq!((sample.total, sample.used, sample.free, sample.reserved), (1_000_000, 370, 999_580, 50));
    assert_eq!(tick.gpu_users.iter().map(|user| user.used).collect::<Vec<_>>(), [Some(300), Some(70)]);
    assert!(notes(&watch, NoteKind::Warning).iter().any(|text| text.contains("emulated")), "never taken for a real one");
}

#[test]
fn a_pid_of_an_inner_namespace_is_matched_unless_two_have_it() {
    let root = FakeRoot::new();
    let main = trainer(&root);
    let status = |pid: u32, inner: u32| {
        let status = std::fs::read_to_string(root.path().join(format!("proc/{pid}/status"))).unwrap();
        root.write(&format!("proc/{pid}/status"), &format!("{status}NSpid:\t{pid}\t{inner}\n"));
    };
    status(100, 7);
    let gpus = FakeGpus::new("card 0 total=1000\nprocess 0 pid=7 used=300\nprocess 0 pid=8 used=1\n");
    let mut one = emulated(&root, &gpus);
    one.tick_at(1.0);
    let trainer_id = one.processes()[0].id;
    assert_eq!(users(&one).iter().map(|user| (user.pid, user.process)).collect::<Vec<_>>(), [(7, Some(trainer_id)), (8, None)]);
    root.set(&main.fork(101, 901.0));
    status(101, 7);
    let mut two = emulated(&root, &gpus);
    two.tick_at(1.0);
    assert_eq!(users(&two)[0].process, None, "7 may be either of two");
}

#[test]
fn a_driver_without_numbers_of_processes_still_says_who_is_there() {
    let root = FakeRoot::new();
    trainer(&root);
    let gpus = FakeGpus::new("card 0 total=1000 used=600\nprocess 0 pid=100 used=none\n");
    let mut watch = emulated(&root, &gpus);
    watch.tick_at(1.0);
    let tick = last(&watch);
    assert_eq!((tick.gpus[0].used, tick.gpu_users[0].used), (600, None));
}

#[test]
fn a_card_that_vanishes_is_a_note_and_the_others_go_on() {
    let root = FakeRoot::new();
    trainer(&root);
    let text = "card 0 total=1000 used=1\ncard 1 total=1000 used=2\n";
    let gpus = FakeGpus::new(text);
    let mut watch = emulated(&root, &gpus);
    watch.tick_at(1.0);
    gpus.set(&format!("{text}gone 0\n"));
    (2..5).for_each(|t| _ = watch.tick_at(f64::from(t) * 10.0));
    let gone: Vec<String> = notes(&watch, NoteKind::Unavailable).into_iter().filter(|text| text.starts_with("gpu0")).collect();
    assert_eq!(gone.len(), 1, "said once: {gone:?}");
    assert_eq!(last(&watch).gpus.iter().map(|gpu| gpu.used).collect::<Vec<_>>(), [2]);
    std::fs::remove_file(gpus.file()).unwrap();
    watch.tick_at(60.0);
    assert_eq!(last(&watch).gpus, [], "no numbers, and no end");
}

#[test]
fn eight_cards_and_instances_of_one() {
    let root = FakeRoot::new();
    let mut main = trainer(&root);
    main.environ = vec!["CUDA_VISIBLE_DEVICES=5,2".to_owned()];
    root.set(&main);
    let mut text: String = (0..8).map(|card| format!("card {card} total={GIB} used={card}\n")).collect();
    text += "process 2 pid=100 used=2\nprocess 5 pid=100 used=5\n";
    text += "mig 8 0 total=500 uuid=MIG-a\nmig 8 1 total=500 uuid=MIG-b\nprocess 8 pid=100 used=9 mig=1\n";
    let gpus = FakeGpus::new(&text);
    let mut watch = emulated(&root, &gpus);
    watch.tick_at(1.0);
    let names: Vec<String> = cards(&watch).into_iter().map(|card| card.resource).collect();
    assert_eq!(names, ["gpu0", "gpu1", "gpu2", "gpu3", "gpu4", "gpu5", "gpu6", "gpu7", "gpu8.mig0", "gpu8.mig1"]);
    let devices: Vec<_> = users(&watch).iter().map(|user| (names[user.gpu.0 as usize].clone(), user.device)).collect();
    assert_eq!(devices, [("gpu2".into(), Some(1)), ("gpu5".into(), Some(0)), ("gpu8.mig1".into(), None)]);
    assert_eq!(last(&watch).gpus.len(), 10);
}

#[test]
fn a_slow_driver_is_asked_less_often() {
    let root = FakeRoot::new();
    trainer(&root);
    let gpus = FakeGpus::new("slow 40\ncard 0 total=1000 used=1\n");
    let mut watch = emulated(&root, &gpus);
    (1..=10).for_each(|t| _ = watch.tick_at(f64::from(t) * 0.1));
    let read = watch.ticks().iter().filter(|tick| !tick.gpus.is_empty()).count();
    assert_eq!(read, 1, "40 ms are 2 % of two seconds");
    watch.tick_at(600.0);
    assert_eq!(last(&watch).gpus.len(), 1);
}

#[test]
fn a_driver_that_hangs_keeps_nothing_else_from_being_measured() {
    let root = FakeRoot::new();
    trainer(&root);
    let gpus = FakeGpus::new("slow 2500\ncard 0 total=1000 used=1\n");
    let mut watch = emulated(&root, &gpus);
    watch.tick_at(1.0);
    assert_eq!((last(&watch).gpus.len(), last(&watch).procs.len()), (0, 1));
    watch.tick_at(2.0);
    let told = || notes(&watch, NoteKind::Unavailable).into_iter().filter(|text| text.contains("did not answer")).count();
    assert_eq!(told(), 1, "once");
    gpus.set("card 0 total=1000 used=1\n");
    let mut t_s = 1000.0;
    while last(&watch).gpus.is_empty() {
        t_s += 1000.0;
        watch.tick_at(t_s);
    }
    assert_eq!(last(&watch).gpus[0].used, 1, "it answers again");
}

#[test]
fn without_a_driver_it_says_which_one_was_not_found() {
    let root = FakeRoot::new();
    trainer(&root);
    let mut watch = watch(&root, GpuSource::Machine);
    (1..4).for_each(|t| _ = watch.tick_at(f64::from(t)));
    let said: Vec<String> = notes(&watch, NoteKind::Unavailable).into_iter().filter(|text| text.starts_with("GPU:")).collect();
    assert_eq!(said, ["GPU: no driver, no AMD or Intel card in /sys/class/drm tells of its memory"]);
}

#[test]
fn drm_drivers_tell_by_sysfs_and_fdinfo() {
    let root = FakeRoot::new();
    trainer(&root);
    let device = |card: u32, driver: &str, address: &str| {
        root.write(&format!("sys/class/drm/card{card}/device/uevent"), &format!("DRIVER={driver}\nPCI_SLOT_NAME={address}\n"));
    };
    device(0, "nvidia", "0000:01:00.0");
    device(1, "amdgpu", "0000:03:00.0");
    root.write("sys/class/drm/card1/device/mem_info_vram_total", "17163091968\n");
    root.write("sys/class/drm/card1/device/mem_info_vram_used", "1073741824\n");
    root.write("sys/class/drm/card1/device/product_name", "Instinct\n");
    root.write("sys/class/drm/card1-DP-1/status", "connected\n");
    device(2, "xe", "0000:05:00.0");
    let descriptor = |fd: u32, target: &str, info: &str| {
        root.write(&format!("proc/100/fdinfo/{fd}"), info);
        std::fs::create_dir_all(root.path().join("proc/100/fd")).unwrap();
        symlink(target, root.path().join(format!("proc/100/fd/{fd}"))).unwrap();
    };
    let amd = "drm-driver:\tamdgpu\ndrm-client-id:\t7\ndrm-pdev:\t0000:03:00.0\ndrm-memory-vram:\t2048 KiB\n";
    descriptor(3, "/dev/dri/renderD128", amd);
    descriptor(4, "/dev/dri/renderD128", amd);
    descriptor(5, "/dev/dri/renderD129", "drm-client-id: 9\ndrm-pdev: 0000:05:00.0\ndrm-resident-vram0: 5 MiB\n");
    // What ROCm has, which this kernel does not count among its clients.
    root.write("sys/class/kfd/kfd/topology/nodes/0/gpu_id", "0\n");
    root.write("sys/class/kfd/kfd/topology/nodes/1/gpu_id", "51140\n");
    root.write("sys/class/kfd/kfd/topology/nodes/1/properties", "simd_count 304\nlocation_id 768\ndomain 0\n");
    root.write("sys/class/kfd/kfd/proc/100/vram_51140", "7340032\n");
    descriptor(6, "/tmp/x", "drm-client-id: 8\ndrm-pdev: 0000:03:00.0\ndrm-memory-vram: 99 MiB\n");
    let mut watch = watch(&root, GpuSource::Machine);
    watch.tick_at(1.0);
    let cards: Vec<String> = cards(&watch).into_iter().map(|card| format!("{} {}", card.resource, card.name)).collect();
    assert_eq!(cards, ["gpu0 Instinct", "gpu1 Intel GPU"]);
    let tick = last(&watch);
    assert_eq!((tick.gpus[0].total, tick.gpus[0].used), (17_163_091_968, GIB));
    assert_eq!((tick.gpus[1].total, tick.gpus[1].used), (0, mib(5)), "what the run has is all that can be said");
    assert_eq!(
        tick.gpu_users.iter().map(|user| user.used).collect::<Vec<_>>(),
        [Some(mib(7)), Some(mib(5))],
        "the larger of the two"
    );
    root.remove_path("sys/class/drm/card1");
    watch.tick_at(60.0);
    assert!(notes(&watch, NoteKind::Unavailable).iter().any(|text| text.starts_with("gpu0:")));
}
