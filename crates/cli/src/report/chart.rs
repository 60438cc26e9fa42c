//! Pictures: bars as HTML, curves as SVG.

use core::{fmt::Write as _, ops::Range};

use anyhow::{Result, anyhow};
use plotters::{coord::types::RangedCoordf64, prelude::*};

use super::escape;

/// Readable on light and on dark pages.
const COLOURS: [RGBColor; 4] =
    [RGBColor(66, 133, 205), RGBColor(217, 119, 32), RGBColor(58, 150, 92), RGBColor(170, 86, 165)];

/// Widths and heights of a curve on wide and on narrow screens.
///
/// The style sheet shows one of them.
const SIZES: [(&str, (u32, u32)); 2] = [("room", (760, 320)), ("narrow", (310, 260))];

/// The least ratio of the greatest to the least value for a logarithmic axis.
const DECADES: f64 = 100.0;

/// A named sequence of points.
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
}

/// Horizontal bars, the first on top, each with its value in `unit`.
pub(crate) fn bars(title: &str, unit: &str, values: &[(String, f64)]) -> String {
    drawn_bars(title, unit, values, values.len())
}

/// Horizontal bars in two colours: the first for this project, the others for its peers.
pub(crate) fn bars_beside_peers(title: &str, unit: &str, values: &[(String, f64)]) -> String {
    drawn_bars(title, unit, values, 1)
}

fn drawn_bars(title: &str, unit: &str, values: &[(String, f64)], ours: usize) -> String {
    let highest = values.iter().map(|(_, value)| *value).fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let mut html = format!("<figure><figcaption>{}</figcaption>\n<div class=\"bars\">\n", escape(title));
    for (i, (label, value)) in values.iter().enumerate() {
        let (class, width) = (if i < ours { "ours" } else { "peer" }, (100.0 * value / highest).clamp(0.0, 100.0));
        let (label, value) = (escape(label), short(*value));
        let _ = writeln!(
            html,
            "<span>{label}</span><span class=\"{class}\"><i style=\"width:{width:.1}%\"></i></span><span>{value} {}</span>",
            escape(unit)
        );
    }
    html.push_str("</div></figure>\n");
    html
}

/// Draws lines through points, each with its name.
///
/// The vertical axis is logarithmic if values span decades.
pub(crate) fn lines(title: &str, x: &str, y: &str, series: &[Series]) -> Result<String> {
    let points = series.iter().flat_map(|one| one.points.iter().copied());
    let coloured: Vec<_> = series.iter().zip(COLOURS.into_iter().cycle()).collect();
    plot(title, [x, y], points, &coloured, |_, _| Ok(()))
}

/// A prediction from a point on, with its bounds and the actual values.
pub(crate) struct Fan {
    /// The actual values.
    pub(crate) actual: Series,
    /// Lines whose mean is the prediction.
    pub(crate) members: Vec<Vec<(f64, f64)>>,
    pub(crate) mean: Series,
    /// `[x, low, high]`.
    pub(crate) bounds: Vec<[f64; 3]>,
}

/// Draws a prediction that fans out.
///
/// Its bounds are an area and its members thin lines; its mean and the actual values are on top.
pub(crate) fn fan(title: &str, x: &str, y: &str, fan: &Fan) -> Result<String> {
    let lines = fan.members.iter().chain([&fan.actual.points, &fan.mean.points]).flatten().copied();
    let points = lines.chain(fan.bounds.iter().flat_map(|&[x, low, high]| [(x, low), (x, high)]));
    plot(title, [x, y], points, &[(&fan.actual, COLOURS[0]), (&fan.mean, COLOURS[1])], |chart, scale| {
        let there = fan.bounds.iter().map(|&[x, low, _]| (x, low));
        let back = fan.bounds.iter().rev().map(|&[x, _, high]| (x, high));
        chart.draw_series([Polygon::new(scale.placed(there.chain(back)), COLOURS[1].mix(0.18))])?;
        for member in &fan.members {
            chart.draw_series(LineSeries::new(scale.placed(member.iter().copied()), COLOURS[1].mix(0.45)))?;
        }
        Ok(())
    })
}

