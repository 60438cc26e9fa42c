//! Rows of a table by index, such as embeddings, and the sums that are their gradient.

use backend_api::{Buffer, Queue, Real, ops::tensor};
use core_types::params::tensor::TableParams;

use super::packed::{Fit, Unpacked};
use crate::{
    TensorOps,
    error::{NnError, Result},
    tensor::{Layout, TensorMut, TensorRef},
};

/// Indices of rows of a table, on a queue's device.
///
/// They are checked and sorted once, on the host, so that no device has to be waited for to refuse
/// one, and sums are taken in one order on every device.
///
/// ```
/// use nn_ops::{Indices, Tensor};
///
/// let q = runtime::cpu()?;
/// let table = Tensor::from_values(&q, &[3, 2], &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?; // three rows of two
/// let indices = Indices::new(&q, 3, &[2, 0, 2])?;
/// let mut rows = Tensor::alloc(&q, &[3, 2])?;
/// indices.gather(&q, table.at(), rows.at_mut())?;
/// assert_eq!(rows.values(&q)?, [5.0, 6.0, 1.0, 2.0, 5.0, 6.0]);
///
/// let mut sums = Tensor::from_values(&q, &[3, 2], &[0.0f32; 6])?;
/// indices.scatter_add(&q, rows.at(), sums.at_mut())?;
/// assert_eq!(sums.values(&q)?, [1.0, 2.0, 0.0, 0.0, 10.0, 12.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Indices<Q: Queue> {
    rows: usize,
    count: usize,
    indices: Q::Buf<u32>,
    /// Permutation that sorts the indices in ascending order.
    ///
    /// Equal indices keep the order in which they were given.
    order: Q::Buf<u32>,
}

impl<Q: TensorOps> Indices<Q> {
    /// Uploads indices into a table of `rows` rows.
    ///
    /// # Errors
    /// [`NnError::Index`] for the first that is not below `rows`, [`NnError::Overflow`] for 2^32
    /// indices or more, [`NnError::Backend`] if memory is short.
    pub fn new(q: &Q, rows: usize, indices: &[u32]) -> Result<Self> {
        const OP: &str = "indices";
        if let Some(place) = indices.iter().position(|&index| index as usize >= rows) {
            return Err(NnError::Index { op: OP, place, rows, got: indices[place] });
        }
        let count = u32::try_from(indices.len()).map_err(|_| NnError::Overflow { op: OP })?;
        let mut order: Vec<u32> = (0..count).collect();
        order.sort_by_key(|&place| indices[place as usize]);
        Ok(Self { rows, count: indices.len(), indices: q.upload(indices)?, order: q.upload(&order)? })
    }

    /// Number of indices.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Row i of y, `[count, ..]`, is the row of `table`, `[rows, ..]`, that index i names.
    ///
    /// Tensors that are not row-major are packed by a copy.
    ///
    /// # Errors
    /// [`NnError::ShapeMismatch`] for a tensor of another shape, [`NnError::Backend`] from the
    /// device.
    pub fn gather<T: Real>(&self, q: &Q, table: TensorRef<'_, Q, T>, y: TensorMut<'_, Q, T>) -> Result<()> {
        const OP: &str = "gather";
        let (of_table, of_rows, params) = self.layouts(OP, table.layout())?;
        let (mut table, y) = (table.fit(OP, "table", &of_table)?, y.fit(OP, "y", &of_rows)?);
        let mut result = Unpacked::new();
        let y = result.target(q, y)?;
        q.gather(tensor::Gather { params: &params, table: table.view(q)?, indices: self.indices.view(), y })?;
        result.finish(q)
    }

    /// Adds row i of g, `[count, ..]`, to the row of `table`, `[rows, ..]`, that index i names.
    ///
    /// This is the gradient of [`gather`](Self::gather). Rows of one index are summed in f32 in
    /// their order, added, and rounded once. Tensors that are not row-major are packed by a copy.
    ///
    /// # Errors
    /// As [`gather`](Self::gather).
    pub fn scatter_add<T: Real>(&self, q: &Q, g: TensorRef<'_, Q, T>, table: TensorMut<'_, Q, T>) -> Result<()> {
        const OP: &str = "scatter_add";
        let (of_table, of_rows, params) = self.layouts(OP, table.layout())?;
        let (mut g, table) = (g.fit(OP, "g", &of_rows)?, table.fit(OP, "table", &of_table)?);
        let (indices, order, mut result) = (self.indices.view(), self.order.view(), Unpacked::new());
        let table = result.updated(q, table)?;
        q.scatter_add(tensor::ScatterAdd { params: &params, indices, order, g: g.view(q)?, table })?;
        result.finish(q)
    }

    /// The layouts of the table and of the rows, and the launch record.
    fn layouts(&self, op: &'static str, table: &Layout) -> Result<(Layout, Layout, TableParams)> {
        let Some((_, row)) = table.shape().split_first() else {
            return Err(NnError::TooFewAxes { op, min: 1, got: 0 });
        };
        let with = |rows: usize| Layout::of(op, &[&[rows], row].concat());
        let width = row.iter().product::<usize>() as u64;
        let params = TableParams { rows: self.rows as u64, width, count: self.count as u64 };
        Ok((with(self.rows)?, with(self.count)?, params))
    }
}

debug_fields!(Indices<Q: Queue> rows, count);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_that_name_no_row_and_tables_of_other_sizes_are_refused() {
        let q = runtime::cpu().unwrap();
        let refused = Indices::new(&q, 3, &[0, 2, 3, 9]).err();
        assert_eq!(refused, Some(NnError::Index { op: "indices", place: 2, rows: 3, got: 3 }));
        let indices = Indices::new(&q, 3, &[0, 2]).unwrap();
        let (table, mut y) = (q.zeros::<f32>(8).unwrap(), q.zeros::<f32>(8).unwrap());
        let mut outcome = |table_shape: &[usize], rows: &[usize]| {
            let table = TensorRef::contiguous(table.view(), table_shape).unwrap();
            indices.gather(&q, table, TensorMut::contiguous(y.view_mut(), rows).unwrap()).err()
        };
        assert_eq!(outcome(&[3, 2], &[2, 2]), None);
        assert_eq!(outcome(&[3], &[2]), None);
        assert!(matches!(outcome(&[4, 2], &[2, 2]), Some(NnError::ShapeMismatch { tensor: "table", .. })));
        assert!(matches!(outcome(&[3, 2], &[3, 2]), Some(NnError::ShapeMismatch { tensor: "y", .. })));
        assert_eq!(outcome(&[], &[2]), Some(NnError::TooFewAxes { op: "gather", min: 1, got: 0 }));
    }
}
