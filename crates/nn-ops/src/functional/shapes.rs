//! Shapes and plans of operators, from the layouts of their operands.

use crate::{
    attention::{AttentionOptions, AttentionPlan, AttentionShape},
    error::{NnError, Result},
    tensor::Layout,
};

/// Number of rows, which are all leading axes together, and the length of the last axis.
pub(super) fn rows_and_columns(layout: &Layout) -> (usize, usize) {
    layout.shape().split_last().map_or((1, 1), |(&columns, leading)| (leading.iter().product(), columns))
}

/// The shape of a layout with another last axis.
pub(super) fn with_columns(layout: &Layout, columns: usize) -> Vec<usize> {
    let mut shape = layout.shape().to_vec();
    if let Some(last) = shape.last_mut() {
        *last = columns;
    }
    shape
}

/// Refuses a tensor of another shape, before other operands are copied.
pub(super) fn same_shape(op: &'static str, tensor: &'static str, expected: &[usize], got: &Layout) -> Result<()> {
    if got.shape() == expected { Ok(()) } else { Err(NnError::shape(op, tensor, expected, got)) }
}

/// The plan of an attention of queries, keys and values of these layouts, without dropout.
pub(super) fn attention_plan(
    op: &'static str,
    [q, k, v]: [&Layout; 3],
    options: AttentionOptions,
) -> Result<AttentionPlan> {
    let ([batch, queries, heads, dim], [_, keys, kv_heads, _]) = (q.lengths(op, "q")?, k.lengths(op, "k")?);
    if options.dropout.is_some() {
        return Err(NnError::parameter(op, "number of dropouts", "0 (`AttentionPlan` has dropout)", 1.0));
    }
    let plan = AttentionPlan::new(AttentionShape { batch, heads, kv_heads, queries, keys, dim }, options)?;
    let of_keys = [batch, keys, kv_heads, dim];
    same_shape(op, "k", &of_keys, k)?;
    same_shape(op, "v", &of_keys, v)?;
    Ok(plan)
}

/// All rows of x, its columns, which are the rows of w, and the columns of w.
pub(super) fn layer(op: &'static str, x: &Layout, w: &Layout) -> Result<[usize; 3]> {
    if x.rank() < 2 {
        return Err(NnError::TooFewAxes { op, min: 2, got: x.rank() });
    }
    let ((rows, inner), [_, columns]) = (rows_and_columns(x), w.lengths(op, "w")?);
    same_shape(op, "w", &[inner, columns], w)?;
    Ok([rows, inner, columns])
}
