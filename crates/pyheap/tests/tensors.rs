//! Tensors and graphs against torch's own word, on every Python that has torch.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use common::Target;
use lowtide_pyheap::memory::Memory;
use lowtide_pyheap::native::account::{Account, What};
use lowtide_pyheap::native::area::Areas;
use lowtide_pyheap::native::classes::Classes;
use lowtide_pyheap::torch::graph::Attribution;
use lowtide_pyheap::torch::groups::pinned;
use lowtide_pyheap::torch::{Torch, calibrate, dtype, find};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};

struct Look {
    said: Value,
    torch: Torch,
    graphs: Attribution,
    account: Account,
    classes: Classes,
}

fn looks() -> Vec<Look> {
    common::torches()
        .iter()
        .map(|python| {
            let target = Target::start(python, "tensors.py");
            let said = target.said.clone();
            let (process, image) = target.look();
            let memory = Memory::look(&process, &image, &find::shipped()).unwrap();
            Look { said, torch: memory.torch.unwrap(), graphs: memory.graphs, account: memory.account, classes: memory.classes }
        })
        .collect()
}

/// One target serves all: importing torch takes seconds.
#[test]
fn all_is_as_torch_says() {
    for look in looks() {
        tensors_are_as_torch_says(&look);
        graphs_are_put_down_to_who_holds_them(&look);
        a_small_view_that_pins_a_large_storage_is_named(&look);
        storage_is_taken_out_of_the_account_and_classes_have_names(&look);
    }
}

fn tensors_are_as_torch_says(look: &Look) {
    let Look { said, torch, .. } = look;
    let version = &said["torch"];
    let truth = said["tensors"].as_array().unwrap();
    let ours: HashMap<u64, Value> = torch.tensors.iter().filter_map(|t| Some((t.python?, value(torch, t)))).collect();
    let mut wrong = Vec::new();
    for t in truth {
        match ours.get(&t["python"].as_u64().unwrap()) {
            Some(ours) if ours == t => {}
            other => wrong.push(format!("{t}\n  ours {other:?}")),
        }
    }
    assert!(wrong.is_empty(), "{version}: {} of {} differ:\n{}", wrong.len(), truth.len(), wrong.join("\n"));
    let known: HashSet<u64> = truth.iter().filter_map(|t| t["python"].as_u64()).collect();
    let extra: Vec<&Value> = ours.iter().filter(|(python, _)| !known.contains(python)).map(|(_, value)| value).collect();
    assert!(extra.is_empty(), "{version}: tensors that torch does not know: {extra:#?}");
    assert_eq!(torch.unread, 0, "{version}");
}

fn value(torch: &Torch, t: &lowtide_pyheap::torch::Tensor) -> Value {
    json!({
        "python": t.python, "held": t.held, "impl": t.address, "shape": t.shape, "strides": t.strides, "offset": t.offset,
        "dtype": dtype::name(t.dtype), "device": dtype::device(t.device), "requires_grad": t.requires_grad,
        "grad_fn": t.grad_fn.is_some(), "grad": t.grad.is_some(), "storage": t.storage,
        "bytes": torch.storage(t).map_or(0, |s| s.bytes),
    })
}

fn graphs_are_put_down_to_who_holds_them(look: &Look) {
    let Look { said, torch, graphs, .. } = look;
    let version = &said["torch"];
    for (name, graph) in said["graphs"].as_object().unwrap() {
        let held = graphs.held.iter().find(|held| held.tensor == graph["impl"].as_u64().unwrap());
        let held = held.unwrap_or_else(|| panic!("{version}: the graph of {name} is not put down to it: {graphs:?}"));
        let (nodes, saved) = (graph["nodes"].as_u64().unwrap(), graph["saved"].as_u64().unwrap());
        // The leaves' own nodes are shared by all graphs.
        assert!(held.nodes <= nodes && held.nodes + 8 >= nodes, "{version} {name}: {held:?} of {graph}");
        assert_eq!(held.bytes, saved, "{version} {name}: {held:?} of {graph}");
    }
    assert!(torch.nodes.len() > 20);
}

fn a_small_view_that_pins_a_large_storage_is_named(look: &Look) {
    let Look { said, torch, .. } = look;
    // Ten other views show all of it: those are dropped here.
    let small = torch.at(said["small"].as_u64().unwrap()).unwrap().clone();
    assert!(pinned(torch).iter().all(|pinned| pinned.storage != small.storage.unwrap()));
    let kept = torch.tensors.iter().filter(|tensor| tensor.storage != small.storage || tensor.address == small.address);
    let alone = Torch {
        tensors: kept.cloned().collect(),
        layout: torch.layout.clone(),
        storages: torch.storages.clone(),
        nodes: Vec::new(),
        undefined: None,
        unread: 0,
    };
    let pinned = pinned(&alone)[0];
    assert_eq!((pinned.bytes, pinned.shown, pinned.tensors, pinned.example), (8_000_000, 80, 1, small.address));
}

fn storage_is_taken_out_of_the_account_and_classes_have_names(look: &Look) {
    let Look { said, torch, account, classes, .. } = look;
    let version = &said["torch"];
    let tensors = account.part(What::Tensors);
    let on_cpu: u64 = torch.stretches().iter().map(|(start, end, _)| end - start).sum();
    assert_eq!(account.parts.values().sum::<u64>(), account.total, "{version}");
    assert!(tensors >= 8_000_000 && tensors <= on_cpu, "{version}: {tensors} of {on_cpu}");
    assert_eq!(tensors + account.owned_elsewhere, on_cpu, "{version}");
    // What no one claims must not be large: most of it is what the threads of OpenMP and the loader map.
    let anonymous = account.part(What::Anonymous);
    assert!(anonymous < account.total / 10, "{version}: {:?} {:x?}", account.parts, account.unclaimed);
    let count = |name: &str| classes.iter().filter(|class| class.name() == name).map(|class| class.tally.count).sum::<u64>();
    assert_eq!(count("c10::TensorImpl"), torch.tensors.len() as u64, "{version}");
    assert!(count("torch::autograd::generated::AddmmBackward0") >= 16, "{version}");
}

#[test]
fn a_build_that_is_not_in_the_table_is_learned() {
    for python in common::torches() {
        let target = Target::start(&python, "tensors.py");
        let (process, image) = target.look();
        let packages = calibrate::packages(Areas::new(image.maps()).files()).unwrap();
        let site = calibrate::Site { python, packages, build: "1".into() };
        let folder = tempfile::tempdir().unwrap();
        let layout = calibrate::layout(&site, Some(folder.path()), u64::MAX).unwrap();
        let torch = Memory::look(&process, &image, std::slice::from_ref(&layout)).unwrap().torch.unwrap();
        assert_eq!(torch.unread, 0);
        assert!(layout.knows_nodes());
        let again = calibrate::Site { python: "/nowhere".into(), ..site };
        assert_eq!(calibrate::layout(&again, Some(folder.path()), 0).unwrap(), layout, "kept for the next look");
    }
}
