//! A curve with its low-water mark, drawn with dots.

use lowtide_analyse::curves::Curve;
use lowtide_model::{Bytes, Seconds};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::Marker;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Axis, Block, Chart, Dataset, GraphType, Paragraph};

/// Fewest lines and columns in which a curve says anything.
const LOWEST: u16 = 5;
const NARROWEST: u16 = 24;

/// Draws it into `area`; `limit`: what can be had at most, drawn where it is near. Bytes.
pub(crate) fn draw(frame: &mut Frame, area: Rect, curve: &Curve, limit: Option<u64>, color: bool) {
    if area.height < LOWEST || area.width < NARROWEST {
        return;
    }
    let (Some(first), Some(last)) = (curve.windows.first(), curve.windows.last()) else {
        frame.render_widget(Paragraph::new("nothing was measured yet"), area);
        return;
    };
    // Every window by its least and its most, so that no spike and no low tide is lost.
    let memory: Vec<(f64, f64)> = curve
        .windows
        .iter()
        .flat_map(|w| [(w.start_s, w.low), (w.low_at_s, w.low), (w.end_s, w.high), (w.end_s, w.last)])
        .collect();
    let floor: Vec<(f64, f64)> = curve.floor.iter().map(|point| (point.t_s, point.floor)).collect();
    let high = curve.windows.iter().fold(0.0_f64, |high, w| high.max(w.high));
    let low = curve.windows.iter().fold(f64::INFINITY, |low, w| low.min(w.low));
    // A limit twice as high as all would press the curve flat.
    let limit = limit.map(|limit| limit as f64).filter(|limit| *limit > 0.0 && *limit < 2.0 * high);
    let top = limit.unwrap_or(0.0).max(high) * 1.02;
    let bottom = if low < 0.5 * top { 0.0 } else { (low - 0.15 * (top - low)).max(0.0) };
    let end_s = last.end_s.max(first.start_s + 1.0);
    let limits: Vec<(f64, f64)> = limit.map_or_else(Vec::new, |limit| vec![(first.start_s, limit), (end_s, limit)]);
    let style = |wanted: Color| if color { Style::new().fg(wanted) } else { Style::new() };
    let line = |points, marker, style| Dataset::default().data(points).marker(marker).graph_type(GraphType::Line).style(style);
    let datasets = vec![
        line(&memory, Marker::Braille, style(Color::Cyan)),
        // Without colour the mark is told by its letters.
        line(&floor, if color { Marker::Braille } else { Marker::Dot }, style(Color::Yellow).add_modifier(Modifier::BOLD)),
        line(&limits, Marker::Braille, style(Color::Red)),
    ];
    let size = |value: f64| if curve.counts { format!("{value:.0}") } else { Bytes(value as u64).to_string() };
    let what = if curve.counts { "number" } else { "memory" };
    let chart = Chart::new(datasets)
        .block(Block::new().title(Line::from(vec![
            Span::styled(curve.label.clone(), Style::new().add_modifier(Modifier::BOLD)),
            Span::raw(" ("),
            Span::styled(if color { what.to_owned() } else { format!("{what}: line") }, style(Color::Cyan)),
            Span::raw(", "),
            Span::styled(if color { "low-water mark" } else { "low-water mark: dots" }, style(Color::Yellow)),
            Span::raw(")"),
        ])))
        .x_axis(Axis::default().bounds([first.start_s, end_s]).labels([
            Seconds(first.start_s).to_string(),
            Seconds(f64::midpoint(first.start_s, end_s)).to_string(),
            Seconds(end_s).to_string(),
        ]))
        .y_axis(Axis::default().bounds([bottom, top]).labels([size(bottom), size(f64::midpoint(bottom, top)), size(top)]))
        .legend_position(None);
    frame.render_widget(chart, area);
}
