//! Device speed of gathers at the queries.

use backend_api::{
    Buffer as _, Queue,
    ops::fri::{FriOps, OpenColumns, OpenGroups},
};
use core_types::{
    field::M31,
    params::{
        columns::ColumnAt,
        fri::{OpenColumnsParams, OpenGroupsParams},
    },
};

use super::{DeviceLine, Extent, RunSize, words};

/// Queries of a proof.
const QUERIES: u32 = 70;

pub(super) fn lines(extent: Extent) -> Vec<DeviceLine> {
    let (log_size, columns) = match extent {
        Extent::Full => (20, 100),
        Extent::Small => (8, 4),
    };
    vec![open_columns(log_size, columns), open_groups(log_size)]
}

/// Random words, from buffers of these many words.
fn gathered(words: usize, from: usize) -> RunSize {
    RunSize { unit: "word", work: words as f64, bytes: 0.0, resident: 4.0 * from as f64 }
}

fn positions() -> Vec<u32> {
    words(QUERIES as usize, 3).into_iter().map(|word| (word >> 32) as u32).collect()
}

fn open_columns(log_size: u32, count: usize) -> DeviceLine {
    let size = gathered(count * QUERIES as usize, count << log_size);
    DeviceLine::new(format!("fri.open_columns/{QUERIES} of {count}x2^{log_size}"), size, move |q| {
        let columns: Vec<_> = (0..count as u64).map(|column| ColumnAt::new(column << log_size, log_size)).collect();
        let (values, positions) = (q.zeros(count << log_size)?, q.upload(&positions())?);
        let mut opened = q.zeros::<M31>(count * QUERIES as usize)?;
        let params = OpenColumnsParams { log_from: log_size, log_leaves: log_size, queries: QUERIES };
        Ok(Box::new(move |q| {
            Ok(q.open_columns(OpenColumns {
                params: &params,
                columns: &columns,
                values: values.view(),
                positions: positions.view(),
                opened: opened.view_mut(),
            })?)
        }))
    })
}

fn open_groups(log_size: u32) -> DeviceLine {
    let log_group = 2;
    let count = (QUERIES as usize) << log_group;
    let size = gathered(4 * count, 4 << log_size);
    DeviceLine::new(format!("fri.open_groups/{QUERIES} of 2^{log_size}"), size, move |q| {
        let (values, positions) = (q.zeros(4 << log_size)?, q.upload(&positions())?);
        let mut opened = q.zeros(count)?;
        let params = OpenGroupsParams { log_size, log_from: log_size, log_group, queries: QUERIES };
        Ok(Box::new(move |q| {
            Ok(q.open_groups(OpenGroups {
                params: &params,
                values: values.view(),
                positions: positions.view(),
                opened: opened.view_mut(),
            })?)
        }))
    })
}
