//! Copies between layouts against index arithmetic, to the bit.

use backend_api::{Buffer, Queue, Real, ops::tensor::StridedElement};
use core_types::params::tensor::CopyParams;

use super::{long_words, typed};
use crate::{
    Case, Conditioned, Failure, OpSpec,
    linalg::model::{InputSource, places, six},
    list::ListIterator as _,
    spec::BATCHES,
};

/// Shape, strides of x, strides of y.
type Layouts = [&'static [u64]; 3];

/// Contiguous copies, transposes, slices and repetitions, into and out of each.
const LAYOUTS: [Layouts; 15] = [
    [&[2, 3, 4], &[12, 4, 1], &[12, 4, 1]],
    [&[33, 65], &[1, 33], &[65, 1]],
    [&[33, 65], &[65, 1], &[1, 33]],
    [&[17, 40], &[40, 1], &[50, 1]],
    [&[17, 40], &[50, 1], &[40, 1]],
    [&[3, 4, 5, 6], &[120, 30, 6, 1], &[1, 3, 12, 60]],
    [&[3, 4, 5, 6], &[120, 6, 24, 1], &[120, 30, 6, 1]],
    [&[2, 3, 2, 3, 2, 3], &[108, 36, 18, 6, 3, 1], &[1, 2, 6, 12, 36, 72]],
    [&[9], &[2], &[3]],
    [&[9, 5], &[0, 1], &[5, 1]],
    [&[9, 5], &[1, 0], &[5, 1]],
    [&[7, 1, 6], &[6, 99, 1], &[6, 99, 1]],
    [&[], &[], &[]],
    [&[3, 0, 2], &[1, 1, 1], &[0, 0, 0]],
    [&[1], &[5], &[0]],
];

pub(super) fn specs() -> Vec<OpSpec> {
    let mut reals: Vec<Case> = Vec::new();
    for layouts in LAYOUTS {
        reals.extend(typed!(format!("{layouts:?}"), copied_reals(layouts)));
    }
    reals.extend(many::<f32>(InputSource::reals));
    let flags = every::<bool>(|source, count| (0..count).map(|_| source.word().is_multiple_of(3)).list());
    let words = every::<u32>(|source, count| (0..count).map(|_| source.word()).list());
    let long_words = every::<u64>(long_words);
    vec![
        OpSpec { op: "tensor.copy_strided", cases: reals },
        OpSpec { op: "tensor.copy_strided_bool", cases: flags },
        OpSpec { op: "tensor.copy_strided_u32", cases: words },
        OpSpec { op: "tensor.copy_strided_u64", cases: long_words },
    ]
}

/// Makes a number of elements.
type MakeElements<T> = fn(&mut InputSource, usize) -> Vec<T>;

/// Copies of many elements, and refusals.
fn many<T: StridedElement>(values: MakeElements<T>) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for n in BATCHES {
        cases.push(Case::new(format!("the transpose of {n} rows"), move |q| {
            copied(q, &[&[37, n.into()], &[1, 37], &[u64::from(n), 1]], values)
        }));
    }
    cases.push(Case::new("300 x 300, transposed", move |q| copied(q, &[&[300, 300], &[1, 300], &[300, 1]], values)));
    cases.push(Case::new("70001 pairs out of triples", move |q| copied(q, &[&[70_001, 2], &[3, 1], &[2, 1]], values)));
    cases.push(Case::new("results that overlap", refused_overlaps::<T>));
    cases
}

/// Copies of every layout, of many elements, and refusals.
fn every<T: StridedElement>(values: MakeElements<T>) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for layouts in LAYOUTS {
        cases.push(Case::new(format!("{layouts:?}"), move |q| copied(q, &layouts, values)));
    }
    cases.extend(many(values));
    cases
}

fn params(layouts: &[&[u64]; 3]) -> CopyParams {
    let [shape, x, y] = *layouts;
    let rank = shape.len() as u32;
    CopyParams { rank, reserved: 0, shape: six(shape, 1), x_strides: six(x, 0), y_strides: six(y, 0) }
}

fn copied<T: StridedElement>(q: &Conditioned, layouts: &[&[u64]; 3], values: MakeElements<T>) -> Result<(), Failure> {
    let (from, to) = (places(layouts[0], layouts[1]), places(layouts[0], layouts[2]));
    let len = |places: &[usize]| places.iter().max().map_or(0, |last| last + 1);
    // The buffer of y has three elements more, which stay, as do those in the gaps of y.
    let (x, start) = (values(&mut InputSource::new(1), len(&from)), values(&mut InputSource::new(2), len(&to) + 3));
    let (dx, mut y) = (q.upload(&x)?, q.upload(&start)?);
    T::copy_strided(q, &params(layouts), dx.view(), y.slice_mut(0..len(&to))?)?;
    let mut expected = start;
    from.into_iter().zip(to).for_each(|(from, to)| expected[to] = x[from]);
    let got = q.download(&y)?;
    Failure::unless_equal::<u8>(bytemuck::cast_slice(&expected), bytemuck::cast_slice(&got))
}

fn copied_reals<T: Real + StridedElement>(q: &Conditioned, layouts: Layouts) -> Result<(), Failure> {
    copied::<T>(q, &layouts, InputSource::reals)
}

fn refused_overlaps<T: StridedElement>(q: &Conditioned) -> Result<(), Failure> {
    let (x, mut y) = (q.zeros::<T>(100)?, q.zeros::<T>(100)?);
    for y_strides in [[0, 1], [1, 0], [1, 1], [2, 1], [3, 2], [u64::MAX, 1]] {
        let params = params(&[&[3, 4], &[4, 1], &y_strides]);
        Failure::unless_refused("a result that overlaps", T::copy_strided(q, &params, x.view(), y.view_mut()))?;
    }
    Ok(())
}