/// What drawing fails with.
type DrawingError = Box<dyn std::error::Error>;

/// Axes with something to draw on.
type Axes<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

/// How values are placed on the vertical axis.
#[derive(Clone, Copy)]
enum Scale {
    Linear,
    Logarithmic,
}

impl Scale {
    /// The scale for these points.
    fn of(points: impl Iterator<Item = (f64, f64)>) -> Self {
        let (least, most) = points.fold((f64::INFINITY, 0.0), |(least, most), (_, y)| (y.min(least), y.max(most)));
        if least > 0.0 && most >= DECADES * least { Self::Logarithmic } else { Self::Linear }
    }

    fn place(self, y: f64) -> f64 {
        match self {
            Self::Linear => y,
            Self::Logarithmic => y.log10(),
        }
    }

    /// The value at a place.
    fn value(self, place: f64) -> f64 {
        match self {
            Self::Linear => place,
            Self::Logarithmic => 10f64.powf(place),
        }
    }

    /// The points that can be drawn, on these axes.
    fn placed(self, points: impl Iterator<Item = (f64, f64)>) -> Vec<(f64, f64)> {
        points.filter(can_be_drawn).map(|(x, y)| (x, self.place(y))).filter(can_be_drawn).collect()
    }
}

/// Named series over what lies `beneath` them, on axes that have room for all points.
fn plot(
    title: &str,
    [x, y]: [&str; 2],
    points: impl Iterator<Item = (f64, f64)> + Clone,
    series: &[(&Series, RGBColor)],
    beneath: impl Fn(&mut Axes<'_, '_>, Scale) -> Result<(), DrawingError>,
) -> Result<String> {
    let scale = Scale::of(points.clone().filter(can_be_drawn));
    let points = scale.placed(points);
    let (wide, high) = (span(points.iter().map(|p| p.0)), span(points.iter().map(|p| p.1)));
    let mut html = format!("<figure><figcaption>{}</figcaption>\n<p class=\"names\">", escape(title));
    for (one, RGBColor(r, g, b)) in series {
        let _ = write!(html, "<span><i style=\"background:rgb({r},{g},{b})\"></i>{}</span> ", escape(&one.name));
    }
    let logarithmic = if matches!(scale, Scale::Logarithmic) { ", logarithmic" } else { "" };
    let _ = writeln!(html, "</p><p class=\"axis\">{}{logarithmic}</p>", escape(y));
    for (class, size) in SIZES {
        let mut svg = String::new();
        {
            let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
            let draw = || -> Result<(), DrawingError> {
                let mut chart = ChartBuilder::on(&root)
                    .margin(8)
                    .margin_right(24)
                    .set_label_area_size(LabelAreaPosition::Left, 56)
                    .set_label_area_size(LabelAreaPosition::Bottom, 24)
                    .build_cartesian_2d(wide.clone(), high.clone())?;
                let mut mesh = chart.configure_mesh();
                mesh.label_style(("sans-serif", 16)).light_line_style(TRANSPARENT);
                mesh.x_labels(size.0 as usize / 90).y_labels(6);
                mesh.x_label_formatter(&|x| trimmed(*x)).y_label_formatter(&|y| short(scale.value(*y))).draw()?;
                beneath(&mut chart, scale)?;
                for &(one, colour) in series {
                    let line = scale.placed(one.points.iter().copied());
                    chart.draw_series(LineSeries::new(line, colour.stroke_width(2)))?;
                }
                root.present()?;
                Ok(())
            };
            draw().map_err(|e| anyhow!("chart `{title}`: {e}"))?;
        }
        // Text, axes and grid in the colour of the page's text; a title for screen readers.
        let svg = svg.replace("\"#000000\"", "\"currentColor\"");
        let named = format!("<svg class=\"{class}\" role=\"img\" aria-label=\"{}\" ", escape(title));
        html.push_str(&svg.replacen("<svg ", &named, 1).replacen(
            '>',
            &format!("><title>{}</title>", escape(title)),
            1,
        ));
    }
    let _ = writeln!(html, "<p class=\"axis end\">{}</p></figure>", escape(x));
    Ok(html)
}

