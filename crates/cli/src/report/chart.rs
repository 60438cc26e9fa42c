//! SVG charts.

use core::ops::Range;

use anyhow::{Result, anyhow};
use plotters::{coord::types::RangedCoordf64, prelude::*};

const COLOURS: [RGBColor; 4] =
    [RGBColor(31, 99, 171), RGBColor(217, 119, 32), RGBColor(58, 145, 86), RGBColor(150, 60, 140)];

/// A named sequence of points.
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
}

/// Horizontal bars, the first on top, each with its value in `unit`.
pub(crate) fn bars(title: &str, unit: &str, values: &[(String, f64)]) -> Result<String> {
    let mut svg = String::new();
    let count = values.len();
    let highest = values.iter().map(|(_, value)| *value).fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    {
        let root = SVGBackend::with_string(&mut svg, (760, 60 + 28 * count as u32)).into_drawing_area();
        let draw = || -> Result<(), Box<dyn std::error::Error>> {
            root.fill(&WHITE)?;
            let mut chart = ChartBuilder::on(&root)
                .caption(title, ("sans-serif", 16))
                .margin(8)
                .margin_right(90)
                .set_label_area_size(LabelAreaPosition::Left, 210)
                .build_cartesian_2d(0.0..highest, 0.0..count as f64)?;
            let row = |index: usize| (count - 1 - index) as f64;
            chart.draw_series(values.iter().enumerate().map(|(i, (_, value))| {
                Rectangle::new([(0.0, row(i) + 0.2), (*value, row(i) + 0.8)], COLOURS[0].filled())
            }))?;
            chart.draw_series(values.iter().enumerate().map(|(i, (_, value))| {
                let text = format!("{} {unit}", short(*value));
                EmptyElement::at((*value, row(i) + 0.5)) + Text::new(text, (6, -7), ("sans-serif", 13))
            }))?;
            chart.draw_series(values.iter().enumerate().map(|(i, (label, _))| {
                EmptyElement::at((0.0, row(i) + 0.5)) + Text::new(label.clone(), (-214, -7), ("sans-serif", 13))
            }))?;
            root.present()?;
            Ok(())
        };
        draw().map_err(|e| anyhow!("chart `{title}`: {e}"))?;
    }
    Ok(svg)
}

/// Lines through points, each with its name.
pub(crate) fn lines(title: &str, x: &str, y: &str, series: &[Series]) -> Result<String> {
    let points = series.iter().flat_map(|one| one.points.iter().copied());
    let coloured: Vec<_> = series.iter().zip(COLOURS.into_iter().cycle()).collect();
    plot(title, [x, y], points, &coloured, |_| Ok(()))
}

/// What is predicted from a point on, with bounds around it, beside what came.
pub(crate) struct Fan {
    /// What was there.
    pub(crate) actual: Series,
    /// Lines of which the prediction is the mean.
    pub(crate) members: Vec<Vec<(f64, f64)>>,
    pub(crate) mean: Series,
    /// `[x, low, high]`.
    pub(crate) bounds: Vec<[f64; 3]>,
}

/// A prediction that fans out: its bounds as an area, its members thin, its mean and what came on top.
pub(crate) fn fan(title: &str, x: &str, y: &str, fan: &Fan) -> Result<String> {
    let lines = fan.members.iter().chain([&fan.actual.points, &fan.mean.points]).flatten().copied();
    let points = lines.chain(fan.bounds.iter().flat_map(|&[x, low, high]| [(x, low), (x, high)]));
    plot(title, [x, y], points, &[(&fan.actual, COLOURS[0]), (&fan.mean, COLOURS[1])], |chart| {
        let there = fan.bounds.iter().map(|&[x, low, _]| (x, low));
        let back = fan.bounds.iter().rev().map(|&[x, _, high]| (x, high));
        let around = there.chain(back).filter(can_be_drawn).collect::<Vec<_>>();
        chart.draw_series([Polygon::new(around, COLOURS[1].mix(0.18))])?;
        for member in &fan.members {
            chart.draw_series(LineSeries::new(member.iter().copied().filter(can_be_drawn), COLOURS[1].mix(0.45)))?;
        }
        Ok(())
    })
}

/// What drawing fails with.
type Fault = Box<dyn std::error::Error>;

/// Axes with something to draw on.
type Axes<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

/// Named series over what lies `beneath` them, on axes that have room for all points.
fn plot(
    title: &str,
    [x, y]: [&str; 2],
    points: impl Iterator<Item = (f64, f64)> + Clone,
    series: &[(&Series, RGBColor)],
    beneath: impl Fn(&mut Axes<'_, '_>) -> Result<(), Fault>,
) -> Result<String> {
    let points = points.filter(can_be_drawn);
    let (wide, high) = (span(points.clone().map(|p| p.0)), span(points.map(|p| p.1)));
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, (760, 340)).into_drawing_area();
        let draw = || -> Result<(), Fault> {
            root.fill(&WHITE)?;
            let mut chart = ChartBuilder::on(&root)
                .caption(title, ("sans-serif", 16))
                .margin(10)
                .margin_right(24)
                .set_label_area_size(LabelAreaPosition::Left, 60)
                .set_label_area_size(LabelAreaPosition::Bottom, 40)
                .build_cartesian_2d(wide.clone(), high.clone())?;
            let place = |x: &f64| format!("{x:.3}").trim_end_matches('0').trim_end_matches('.').to_owned();
            let mut mesh = chart.configure_mesh();
            mesh.x_desc(x).y_desc(y).x_label_formatter(&place).light_line_style(TRANSPARENT).draw()?;
            beneath(&mut chart)?;
            for &(one, colour) in series {
                let style = colour.stroke_width(2);
                chart
                    .draw_series(LineSeries::new(one.points.iter().copied().filter(can_be_drawn), style))?
                    .label(one.name.clone())
                    .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], style));
            }
            let mut names = chart.configure_series_labels();
            names.position(SeriesLabelPosition::UpperRight).background_style(WHITE.mix(0.8));
            names.border_style(TRANSPARENT).draw()?;
            root.present()?;
            Ok(())
        };
        draw().map_err(|e| anyhow!("chart `{title}`: {e}"))?;
    }
    Ok(svg)
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

/// Three significant digits.
fn short(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        v if v >= 1.0 || v == 0.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
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
        let fanned = Fan { actual: series(&[1.0]), members: vec![], mean: series(&lost), bounds };
        assert!(fan("", "", "", &fanned).is_ok());
    }
}
