//! Points to sample at, checked against the group law.

use backend_api::{
    BackendError, Buffer as _, Queue,
    ops::deep::{DeepOps, DeepPoints},
};
use core_types::{circle::CirclePoint, field::QM31, params::deep::PointAt};

use crate::{Case, Conditioned, Failure, OpSpec, circle::model::ElementStream, list::ListIterator as _, spec::BATCHES};

fn made(q: &Conditioned, points_at: &[PointAt], parameter: QM31) -> Result<Vec<QM31>, BackendError> {
    let parameter = q.upload(&[parameter])?;
    let mut points = q.zeros(2 * points_at.len())?;
    q.deep_points(DeepPoints { points_at, parameter: parameter.view(), points: points.view_mut() })?;
    q.download(&points)
}

/// The sum of two points.
fn sum([x1, y1]: [QM31; 2], [x2, y2]: [QM31; 2]) -> [QM31; 2] {
    [x1 * x2 - y1 * y2, x1 * y2 + y1 * x2]
}

/// Steps of the generator, one bit after the other from the highest.
fn steps(index: u32) -> [QM31; 2] {
    let CirclePoint { x, y } = CirclePoint::GENERATOR;
    let mut point = [QM31::ONE, QM31::ZERO];
    for bit in (0..32).rev() {
        point = sum(point, point);
        if index >> bit & 1 == 1 {
            point = sum(point, [x.into(), y.into()]);
        }
    }
    point
}

/// A point by its definition.
fn expected(at: PointAt, parameter: QM31) -> [QM31; 2] {
    let square = parameter * parameter;
    let Some(inverse) = (QM31::ONE + square).inverse() else { return [QM31::ZERO; 2] };
    let mut point = sum([(QM31::ONE - square) * inverse, (parameter + parameter) * inverse], steps(at.index));
    for _ in 0..at.doublings {
        point = sum(point, point);
    }
    point
}

fn expect_points(q: &Conditioned, points_at: &[PointAt], parameter: QM31) -> Result<(), Failure> {
    let expected: Vec<QM31> = points_at.iter().flat_map(|&at| expected(at, parameter)).list();
    Failure::unless_equal(&expected, &made(q, points_at, parameter)?)
}

pub(super) fn points() -> OpSpec {
    let at = |index, doublings| PointAt { index, doublings };
    let mut cases = vec![
        Case::new("the point itself", move |q| expect_points(q, &[at(0, 0)], ElementStream::new(1).qm31())),
        Case::new("every number of steps that is a power of two", move |q| {
            let all: Vec<PointAt> = (0..32).map(|bit| at(1 << bit, 0)).list();
            expect_points(q, &all, ElementStream::new(2).qm31())
        }),
        Case::new("every number of doublings", move |q| {
            let all: Vec<PointAt> = (0..32).map(|doublings| at(0x7654_3210, doublings)).list();
            expect_points(q, &all, ElementStream::new(3).qm31())
        }),
        Case::new("steps count modulo 2^31", move |q| {
            let points = made(q, &[at(5, 1), at(5 | 1 << 31, 1), at(u32::MAX, 0), at(u32::MAX >> 1, 0)], QM31::U)?;
            Failure::unless_equal(&points[..2], &points[2..4])?;
            Failure::unless_equal(&points[4..6], &points[6..])
        }),
        Case::new("a parameter that names no point", move |q| {
            for parameter in [QM31::I, -QM31::I] {
                Failure::unless_equal(&[QM31::ZERO; 4], &made(q, &[at(0, 0), at(9, 3)], parameter)?)?;
            }
            Ok(())
        }),
        Case::new("doublings that no point has", move |q| {
            Failure::unless_refused("32 doublings", made(q, &[at(0, 32)], QM31::U).map(drop))
        }),
    ];
    for count in BATCHES {
        cases.push(Case::new(format!("{count} points"), move |q| {
            let mut stream = ElementStream::new(count.into());
            let all: Vec<PointAt> = (0..count).map(|_| at(stream.word() as u32, stream.word() as u32 % 4)).list();
            expect_points(q, &all, stream.qm31())
        }));
    }
    OpSpec { op: "deep.points", cases }
}
