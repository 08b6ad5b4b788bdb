//! Frames of every view, at the smallest size that is enough and wide, and with names that want to do harm.
#![allow(clippy::unwrap_used)]

use lowtide_analyse::Analyser;
use lowtide_live::{Board, Status, View, plain};
use lowtide_model::{
    Event, ExitStatus, Mark, MarkKind, Mode, ProcId, ProcSample, Process, Role, RunEnd, RunInfo, Scope, ScopeMark, Signal, Tick,
};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

const MIB: f64 = 1024.0 * 1024.0;
const HOSTILE: &str = "x\u{1b}[2J\n\u{202e}\u{200b}日本語<b>";

fn process(id: u32, role: Role, command: &str) -> Process {
    Process {
        id: ProcId(id),
        pid: 100 + id,
        ppid: 1,
        parent: (id > 0).then_some(ProcId(0)),
        start_s: 0.0,
        name: "python".to_owned(),
        command: command.to_owned(),
        role,
        role_reason: String::new(),
        rank: None,
    }
}

/// A trainer that leaks 1 MiB a second under spikes of 60 MiB, and two workers that do not; `command` is what they are called.
fn board(command: &str, view: View) -> Board {
    let mut run = Analyser::new();
    run.push(&Event::Start(RunInfo {
        version: "0".to_owned(),
        mode: Mode::Run,
        command: vec![command.to_owned()],
        host: String::new(),
        started_unix_s: 0.0,
        interval_s: 1.0,
        root_pid: 100,
        rank: None,
        signal: Signal::AnonShmem,
    }));
    run.push(&Event::Process(process(0, Role::Trainer, command)));
    run.push(&Event::Process(process(1, Role::DataloaderWorker, command)));
    run.push(&Event::Process(process(2, Role::DataloaderWorker, command)));
    for t in 0..120_u32 {
        let t_s = f64::from(t);
        let spike = if t % 20 >= 17 { 60.0 } else { 0.0 };
        let sample = |id: u32, mib: f64| ProcSample { anon: (mib * MIB) as u64, ..ProcSample::empty(ProcId(id)) };
        let procs = vec![sample(0, 200.0 + t_s + spike), sample(1, 90.0), sample(2, 90.0)];
        run.push(&Event::Tick(Tick { t_s, procs, ..Tick::default() }));
        let scope = ScopeMark { scope: Scope::Phase, index: None, name: "train".to_owned() };
        let what = if t == 0 { MarkKind::Begin(scope) } else { MarkKind::Step };
        run.push(&Event::Mark(Mark { t_s, id: ProcId(0), what, steps: 4 * u64::from(t), facts: None }));
    }
    run.push(&Event::End(RunEnd { t_s: 120.0, status: ExitStatus::Code(0), reason: String::new(), oom_kills: 0 }));
    let mut board = Board::new("train.lowtide", false);
    board.report = run.report();
    board.curves = run.curves(&board.report);
    board.status = Status::Ended(board.report.run.ended.clone());
    board.view = view;
    board
}

#[test]
fn every_view_fits_into_80_by_24() {
    for view in View::ALL {
        insta::assert_snapshot!(format!("{}_80x24", view.name()), plain(&board("python train.py", view), 80, 24));
    }
}

#[test]
fn the_overview_uses_a_wide_screen() {
    insta::assert_snapshot!("overview_160x45", plain(&board("python train.py", View::Overview), 160, 45));
}

#[test]
fn the_help_lies_over_it_and_keys_do_what_it_says() {
    let mut board = board("python train.py", View::Overview);
    let press = |board: &mut Board, code| board.key(KeyEvent::new(code, KeyModifiers::NONE));
    assert!(press(&mut board, KeyCode::Char('?')) && board.help);
    insta::assert_snapshot!("help_80x24", plain(&board, 80, 24));
    assert!(press(&mut board, KeyCode::Esc) && !board.help);
    for (at, view) in View::ALL.into_iter().enumerate() {
        assert!(press(&mut board, KeyCode::Char(char::from(b'1' + at as u8))));
        assert_eq!(board.view, view);
    }
    assert!(press(&mut board, KeyCode::Tab) && board.view == View::Overview);
    assert!(press(&mut board, KeyCode::BackTab) && board.view == View::Rest);
    assert!(press(&mut board, KeyCode::Up) && board.scroll == 0);
    assert!(!board.clone().key(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)));
    assert!(!press(&mut board, KeyCode::Char('q')));
}

#[test]
fn it_says_how_the_run_stands() {
    let mut board = board("python train.py", View::Overview);
    for (status, said) in [
        (Status::Ended("signal 9".to_owned()), "over: signal 9"),
        (Status::Running, "running"),
        (Status::Silent(35), "no news for 35 s"),
        (Status::Reading, "reading the recording ..."),
    ] {
        board.status = status;
        let frame = plain(&board, 80, 24);
        assert!(frame.lines().next().unwrap().ends_with(said), "{frame}");
    }
    let empty = plain(&Board::new("new.lowtide", false), 80, 24);
    assert!(empty.contains("nothing was measured yet"), "{empty}");
}

#[test]
fn hostile_names_and_sizes_do_no_harm() {
    let long = HOSTILE.repeat(500);
    for command in [HOSTILE, long.as_str()] {
        let mut board = board(command, View::Overview);
        board.name = command.to_owned();
        board.status = Status::Ended(command.to_owned());
        for view in View::ALL {
            board.view = view;
            for help in [false, true] {
                board.help = help;
                for (width, height, scroll) in [(80, 24, 0), (1, 1, 3), (20, 5, 1), (200, 60, usize::MAX), (3, 60, 0)] {
                    board.scroll = scroll;
                    let frame = plain(&board, width, height);
                    assert_eq!(frame.lines().count(), usize::from(height));
                    assert!(!frame.contains(['\u{1b}', '\u{202e}', '\u{200b}']), "{frame}");
                }
            }
        }
    }
}
