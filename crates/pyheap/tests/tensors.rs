//! Tensors and graphs against torch's own word, on every Python that has torch.
#![allow(clippy::unwrap_used, missing_docs)]

mod support;

use lowtide_pyheap::native::account::account;
use lowtide_pyheap::native::area::Areas;
use lowtide_pyheap::native::resident::Resident;
use lowtide_pyheap::native::window::Window;
use lowtide_pyheap::torch::graph::{Attribution, Graph};
use lowtide_pyheap::torch::groups::pinned;
use lowtide_pyheap::torch::{Finder, Torch, calibrate, dtype, find};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use support::Target;

struct Look {
    said: Value,
    torch: Torch,
    graphs: Attribution,
}

fn looks() -> Vec<Look> {
    support::torches()
        .iter()
        .map(|python| {
            let target = Target::start(python, "tensors.py");
            let said: Value = serde_json::from_str(&target.said).unwrap();
            let (process, image) = target.look();
            let areas = Areas::new(image.maps());
            let resident = Resident::of(&process, image.maps()).unwrap();
            let mut window = Window::new(&image);
            let mut finder = Finder::new(areas);
            account(&mut window, areas, &resident, &[], &mut |window, told| finder.told(window, told));
            let torch = finder.read(&mut window, &find::shipped()).unwrap();
            let graphs = Graph::read(&mut window, &torch).attribute(&torch);
            Look { said, torch, graphs }
        })
        .collect()
}

#[test]
fn tensors_are_as_torch_says() {
    for Look { said, torch, .. } in looks() {
        let version = &said["torch"];
        let truth = said["tensors"].as_array().unwrap();
        let ours: HashMap<u64, Value> = torch.tensors.iter().filter_map(|t| Some((t.python?, value(&torch, t)))).collect();
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
}

fn value(torch: &Torch, t: &lowtide_pyheap::torch::Tensor) -> Value {
    json!({
        "python": t.python, "impl": t.address, "shape": t.shape, "strides": t.strides, "offset": t.offset,
        "dtype": dtype::name(t.dtype), "device": dtype::device(t.device), "requires_grad": t.requires_grad,
        "grad_fn": t.grad_fn.is_some(), "grad": t.grad.is_some(), "storage": t.storage,
        "bytes": torch.storage(t).map_or(0, |s| s.bytes),
    })
}

#[test]
fn graphs_are_put_down_to_who_holds_them() {
    for Look { said, torch, graphs } in looks() {
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
}

#[test]
fn a_small_view_that_pins_a_large_storage_is_named() {
    for Look { said, mut torch, .. } in looks() {
        // Ten other views show all of it: those are dropped here.
        let small = torch.at(said["small"].as_u64().unwrap()).unwrap().clone();
        assert!(pinned(&torch).iter().all(|pinned| pinned.storage != small.storage.unwrap()));
        torch.tensors.retain(|tensor| tensor.storage != small.storage || tensor.address == small.address);
        let pinned = pinned(&torch)[0];
        assert_eq!((pinned.bytes, pinned.shown, pinned.tensors, pinned.example), (8_000_000, 80, 1, small.address));
    }
}

#[test]
fn a_build_that_is_not_in_the_table_is_learned() {
    for python in support::torches() {
        let target = Target::start(&python, "tensors.py");
        let (process, image) = target.look();
        let areas = Areas::new(image.maps());
        let resident = Resident::of(&process, image.maps()).unwrap();
        let site = calibrate::Site { python, packages: calibrate::packages(areas.files()).unwrap(), build: "1".into() };
        let folder = tempfile::tempdir().unwrap();
        let layout = calibrate::layout(&site, Some(folder.path()), u64::MAX).unwrap();
        let mut window = Window::new(&image);
        let mut finder = Finder::new(areas);
        account(&mut window, areas, &resident, &[], &mut |window, told| finder.told(window, told));
        let torch = finder.read(&mut window, std::slice::from_ref(&layout)).unwrap();
        assert_eq!(torch.unread, 0);
        assert!(layout.knows_nodes());
        let again = calibrate::Site { python: "/nowhere".into(), ..site };
        assert_eq!(calibrate::layout(&again, Some(folder.path()), 0).unwrap(), layout, "kept for the next look");
    }
}
