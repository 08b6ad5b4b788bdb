//! What was seen in a run gets its cause.

use lowtide_causes::{Class, Container, Live, Memory, Role, RootKind, all, matching};
use lowtide_lint::feeds::{Kind, Phase};

fn best(live: &Live) -> &'static str {
    matching(live).first().map_or("none", |found| found.cause.id)
}

fn objects(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Tensors in a list that a statement adds to.
fn kept() -> Live {
    Live {
        kind: Memory::Tensors,
        objects: objects(&["torch.Tensor"]),
        container: Some(Container::List),
        statement: Some(Kind::Add),
        role: Some(Role::Trainer),
        phase: Some(Phase::Training),
        ..Live::default()
    }
}

#[test]
fn the_cause_that_fits_best_comes_first() {
    let seen: Vec<(&str, Live)> = vec![
        ("LT101", Live { kind: Memory::Graph, grad_fn: true, statement: Some(Kind::Accumulated), ..Live::default() }),
        ("LT102", Live { kind: Memory::Graph, grad_fn: true, statement: Some(Kind::Averaged), ..Live::default() }),
        ("LT103", Live { grad_fn: true, ..kept() }),
        ("LT104", Live { grad_fn: true, container: Some(Container::Dict), statement: Some(Kind::Item), ..kept() }),
        ("LT105", Live { kind: Memory::Graph, grad_fn: true, statement: Some(Kind::Carried), ..Live::default() }),
        ("LT106", Live { kind: Memory::Graph, statement: Some(Kind::Retained), ..Live::default() }),
        ("LT108", Live { grad_fn: true, container: Some(Container::Deque), ..kept() }),
        ("LT201", Live { phase: Some(Phase::Validation), ..kept() }),
        ("LT202", kept()),
        ("LT203", Live { objects: objects(&["torch.Tensor", "collections.OrderedDict"]), ..kept() }),
        ("LT204", Live { views: true, ..kept() }),
        ("LT205", Live { owner: "MeanMetric".to_owned(), objects: Vec::new(), kind: Memory::Objects, ..kept() }),
        ("LT207", Live { objects: objects(&["traceback", "frame"]), ..kept() }),
        ("LT208", Live { class: Some(Class::Spikes), phase: Some(Phase::Validation), ..Live::default() }),
        ("LT301", Live { kind: Memory::Objects, objects: objects(&["dict", "str"]), ..kept() }),
        ("LT301", Live { statement: Some(Kind::Cycle), ..kept() }),
        ("LT301", Live { statement: Some(Kind::Split), kind: Memory::Objects, objects: objects(&["numpy.ndarray"]), ..kept() }),
        ("LT302", Live { kind: Memory::Objects, statement: Some(Kind::Call), ..Live::default() }),
        ("LT304", Live { statement: Some(Kind::Hook), ..Live::default() }),
        ("LT305", Live { kind: Memory::Objects, objects: objects(&["function", "cell"]), ..kept() }),
        ("LT306", Live { statement: Some(Kind::Cache), in_class: true, root: Some(RootKind::Cache), ..Live::default() }),
        ("LT307", Live { statement: Some(Kind::Cache), root: Some(RootKind::Cache), ..Live::default() }),
        (
            "LT307",
            Live {
                kind: Memory::Objects,
                objects: objects(&["bytes"]),
                container: Some(Container::Dict),
                statement: Some(Kind::Item),
                ..kept()
            },
        ),
        ("LT308", Live { kind: Memory::Objects, objects: Vec::new(), root: Some(RootKind::Default), ..kept() }),
        ("LT310", Live { bounded: true, ..kept() }),
        ("LT311", Live { kind: Memory::Native, objects: objects(&["PIL.JpegImagePlugin.JpegImageFile"]), ..kept() }),
        ("LT401", Live { role: Some(Role::Worker), kind: Memory::Objects, ..Live::default() }),
        ("LT403", Live { kind: Memory::Processes, ..Live::default() }),
        ("LT404", Live { role: Some(Role::Worker), objects: Vec::new(), kind: Memory::Objects, ..kept() }),
        ("LT405", Live { kind: Memory::Shared, ..kept() }),
        ("LT507", Live { kind: Memory::GpuReserved, ..Live::default() }),
        ("LT601", Live { root: Some(RootKind::Garbage), ..Live::default() }),
        ("LT602", Live { root: Some(RootKind::Garbage), statement: Some(Kind::CollectorOff), ..Live::default() }),
        ("LT603", Live { kind: Memory::Holes, ..Live::default() }),
        ("LT604", Live { kind: Memory::Native, ..Live::default() }),
        ("LT701", Live { statement: Some(Kind::Zeroed), class: Some(Class::Floor), ..Live::default() }),
        ("LT703", Live { role: Some(Role::CompileWorker), ..Live::default() }),
        ("LT704", Live { owner: "torch._dynamo.cache".to_owned(), ..Live::default() }),
        ("LT706", Live { kind: Memory::Descriptors, ..Live::default() }),
    ];
    for (id, live) in seen {
        assert_eq!(
            best(&live),
            id,
            "{:?}\n{live:?}",
            matching(&live).iter().map(|found| (found.cause.id, found.fit)).collect::<Vec<_>>()
        );
    }
}

#[test]
fn nothing_seen_has_no_cause() {
    assert_eq!(best(&Live::default()), "none");
    assert_eq!(best(&Live { role: Some(Role::Trainer), class: Some(Class::Leak), ..Live::default() }), "none");
}

#[test]
fn every_signature_can_fire_and_none_always_does() {
    let lives = [Live::default(), kept()];
    for cause in all().filter(|cause| cause.signature.is_some()) {
        let always = lives.iter().all(|live| matching(live).iter().any(|found| found.cause.id == cause.id));
        assert!(!always, "{}", cause.id);
    }
}
