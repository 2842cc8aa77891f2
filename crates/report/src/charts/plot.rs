//! A small line plot as a standalone SVG: presentation attributes only, so that it can stand in a page, in a file and
//! on a code host alike. It has its own white ground and needs no script, style or font.

use std::fmt::Write as _;

use crate::format;

const WIDTH: f64 = 760.0;
const LEFT: f64 = 76.0;
const RIGHT: f64 = 20.0;
const PLOT_HEIGHT: f64 = 280.0;
const LEGEND_LINE: f64 = 20.0;

/// A plot.
#[derive(Debug, Default)]
pub(crate) struct Plot {
    /// What it shows.
    pub(crate) title: String,
    /// Under the horizontal axis.
    pub(crate) x_label: String,
    /// Over the vertical axis.
    pub(crate) y_label: String,
    /// Logarithmic vertical axis.
    pub(crate) log_y: bool,
    /// Logarithmic horizontal axis.
    pub(crate) log_x: bool,
    /// The lines.
    pub(crate) lines: Vec<Line>,
    /// Horizontal rules (limits).
    pub(crate) rules: Vec<(String, f64)>,
    /// Points to point out: a ring with its name.
    pub(crate) rings: Vec<Ring>,
    /// Names and colours.
    pub(crate) legend: Vec<(String, &'static str)>,
    /// A remark under it.
    pub(crate) note: String,
}

/// A line of a plot.
#[derive(Debug, Default)]
pub(crate) struct Line {
    /// Its colour.
    pub(crate) colour: &'static str,
    /// SVG `stroke-dasharray`, empty for a solid line.
    pub(crate) dash: &'static str,
    /// The points; `None` breaks the line.
    pub(crate) points: Vec<Option<Dot>>,
    /// Whether each point has a mark.
    pub(crate) marks: bool,
}

/// A point of a line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dot {
    /// Horizontal.
    pub(crate) x: f64,
    /// Vertical.
    pub(crate) y: f64,
    /// Drawn hollow: not valid.
    pub(crate) hollow: bool,
}

/// A point that is pointed out.
#[derive(Clone, Debug)]
pub(crate) struct Ring {
    /// What it is.
    pub(crate) name: String,
    /// Its colour.
    pub(crate) colour: &'static str,
    /// Horizontal.
    pub(crate) x: f64,
    /// Vertical.
    pub(crate) y: f64,
}

/// From a value to a position.
struct Scale {
    low: f64,
    high: f64,
    log: bool,
    from: f64,
    to: f64,
}

impl Scale {
    fn new(values: &[f64], log: bool, from: f64, to: f64) -> Self {
        let log = log && values.iter().any(|v| *v > 0.0);
        let usable = || values.iter().copied().filter(|v| v.is_finite() && (!log || *v > 0.0));
        let (min, max) = usable().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
        let (min, max) = if min > max { (0.0, 1.0) } else { (min, max) };
        let (low, high) = if log {
            let pad = (max / min).powf(0.06).max(1.1);
            (min / pad, max * pad)
        } else {
            (0.0, if max > 0.0 { max * 1.06 } else { 1.0 })
        };
        Self { low, high, log, from, to }
    }

    fn place(&self, value: f64) -> Option<f64> {
        let part = if self.log {
            (value > 0.0).then(|| (value / self.low).ln() / (self.high / self.low).ln())?
        } else {
            (value - self.low) / (self.high - self.low)
        };
        Some(self.from + part * (self.to - self.from))
    }

    fn ticks(&self) -> Vec<f64> {
        if self.log { self.log_ticks() } else { self.linear_ticks() }
    }

    fn linear_ticks(&self) -> Vec<f64> {
        let rough = (self.high - self.low) / 6.0;
        let magnitude = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().map(|s| s * magnitude).find(|s| *s >= rough).unwrap_or(rough);
        (0..100u32).map(|i| f64::from(i) * step).take_while(|v| *v <= self.high * 1.000_001).collect()
    }

    fn log_ticks(&self) -> Vec<f64> {
        let decades = (self.high / self.low).log10();
        let steps: &[f64] = if decades > 3.0 {
            &[1.0]
        } else if decades > 1.5 {
            &[1.0, 2.0, 5.0]
        } else {
            &[1.0, 1.5, 2.0, 3.0, 5.0, 7.0]
        };
        let first = self.low.log10().floor();
        let mut ticks = Vec::new();
        for decade in 0..40u32 {
            let base = 10f64.powf(first + f64::from(decade));
            ticks.extend(steps.iter().map(|s| s * base).filter(|v| *v >= self.low && *v <= self.high));
            if base > self.high {
                break;
            }
        }
        ticks
    }
}

