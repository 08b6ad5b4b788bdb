//! A frame: a line of what is watched, the view, a line of keys.

use lowtide_model::{Bytes, Finding, GpuReport, Kind, Rate, Seconds, Verdict};
use lowtide_report::{Part, TextOptions, beginning, part, short};
use ratatui::Frame;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Clear, Paragraph};

use crate::board::{Board, Status, View};
use crate::{curve, uses};

const HELP: &str = "\
1 to 7        the views: overview, roles, kinds of memory, objects,
              steps and phases, GPU, limits
Tab, arrows   the next one, the one before
up, down, j k scroll; PageUp, PageDown, Home
?             this help
q, Esc        end the screen; the run and its recording go on

The line is what the verdict is about (a card, a role, a number),
else the memory of all processes together, shared pages once. The
low-water mark is what it never came back down below: if the low
tide rises, it is a leak. Its last stretch is provisional: a spike
that has not come down yet still looks like a rise there.";

/// Makes a frame of a board.
pub fn draw(frame: &mut Frame, board: &Board) {
    let [title, body, keys] =
        Layout::vertical([Constraint::Length(1), Constraint::Fill(1), Constraint::Length(1)]).areas(frame.area());
    frame.render_widget(Paragraph::new(head(board, title.width)), title);
    match board.view {
        View::Overview => overview(frame, body, board),
        View::Roles => pages(frame, body, board, &text(board, Part::Processes, body.width)),
        View::Kinds => kinds(frame, body, board),
        View::Objects => pages(frame, body, board, &objects(board, body.width)),
        View::Steps => pages(frame, body, board, &or(text(board, Part::Steps, body.width), NO_STEPS)),
        View::Gpu => gpu(frame, body, board),
        View::Rest => pages(frame, body, board, &text(board, Part::Rest, body.width)),
    }
    frame.render_widget(Paragraph::new(foot(board, keys.width)), keys);
    if board.help {
        help(frame, body);
    }
}

