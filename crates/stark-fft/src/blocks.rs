//! Low-degree extension block by block, so that a device holds one block of values at a time.

use core::ops::Range;

use backend_api::{
    BufferMut, Mut,
    ops::circle::{CircleOps, CircleRestrict},
};
use core_types::{field::M31, params::circle::CircleRestrictParams};

use crate::{
    CanonicDomain, Coefficients, ColumnsRef, FftError, Group, TwiddleTree,
    domain::column_count,
    shape::{ColumnSizes, check_sizes},
};

/// A checked batch shape for low-degree extension to one block of a domain at a time.
///
/// The stored positions of the domain are cut into blocks of equal size; block `q` of `n` values
/// each is the positions `q n .. (q + 1) n`. Every block is computed from the coefficients alone:
/// it reads all of them once and writes only its values, and the values on the whole domain need
/// never be in memory. All blocks together equal the output of [`LdePlan`](crate::LdePlan), at the
/// cost of one read of the coefficients per block.
///
/// ```
/// use backend_api::{Buffer, Queue};
/// use stark_fft::{CanonicDomain, Coefficients, Columns, HostColumns, LdeBlockPlan, LdePlan, M31, TwiddleTree};
///
/// let q = runtime::cpu()?;
/// let (small, domain) = (CanonicDomain::new(3)?, CanonicDomain::new(4)?);
/// let tree = TwiddleTree::new(&q, domain)?;
/// let host = HostColumns::<Coefficients>::new(small, (1..=8).map(M31::from_u32).collect())?;
/// let polynomial = Columns::upload(&q, &host)?;
///
/// let plan = LdeBlockPlan::new(small, domain, 1, 2)?; // four blocks of four values
/// let mut values = q.alloc::<M31>(plan.values_len())?;
/// let whole = LdePlan::new(small, domain, 1)?.extend(&q, &tree, &polynomial)?.download(&q)?;
/// for block in 0..plan.blocks() {
///     plan.extend_into(&q, &tree, polynomial.view(), block, values.view_mut())?;
///     assert_eq!(q.download(&values)?, whole.as_slice()[plan.positions(block)]);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LdeBlockPlan {
    coefficients: CanonicDomain,
    domain: CanonicDomain,
    log_block: u32,
    columns: u32,
}

impl LdeBlockPlan {
    /// A plan for evaluating `columns` polynomials on each block of `domain`.
    ///
    /// The polynomials have the coefficients of `coefficients`; there are `2^log_blocks` blocks.
    ///
    /// # Errors
    /// [`FftError::TooManyBlocks`] if a block would have less than two values;
    /// [`FftError::DomainTooSmall`] and [`FftError::TooManyColumns`] as
    /// [`LdePlan::new`](crate::LdePlan::new), the latter for a block's values and the coefficients.
    pub fn new(
        coefficients: CanonicDomain,
        domain: CanonicDomain,
        columns: usize,
        log_blocks: u32,
    ) -> Result<Self, FftError> {
        if domain < coefficients {
            return Err(FftError::DomainTooSmall { coefficients: coefficients.log_size(), domain: domain.log_size() });
        }
        let log_size = domain.log_size();
        let block = log_size.checked_sub(log_blocks).and_then(|log_block| CanonicDomain::new(log_block).ok());
        let block = block.ok_or(FftError::TooManyBlocks { log_blocks, log_size })?;
        let columns = column_count(coefficients.max(block), columns)?;
        Ok(Self { coefficients, domain, log_block: block.log_size(), columns })
    }

    /// Number of blocks.
    #[must_use]
    pub fn blocks(&self) -> usize {
        1 << (self.domain.log_size() - self.log_block)
    }

    /// Values of all columns on a block, one column after the other.
    #[must_use]
    pub fn values_len(&self) -> usize {
        (self.columns as usize) << self.log_block // counted by `new`
    }

    /// The stored positions of a block.
    #[must_use]
    pub fn positions(&self, block: usize) -> Range<usize> {
        block << self.log_block..(block + 1) << self.log_block
    }

    /// Evaluates every polynomial on block `block` of the plan's domain.
    ///
    /// Values are in stored order, one column after the other. The call does not wait, so it can be
    /// recorded.
    ///
    /// # Errors
    /// [`FftError::NoSuchBlock`], [`FftError::Shape`], [`FftError::SetShape`],
    /// [`FftError::BlockLength`] or [`FftError::TwiddlesTooSmall`] before any device work;
    /// [`FftError::Backend`] after.
    pub fn extend_into<Q: CircleOps>(
        &self,
        q: &Q,
        tree: &TwiddleTree<Q>,
        coefficients: ColumnsRef<'_, Q, Coefficients>,
        block: usize,
        values: Mut<'_, Q, M31>,
    ) -> Result<(), FftError> {
        // Block, columns and values match the plan.
        if block >= self.blocks() {
            return Err(FftError::NoSuchBlock { got: block, blocks: self.blocks() });
        }
        check_sizes(ColumnSizes::One(Group::alone(self.coefficients, self.columns)).groups(), coefficients.sizes())?;
        if values.len() != self.values_len() {
            return Err(FftError::BlockLength { expected: self.values_len(), got: values.len() });
        }
        // One op evaluates all columns on the block.
        let twiddles = tree.forward(self.domain)?;
        let params = CircleRestrictParams {
            log_coefficients: self.coefficients.log_size(),
            log_domain: self.domain.log_size(),
            log_block: self.log_block,
            block: block as u32, // below 2^30, the number of blocks
            columns: self.columns,
        };
        Ok(q.circle_restrict(CircleRestrict {
            params: &params,
            twiddles,
            coefficients: q.shorten(coefficients.view),
            values: q.shorten_mut(values),
        })?)
    }
}
