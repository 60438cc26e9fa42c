//! Walks along the axes of tensors whose elements lie in different orders.

use core_types::params::elementwise::MAX_RANK;

/// The axes of `K` tensors of one shape, merged if possible.
///
/// Neighbouring axes are merged if every tensor continues evenly from one to the next.
pub(crate) struct Axes<const K: usize> {
    /// Number of axes, at least 1.
    rank: usize,
    shape: [usize; MAX_RANK],
    strides: [[usize; MAX_RANK]; K],
}

impl<const K: usize> Axes<K> {
    /// The first `rank` axes of a shape without empty ones, and strides of each tensor.
    pub(crate) fn merged(rank: u32, shape: &[u64; MAX_RANK], strides: [&[u64; MAX_RANK]; K]) -> Self {
        let mut axes = Self { rank: 0, shape: [1; MAX_RANK], strides: [[0; MAX_RANK]; K] };
        for axis in (0..MAX_RANK.min(rank as usize)).filter(|&axis| shape[axis] != 1) {
            let (len, steps) = (shape[axis] as usize, strides.map(|strides| strides[axis] as usize));
            let last = axes.rank.wrapping_sub(1);
            if axes.rank > 0 && (0..K).all(|k| axes.strides[k][last] == steps[k].saturating_mul(len)) {
                axes.shape[last] *= len;
                (0..K).for_each(|k| axes.strides[k][last] = steps[k]);
            } else {
                axes.shape[axes.rank] = len;
                (0..K).for_each(|k| axes.strides[k][axes.rank] = steps[k]);
                axes.rank += 1;
            }
        }
        axes.rank = axes.rank.max(1);
        axes
    }

    /// What each tensor steps by along the innermost axis.
    pub(crate) fn steps(&self) -> [usize; K] {
        self.strides.map(|strides| strides[self.rank - 1])
    }

    /// The place of element `first` in row-major order.
    pub(crate) fn cursor(&self, first: usize) -> AxesCursor<'_, K> {
        let (mut index, mut at, mut rest) = ([0; MAX_RANK], [0; K], first);
        for axis in (0..self.rank).rev() {
            index[axis] = rest % self.shape[axis];
            rest /= self.shape[axis];
            (0..K).for_each(|k| at[k] += index[axis] * self.strides[k][axis]);
        }
        AxesCursor { axes: self, index, at }
    }
}

/// A place in the tensors.
pub(crate) struct AxesCursor<'a, const K: usize> {
    axes: &'a Axes<K>,
    index: [usize; MAX_RANK],
    at: [usize; K],
}

impl<const K: usize> AxesCursor<'_, K> {
    /// The element of each tensor.
    #[inline(always)]
    pub(crate) fn at(&self) -> [usize; K] {
        self.at
    }

    /// Elements from here to the end of the innermost axis.
    #[inline(always)]
    pub(crate) fn left(&self) -> usize {
        self.axes.shape[self.axes.rank - 1] - self.index[self.axes.rank - 1]
    }

    /// Steps over `count` elements, at most [`left`](Self::left).
    #[inline(always)]
    pub(crate) fn step(&mut self, count: usize) {
        let Axes { rank, shape, strides } = self.axes;
        let mut axis = rank - 1;
        self.index[axis] += count;
        for (at, strides) in self.at.iter_mut().zip(strides) {
            *at += count * strides[axis];
        }
        while axis > 0 && self.index[axis] == shape[axis] {
            self.index[axis] = 0;
            self.index[axis - 1] += 1;
            for (at, strides) in self.at.iter_mut().zip(strides) {
                *at = *at - shape[axis] * strides[axis] + strides[axis - 1];
            }
            axis -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The places of all elements, in pieces of at most `most`, and the number of axes.
    fn places(shape: &[u64], strides: [&[u64]; 2], most: usize) -> (Vec<[usize; 2]>, usize) {
        let six = |values: &[u64], fill| core::array::from_fn(|i| values.get(i).copied().unwrap_or(fill));
        let (a, b) = (six(strides[0], 0), six(strides[1], 0));
        let axes = Axes::merged(shape.len() as u32, &six(shape, 1), [&a, &b]);
        let count: u64 = shape.iter().product();
        let (mut found, mut cursor) = (Vec::new(), axes.cursor(0));
        while found.len() < count as usize {
            let n = cursor.left().min(most);
            let ([a, b], [sa, sb]) = (cursor.at(), axes.steps());
            assert_eq!(axes.cursor(found.len()).at(), [a, b]);
            found.extend((0..n).map(|i| [a + i * sa, b + i * sb]));
            cursor.step(n);
        }
        (found, axes.rank)
    }

    #[test]
    fn merged_axes_reach_the_same_elements_in_the_same_order() {
        let cases: [([&[u64]; 3], usize); 7] = [
            ([&[2, 3, 4], &[12, 4, 1], &[12, 4, 1]], 1),
            ([&[2, 3, 4], &[12, 4, 1], &[0, 4, 1]], 2),
            ([&[2, 3, 4], &[12, 4, 1], &[0, 0, 0]], 1),
            ([&[2, 3, 4], &[12, 1, 3], &[12, 4, 1]], 3),
            ([&[5, 1, 4], &[4, 77, 1], &[1, 5, 5]], 2),
            ([&[], &[], &[]], 1),
            ([&[1, 7], &[9, 2], &[9, 1]], 1),
        ];
        for ([shape, a, b], rank) in cases {
            let mut want = vec![[0, 0]];
            for (axis, &len) in shape.iter().enumerate() {
                let step = |[x, y]: [usize; 2], i: usize| [x + i * a[axis] as usize, y + i * b[axis] as usize];
                want = want.iter().flat_map(|&place| (0..len as usize).map(move |i| step(place, i))).collect();
            }
            for most in [1, 3, 100] {
                assert_eq!(places(shape, [a, b], most), (want.clone(), rank), "{shape:?} {a:?} {b:?}");
            }
        }
    }
}
