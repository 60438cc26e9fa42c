//! Products of matrices.
//!
//! Each thread computes an element and passes it through a small program.

use anyhow::{Result, bail};

use super::{
    super::{
        random::Random,
        sample::SampleKernel,
        tape::{Bounded, ELEMENTARY, FloatOp, Tape, number},
    },
    PROGRAMS, SampleParts, floats, function,
};

/// Shape and layout of a product.
struct MatrixProduct {
    rows: u32,
    columns: u32,
    inner: u32,
    /// Whether the factors are stored by columns.
    transposed: [bool; 2],
}

/// A random shape and program, and their results.
pub(super) fn generate(random: &mut Random) -> Result<SampleParts> {
    let mut extent = || 5 + random.below(12) as u32;
    let (rows, columns, inner) = (extent(), extent(), extent());
    let transposed = [(); 2].map(|()| random.chance(50));
    let product = MatrixProduct { rows, columns, inner, transposed };
    let from: Vec<f32> = (0..(rows + columns) * inner).map(|_| number(random)).collect();
    let sums = product.sums(&from);
    for _ in 0..PROGRAMS {
        let tape = Tape::random(random, &ELEMENTARY, 1, 3, 1);
        let results: Option<Vec<_>> = sums.iter().map(|&sum| tape.evaluate(&[sum])).collect();
        if let Some(results) = results {
            let from = from.into_iter().map(f32::to_bits).collect();
            let kernel = SampleKernel::alone("thread", rows * columns, from, floats(&results));
            return Ok((product.text(&tape), vec![kernel]));
        }
    }
    bail!("no program out of {PROGRAMS} stays within its bounds")
}

impl MatrixProduct {
    /// The places of the factors at step `p` of the sum for an element.
    fn places(&self, row: u32, column: u32, p: u32) -> [u32; 2] {
        let left = if self.transposed[0] { p * self.rows + row } else { row * self.inner + p };
        let right = if self.transposed[1] { column * self.inner + p } else { p * self.columns + column };
        [left, self.rows * self.inner + right]
    }

    /// The elements of the product, by rows.
    fn sums(&self, from: &[f32]) -> Vec<Bounded> {
        let factor = |place: u32| Bounded::exact(from[place as usize]);
        let element = |element: u32| {
            let (row, column) = (element / self.columns, element % self.columns);
            (0..self.inner).fold(Bounded::exact(0.0), |sum, p| {
                let [left, right] = self.places(row, column, p);
                factor(left).fused(factor(right), sum)
            })
        };
        (0..self.rows * self.columns).map(element).collect()
    }

    /// The function of a thread.
    fn text(&self, tape: &Tape<FloatOp>) -> String {
        let Self { rows, columns, inner, .. } = self;
        let left = if self.transposed[0] { format!("p * {rows} + row") } else { format!("row * {inner} + p") };
        let right =
            if self.transposed[1] { format!("column * {inner} + p") } else { format!("p * {columns} + column") };
        let second = rows * inner;
        let mut lines = vec![
            format!("let (row, column) = (i / {columns}, i % {columns});"),
            "let mut sum = 0.0_f32;".to_owned(),
            format!("for p in 0..{inner} {{"),
            format!("    let left = f32::from_bits(from({left}));"),
            format!("    let right = f32::from_bits(from({second} + {right}));"),
            "    sum = fma(left, right, sum);".to_owned(),
            "}".to_owned(),
        ];
        lines.extend(tape.lines(|_| "sum.to_bits()".to_owned()));
        lines.push(format!("to(i, {});", tape.output(0)));
        let about = format!("Element `i` of a product of {rows} by {inner} and {inner} by {columns} matrices.");
        function("thread", &about, &lines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_layout_gives_the_same_product() {
        let (left, right) = ([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [[1.0, -1.0], [0.5, 2.0], [2.0, 0.0]]);
        for transposed in [[false, false], [false, true], [true, false], [true, true]] {
            let product = MatrixProduct { rows: 2, columns: 2, inner: 3, transposed };
            let mut from = vec![0f32; 12];
            for p in 0..3 {
                for i in 0..2 {
                    let [at, _] = product.places(i, 0, p);
                    from[at as usize] = left[i as usize][p as usize];
                    let [_, at] = product.places(0, i, p);
                    from[at as usize] = right[p as usize][i as usize];
                }
            }
            let values: Vec<f64> = product.sums(&from).iter().map(|sum| sum.value).collect();
            assert_eq!(values, [8.0, 3.0, 18.5, 6.0], "{transposed:?}");
        }
    }
}
