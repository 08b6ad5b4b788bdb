use super::*;

const MIB: f64 = 1_048_576.0;

fn suspected() -> Suspicion {
    Suspicion { id: ProcId(3), pid: 7, rate: MIB, enough_s: 30.0, since_s: 0.0, epoch_s: None, claimed: true }
}

/// The seconds at which looks were taken of a run that grows in a line, with a spike of four seconds in each ten, and those of
/// them that were first ones. `suspicion`: what is suspected at a second, and whether somebody is named.
fn looked(to_s: u32, pause: Duration, suspicion: impl Fn(u32) -> Option<(Suspicion, bool)>) -> (Vec<u32>, Vec<u32>) {
    let mut plan = Plan::default();
    let (mut at, mut first) = (Vec::new(), Vec::new());
    for t in 0..to_s {
        let t_s = f64::from(t);
        (plan.suspicion, plan.told) = suspicion(t).map_or((None, false), |(suspicion, told)| (Some(suspicion), told));
        let spike = if t % 10 < 4 { 50.0 * MIB } else { 0.0 };
        plan.measured(t_s, &HashMap::from([(ProcId(3), (t_s * MIB + spike) as u64)]));
        if let Some(due) = plan.due(t_s) {
            assert_eq!((due.id, due.pid), (ProcId(3), 7));
            let is_first = at.is_empty() || due.anew;
            plan.looked(due.id, t_s, pause, is_first);
            at.push(t);
            first.extend(is_first.then_some(t));
        }
    }
    (at, first)
}

const SHORT: Duration = Duration::from_millis(100);

/// Suspected from a second on.
fn from(from_s: u32, suspicion: Suspicion, told: bool) -> impl Fn(u32) -> Option<(Suspicion, bool)> {
    move |t| (t >= from_s).then(|| (suspicion.clone(), told))
}

#[test]
fn why_nobody_looked_is_told_of_a_process_that_ended_before_the_run() {
    let mut plan = Plan { suspicion: Some(suspected()), ..Plan::default() };
    plan.gone(ProcId(4));
    plan.gone(ProcId(3));
    assert_eq!(plan.due(30.0), None, "there is nobody to look at any more");
    assert!(plan.unlooked().is_some_and(|(id, pid, why)| (id, pid) == (ProcId(3), 7) && why.contains("it ended")));
    let mut looked_at = Plan { suspicion: Some(suspected()), ..Plan::default() };
    looked_at.looked(ProcId(3), 20.0, SHORT, true);
    looked_at.gone(ProcId(3));
    assert_eq!(looked_at.unlooked(), None);
    let mut possible = Plan { suspicion: Some(Suspicion { claimed: false, ..suspected() }), ..Plan::default() };
    possible.gone(ProcId(3));
    assert_eq!(possible.unlooked(), None, "nothing was claimed of it");
    let report = lowtide_analyse::Analyser::default().report();
    plan.review(&report, None);
    assert_eq!(plan.unlooked(), None, "its growth is not claimed any more");
}

#[test]
fn looks_come_at_low_tides_and_ever_further_apart() {
    let (at, first) = looked(300, SHORT, from(20, suspected(), false));
    assert_eq!((at.len(), first.len()), (MOST as usize, 1), "{at:?}");
    assert!(at.iter().all(|t| t % 10 >= 4), "{at:?}");
    assert!(at[0] < 32 && (8..22).contains(&(at[1] - at[0])) && at[2] - at[0] >= 2 * (at[1] - at[0]), "{at:?}");
}

#[test]
fn once_it_is_told_who_holds_it_three_are_enough() {
    assert_eq!(looked(300, SHORT, from(20, suspected(), true)).0.len(), ENOUGH as usize);
    let (at, _) = looked(600, SHORT, from(20, Suspicion { epoch_s: Some(60.0), ..suspected() }, true));
    assert!(at[1] - at[0] >= 120, "two epochs at least: {at:?}");
}

#[test]
fn what_may_be_harmless_gets_two_and_more_once_it_is_claimed() {
    let possible = Suspicion { claimed: false, ..suspected() };
    let (at, _) = looked(300, SHORT, from(20, possible.clone(), false));
    assert_eq!(at.len(), 2, "{at:?}");
    assert!(f64::from(at[1] - at[0]) >= UNCLAIMED_S[1], "{at:?}");
    let (at, first) = looked(300, SHORT, |t| (t >= 20).then(|| (Suspicion { claimed: t >= 30, ..possible.clone() }, false)));
    assert!(at[0] < 30 && at[1] < 42 && first.len() == 1, "the second follows the claim: {at:?}");
}

#[test]
fn what_grows_fast_is_looked_into_again_sooner() {
    let fast = Suspicion { enough_s: 1.0, ..suspected() };
    let apart = |suspicion: Suspicion| {
        let at = looked(300, SHORT, from(14, suspicion, false)).0;
        at[1] - at[0]
    };
    assert!(apart(fast.clone()) < 8 && apart(suspected()) >= 8);
    assert!(apart(Suspicion { claimed: false, ..fast }) < 15 && apart(Suspicion { claimed: false, ..suspected() }) >= 15);
}

