//! Leaves of columns and of one column of the secure field.

use backend_api::{
    BackendError, Buffer as _, Queue,
    ops::merkle::{MerkleLeaves, MerkleOps, MerkleSecureLeaves},
};
use core_types::{
    blake2s::Digest,
    field::M31,
    params::{
        columns::ColumnAt,
        merkle::{MerkleLeavesParams, MerkleSecureLeavesParams},
    },
};

use super::model::{MerkleColumns, element, hash};
use crate::{Case, Conditioned, Failure, OpSpec, list::ListIterator as _};

/// Numbers of columns, around the sixteen words of a block.
const COUNTS: [usize; 9] = [0, 1, 4, 15, 16, 17, 32, 33, 100];

/// The digest that fills memory before an op writes it.
const OLD: Digest = Digest([0xdead_beef; 8]);

fn leaves_of(q: &Conditioned, log_leaves: u32, layout: &MerkleColumns) -> Result<Vec<Digest>, BackendError> {
    let (values, mut leaves) = (q.upload(&layout.values)?, q.upload(&vec![OLD; 1 << log_leaves])?);
    q.merkle_leaves(MerkleLeaves {
        params: &MerkleLeavesParams { log_leaves },
        columns: &layout.columns,
        values: values.view(),
        leaves: leaves.view_mut(),
    })?;
    q.download(&leaves)
}

fn expect_leaves(q: &Conditioned, log_leaves: u32, layout: &MerkleColumns) -> Result<(), Failure> {
    Failure::unless_equal(&layout.leaves(log_leaves), &leaves_of(q, log_leaves, layout)?)
}

/// Numbers of columns by how far they are below the tree.
fn below(log_leaves: u32, groups: &[(u32, usize)]) -> Vec<u32> {
    groups.iter().flat_map(|&(below, count)| vec![log_leaves - below; count]).list()
}

pub(super) fn columns() -> OpSpec {
    let mut cases = Vec::new();
    for log_leaves in 0..=12 {
        cases.push(Case::new(format!("2^{log_leaves} leaves, columns of every height"), move |q| {
            let log_sizes: Vec<u32> = (0..=log_leaves).flat_map(|log_size| [log_size; 3]).list();
            expect_leaves(q, log_leaves, &MerkleColumns::new(&log_sizes, 1))
        }));
    }
    for count in COUNTS {
        cases.push(Case::new(format!("{count} columns"), move |q| {
            for below in [0, 1, 4] {
                expect_leaves(q, 6, &MerkleColumns::new(&vec![6 - below; count], 0))?;
            }
            expect_leaves(q, 9, &MerkleColumns::new(&vec![9; count], 3))
        }));
    }
    let mixed: [(u32, &[(u32, usize)]); 8] = [
        (1, &[(1, 2), (0, 1)]),
        (7, &[(7, 16), (0, 16)]),
        (8, &[(6, 5), (5, 11), (1, 1)]),
        (9, &[(8, 40), (3, 3), (2, 30), (0, 7)]),
        (11, &[(11, 17), (10, 1), (5, 17), (1, 13)]),
        (12, &[(12, 17), (7, 16), (1, 16), (0, 2)]),
        (12, &[(3, 40)]),
        (13, &[(13, 1), (9, 14), (2, 18), (0, 1)]),
    ];
    for (log_leaves, groups) in mixed {
        cases.push(Case::new(format!("2^{log_leaves} leaves, columns below {groups:?}"), move |q| {
            let layout = MerkleColumns::new(&below(log_leaves, groups), 5);
            expect_leaves(q, log_leaves, &layout)?;
            expect_leaves(q, log_leaves, &layout.reversed())
        }));
    }
    cases.push(Case::new("one column many times", |q| {
        let MerkleColumns { columns, values } = MerkleColumns::new(&[5], 2);
        expect_leaves(q, 5, &MerkleColumns { columns: vec![columns[0]; 20], values })
    }));
    cases.push(Case::new("zeros and greatest elements", |q| {
        [M31::ZERO, -M31::ONE].into_iter().try_for_each(|element| {
            let mut layout = MerkleColumns::new(&below(6, &[(3, 9), (0, 9)]), 0);
            layout.values.fill(element);
            expect_leaves(q, 6, &layout)
        })
    }));
    let large =
        Case::new("2^17 leaves", |q| expect_leaves(q, 17, &MerkleColumns::new(&below(17, &[(2, 3), (0, 15)]), 1)));
    cases.push(large.on_elements(18 << 17));
    cases.push(Case::new("columns that are too long, out of order or out of their buffer", expect_refusals));
    OpSpec { op: "merkle.leaves", cases }
}

