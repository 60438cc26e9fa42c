//! Speed lines of the `circle` op set.
//!
//! The unit of transforms is an element-layer: transforming a column of `2^n` elements is `n 2^n`
//! of them.

mod extend;
mod inverse;
mod points;
mod transform;
mod twiddles;

use cpu_backend::SimdLevel;

use self::transform::{Direction, autovectorised, transform};
use crate::{Extent, Goal, Line};

/// Element-layers per second of stwo's vector backend.
///
/// It takes 0.13 ns for each on a machine with AVX-512.
const GOAL_RATE: f64 = 1.0 / 0.13e-9;

/// Log sizes of the columns.
const LOG_SIZES: [u32; 4] = [16, 20, 22, 24];

/// Every line of the op set on the processor.
pub(crate) fn contests() -> Vec<Line> {
    let mut all = Vec::new();
    for direction in [Direction::Interpolate, Direction::Evaluate] {
        for log_size in LOG_SIZES {
            let line = compared(direction, log_size).called(&format!("circle.{}/{log_size}", direction.name()));
            all.push(line.portable().goal(Goal::Rate(GOAL_RATE), "avx-512"));
        }
    }
    let portable = compared(Direction::Interpolate, 20).ours("trefoil, portable path", SimdLevel::Portable);
    all.push(portable.called("circle.portable/20").goal(Goal::Ratio { peer: 1, ratio: 0.5 }, ""));
    for log_size in [20, 24] {
        all.extend([points::contest(log_size), twiddles::contest(log_size)]);
    }
    all.extend([extend::plan(), extend::blocks()]);
    all.extend(inverse::contests());
    all
}

/// Our transform of one column, and the plain loops.
fn compared(direction: Direction, log_size: u32) -> Line {
    transform(direction, log_size, 1).in_nanoseconds().peer(move || autovectorised(direction, log_size))
}

/// Every line of the op set on a device.
pub(crate) fn lines(extent: Extent) -> Vec<Line> {
    // A column of 2^24 elements fits the cache of a large device, one of 2^26 fits none.
    let (cached, single, batch, columns) = match extent {
        Extent::Full => (24, 26, 20, 256),
        Extent::Small => (8, 10, 6, 4),
    };
    let mut all = Vec::new();
    for (log_size, columns) in [(cached, 1), (single, 1), (batch, columns)] {
        all.push(transform(Direction::Interpolate, log_size, columns));
        all.push(transform(Direction::Evaluate, log_size, columns));
    }
    all.extend([
        extend::extend(batch, columns / 4),
        extend::lde(batch, columns / 4),
        extend::restrict(batch, columns / 4),
        points::at_point(batch, columns),
        points::at_points(batch, columns),
        inverse::of_m31(single),
    ]);
    all
}