/// Whether axes have room for a point: they need finite spans.
fn can_be_drawn(&(x, y): &(f64, f64)) -> bool {
    [x, y].iter().all(|at| at.abs() < 1e300)
}

/// From the least to the greatest value, or a unit around the only one or around zero.
fn span(values: impl Iterator<Item = f64> + Clone) -> Range<f64> {
    let low = values.clone().fold(f64::INFINITY, f64::min);
    let high = values.fold(f64::NEG_INFINITY, f64::max);
    let middle = if low <= high { low } else { 0.0 };
    if low < high { low..high } else { middle - 0.5..middle + 0.5 }
}

/// At most three digits after the point.
fn trimmed(value: f64) -> String {
    format!("{value:.3}").trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Three significant digits.
fn short(value: f64) -> String {
    match value.abs() {
        v if v >= 1e6 || (v > 0.0 && v < 1e-3) => format!("{value:.2e}"),
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        v if v >= 1.0 || v == 0.0 => format!("{value:.2}"),
        v if v >= 0.1 => format!("{value:.3}"),
        v if v >= 0.01 => format!("{value:.4}"),
        _ => format!("{value:.5}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_without_a_place_are_left_out() {
        let series = |values: &[f64]| Series {
            name: "loss".to_owned(),
            points: values.iter().enumerate().map(|(step, &value)| (step as f64, value)).collect(),
        };
        let plain = lines("", "", "", &[series(&[1.0, 2.0])]).unwrap();
        let lost = [f64::INFINITY, f64::NAN, f64::NEG_INFINITY, f64::MAX];
        assert_eq!(lines("", "", "", &[series(&[&[1.0, 2.0][..], &lost].concat())]).unwrap(), plain);
        assert!(lines("", "", "", &[series(&lost)]).is_ok());
        let bounds = lost.iter().map(|&most| [0.0, 1.0, most]).collect();
        // Both widths have their title, and no colour that a dark page would hide.
        assert!(plain.matches("<svg class=").count() == 2 && plain.matches("<title>").count() == 2);
        assert!(!plain.contains("#000000") && !plain.contains("#FFFFFF"), "{plain}");
        let fanned = Fan { actual: series(&[1.0]), members: vec![], mean: series(&lost), bounds };
        assert!(fan("", "", "", &fanned).is_ok());
    }

    #[test]
    fn decades_are_drawn_by_their_logarithms() {
        let drawn = |values: &[f64]| {
            let points = values.iter().enumerate().map(|(x, &y)| (x as f64, y)).collect();
            lines("", "", "loss", &[Series { name: "loss".to_owned(), points }]).unwrap()
        };
        assert!(drawn(&[1e-3, 1.0]).contains("loss, logarithmic"));
        for linear in [&[0.0, 1.0][..], &[-1.0, 1000.0], &[1.0, 99.0], &[]] {
            assert!(!drawn(linear).contains("logarithmic"), "{linear:?}");
        }
    }

    #[test]
    fn values_have_three_digits() {
        let shown = [0.0, 0.001_234, 0.012_34, 0.1234, 1.234, 12.34, 123.4, 1234.0, -0.5, 1.5e-4, 1.234e6].map(short);
        let expected =
            ["0.00", "0.00123", "0.0123", "0.123", "1.23", "12.3", "123", "1234", "-0.500", "1.50e-4", "1.23e6"];
        assert_eq!(shown, expected);
    }

    #[test]
    fn bars_of_peers_are_told_apart() {
        let values = ["a", "b", "c"].map(|name| (name.to_owned(), 1.0));
        let count = |html: &str, class: &str| html.matches(&format!("class=\"{class}\"")).count();
        let (alone, beside) = (bars("", "", &values), bars_beside_peers("", "", &values));
        assert_eq!([count(&alone, "ours"), count(&alone, "peer")], [3, 0]);
        assert_eq!([count(&beside, "ours"), count(&beside, "peer")], [1, 2]);
    }
}
