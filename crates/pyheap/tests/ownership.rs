//! What a holder is said to own is what goes when it is dropped: Python itself is asked.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Target, pythons, torches};
use lowtide_pyheap::memory::Memory;
use lowtide_pyheap::torch::find;
use lowtide_pyheap::{Beyond, Census, ObjectId, Ownership};

/// Small things that Python keeps for the next one who needs such (free lists) are not given back at once.
fn is_about(told: u64, freed: u64) -> bool {
    told.abs_diff(freed) <= freed / 50 + 6000
}

fn find_holder(census: &Census, way: &str) -> ObjectId {
    let is_it = |id: &ObjectId| census.len_of(*id).is_some() && census.path(*id).to_string().ends_with(way);
    census.objects().ids().find(is_it).unwrap_or_else(|| panic!("{way} is not found"))
}

fn own(census: &Census, way: &str, beyond: &Beyond) -> Ownership {
    census.ownership(&[find_holder(census, way)], beyond, &|_, _| true).remove(0)
}

/// Asks what the holder of each case owns, has it let go, and then the others. What was said wrong.
fn compare(target: &mut Target, is_about: fn(u64, u64) -> bool, look: impl Fn(&Target) -> (Census, Beyond)) -> Vec<String> {
    let mut wrong = Vec::new();
    let version = target.said["version"].as_str().unwrap().to_owned();
    for case in target.said["cases"].as_array().unwrap().clone() {
        let name = case[0].as_str().unwrap();
        let (census, beyond) = look(target);
        let told = own(&census, case[1].as_str().unwrap(), &beyond);
        let also: Vec<String> = told.also.iter().map(|also| format!("{} ({})", also.path, also.both.bytes)).collect();
        let itself: Vec<String> = told.itself.iter().map(ToString::to_string).collect();
        let at = format!(
            "{version} {name}: held {} alone {} together {} unseen {} ({}) also {also:?} itself {itself:?} ({})",
            told.held.bytes, told.alone.bytes, told.together.bytes, told.unseen, told.with_unseen.bytes, told.itself_unseen
        );
        target.say(name);
        let freed = target.freed();
        if !is_about(told.alone.bytes, freed) {
            wrong.push(format!("{at}: {freed} were freed"));
        }
        if case[3] == true {
            target.say(&format!("{name} too"));
            let freed = target.freed();
            if !is_about(told.together.bytes, freed) {
                wrong.push(format!("{at}: {freed} were freed by the others"));
            }
        }
        for words in case[2].as_array().unwrap() {
            if !also.iter().chain(&itself).any(|path| path.contains(words.as_str().unwrap())) {
                wrong.push(format!("{at}: {words} is not named"));
            }
        }
    }
    wrong
}

#[test]
fn what_a_holder_owns_goes_when_it_lets_go() {
    let mut wrong = Vec::new();
    for python in pythons() {
        let mut target = Target::start(&python, "owns.py");
        wrong.extend(compare(&mut target, is_about, |target| (target.census(1), Beyond::default())));
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn storages_and_graphs_go_when_all_that_keep_them_let_go() {
    // Pages are told, and what is small stays in the allocators.
    let is_about = |told: u64, freed: u64| told.abs_diff(freed) <= freed / 50 + (1 << 20);
    let mut wrong = Vec::new();
    for python in torches() {
        let mut target = Target::start(&python, "owns_torch.py");
        let look = |target: &Target| {
            let mut census = target.census(1);
            let (process, image) = target.look();
            let memory = Memory::look(&process, &image, &find::shipped()).unwrap();
            memory.count_tensors(&mut census);
            let beyond = memory.beyond(&census, true);
            (census, beyond)
        };
        wrong.extend(compare(&mut target, is_about, look));
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
