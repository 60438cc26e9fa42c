//! Gathers at the queries, checked against indexing on the host.

use backend_api::{
    Buffer as _, Queue,
    ops::fri::{FriOps, OpenColumns, OpenGroups},
};
use core_types::{
    field::{M31, QM31},
    params::{
        columns::ColumnAt,
        fri::{OpenColumnsParams, OpenGroupsParams},
    },
};

use crate::{Case, Conditioned, Failure, OpSpec, list::ListIterator as _, spec::BATCHES};

/// Word `index` of test data.
fn word(index: usize) -> u32 {
    ((index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32
}

fn values(len: usize) -> Vec<M31> {
    (0..len).map(|index| M31::from_u32(word(index))).list()
}

/// Words of any size: positions count modulo the size of their domain.
///
/// The first ones are the ends of its first pairs.
fn positions(queries: u32) -> Vec<u32> {
    let ends = [u32::MAX, 0, 1, 2, u32::MAX - 1];
    (0..queries as usize).map(|query| ends.get(query).copied().unwrap_or_else(|| word(!query))).list()
}

/// Maps `position` from a domain of `2^from` to `2^to` points by doublings or their inverse.
///
/// Pairs of conjugate positions become positions of half the size, or two positions of twice the
/// size.
fn by_doubling(position: usize, from: u32, to: u32) -> usize {
    let (pair, odd) = (position / 2, position % 2);
    let pair = if from > to { pair >> (from - to) } else { pair << (to - from) };
    2 * pair + odd
}

/// Gathers from columns of the sizes `logs`.
///
/// The columns lie in the buffer in reverse, with an unused word between them.
fn expect_columns(q: &Conditioned, log_from: u32, log_leaves: u32, logs: &[u32], queries: u32) -> Result<(), Failure> {
    let mut len = 0;
    let mut columns: Vec<ColumnAt> = Vec::new();
    for &log_len in logs.iter().rev() {
        columns.push(ColumnAt::new(len, log_len));
        len += (1 << log_len) + 1;
    }
    columns.reverse();
    let (values, positions) = (values((len as usize).saturating_sub(1)), positions(queries));
    let mut expected = Vec::new();
    for column in &columns {
        for &position in &positions {
            let position = position as usize % (1 << log_from);
            let leaf = by_doubling(position, log_from, log_leaves);
            let row = if column.log_len == 0 { 0 } else { by_doubling(leaf, log_leaves, column.log_len) };
            expected.push(values[column.first as usize + row]);
        }
    }
    let (values, positions) = (q.upload(&values)?, q.upload(&positions)?);
    let mut opened = q.zeros(expected.len())?;
    let params = OpenColumnsParams { log_from, log_leaves, queries };
    q.open_columns(OpenColumns {
        params: &params,
        columns: &columns,
        values: values.view(),
        positions: positions.view(),
        opened: opened.view_mut(),
    })?;
    Failure::unless_equal(&expected, &q.download(&opened)?)
}

pub(super) fn open_columns() -> OpSpec {
    let mut cases = Vec::new();
    for (log_from, log_leaves) in [(1, 1), (4, 4), (6, 4), (4, 6), (30, 5), (1, 5), (0, 3), (9, 1)] {
        let name = format!("positions of 2^{log_from} in 2^{log_leaves} leaves");
        cases.push(Case::new(name, move |q| {
            let logs: Vec<u32> = (1..=log_leaves).chain([log_leaves, 1]).list();
            expect_columns(q, log_from, log_leaves, &logs, 21)
        }));
    }
    for queries in BATCHES {
        let case = Case::new(format!("{queries} queries"), move |q| expect_columns(q, 9, 7, &[7, 3, 5], queries));
        cases.push(case.on_elements(3 * u64::from(queries)));
    }
    for columns in BATCHES {
        let case =
            Case::new(format!("{columns} columns"), move |q| expect_columns(q, 3, 3, &vec![2; columns as usize], 5));
        cases.push(case.on_elements(5 * u64::from(columns)));
    }
    cases.push(Case::new("columns of one word", |q| {
        expect_columns(q, 3, 3, &[0, 3, 0], 9)?;
        expect_columns(q, 5, 0, &[0], 9)
    }));
    OpSpec { op: "fri.open_columns", cases }
}

/// Gathers groups of `2^log_group` values out of `2^log_size`.
fn expect_groups(q: &Conditioned, log_from: u32, log_size: u32, log_group: u32, queries: u32) -> Result<(), Failure> {
    let len = 1 << log_size;
    let (values, positions) = (values(4 * len), positions(queries));
    let mut expected = Vec::new();
    for &position in &positions {
        let position = position as usize % (1 << log_from);
        let group = position / (1 << (log_from - log_size)) / (1 << log_group);
        for place in group << log_group..(group + 1) << log_group {
            expected.push(QM31::from_coordinates([0, 1, 2, 3].map(|k| values[k * len + place])));
        }
    }
    let (values, positions) = (q.upload(&values)?, q.upload(&positions)?);
    let mut opened = q.zeros(expected.len())?;
    q.open_groups(OpenGroups {
        params: &OpenGroupsParams { log_size, log_from, log_group, queries },
        values: values.view(),
        positions: positions.view(),
        opened: opened.view_mut(),
    })?;
    Failure::unless_equal(&expected, &q.download(&opened)?)
}

pub(super) fn open_groups() -> OpSpec {
    let mut cases = Vec::new();
    for (log_from, log_size, log_group) in
        [(0, 0, 0), (1, 1, 0), (1, 1, 1), (5, 0, 0), (5, 3, 1), (7, 7, 3), (9, 6, 2), (30, 8, 4), (30, 4, 4)]
    {
        let name = format!("groups of 2^{log_group} in 2^{log_size}, positions of 2^{log_from}");
        cases.push(Case::new(name, move |q| expect_groups(q, log_from, log_size, log_group, 21)));
    }
    for queries in BATCHES {
        let case = Case::new(format!("{queries} queries"), move |q| expect_groups(q, 9, 7, 1, queries));
        cases.push(case.on_elements(2 * u64::from(queries)));
    }
    OpSpec { op: "fri.open_groups", cases }
}
