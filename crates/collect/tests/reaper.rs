//! Orphans of a run come to us when we are its reaper. Alone in its binary: every child of this process counts.
#![allow(clippy::unwrap_used, reason = "test code")]

mod common;

use common::Watch;
use lowtide_testkit::{Child, Orphan};

#[test]
fn orphans_that_nobody_saw_being_born_belong_to_the_run() {
    // SAFETY: prctl with integers changes only who collects orphans of this process.
    assert_eq!(unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }, 0);
    let stranger = Child::shell("echo ready; read line");
    let mut child = Child::shell("echo ready; read line; (setsid sh -c 'sleep 600 > /dev/null 2>&1 & echo pid $!' &); read line");
    let mut watch = Watch::with(child.pid(), std::path::Path::new("/"), true);
    watch.tick();
    // Its orphan is known by nothing but the mark in its environment.
    let mark = format!("{}={}", lowtide_collect::COMMAND_MARK, std::process::id());
    let program = "echo ready; (setsid sleep 600 > /dev/null 2>&1 & echo pid $!); read line";
    let mut hook = Child::shell(&format!("export {mark}; {program}"));
    let of_hook = Orphan(hook.wait_for("pid").parse().unwrap());
    watch.collector.ignore_child(hook.pid());
    child.say("go");
    let guard = Orphan(child.wait_for("pid").parse().unwrap());
    let orphan = guard.0;
    watch.until("the orphan", |watch| watch.process(orphan).is_some());
    assert!(watch.process(stranger.pid()).is_none(), "our older children are no part of it");
    assert!(watch.process(hook.pid()).is_none(), "a command of our own is no part of it");
    assert!(watch.process(of_hook.0).is_none(), "nor is what it leaves behind");
    child.finish();
    watch.tick();
    assert!(watch.exited(child.pid()) && !watch.collector.target_alive());
    assert!(watch.sample(orphan).is_some(), "a daemon outlives the target and is still seen");
    guard.kill();
    // SAFETY: waitpid takes integers and a null pointer; the orphan is our child now.
    unsafe { libc::waitpid(i32::try_from(orphan).unwrap(), std::ptr::null_mut(), 0) };
    watch.tick();
    assert!(watch.exited(orphan));
    watch.assert_in_order();
}