fn expect_refusals(q: &Conditioned) -> Result<(), Failure> {
    let (values, mut leaves) = (q.zeros::<M31>(64)?, q.zeros::<Digest>(32)?);
    for (log_leaves, columns) in [
        (5, vec![ColumnAt::new(0, 6)]),
        (5, vec![ColumnAt::new(0, 5), ColumnAt::new(32, 4)]),
        (5, vec![ColumnAt::new(33, 5)]),
        (5, vec![ColumnAt::new(64, 0)]),
        (5, vec![ColumnAt::new(u64::MAX, 5)]),
        (5, vec![ColumnAt::new(0, u32::MAX)]),
        (4, vec![]),
        (31, vec![]),
        (u32::MAX, vec![]),
    ] {
        let refused = q.merkle_leaves(MerkleLeaves {
            params: &MerkleLeavesParams { log_leaves },
            columns: &columns,
            values: values.view(),
            leaves: leaves.view_mut(),
        });
        Failure::unless_refused(&format!("2^{log_leaves} leaves of {columns:?}"), refused)?;
    }
    Ok(())
}

fn expect_secure_leaves(q: &Conditioned, log_size: u32, log_packed: u32) -> Result<(), Failure> {
    let values: Vec<M31> = (0..4usize << log_size).map(element).list();
    let leaf = |leaf: usize| {
        let rows = leaf << log_packed..(leaf + 1) << log_packed;
        hash(rows.flat_map(|row| [0, 1, 2, 3].map(|i| values[(i << log_size) + row].word())))
    };
    let expected: Vec<Digest> = (0..1 << (log_size - log_packed)).map(leaf).list();
    let (uploaded, mut leaves) = (q.upload(&values)?, q.upload(&vec![OLD; expected.len()])?);
    q.merkle_secure_leaves(MerkleSecureLeaves {
        params: &MerkleSecureLeavesParams { log_size, log_packed },
        values: uploaded.view(),
        leaves: leaves.view_mut(),
    })?;
    Failure::unless_equal(&expected, &q.download(&leaves)?)
}

pub(super) fn secure() -> OpSpec {
    let mut cases = Vec::new();
    for log_packed in [0, 2] {
        for log_size in (log_packed..=12).chain([16]) {
            let name = format!("2^{log_size} values, 2^{log_packed} in a leaf");
            let case = Case::new(name, move |q| expect_secure_leaves(q, log_size, log_packed));
            cases.push(case.on_elements(4 << log_size));
        }
    }
    cases.push(Case::new("leaves of two values, of more values than there are, and of too many", |q| {
        let (values, mut leaves) = (q.zeros::<M31>(64)?, q.zeros::<Digest>(16)?);
        for (log_size, log_packed) in [(4, 1), (4, 2), (4, 3), (1, 2), (31, 0), (u32::MAX, 2), (4, u32::MAX)] {
            let refused = q.merkle_secure_leaves(MerkleSecureLeaves {
                params: &MerkleSecureLeavesParams { log_size, log_packed },
                values: values.view(),
                leaves: leaves.view_mut(),
            });
            Failure::unless_refused(&format!("2^{log_size} values, 2^{log_packed} in a leaf"), refused)?;
        }
        Ok(())
    }));
    OpSpec { op: "merkle.secure_leaves", cases }
}
