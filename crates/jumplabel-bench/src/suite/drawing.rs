//! Draws a chart as inline SVG, with the colours of its page.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::Chart;
use crate::Result;
use crate::report::figure;

/// Placeholder colours. `COLOURS` replaces them by colours of the style sheet, because a page can be light or dark.
const TEXT: RGBColor = RGBColor(1, 2, 3);
const FAINT: RGBColor = RGBColor(4, 5, 6);
const BAR: RGBColor = RGBColor(7, 8, 9);
const INTERVAL: RGBColor = RGBColor(10, 11, 12);
const COLOURS: [(&str, &str); 4] = [
    ("#010203", "currentColor"),
    ("#040506", "var(--faint)"),
    ("#070809", "var(--bar)"),
    ("#0A0B0C", "var(--interval)"),
];

/// The width of the area for the bars, and the greatest width of a letter in the names of bars.
const WIDTH: u32 = 490;
const LETTER: u32 = 7;
const ROW: u32 = 22;

/// Draws horizontal bars with intervals and figures. The axis begins at 0, or on a logarithmic scale at a power of ten below all bars.
pub fn svg(chart: &Chart<'_>) -> Result<String> {
    let scaled = |x: f64| if chart.is_logarithmic { x.max(f64::MIN_POSITIVE).log10() } else { x };
    let ends = || chart.bars.iter().flat_map(|bar| [bar.figure, bar.interval[0], bar.interval[1]]).map(scaled);
    let origin = if chart.is_logarithmic { ends().fold(f64::INFINITY, f64::min).floor() } else { 0.0 };
    let [least, most] = ends().fold([origin; 2], |[least, most], end| [least.min(end), most.max(end)]);
    let room = (most - least).max(f64::MIN_POSITIVE) * 0.14;
    let (least, most) = (if least < origin { least - room / 4.0 } else { origin }, most + room);
    let letters = chart.bars.iter().map(|bar| bar.name.chars().count()).max().unwrap_or(0);
    let names = LETTER * letters as u32 + 16;
    let mut text = String::new();
    {
        let root =
            SVGBackend::with_string(&mut text, (names + WIDTH, ROW * chart.bars.len() as u32 + 60)).into_drawing_area();
        let rows = 0.0..chart.bars.len() as f64;
        let mut area = ChartBuilder::on(&root);
        area.margin(6).x_label_area_size(44).y_label_area_size(names);
        let mut area = area.build_cartesian_2d(least..most, rows)?;
        let label = ("sans-serif", 13).into_font().color(&TEXT);
        let mut mesh = area.configure_mesh();
        mesh.disable_y_mesh().disable_y_axis().x_labels(7).y_labels(0).axis_style(FAINT).light_line_style(TRANSPARENT);
        let power = |x: &f64| {
            let at = 10.0_f64.powf(*x);
            // Between powers of ten, a label has two significant digits. A chart that spans less than one power of ten has only such labels.
            let unit = 10.0_f64.powf(x.floor() - 1.0);
            figure((at / unit).round() * unit, if at < 9.5 && x.fract().abs() > 1e-6 { 1 } else { 0 })
        };
        if chart.is_logarithmic {
            mesh.x_label_formatter(&power);
        }
        mesh.bold_line_style(FAINT.stroke_width(1)).x_desc(chart.unit).label_style(label.clone()).draw()?;
        let at = |row: usize| chart.bars.len() as f64 - row as f64;
        area.draw_series(chart.bars.iter().enumerate().map(|(row, bar)| {
            Rectangle::new([(origin, at(row) - 0.2), (scaled(bar.figure), at(row) - 0.8)], BAR.filled())
        }))?;
        area.draw_series(chart.bars.iter().enumerate().map(|(row, bar)| {
            let [from, to] = bar.interval.map(scaled);
            PathElement::new([(from, at(row) - 0.5), (to, at(row) - 0.5)], INTERVAL.stroke_width(3))
        }))?;
        let right = label.clone().pos(Pos::new(HPos::Right, VPos::Center));
        let left = label.pos(Pos::new(HPos::Left, VPos::Center));
        for (row, bar) in chart.bars.iter().enumerate() {
            let place = |x: f64| area.backend_coord(&(x, at(row) - 0.5));
            root.draw(&Text::new(bar.name.to_owned(), (names as i32, place(origin).1), right.clone()))?;
            let end = scaled(bar.figure).max(scaled(bar.interval[1])).max(origin);
            let (x, y) = place(end);
            root.draw(&Text::new(figure(bar.figure, digits(bar.figure)), (x + 6, y), left.clone()))?;
        }
        root.present()?;
    }
    for (stand_in, colour) in COLOURS {
        text = text.replace(stand_in, colour);
    }
    Ok(text)
}

/// The number of digits after the point that makes three significant digits.
fn digits(figure: f64) -> usize {
    match figure.abs() {
        100.0.. => 0,
        10.0..100.0 => 1,
        _ => 2,
    }
}
