//! Where committed values are while a proof is made.

use backend_api::BackendKind;

use crate::{ProverError, plan::shape::StatementShape, plan::truncation::Truncation};

/// Where the committed values of all columns are while a proof is made.
///
/// Proofs do not depend on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Residency {
    /// All are in memory, from their commitment to the end of the proof.
    #[default]
    Full,
    /// As [`Full`](Self::Full), with large commitment trees of at most 32 columns truncated.
    ///
    /// Their two bottom levels are not stored; they are rehashed when a query is opened. A
    /// processor tries this first: first proofs are faster, later ones take 3 % longer at most,
    /// and look-ups take a quarter less memory.
    Truncated,
    /// Every domain is cut into this number of blocks of positions, a power of two.
    ///
    /// One block is in memory at a time. Commitments, constraints, quotients and openings each
    /// compute the blocks that they read from the coefficients. Column-partitioned ranks keep their
    /// own blocks instead.
    Blocks(u32),
    /// As [`Blocks`](Self::Blocks), with coefficients offloaded to host memory.
    ///
    /// The composition polynomial's coefficients stay on the device. The host memory is pinned if
    /// the host can pin that much. The coefficients are copied to the device in pieces, one copy
    /// overlapping work on another piece. Such a proof waits for each piece that is copied, and is
    /// not recorded as a graph. A trace that is generated on the device needs room for one
    /// component's columns.
    Host(u32),
}

/// Where the coefficients and the committed values of a prover are.
///
/// It follows from the residency and, of several ranks, from the number of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Storage {
    /// All in device memory.
    Resident,
    /// All coefficients in device memory, and one block of the values at a time.
    ///
    /// Each of several ranks interpolates a share of the columns, and gathers the others.
    Blocks,
    /// Coefficients in host memory, and one block of the values at a time in device memory.
    Host,
    /// The coefficients of this rank's columns, and the values of all columns on its blocks.
    ///
    /// See [`column_partition`](crate::placement::column_partition).
    Partitioned,
}

impl StatementShape {
    /// Where coefficients and committed values are.
    pub(crate) const fn storage(&self) -> Storage {
        if self.on_host {
            Storage::Host
        } else if self.place.partitioned {
            Storage::Partitioned
        } else if self.log_blocks > 0 {
            Storage::Blocks
        } else {
            Storage::Resident
        }
    }
}

impl Residency {
    /// Log of the number of blocks; 0 if all values are in memory.
    pub(crate) fn log_blocks(self, shape: &StatementShape) -> Result<u32, ProverError> {
        let (Self::Blocks(got) | Self::Host(got)) = self else { return Ok(0) };
        let (least, most) = bounds(shape);
        if got.is_power_of_two() && (least..=most).contains(&got.ilog2()) {
            return Ok(got.ilog2());
        }
        Err(ProverError::Blocks { least: 1 << least, most: 1 << most, got })
    }

    /// How trees are truncated, if they are.
    pub(crate) const fn truncation(self) -> Option<Truncation> {
        match self {
            Self::Full => None,
            Self::Truncated => Some(Truncation::IN_MEMORY),
            Self::Blocks(_) | Self::Host(_) => Some(Truncation::IN_BLOCKS),
        }
    }

    /// Returns the residencies that a prover chooses from on a device of this kind.
    ///
    /// The largest device memory comes first. A processor has no memory apart from host memory. On
    /// a GPU, rehashing the subtrees one after another would take more launches.
    pub(crate) fn all(shape: &StatementShape, kind: BackendKind) -> impl Iterator<Item = Self> {
        let (least, most) = bounds(shape);
        let blocks = (least..=most).map(|log_blocks| Self::Blocks(1 << log_blocks));
        let host = (least..=most).map(|log_blocks| Self::Host(1 << log_blocks));
        let first = if kind == BackendKind::Cpu { Self::Truncated } else { Self::Full };
        core::iter::once(first).chain(blocks).chain(host.filter(move |_| kind != BackendKind::Cpu))
    }
}

/// Logs of the least and the most blocks.
///
/// One lies among the positions where the vanishing polynomial has one value, and has two values of
/// each column at least. Each rank has one at least.
pub(crate) fn bounds(shape: &StatementShape) -> (u32, u32) {
    let columns = shape.trees.iter().flat_map(|tree| &tree.columns);
    let smallest = columns.map(|column| column.values.log_len).min();
    // There is the composition polynomial's column at least, of two rows or more.
    (shape.log_blowup.max(shape.place.log_ranks), smallest.map_or(shape.log_blowup, |log_len| log_len - 1))
}