impl Plot {
    /// The drawing.
    pub(crate) fn svg(&self) -> String {
        let (legend, legend_lines) = self.place_legend();
        let top = 56.0 + LEGEND_LINE * f64::from(legend_lines);
        let bottom = top + PLOT_HEIGHT;
        let height = bottom + if self.note.is_empty() { 56.0 } else { 78.0 };
        let dots = || self.lines.iter().flat_map(|l| l.points.iter().flatten());
        let xs: Vec<f64> = dots().map(|d| d.x).collect();
        let ys: Vec<f64> = dots().map(|d| d.y).chain(self.rules.iter().map(|r| r.1)).collect();
        let x = Scale::new(&xs, self.log_x, LEFT, WIDTH - RIGHT);
        let y = Scale::new(&ys, self.log_y, bottom, top);
        let mut out = String::new();
        let _ = write!(
            out,
            r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{}" font-family="system-ui, 'Noto Sans', 'Noto Sans CJK SC', 'PingFang SC', 'Microsoft YaHei', sans-serif" font-size="12" fill="#1f2328"><title>{}</title><rect width="{WIDTH}" height="{height}" fill="#ffffff"/>"##,
            escape(&self.title),
            escape(&self.title)
        );
        let _ =
            write!(out, r#"<text x="{LEFT}" y="24" font-size="15" font-weight="600">{}</text>"#, escape(&self.title));
        out.push_str(&legend);
        let _ = write!(out, r##"<text x="12" y="{}" fill="#59636e">{}</text>"##, top - 12.0, escape(&self.y_label));
        axes(&mut out, &x, &y, top, bottom);
        let _ = write!(
            out,
            r##"<text x="{}" y="{}" text-anchor="middle" fill="#59636e">{}</text>"##,
            f64::midpoint(LEFT, WIDTH - RIGHT),
            bottom + 42.0,
            escape(&self.x_label)
        );
        for line in &self.lines {
            draw(&mut out, line, &x, &y);
        }
        for ring in &self.rings {
            let Some((cx, cy)) = x.place(ring.x).zip(y.place(ring.y)) else { continue };
            let _ = write!(
                out,
                r##"<circle cx="{cx:.1}" cy="{cy:.1}" r="9" fill="none" stroke="{}" stroke-width="2"/><text x="{cx:.1}" y="{:.1}" text-anchor="middle" font-weight="600" fill="{}" stroke="#ffffff" stroke-width="3" paint-order="stroke">{}</text>"##,
                ring.colour,
                cy + 24.0,
                ring.colour,
                escape(&ring.name)
            );
        }
        for (name, value) in &self.rules {
            rule(&mut out, name, y.place(*value));
        }
        if !self.note.is_empty() {
            let _ =
                write!(out, r##"<text x="{LEFT}" y="{}" fill="#59636e">{}</text>"##, bottom + 66.0, escape(&self.note));
        }
        out.push_str("</svg>");
        out
    }

    /// The legend, wrapped to the width, and its number of lines.
    fn place_legend(&self) -> (String, u32) {
        let mut out = String::new();
        let (mut at, mut lines) = (LEFT, u32::from(!self.legend.is_empty()));
        for (name, colour) in &self.legend {
            let needed = 34.0 + 6.8 * format::width(name) as f64;
            if at > LEFT && at + needed > WIDTH - RIGHT {
                at = LEFT;
                lines += 1;
            }
            let y = 28.0 + LEGEND_LINE * f64::from(lines);
            let _ = write!(
                out,
                r#"<line x1="{at:.0}" x2="{:.0}" y1="{}" y2="{}" stroke="{colour}" stroke-width="3"/><text x="{:.0}" y="{y}">{}</text>"#,
                at + 18.0,
                y - 4.0,
                y - 4.0,
                at + 23.0,
                escape(name)
            );
            at += needed;
        }
        (out, lines)
    }
}

fn axes(out: &mut String, x: &Scale, y: &Scale, top: f64, bottom: f64) {
    for tick in y.ticks() {
        let Some(at) = y.place(tick) else { continue };
        let _ = write!(
            out,
            r##"<line x1="{LEFT}" x2="{}" y1="{at:.1}" y2="{at:.1}" stroke="#d8dee4"/><text x="{}" y="{:.1}" text-anchor="end">{}</text>"##,
            WIDTH - RIGHT,
            LEFT - 8.0,
            at + 4.0,
            format::plain(tick)
        );
    }
    for tick in x.ticks() {
        let Some(at) = x.place(tick) else { continue };
        let _ = write!(
            out,
            r##"<line x1="{at:.1}" x2="{at:.1}" y1="{bottom}" y2="{}" stroke="#8c959f"/><text x="{at:.1}" y="{}" text-anchor="middle">{}</text>"##,
            bottom + 5.0,
            bottom + 20.0,
            format::plain(tick)
        );
    }
    let _ = write!(out, r##"<path d="M{LEFT} {top}V{bottom}H{}" fill="none" stroke="#8c959f"/>"##, WIDTH - RIGHT);
}

fn rule(out: &mut String, name: &str, at: Option<f64>) {
    let Some(at) = at else { return };
    let _ = write!(
        out,
        r##"<line x1="{LEFT}" x2="{}" y1="{at:.1}" y2="{at:.1}" stroke="#8b1a1a" stroke-dasharray="2 4"/><text x="{}" y="{:.1}" fill="#8b1a1a" stroke="#ffffff" stroke-width="3" paint-order="stroke">{}</text>"##,
        WIDTH - RIGHT,
        LEFT + 6.0,
        at - 5.0,
        escape(name)
    );
}

fn draw(out: &mut String, line: &Line, x: &Scale, y: &Scale) {
    let colour = line.colour;
    let placed: Vec<Option<(f64, f64, bool)>> =
        line.points.iter().map(|dot| dot.and_then(|d| Some((x.place(d.x)?, y.place(d.y)?, d.hollow)))).collect();
    let mut path = String::new();
    let mut pen_up = true;
    for point in &placed {
        match point {
            Some((px, py, _)) => {
                let _ = write!(path, "{}{px:.1} {py:.1}", if pen_up { 'M' } else { 'L' });
                pen_up = false;
            }
            None => pen_up = true,
        }
    }
    if !path.is_empty() {
        let dash = if line.dash.is_empty() { String::new() } else { format!(r#" stroke-dasharray="{}""#, line.dash) };
        let _ = write!(out, r#"<path d="{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>"#);
    }
    if line.marks {
        for (px, py, hollow) in placed.into_iter().flatten() {
            let fill = if hollow { "#ffffff" } else { colour };
            let _ = write!(
                out,
                r#"<circle cx="{px:.1}" cy="{py:.1}" r="4" fill="{fill}" stroke="{colour}" stroke-width="2"/>"#
            );
        }
    }
}

/// Text for XML: markup characters as references, control characters (which XML forbids) replaced.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_place_their_ends_and_refuse_what_a_log_axis_cannot_show() {
        let log = Scale::new(&[0.0, 10.0, 1000.0], true, 0.0, 100.0);
        assert_eq!(log.place(0.0), None);
        let middle = log.place(100.0).unwrap();
        assert!((middle - 50.0).abs() < 1e-6, "{middle}");
        let linear = Scale::new(&[4.0, 8.0], false, 0.0, 106.0);
        assert!((linear.place(8.0).unwrap() - 100.0).abs() < 1e-9);
    }

    #[test]
    fn ticks_are_few_and_inside() {
        for values in [vec![0.3, 0.9], vec![1.0, 12_000.0], vec![5.0], vec![], vec![0.0], vec![200.0, 300.0]] {
            for log in [false, true] {
                let scale = Scale::new(&values, log, 0.0, 1.0);
                let ticks = scale.ticks();
                assert!((1..=13).contains(&ticks.len()), "{values:?} {log}: {ticks:?}");
                assert!(
                    ticks.iter().all(|t| *t >= scale.low - 1e-9 && *t <= scale.high * 1.001),
                    "{values:?}: {ticks:?}"
                );
            }
        }
    }

    #[test]
    fn nothing_foreign_becomes_markup() {
        let plot = Plot { title: "<script>\"'&\u{0}".into(), ..Plot::default() };
        let svg = plot.svg();
        assert!(!svg.contains("<script") && svg.contains("&lt;script&gt;&quot;&#39;&amp;\u{fffd}"), "{svg}");
    }
}