#[test]
fn a_drift_is_no_tide() {
    let mut plan = Plan { suspicion: Some(Suspicion { rate: 0.0, ..suspected() }), ..Plan::default() };
    for t in 0..10 {
        plan.measured(f64::from(t), &HashMap::from([(ProcId(3), (50 << 20) + (u64::from(t as u8) << 17))]));
    }
    assert!(plan.due(9.0).is_some());
}

#[test]
fn whoever_is_suspected_next_was_followed_before() {
    let mut plan = Plan::default();
    for t in 0..20 {
        // Both have a spike in the first seconds, and level off.
        let bytes = if t < 3 { 90 << 20 } else { 50 << 20 };
        plan.measured(f64::from(t), &HashMap::from([(ProcId(3), bytes), (ProcId(4), bytes)]));
    }
    plan.suspicion = Some(Suspicion { rate: 0.0, ..suspected() });
    assert!(plan.due(19.0).is_some());
    plan.suspicion = Some(Suspicion { id: ProcId(4), rate: 0.0, ..suspected() });
    assert_eq!(plan.due(19.0).map(|due| due.id), Some(ProcId(4)));
}

#[test]
fn a_first_look_in_what_was_warm_up_is_taken_anew() {
    // It is found out at 60 that all before 50 was warm-up, and again and again later.
    let since = |t: u32| if t < 60 { 0.0 } else { f64::from(t / 10 * 10) - 10.0 };
    let (at, first) = looked(200, SHORT, |t| (t >= 20).then(|| (Suspicion { since_s: since(t), ..suspected() }, false)));
    assert!(first.len() as u32 == 1 + MOST_ANEW && first[1] >= 60, "{at:?} {first:?}");
}

#[test]
fn a_process_is_not_held_for_more_than_a_share_of_the_time() {
    let at = looked(1000, Duration::from_secs(2), from(20, suspected(), false)).0;
    let held = |t: u32| at.iter().filter(|one| **one < t).count() as f64 * 2.0;
    // What the first one takes is not known before.
    assert!((200..1000).all(|t| held(t) <= SHARE * f64::from(t) + 2.0), "{at:?}");
    assert!(at.len() > 1, "{at:?}");
}

#[test]
fn lengths_are_learned_first_and_the_first_look_waits_until_enough_has_grown_and_it_may_be_taken() {
    let long = Duration::from_millis(400);
    let mut plan = Plan { suspicion: Some(suspected()), ..Plan::default() };
    let at = |plan: &mut Plan, from: u32| (from..300).find(|t| plan.due(f64::from(*t)).is_some());
    assert!(plan.may_glance(ProcId(3)) && at(&mut plan, 15).is_some_and(|t| t < 30));
    plan.glanced(ProcId(3), 15.0, Duration::ZERO, Some(long));
    assert!(!plan.may_glance(ProcId(3)));
    assert!(plan.unlooked().is_some_and(|(.., why)| why.contains("0.4 s")), "a stop has not been taken yet");
    // 8 s from the glance, and 2 % of 20 s are 0.4 s.
    let first = at(&mut plan, 16).unwrap_or(0);
    assert!((23..40).contains(&first), "{first}");
    plan.looked(ProcId(3), f64::from(first), long, true);
    // What it can be compared with is there: the next one has it from that look.
    let second = at(&mut plan, first + 1).unwrap_or(0);
    assert!(f64::from(second) * SHARE >= 2.0 * long.as_secs_f64(), "{second}");
    plan.looked(ProcId(3), f64::from(second), long, false);
    plan.told = true;
    assert_eq!(at(&mut plan, second + 1), None, "three that could be compared are enough");
}

#[test]
fn lengths_that_lie_in_what_was_warm_up_are_learned_anew() {
    let mut plan = Plan { suspicion: Some(suspected()), ..Plan::default() };
    plan.glanced(ProcId(3), 15.0, Duration::ZERO, Some(Duration::from_secs(4)));
    assert_eq!((16..100).find(|t| plan.due(f64::from(*t)).is_some()), None, "too long for a stop");
    plan.suspicion = Some(Suspicion { since_s: 90.0, ..suspected() });
    let due = (100..120).find_map(|t| plan.due(f64::from(t)));
    assert!(due.is_some_and(|due| due.anew));
}

#[test]
fn what_fails_is_not_tried_for_ever() {
    let mut plan = Plan::default();
    let mut tried = 0;
    for t in 0..1000 {
        plan.suspicion = Some(suspected());
        if let Some(due) = plan.due(f64::from(t)) {
            tried += 1;
            plan.failed(due.id, f64::from(t), Duration::from_millis(50), false);
        }
    }
    assert_eq!(tried, MOST_FAILURES);
    plan.suspicion = Some(Suspicion { id: ProcId(4), ..suspected() });
    assert_eq!((1000..1020).find_map(|t| plan.due(f64::from(t))).map(|due| due.id), Some(ProcId(4)), "somebody else");
}

#[test]
fn what_always_begins_anew_is_not_looked_at_for_ever() {
    let mut plan = Plan { suspicion: Some(suspected()), ..Plan::default() };
    let mut looked = 0;
    for t in 0..3000 {
        if let Some(due) = plan.due(f64::from(t)) {
            looked += 1;
            plan.looked(due.id, f64::from(t), Duration::from_millis(50), true);
        }
    }
    assert_eq!(looked, MOST_TRIES);
}