/// One frame as plain text, lines ended by `\n`.
#[must_use]
pub fn plain(board: &Board, width: u16, height: u16) -> String {
    // A backend in memory cannot fail, and gives a frame of the size that it was asked for.
    let Ok(mut terminal) = Terminal::new(TestBackend::new(width.max(1), height.max(1)));
    let Ok(_) = terminal.draw(|frame| draw(frame, board));
    let buffer = terminal.backend().buffer();
    let mut out = String::new();
    for y in 0..buffer.area.height {
        let mut line = String::new();
        let mut x = 0;
        while x < buffer.area.width {
            let symbol = buffer[(x, y)].symbol();
            line.push_str(symbol);
            // A wide letter has the next cell, too.
            x += u16::try_from(Span::raw(symbol).width()).unwrap_or(1).max(1);
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// Columns that name, time, step and state want.
const ROOMY_HEAD: usize = 60;
/// Lines in which a curve reads well.
const ROOMY: u16 = 9;
const NO_STEPS: &str = "No steps, epochs or phases are known: `lowtide run` puts marks into PyTorch programs by itself, `lowtide attach` never does.";
const NO_GPU: &str = "No GPU was seen. The limits (7) say what could not be read, and why.";

fn or(text: String, instead: &str) -> String {
    if text.trim().is_empty() { format!("\n{instead}") } else { text }
}

/// The part of the report, laid out for so many columns.
fn text(board: &Board, which: Part, width: u16) -> String {
    part(&board.report, which, &TextOptions { color: false, width: usize::from(width), verbose: which != Part::Processes })
}

fn objects(board: &Board, width: u16) -> String {
    let looks = board.report.cost.looks;
    let looked = match (board.report.leak(), looks) {
        (None, _) => "nothing is known to grow, so that nobody holds what grows".to_owned(),
        (Some(leak), _) if leak.holder.is_some() => String::new(),
        (Some(_), 0) => "no process was looked into: what objects grow, and who holds them, is not known".to_owned(),
        (Some(_), _) => "processes were looked into, and nothing there grows as their memory does".to_owned(),
    };
    format!("{}\n{looked}\n", text(board, Part::Evidence, width))
}

fn head(board: &Board, width: u16) -> Line<'static> {
    let (word, colour) = match &board.status {
        Status::Reading => ("reading the recording ...".to_owned(), Color::Cyan),
        Status::Running => ("running".to_owned(), Color::Green),
        Status::Silent(seconds) => (format!("no news for {}", Seconds(*seconds as f64)), Color::Yellow),
        Status::Ended(how) if how.is_empty() => ("over".to_owned(), Color::Magenta),
        Status::Ended(how) => (format!("over: {}", short(how, 40)), Color::Magenta),
    };
    // Where there is little room, how it stands is worth more than how far it is.
    let roomy = usize::from(width) >= ROOMY_HEAD;
    let time = if roomy { Seconds(board.report.duration_s).to_string() } else { String::new() };
    let progress = board.report.progress.iter().max_by_key(|progress| progress.steps);
    let step = progress.filter(|_| roomy).map_or(String::new(), |progress| {
        let phase = progress.phase.as_ref().map_or(String::new(), |phase| format!(", {}", short(phase, 16)));
        format!("  step {}{phase}", progress.steps)
    });
    let right = format!("{time}{step}  ");
    let taken = "lowtide  ".len() + right.len() + word.len() + 2;
    let name = short(&board.name, usize::from(width).saturating_sub(taken));
    let gap = usize::from(width).saturating_sub(taken + Span::raw(name.as_str()).width()) + 2;
    Line::from(vec![
        Span::styled("lowtide  ", Style::new().add_modifier(Modifier::BOLD)),
        Span::raw(name),
        Span::raw(" ".repeat(gap)),
        Span::raw(right),
        Span::styled(word, paint(board, colour).add_modifier(Modifier::BOLD)),
    ])
}

fn foot(board: &Board, width: u16) -> Line<'static> {
    let mut spans = Vec::new();
    for (number, view) in (1..).zip(View::ALL) {
        let style = if view == board.view { Style::new().add_modifier(Modifier::REVERSED) } else { Style::new() };
        // Where nothing can be shown in another way, brackets say which one it is.
        let name = if view == board.view { format!("[{number} {}]", view.name()) } else { format!(" {number} {} ", view.name()) };
        spans.push(Span::styled(name, style));
    }
    let used: usize = spans.iter().map(Span::width).sum();
    let room = usize::from(width).saturating_sub(used);
    if let Some(last) = ["? help  q quit", "? help", "?"].into_iter().find(|last| last.len() < room) {
        spans.push(Span::raw(format!("{last:>room$}")));
    }
    Line::from(spans)
}

fn paint(board: &Board, color: Color) -> Style {
    if board.color { Style::new().fg(color) } else { Style::new() }
}

/// Verdict and forecast; the curve; the tree.
fn overview(frame: &mut Frame, area: Rect, board: &Board) {
    let answer = text(board, Part::Answer, area.width);
    let colour = match board.report.verdict {
        Verdict::Leak => Color::Red,
        Verdict::LikelyLeak => Color::Yellow,
        Verdict::NoLeak => Color::Green,
        Verdict::Undecided => Color::Cyan,
    };
    let mut lines: Vec<Line> = answer.lines().take(5).map(|line| Line::raw(line.to_owned())).collect();
    if let Some(first) = lines.first_mut() {
        *first = first.clone().style(paint(board, colour).add_modifier(Modifier::BOLD));
    }
    // Where a leak is, in one line, and what holds it in another; the objects have the rest.
    // One that is undecided has said above what it takes.
    if let Some(leak) = board.report.leak() {
        let who = leak.process.as_ref().map_or(String::new(), |process| format!("{}: ", process.role_label));
        lines.push(Line::raw(beginning(&format!("where  {who}{}", leak.text), usize::from(area.width))));
        lines.extend(held(leak).map(|held| Line::raw(beginning(&held, usize::from(area.width)))));
    } else if !board.report.summary.is_empty() && board.report.verdict != Verdict::Undecided {
        lines.push(Line::raw(beginning(&board.report.summary, usize::from(area.width))));
    }
    let tree = text(board, Part::Processes, area.width);
    let tree: Vec<&str> = tree.lines().skip_while(|line| line.is_empty()).take_while(|line| !line.is_empty()).collect();
    let told = u16::try_from(lines.len()).unwrap_or(6);
    // The curve first, but a tree that fits into what a third of the screen is.
    let room = area.height.saturating_sub(told);
    let below = u16::try_from(tree.len()).unwrap_or(u16::MAX).min(room / 3);
    let [top, middle, bottom] =
        Layout::vertical([Constraint::Length(told), Constraint::Fill(1), Constraint::Length(below)]).areas(area);
    frame.render_widget(Paragraph::new(lines), top);
    let limit = board
        .report
        .limits
        .iter()
        .filter(|limit| limit.bytes > 0 && !limit.name.starts_with("gpu"))
        .map(|limit| limit.bytes)
        .min();
    // The curve that the verdict is about, and the whole tree's memory beside it where there is room for both.
    if let Some((blamed, most)) = &board.curves.blamed {
        let both = if middle.height >= 2 * ROOMY { vec![Constraint::Fill(1); 2] } else { vec![Constraint::Fill(1)] };
        let areas = Layout::vertical(both).split(middle);
        let named = lowtide_analyse::curves::Curve { label: short(&blamed.label, 50), ..blamed.clone() };
        curve::draw(frame, areas[0], &named, Some(*most).filter(|most| *most > 0), board.color);
        if let Some(area) = areas.get(1) {
            curve::draw(frame, *area, &board.curves.tree, limit, board.color);
        }
    } else {
        curve::draw(frame, middle, &board.curves.tree, limit, board.color);
    }
    let shown = tree.iter().take(usize::from(below)).map(|line| Line::raw((*line).to_owned()));
    frame.render_widget(Paragraph::new(shown.collect::<Vec<_>>()), bottom);
}

/// `held   Trainer.outputs; train.py:88  self.outputs.append(out)`.
fn held(leak: &Finding) -> Option<String> {
    let line = leak.site.as_ref().map(|site| {
        let file = site.file.rsplit('/').next().unwrap_or(&site.file);
        format!("{file}:{}  {}", site.line, site.text.trim())
    });
    match (&leak.holder, line) {
        (Some(holder), Some(line)) => Some(format!("held   {}; {line}", short(&holder.name, 40))),
        (Some(holder), None) => Some(format!("held   {}", holder.name)),
        (None, line) => line.map(|line| format!("line   {line}")),
    }
}

/// Text that may be longer than the screen.
fn pages(frame: &mut Frame, area: Rect, board: &Board, text: &str) {
    let all: Vec<&str> = text.lines().skip_while(|line| line.is_empty()).collect();
    let height = usize::from(area.height);
    let from = board.scroll.min(all.len().saturating_sub(height.min(all.len())));
    let mut lines: Vec<Line> = all.iter().skip(from).take(height).map(|line| Line::raw((*line).to_owned())).collect();
    let below = all.len().saturating_sub(from + height);
    if below > 0 && !lines.is_empty() {
        lines.pop();
        lines.push(Line::raw(format!("... {} more lines below", below + 1)));
    }
    frame.render_widget(Paragraph::new(lines).wrap(ratatui::widgets::Wrap { trim: false }), area);
}

/// Memory by sort, what grows of each, and the curves of the roles.
fn kinds(frame: &mut Frame, area: Rect, board: &Board) {
    let name = |kind: Kind| match kind {
        Kind::Anonymous => "own memory (anonymous)",
        Kind::Shmem => "shared memory",
        _ => "pages of files (the kernel takes them back)",
    };
    let mut lines = vec![Line::raw(format!("{:<44} {:>10}  {:>10}", "all processes together", "now", "in swap"))];
    for share in &board.curves.shares {
        let swap = if share.swapped > 0 { Bytes(share.swapped).to_string() } else { "-".to_owned() };
        lines.push(Line::raw(format!("{:<44} {:>10}  {swap:>10}", name(share.kind), Bytes(share.bytes).to_string())));
    }
    for finding in board.report.findings.iter().filter(|finding| finding.growth.is_some()).take(4) {
        let rate = finding.growth.as_ref().map_or(String::new(), |growth| match growth.unit {
            "bytes" => format!("{}/min", Rate(60.0 * growth.bytes_per_second)),
            _ => format!("{:+.2} per minute", 60.0 * growth.bytes_per_second),
        });
        lines.push(Line::raw(beginning(&format!("growing: {rate}  {}", finding.text), usize::from(area.width))));
    }
    let told = u16::try_from(lines.len()).unwrap_or(8);
    let [top, rest] = Layout::vertical([Constraint::Length(told), Constraint::Fill(1)]).areas(area);
    frame.render_widget(Paragraph::new(lines), top);
    let roles = if board.curves.roles.is_empty() { std::slice::from_ref(&board.curves.tree) } else { &board.curves.roles };
    let fit = usize::from(rest.height / 7).clamp(1, roles.len().max(1));
    let from = board.scroll.min(roles.len().saturating_sub(fit));
    let areas = Layout::vertical(vec![Constraint::Fill(1); fit]).split(rest);
    for (role, area) in roles[from..].iter().zip(areas.iter()) {
        curve::draw(frame, *area, role, None, board.color);
    }
}

/// Processes of a card that are told of beside its curve.
const HOLDERS: usize = 3;

fn gpu(frame: &mut Frame, area: Rect, board: &Board) {
    let cards = &board.curves.cards;
    let Some((card, total)) = cards.get(board.scroll.min(cards.len().saturating_sub(1))) else {
        return pages(frame, area, board, NO_GPU);
    };
    let used = card.windows.last().map_or(0.0, |window| window.last) as u64;
    let number = if cards.len() > 1 {
        format!("  (card {} of {}: up, down)", board.scroll.min(cards.len() - 1) + 1, cards.len())
    } else {
        String::new()
    };
    let mut lines = vec![format!("{}: {} of {} used{number}", short(&card.label, 50), Bytes(used), Bytes(*total))];
    let of_cards = |resource: &str| resource.starts_with("gpu");
    lines.extend(
        board
            .report
            .findings
            .iter()
            .filter(|finding| of_cards(&finding.resource))
            .take(4)
            .map(|finding| beginning(&finding.text, usize::from(area.width))),
    );
    let of_card = |gpu: &&GpuReport| card.label.split(' ').next() == Some(gpu.resource.as_str());
    if board.report.gpus.iter().any(|gpu| gpu.emulated && of_card(&gpu)) {
        lines[0].push_str("  (EMULATED: there is no such card)");
    }
    let holders = board.report.gpus.iter().filter(of_card).flat_map(|gpu| &gpu.processes).take(HOLDERS);
    lines.extend(holders.flat_map(uses::lines).map(|line| beginning(&line, usize::from(area.width))));
    let told = u16::try_from(lines.len()).unwrap_or(5);
    let [top, rest] = Layout::vertical([Constraint::Length(told), Constraint::Fill(1)]).areas(area);
    frame.render_widget(Paragraph::new(Text::from(lines.join("\n"))), top);
    let named = lowtide_analyse::curves::Curve { label: short(&card.label, 50), ..card.clone() };
    curve::draw(frame, rest, &named, Some(*total), board.color);
}

fn help(frame: &mut Frame, area: Rect) {
    let lines: Vec<&str> = HELP.lines().collect();
    let width = (lines.iter().map(|line| line.len()).max().unwrap_or(0) as u16 + 4).min(area.width);
    let height = (lines.len() as u16 + 2).min(area.height);
    let over = Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 2, width, height };
    frame.render_widget(Clear, over);
    frame.render_widget(Paragraph::new(HELP).block(ratatui::widgets::Block::bordered().title(" help ")), over);
}
